/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes an output folder as a large training would leave it: for measuring `probe report`, and for runs that no test
 * machine can make (a thousand ranks, hosts with wrong clocks, a rank that hangs).
 *
 *	gen_folder -r RANKS -s STEPS [-c CALLS A STEP (8)] [-g GROUP (8)] [options] DIR
 *
 *	-l RANK:NS    that rank comes later by so much to every operation on the world communicator
 *	-b STEP:RANK  one NaN in that rank's input of the last operation of that step, spreading from there
 *	-x STEP:RANK  that rank makes no call from that step on; the others are killed in the first operation without it
 *	-m STEP:RANK  that rank calls broadcast where the others call all_reduce
 *	-k HOST:NS    the clock of that host (of GROUP ranks each) is ahead by so much
 *	-d HOST:PPM   and gains PPM millionths
 *	-q            no file but calls_*.csv
 *
 * Each step has one operation on the world communicator and CALLS - 1 on the rank's group. All numbers follow from the
 * options: two runs write the same bytes.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 100 /* steps in a file */
#define BEGIN UINT64_C(1700000000000000000)
#define PERIOD 2000000 /* ns from one call to the next */

/* The first lines of the files, each after a comma (journal/columns.def). */
static const char calls_head[] =
#define ROW_COLUMN(name, type, source, help) "," #name
#include "journal/columns.def"
	"\n";
static const char comms_head[] =
#define COMM_COLUMN(name, type, source, help) "," #name
#include "journal/columns.def"
	"\n";
static const char stacks_head[] =
#define STACK_COLUMN(name, type, source, help) "," #name
#include "journal/columns.def"
	"\n";

struct pair {
	long a, b;
};

static int ranks = 8, steps = 100, calls = 8, group = 8, quiet;
static struct pair late = {-1, 0}, bad = {-1, 0}, hang = {-1, 0}, mismatch = {-1, 0},
		   skew = {-1, 0}, drift = {-1, 0};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Jitter of a rank in an operation: 0 to 50 us. */
static uint64_t jitter(int rank, uint64_t number)
{
	return mix((uint64_t)rank << 40 ^ number) % 50000;
}

static uint64_t arrival(int rank, uint64_t number, int world)
{
	return BEGIN + number * PERIOD + jitter(rank, number) +
	       (world && rank == late.a ? (uint64_t)late.b : 0);
}

/* When the last member has come. */
static uint64_t all_there(int rank, uint64_t number, int world)
{
	int from = world ? 0 : rank / group * group, to = world ? ranks : from + group;
	uint64_t last = 0;
	static uint64_t *known; /* of the operations of all ranks, by number */

	if (world && !known && !(known = calloc((size_t)steps * (size_t)calls, sizeof(*known))))
		exit(2);
	if (world && known[number])
		return known[number];

	for (int r = from; r < to && r < ranks; r++) {
		uint64_t at = arrival(r, number, world);

		if (at > last)
			last = at;
	}
	if (world)
		known[number] = last;
	return last;
}

static uint64_t clock_of(int rank, uint64_t at)
{
	if (rank / group == drift.a)
		at += (uint64_t)((int64_t)(at - BEGIN) * drift.b / 1000000);
	return rank / group == skew.a ? at + (uint64_t)skew.b : at;
}

static uint64_t gen_comm_of(int rank, int world)
{
	return world ? UINT64_C(0x1111111111111111)
		     : UINT64_C(0x2222000000000000) + (uint64_t)(rank / group);
}

static void row(FILE *f, int rank, int step, int call, uint64_t done, int out, int open)
{
	uint64_t number = (uint64_t)step * (uint64_t)calls + (uint64_t)call;
	int world = call == calls - 1, members = world ? ranks : group;
	int other = step == mismatch.a && rank == mismatch.b && world;
	uint64_t start = arrival(rank, number, world), seq = number + 1;
	long comm_seq = world ? step : (long)step * (calls - 1) + call;
	/* From the rank that has it, it goes to all by the world operation, and is everywhere from the next step on. */
	int nan =
		bad.a >= 0 && (step > bad.a || (step == bad.a && world && (out || rank == bad.b)));
	char dur[24] = "";

	if (!open)
		snprintf(dur, sizeof(dur), "%llu", (unsigned long long)(done - start + 20000));
	fprintf(f,
		"%d,,%llu,mpi,%s,%s,%016llx,%ld,%d,%d,%s,%s,,%s,0,float32,,1024,4096,-%d.5,%d.25,0."
		"125,32,0,%d,0,%llu,%s,%d,%d,%s,,,,,,,,,,\n",
		step, (unsigned long long)seq,
		other	? "MPI_Bcast"
		: world ? "MPI_Allreduce"
			: "MPI_Allgather",
		other	? "broadcast"
		: world ? "all_reduce"
			: "all_gather",
		(unsigned long long)gen_comm_of(rank, world), comm_seq, world ? rank : rank % group,
		members,
		other	? ""
		: world ? "sum"
			: "",
		other ? "0" : "", out ? "out" : "in", step % 7, step % 5 + 1, nan,
		(unsigned long long)clock_of(rank, start), dur, 1000 + rank, world ? 1 : 2,
		open ? "open" : "");
}

static FILE *file(const char *dir, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f) {
		fprintf(stderr, "gen_folder: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	setvbuf(f, NULL, _IOFBF, 1 << 20);
	return f;
}

static uint64_t gen_rows_of(const char *dir, int rank)
{
	FILE *f = NULL;
	char name[64];
	uint64_t rows = 0;

	for (int step = 0; step < steps; step++) {
		if (step % BLOCK == 0) {
			if (f)
				fclose(f);
			snprintf(name, sizeof(name), "calls_%d-%d.csv", step, step + BLOCK - 1);
			f = file(dir, name);
			fputs(calls_head + 1, f);
		}
		for (int call = 0; call < calls; call++) {
			uint64_t number = (uint64_t)step * (uint64_t)calls + (uint64_t)call;
			int world = call == calls - 1, gone = step >= hang.a && hang.a >= 0;
			int stuck = gone && (world || rank / group == hang.b / group);

			if (gone && rank == hang.b)
				goto end;
			row(f, rank, step, call, all_there(rank, number, world), 0, stuck);
			rows++;
			if (stuck)
				goto end;
			row(f, rank, step, call, all_there(rank, number, world), 1, 0);
			rows++;
		}
	}
end:
	if (f)
		fclose(f);
	return rows;
}

static void others(const char *dir, int rank, uint64_t rows)
{
	FILE *f = file(dir, "comms.csv");
	int from = rank / group * group, to = from + group < ranks ? from + group : ranks,
	    host = rank / group;
	uint64_t end = BEGIN + (uint64_t)steps * (uint64_t)calls * PERIOD;

	fputs(comms_head + 1, f);
	fprintf(f, "1111111111111111,mpi,%d,%d,world,,MPI_COMM_WORLD,0-%d\n", ranks, rank,
		ranks - 1);
	fprintf(f, "%016llx,mpi,%d,%d,split,1111111111111111,,%d-%d\n",
		(unsigned long long)gen_comm_of(rank, 0), to - from, rank - from, from, to - 1);
	fclose(f);
	f = file(dir, "stack_info.csv");
	fputs(stacks_head + 1, f);
	fprintf(f, "1,MPI_Allreduce,0,train.py:12 step <- train.py:30 main,gen!reduce+0x10 <- "
		   "gen!main+0x40\n");
	fprintf(f, "2,MPI_Allgather,0,train.py:11 step <- train.py:30 main,gen!gather+0x10 <- "
		   "gen!main+0x40\n");
	fclose(f);
	f = file(dir, "meta.json");
	fprintf(f,
		"{\n \"format\": 1,\n \"state\": \"%s\",\n \"owner\": {\"host\": \"node%d\", "
		"\"boot_id\": \"boot-%d\", "
		"\"pid_ns\": 1, \"pid\": %d, \"start_time\": 1},\n \"journal_path\": \"\",\n "
		"\"run\": \"gen\",\n \"rank\": %d,\n"
		" \"world_size\": %d,\n \"version\": \"0\",\n \"clock\": {\"first\": {\"real_ns\": "
		"%llu}, \"last\": "
		"{\"real_ns\": %llu}},\n \"first_record_ns\": %llu,\n \"last_record_ns\": %llu,\n "
		"\"steps\": {\"current\": %d, "
		"\"last_recorded\": %d, \"source\": \"api\"},\n \"calls\": {\"seen\": %llu, "
		"\"recorded\": %llu},\n \"rows\": "
		"%llu,\n \"missing\": {},\n \"libraries\": {\"mpi\": \"generated\"},\n "
		"\"program\": [\"gen\"]\n}\n",
		hang.a >= 0 ? "recovered" : "finished", host, host, 1000 + rank, rank, ranks,
		(unsigned long long)clock_of(rank, BEGIN),
		(unsigned long long)clock_of(rank, end + 30000000000u),
		(unsigned long long)clock_of(rank, BEGIN), (unsigned long long)clock_of(rank, end),
		steps, steps - 1, (unsigned long long)rows / 2, (unsigned long long)rows / 2,
		(unsigned long long)rows);
	fclose(f);
}

static struct pair pair_of(const char *text)
{
	struct pair p;

	if (sscanf(text, "%ld:%ld", &p.a, &p.b) != 2) {
		fprintf(stderr, "gen_folder: %s: two numbers with a colon are expected\n", text);
		exit(2);
	}
	return p;
}

int main(int argc, char **argv)
{
	char dir[3072];
	int c;

	while ((c = getopt(argc, argv, "r:s:c:g:l:b:x:m:k:d:q")) != -1) {
		switch (c) {
		case 'r':
			ranks = atoi(optarg);
			break;
		case 's':
			steps = atoi(optarg);
			break;
		case 'c':
			calls = atoi(optarg);
			break;
		case 'g':
			group = atoi(optarg);
			break;
		case 'l':
			late = pair_of(optarg);
			break;
		case 'b':
			bad = pair_of(optarg);
			break;
		case 'x':
			hang = pair_of(optarg);
			break;
		case 'm':
			mismatch = pair_of(optarg);
			break;
		case 'k':
			skew = pair_of(optarg);
			break;
		case 'd':
			drift = pair_of(optarg);
			break;
		case 'q':
			quiet = 1;
			break;
		default:
			return 2;
		}
	}
	if (optind + 1 != argc || ranks < 1 || steps < 1 || calls < 1 || group < 1) {
		fprintf(stderr, "usage: gen_folder -r RANKS -s STEPS [options] DIR (see the top of "
				"the source)\n");
		return 2;
	}
	mkdir(argv[optind], 0777);
	for (int rank = 0; rank < ranks; rank++) {
		uint64_t rows;

		snprintf(dir, sizeof(dir), "%s/rank%d", argv[optind], rank);
		if (mkdir(dir, 0777) < 0 && errno != EEXIST) {
			fprintf(stderr, "gen_folder: %s: %s\n", dir, strerror(errno));
			return 2;
		}
		rows = gen_rows_of(dir, rank);
		if (!quiet)
			others(dir, rank, rows);
	}
	return 0;
}
