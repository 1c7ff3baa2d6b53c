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
 *	-v            statistics that have nine digits, others in each row
 *	-z            calls_*.compact in place of calls_*.csv; of the program that is built with GEN_COMPACT and the library's objects
 *
 * Each step has one operation on the world communicator and CALLS - 1 on the rank's group. All numbers follow from the
 * options: two runs write the same bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef GEN_COMPACT
#include "formats/compact/block.h"
#include "terms/redop.h"
#endif

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

static int ranks = 8, steps = 100, calls = 8, group = 8, quiet, varied, compact;
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

struct row {
	int step, call, rank, world, other, nan, out, open;
	uint64_t seq, start, dur;
	long comm_seq;
	double min, max, mean, norm;
};

static struct row gen_make_row(int rank, int step, int call, uint64_t done, int out, int open)
{
	uint64_t number = (uint64_t)step * (uint64_t)calls + (uint64_t)call;
	int world = call == calls - 1;
	uint64_t start = arrival(rank, number, world),
		 drawn = mix(number << 20 ^ (uint64_t)rank << 1 ^ (uint64_t)out);
	struct row r = {.step = step,
		.call = call,
		.rank = rank,
		.world = world,
		.other = step == mismatch.a && rank == mismatch.b && world,
		/* From the rank that has it, it goes to all by the world operation, and is everywhere from the next step on. */
		.nan = bad.a >= 0 &&
		       (step > bad.a || (step == bad.a && world && (out || rank == bad.b))),
		.out = out,
		.open = open,
		.seq = number + 1,
		.start = clock_of(rank, start),
		.dur = done - start + 20000,
		.comm_seq = world ? step : (long)step * (calls - 1) + call,
		.min = -(step % 7) - 0.5,
		.max = step % 5 + 1.25,
		.mean = 0.125,
		.norm = 32};

	if (varied) {
		r.min = (double)(float)(r.min - (double)(drawn & 0xffff) / 977);
		r.max = (double)(float)(r.max + (double)(drawn >> 16 & 0xffff) / 977);
		r.mean += (double)(drawn >> 32 & 0xffff) / 97777;
		r.norm += (double)(drawn >> 40) / 97777;
	}
	return r;
}

static const char *gen_api_of(const struct row *r)
{
	return r->other ? "MPI_Bcast" : r->world ? "MPI_Allreduce" : "MPI_Allgather";
}

/* Elements: the result of an all-gather has a part of each rank. */
static int gen_count_of(const struct row *r)
{
	return r->out && !r->world ? 1024 * group : 1024;
}

static const char *op_of(const struct row *r)
{
	return r->other ? "broadcast" : r->world ? "all_reduce" : "all_gather";
}

static void write_csv_row(FILE *f, const struct row *r)
{
	char dur[24] = "";

	if (!r->open)
		snprintf(dur, sizeof(dur), "%llu", (unsigned long long)r->dur);
	fprintf(f,
		"%d,,%llu,mpi,%s,%s,%016llx,%ld,%d,%d,%s,%s,,%s,0,float32,,%d,%d,%.9g,%.9g,"
		"%.9g,%.9g,0,%d,0,%llu,%s,%d,%d,%s,,,,,,,,,,\n",
		r->step, (unsigned long long)r->seq, gen_api_of(r), op_of(r),
		(unsigned long long)gen_comm_of(r->rank, r->world), r->comm_seq,
		r->world ? r->rank : r->rank % group, r->world ? ranks : group,
		r->world && !r->other ? "sum" : "", r->other ? "0" : "", r->out ? "out" : "in",
		gen_count_of(r), 4 * gen_count_of(r), r->min, r->max, r->mean, r->norm, r->nan,
		(unsigned long long)r->start, dur, 1000 + r->rank, r->world ? 1 : 2,
		r->open ? "open" : "");
}

/* ---- compact files ---- */

#ifdef GEN_COMPACT
static struct compact_block *block;

static void write_compact_block(int fd)
{
	size_t n = compact_block_measure(block);
	unsigned char *p = malloc(n);

	if (!p)
		exit(2);
	compact_block_write(block, p);
	if (write(fd, p, n) != (ssize_t)n)
		exit(2);
	free(p);
	compact_block_reset(block, false);
}

/* The rows of a call: one, or an input and an output. */
static void write_compact_call(int fd, const struct row *row, unsigned n)
{
	static const struct clock_base clock = {.ns_per_tick = 1, .tick = BEGIN, .real_ns = BEGIN};
	struct journal_call c = {.seq = row->seq,
		.start = row->start,
		.end = row->start + row->dur,
		.comm = gen_comm_of(row->rank, row->world),
		.comm_seq = row->comm_seq,
		.comm_rank = row->world ? row->rank : row->rank % group,
		.comm_size = row->world ? ranks : group,
		.step = (uint32_t)row->step,
		.micro_step = UINT32_MAX,
		.root = row->other ? 0 : JOURNAL_NONE,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.stack = row->world ? 1 : 2,
		.tid = 1000 + (uint32_t)row->rank,
		.api = (uint16_t)(1 + row->world + 2 * row->other),
		.redop = row->world && !row->other ? REDOP_SUM : 0};
	struct journal_tensor tensor[2];
	const struct journal_tensor *at[2] = {&tensor[0], &tensor[1]};
	const char *const names[2] = {"", ""};
	struct record r = {.api = {"mpi", gen_api_of(row), op_of(row)},
		.clock = &clock,
		.call = &c,
		.open = row->open,
		.n = n,
		.tensor = at,
		.name = names};

	for (unsigned i = 0; i < n; i++)
		tensor[i] = (struct journal_tensor){.count = (uint64_t)gen_count_of(&row[i]),
			.bytes = 4 * (uint64_t)gen_count_of(&row[i]),
			.comm_seq = JOURNAL_NONE64,
			.peer = JOURNAL_NONE,
			.tag = JOURNAL_NONE,
			.dtype = DT_FLOAT32,
			.io = row[i].out ? IO_OUT : IO_IN,
			.ndim = JOURNAL_NDIM_NONE,
			.stats = {.n = (uint64_t)gen_count_of(&row[i]),
				.nans = (uint64_t)row[i].nan,
				.min.f = row[i].min,
				.max.f = row[i].max,
				.mean = row[i].mean,
				.norm = row[i].norm}};
	if (!compact_block_add(block, &r))
		return;
	write_compact_block(fd);
	if (compact_block_add(block, &r))
		exit(2);
}

static void start_compact_file(void)
{
	if (!block && !(block = compact_block_open()))
		exit(2);
	compact_block_reset(block, true);
}
#else
static void write_compact_block(int fd)
{
	(void)fd;
}

static void write_compact_call(int fd, const struct row *row, unsigned n)
{
	(void)fd, (void)row, (void)n;
}

static void start_compact_file(void)
{
	fprintf(stderr, "gen_folder: -z: built without GEN_COMPACT\n");
	exit(2);
}
#endif

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

/* The file of the calls from that step on, in one of the two formats. */
struct calls_file {
	FILE *csv;
	int compact;
};

static void close_calls(struct calls_file *f)
{
	if (f->csv)
		fclose(f->csv);
	if (f->compact >= 0) {
		write_compact_block(f->compact);
		close(f->compact);
	}
	*f = (struct calls_file){.compact = -1};
}

static void gen_open_calls(struct calls_file *f, const char *dir, int step)
{
	char name[64], path[4096];

	close_calls(f);
	snprintf(name, sizeof(name), "calls_%d-%d.%s", step, step + BLOCK - 1,
		compact ? "compact" : "csv");
	if (!compact) {
		f->csv = file(dir, name);
		fputs(calls_head + 1, f->csv);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f->compact = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (f->compact < 0)
		exit(2);
	start_compact_file();
}

static void gen_write_rows(struct calls_file *f, const struct row *row, unsigned n)
{
	if (compact)
		write_compact_call(f->compact, row, n);
	for (unsigned i = 0; !compact && i < n; i++)
		write_csv_row(f->csv, &row[i]);
}

static uint64_t gen_rows_of(const char *dir, int rank)
{
	struct calls_file f = {.compact = -1};
	uint64_t rows = 0;

	for (int step = 0; step < steps; step++) {
		if (step % BLOCK == 0)
			gen_open_calls(&f, dir, step);
		for (int call = 0; call < calls; call++) {
			uint64_t number = (uint64_t)step * (uint64_t)calls + (uint64_t)call, done;
			int world = call == calls - 1, gone = step >= hang.a && hang.a >= 0;
			int stuck = gone && (world || rank / group == hang.b / group);
			struct row row[2];

			if (gone && rank == hang.b)
				goto end;
			done = all_there(rank, number, world);
			row[0] = gen_make_row(rank, step, call, done, 0, stuck);
			row[1] = gen_make_row(rank, step, call, done, 1, 0);
			gen_write_rows(&f, row, stuck ? 1 : 2);
			rows += stuck ? 1 : 2;
			if (stuck)
				goto end;
		}
	}
end:
	close_calls(&f);
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

	while ((c = getopt(argc, argv, "r:s:c:g:l:b:x:m:k:d:qvz")) != -1) {
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
		case 'v':
			varied = 1;
			break;
		case 'z':
			compact = 1;
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
