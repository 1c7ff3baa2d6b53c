/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a wrapped call costs beyond the function itself: batches of wrapped calls alternate with batches of direct calls
 * of the same empty function (standin.c), so that the difference is one of the same moments of one run. Between two
 * batches, outside of the measured time, the records so far are written: nothing is dropped.
 *
 *	call_cost call [-b BYTES (8)] [-d FRAMES] [-o]    MPI_Allreduce; -d: called from so deep; -o: chain without frame
 *	                                                  pointers; prints `added` ns, `direct` ns, and the core's
 *	                                                  clock at these moments: `ghz`
 *	call_cost clock                                   the same clock, by itself
 *	call_cost test                                    an MPI_Test that answers 0, while a recorded send is under way
 *	call_cost tail [-n CALLS]                         each call by itself, at a steady pace, the writer at work:
 *	                                                  `median`, `p999`, `worst` ns, and of the same loop without the
 *	                                                  call `p999_idle`, `worst_idle`
 *	call_cost threads -p THREADS                      CPU time of a call when one of THREADS threads calls, `alone`
 *	                                                  ns, and when all do at once, `cpu` ns, on that number of `cores`;
 *	                                                  `times` the other; of a loop that shares nothing
 *	                                                  `control_alone`, `control_times`
 *	call_cost drain [-b BYTES]                        the writer's time for a row: `row` ns
 *	call_cost killed [-n CALLS]                       makes CALLS calls, then kills the process
 *	call_cost count [-n CALLS] [-b BYTES] [-y DTYPE] [-d FRAMES] [-t] [-w] [-f]
 *	                                                  for callgrind: what count_this() does counts, once all is warm:
 *	                                                  the calls, or with -t tests that answer 0, with -w a send
 *	                                                  and its wait; -f: in a forked child of a process that has
 *	                                                  recorded
 *	call_cost rows [-n CALLS] [-y DTYPE] [-v]         the same for writing the rows of CALLS calls; prints how many
 *	                                                  `rows` were written by what was counted, 0: the writer's thread
 *	                                                  always took some; -v: of calls with other floats each time
 */
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "preload/probe.h"
#include "standin.h"

void chain_fp(int depth, void (*fn)(void *), void *arg);
void chain_nofp(int depth, void (*fn)(void *), void *arg);

static long bytes = 8, ncalls, nthreads = 1;
static int dtype = MPI_FLOAT, only_tests, with_waits, in_child, varied;
static int depth, without_fp, count;
static char *in, *out;

#define BATCHES 401

static void flush(void)
{
	if (probe_flush)
		probe_flush();
}

static void calls(long n)
{
	for (long i = 0; i < n; i++)
		MPI_Allreduce(in, out, count, dtype, MPI_SUM, MPI_COMM_WORLD);
}

/* With other numbers each time. */
static void make_varied_calls(long n)
{
	static uint32_t x = 1;

	for (long i = 0; i < n; i++) {
		for (int k = 0; k < count; k++) {
			x = x * 1664525u + 1013904223u;
			((float *)in)[k] = (float)(int32_t)x * 0x1p-31f;
			((float *)out)[k] = (float)(x >> 8) * 0x1p-20f;
		}
		MPI_Allreduce(in, out, count, dtype, MPI_SUM, MPI_COMM_WORLD);
	}
}

static void direct_calls(long n)
{
	for (long i = 0; i < n; i++)
		direct_Allreduce(in, out, count, dtype, MPI_SUM, MPI_COMM_WORLD);
}

static int request, flag;

static void tests(long n)
{
	for (long i = 0; i < n; i++)
		MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void sends(long n)
{
	for (long i = 0; i < n; i++) {
		MPI_Isend(in, count, dtype, 0, 1, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

static void direct_tests(long n)
{
	for (long i = 0; i < n; i++)
		direct_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void measure_clock(void)
{
	static double ghz[BATCHES];

	for (int i = 0; i < BATCHES; i++)
		ghz[i] = cycles_a_ns();
	printf("ghz %.2f\n", median(ghz, BATCHES));
}

static void compare(void (*wrapped)(long), void (*direct)(long), long n, int batches)
{
	static double diff[BATCHES], plain[BATCHES], ghz[BATCHES];

	wrapped(n);
	for (int i = 0; i < batches; i++) {
		uint64_t t0, t1, t2, t3;

		flush();
		direct(n < 8 ? 8 : n); /* after the flush: code and stack are in the cache again */
		if (n >= 100)
			wrapped(20);
		t0 = now();
		direct(n);
		t1 = now();
		t2 = now();
		wrapped(n);
		t3 = now();
		plain[i] = (double)(t1 - t0) / (double)n;
		diff[i] = (double)(t3 - t2) / (double)n - plain[i];
		ghz[i] = cycles_a_ns();
	}
	printf("added %.2f\n", median(diff, (size_t)batches));
	printf("direct %.2f\n", median(plain, (size_t)batches));
	printf("ghz %.2f\n", median(ghz, (size_t)batches));
}

static void measure_call(void *arg)
{
	long n = (256 << 10) / bytes;

	(void)arg;
	n = n > 1000 ? 1000 : n < 1 ? 1 : n;
	compare(calls, direct_calls, n, bytes > (1 << 20) ? 31 : BATCHES);
	/* The frame stays: no tail call. */
	keep(in);
}

static void measure_test(void)
{
	MPI_Isend(in, 2, MPI_FLOAT, 0, 1, MPI_COMM_WORLD, &request);
	compare(tests, direct_tests, 1000, BATCHES);
}

/* ---- instructions, counted by callgrind ---- */

__attribute__((noinline)) static void count_this(void (*fn)(long), long n)
{
	fn(n);
	__asm__ volatile("" : : : "memory");
}

static void flush_rows(long n)
{
	(void)n;
	flush();
}

/* Bytes of the calls files so far. */
static long measure_files(void)
{
	const char *folder = getenv("PROBE_OUTPUT_DIR");
	char pattern[4096];
	long all = 0;
	glob_t files;

	snprintf(pattern, sizeof(pattern), "%s/*/calls_*", folder ? folder : "probe_output");
	if (glob(pattern, 0, NULL, &files))
		return 0;
	for (size_t i = 0; i < files.gl_pathc; i++) {
		struct stat st;

		if (stat(files.gl_pathv[i], &st) == 0)
			all += st.st_size;
	}
	globfree(&files);
	return all;
}

/*
 * The writer's thread wakes each second, and on a busy machine the calls take longer than they should: they are made again
 * until it has written none of them.
 */
static void measure_rows(void (*fn)(long))
{
	for (int i = 0; i < 100; i++) {
		long before;

		flush();
		before = measure_files();
		fn(ncalls);
		if (measure_files() != before)
			continue;
		count_this(flush_rows, 0);
		printf("rows %ld\n", measure_files() != before ? 2 * ncalls : 0);
		return;
	}
	printf("rows 0\n");
}

static void counted(void *arg)
{
	void (*fn)(long) = only_tests	? tests
			   : with_waits ? sends
			   : varied	? make_varied_calls
					: calls;

	if (only_tests)
		MPI_Isend(in, 2, MPI_FLOAT, 0, 1, MPI_COMM_WORLD, &request);
	fn(ncalls);
	flush();
	fn(10);
	if (arg) {
		measure_rows(fn);
	} else if (in_child) {
		pid_t pid = fork();

		if (pid == 0) {
			fn(10);
			count_this(fn, ncalls);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	} else {
		count_this(fn, ncalls);
	}
	keep(in);
}

/* ---- each call by itself ---- */

static void spin(uint64_t until)
{
	while (now() < until)
		;
}

static void tail_of(double *v, long n, void (*fn)(long), const char *suffix)
{
	double *t = v;
	uint64_t next = now();

	for (long i = 0; i < n; i++) {
		uint64_t t0, t1;

		next += 20000;
		spin(next);
		t0 = now();
		fn(1);
		t1 = now();
		t[i] = (double)(t1 - t0);
		/* After a pause of the machine the calls do not come in a burst. */
		if (t1 > next)
			next = t1;
	}
	printf("median%s %.0f\n", suffix, quantile(t, (size_t)n, 0.5));
	printf("p999%s %.0f\n", suffix, quantile(t, (size_t)n, 0.999));
	printf("worst%s %.0f\n", suffix, quantile(t, (size_t)n, 1));
}

static void measure_tail(void)
{
	long n = ncalls ? ncalls : 100000;
	double *v = malloc((size_t)n * sizeof(*v));

	calls(1);
	tail_of(v, n, direct_calls, "_idle");
	tail_of(v, n, calls, "");
	free(v);
}

static void measure_drain(void)
{
	double t[41];

	for (int i = 0; i < 41; i++) {
		uint64_t t0;

		flush();
		calls(5000);
		t0 = now();
		flush();
		t[i] = (double)(now() - t0) / 10000;
	}
	printf("row %.0f\n", median(t, 41));
}

/* ---- many threads ---- */

/*
 * Rounds in which one thread calls alternate with rounds in which all do: the machine's clock changes from one minute to
 * the next, not from one millisecond to the next. What sharing the processor costs any program is seen in a control that
 * takes about as long and writes about as much, and in which nothing is shared.
 */
enum round { ALONE, TOGETHER, CONTROL_ALONE, CONTROL_TOGETHER, ROUND_KINDS };
#define ROUNDS 101
#define ROUND_CALLS 1000
#define CONTROL_WORDS 45 /* written by a call: its record */
#define CONTROL_STEPS 90
#define THREADS_MAX 64

static pthread_barrier_t gate;

struct worker {
	pthread_t id;
	long index;
	int comm;
	uint64_t *own;
	double cpu[ROUND_KINDS][ROUNDS]; /* ns a call */
};

static void thread_calls(const struct worker *w, long n)
{
	for (long i = 0; i < n; i++)
		MPI_Allreduce(in, out, 2, MPI_FLOAT, MPI_SUM, w->comm);
}

static void thread_control(const struct worker *w, long n)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, *to = w->own;

	for (long i = 0; i < n; i++) {
		for (int k = 0; k < CONTROL_WORDS; k++)
			*to++ = a;
		for (int k = 0; k < CONTROL_STEPS; k++) {
			a = (a << 1) ^ b;
			b = (b >> 1) + c;
			c = (c << 3) ^ d;
			d = (d >> 3) + a;
		}
	}
	keep(to);
	keep((void *)(uintptr_t)(a + b + c + d));
}

/* Processors that the program had of the machine while all of its threads called. */
static double cores[ROUNDS];

static void one_round(struct worker *w, enum round kind, long r)
{
	bool alone = kind == ALONE || kind == CONTROL_ALONE;
	void (*fn)(const struct worker *, long) = kind <= TOGETHER ? thread_calls : thread_control;
	uint64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID), wall = now(), t;

	if (!alone || w->index == 0) {
		fn(w, ROUND_CALLS /
				10); /* after the flush: code and stack are in the cache again */
		t = now_ns(CLOCK_THREAD_CPUTIME_ID);
		fn(w, ROUND_CALLS);
		w->cpu[kind][r] = (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - t) / ROUND_CALLS;
	}
	pthread_barrier_wait(&gate);
	if (kind == TOGETHER && w->index == 0)
		cores[r] =
			(double)(now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)(now() - wall);
}

/* Spread over the processors: rounds are too short for the kernel to do it, and what is shared would stay on one. */
static void pin(long index)
{
	cpu_set_t all, one;
	long at = 0, n;

	if (sched_getaffinity(0, sizeof(all), &all) || !(n = CPU_COUNT(&all)))
		return;
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all) && at++ == index % n)
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	pin(w->index);
	for (long i = 0; i < (long)ROUNDS * ROUND_KINDS; i++) {
		pthread_barrier_wait(&gate);
		one_round(w, i % ROUND_KINDS, i / ROUND_KINDS);
		if (pthread_barrier_wait(&gate) == PTHREAD_BARRIER_SERIAL_THREAD)
			flush();
	}
	return NULL;
}

/* Time of a call in that round: the median of all threads, or that of the only thread that called. */
static double round_cost(const struct worker *w, enum round kind, long r)
{
	double v[THREADS_MAX];

	if (kind == ALONE || kind == CONTROL_ALONE)
		return w[0].cpu[kind][r];
	for (long i = 0; i < nthreads; i++)
		v[i] = w[i].cpu[kind][r];
	return median(v, (size_t)nthreads);
}

static void measure_threads(void)
{
	static double cost[ROUND_KINDS][ROUNDS], times[ROUNDS], control[ROUNDS];
	struct worker *w = calloc((size_t)nthreads, sizeof(*w));

	pthread_barrier_init(&gate, NULL, (unsigned)nthreads);
	for (long i = 0; i < nthreads; i++) {
		w[i].index = i;
		w[i].own = malloc(ROUND_CALLS * CONTROL_WORDS * sizeof(*w[i].own));
		MPI_Comm_dup(MPI_COMM_WORLD, &w[i].comm);
		pthread_create(&w[i].id, NULL, work, &w[i]);
	}
	for (long i = 0; i < nthreads; i++)
		pthread_join(w[i].id, NULL);
	for (long r = 0; r < ROUNDS; r++) {
		for (int k = 0; k < ROUND_KINDS; k++)
			cost[k][r] = round_cost(w, k, r);
		times[r] = cost[TOGETHER][r] / cost[ALONE][r];
		control[r] = cost[CONTROL_TOGETHER][r] / cost[CONTROL_ALONE][r];
	}
	printf("cores %.2f\n", median(cores, ROUNDS));
	printf("alone %.1f\n", median(cost[ALONE], ROUNDS));
	printf("cpu %.1f\n", median(cost[TOGETHER], ROUNDS));
	printf("times %.3f\n", median(times, ROUNDS));
	printf("control_alone %.1f\n", median(cost[CONTROL_ALONE], ROUNDS));
	printf("control_times %.3f\n", median(control, ROUNDS));
	for (long i = 0; i < nthreads; i++)
		free(w[i].own);
	free(w);
}

/* ---- types ---- */

static const struct type {
	const char *name;
	int handle, size;
} types[] = {{"float32", MPI_FLOAT, 4}, {"float64", 0x4c00080b, 8}, {"bfloat16", 0x4c00024c, 2},
	{"float16", 0x4c000246, 2}, {"int32", 0x4c000405, 4}, {"uint8", 0x4c00010d, 1}};
static unsigned type;

static int set_dtype(const char *name)
{
	for (type = 0; type < sizeof(types) / sizeof(*types); type++)
		if (strcmp(types[type].name, name) == 0) {
			dtype = types[type].handle;
			return 0;
		}
	return -1;
}

static void fill(char *at)
{
	uint32_t x = 1;

	for (long i = 0; i < count; i++) {
		x = x * 1664525u + 1013904223u;
		if (type == 0)
			((float *)at)[i] = (float)(i % 1000) * 0.001f - 0.3f;
		else if (type == 1)
			((double *)at)[i] = (double)(i % 1000) * 0.001 - 0.3;
		else if (types[type].size == 2)
			((uint16_t *)at)[i] =
				(uint16_t)(x >> 16 & 0xbbff); /* neither NaN nor Inf */
		else if (types[type].size == 4)
			((int32_t *)at)[i] = (int32_t)x >> 8;
		else
			at[i] = (char)(x >> 24);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int c;

	optind = 2;
	while ((c = getopt(argc, argv, "b:d:fon:p:tvwy:")) != -1) {
		switch (c) {
		case 'b':
			bytes = atol(optarg);
			break;
		case 'd':
			depth = atoi(optarg);
			break;
		case 'f':
			in_child = 1;
			break;
		case 'o':
			without_fp = 1;
			break;
		case 'n':
			ncalls = atol(optarg);
			break;
		case 'p':
			nthreads = atol(optarg);
			if (nthreads < 1 || nthreads > THREADS_MAX)
				return 2;
			break;
		case 't':
			only_tests = 1;
			break;
		case 'v':
			varied = 1;
			break;
		case 'w':
			with_waits = 1;
			break;
		case 'y':
			if (set_dtype(optarg))
				return 2;
			break;
		default:
			return 2;
		}
	}
	if (posix_memalign((void **)&in, 4096, (size_t)bytes + 64) ||
		posix_memalign((void **)&out, 4096, (size_t)bytes + 64))
		return 2;
	count = (int)(bytes / types[type].size);
	fill(in);
	fill(out);
	MPI_Init(&argc, &argv);
	if (strcmp(mode, "call") == 0)
		(without_fp ? chain_nofp : chain_fp)(depth, measure_call, NULL);
	else if (strcmp(mode, "clock") == 0)
		measure_clock();
	else if (strcmp(mode, "test") == 0)
		measure_test();
	else if (strcmp(mode, "tail") == 0)
		measure_tail();
	else if (strcmp(mode, "drain") == 0)
		measure_drain();
	else if (strcmp(mode, "threads") == 0)
		measure_threads();
	else if (strcmp(mode, "count") == 0 || strcmp(mode, "rows") == 0)
		(without_fp ? chain_nofp : chain_fp)(
			depth, counted, strcmp(mode, "rows") ? NULL : in);
	else if (strcmp(mode, "killed") == 0) {
		calls(ncalls);
		kill(getpid(), SIGKILL);
	} else
		return 2;
	MPI_Finalize();
	return 0;
}
