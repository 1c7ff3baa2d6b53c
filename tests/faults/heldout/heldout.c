/* SPDX-License-Identifier: Apache-2.0 */
/* The fault that a program of this room has, and its truth. See heldout.h. */
#include "heldout.h"
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern long probe_step(void) __attribute__((weak));

int rank, ranks, step;

/* Read by bit_flip.c: a bit to flip in the next result, and how many were flipped. */
int heldout_flip, heldout_flipped;

static struct {
	char **options;
	int count;
	const char *fault, *site, *marker;
	int rank, step, pick;
	bool done;
	unsigned long own, common;
	double *last; /* what this site sent before */
	int last_size;
} plan_of = {.fault = "", .site = "", .marker = "api"};

static const char *find_option(const char *name)
{
	size_t n = strlen(name);

	for (int i = 1; i < plan_of.count; i++)
		if (!strncmp(plan_of.options[i], name, n) && plan_of.options[i][n] == '=')
			return plan_of.options[i] + n + 1;
	return NULL;
}

long get_option(const char *name, long usual)
{
	const char *text = find_option(name);

	return text ? atol(text) : usual;
}

static const char *get_word(const char *name, const char *usual)
{
	const char *text = find_option(name);

	return text ? text : usual;
}

void start_program(int argc, char **argv)
{
	plan_of.count = argc;
	plan_of.options = argv;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	plan_of.fault = get_word("fault", "");
	plan_of.site = get_word("site", "");
	plan_of.marker = get_word("marker", "api");
	plan_of.rank = (int)get_option("rank", -1);
	plan_of.step = (int)get_option("step", 0);
	plan_of.pick = (int)get_option("pick", 0);
	plan_of.common = (unsigned long)get_option("seed", 1) * 7919 + 17;
	plan_of.own = plan_of.common * 31 + (unsigned long)rank * 104729 + 5;
}

void end_program(void)
{
	MPI_Finalize();
}

void end_step(void)
{
	step++;
	if (!strcmp(plan_of.marker, "api") && probe_step)
		probe_step();
	else if (!strcmp(plan_of.marker, "pcontrol"))
		MPI_Pcontrol(2);
}

double *make_array(int n)
{
	return calloc((size_t)n * 2 + 64, sizeof(double));
}

static double draw_number(unsigned long *state)
{
	*state = *state * 6364136223846793005UL + 1442695040888963407UL;
	return (double)(*state >> 11) / 9007199254740992.0;
}

double draw(void)
{
	return draw_number(&plan_of.own);
}

double draw_common(void)
{
	return draw_number(&plan_of.common);
}

static bool is_due(const char *fault, const char *site)
{
	return !plan_of.done && rank == plan_of.rank && step >= plan_of.step &&
	       !strcmp(plan_of.fault, fault) && !strcmp(plan_of.site, site);
}

static void write_truth(int line, int last_line)
{
	const char *path = getenv("HELDOUT_TRUTH");
	struct timespec now;
	char text[300];
	int fd;

	plan_of.done = true;
	clock_gettime(CLOCK_REALTIME, &now);
	fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
	snprintf(text, sizeof(text),
		"{\"fault\": \"%s\", \"site\": \"%s\", \"rank\": %d, \"step\": %d, \"lines\": [%d, "
		"%d], \"time\": %ld.%03ld}\n",
		plan_of.fault, plan_of.site, rank, step, line, last_line ? last_line : line,
		(long)now.tv_sec, now.tv_nsec / 1000000);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fprintf(stderr, "TRUTH %s", text);
	close(fd);
}

static void spin_forever(void)
{
	volatile double x = 1;

	for (;;)
		x = x * 1.0000001 + 1e-9;
}

void pass(const char *site, int line)
{
	static const char *const faults[] = {
		"kill", "exit1", "abort", "segv", "sleep", "spin", "stop"};

	if (is_due("slow", site) ||
		(plan_of.done && rank == plan_of.rank && !strcmp(plan_of.fault, "slow"))) {
		if (!plan_of.done)
			write_truth(line, 0);
		usleep((useconds_t)get_option("slow_us", 40000));
	}
	for (int i = 0; i < 7; i++) {
		if (!is_due(faults[i], site))
			continue;
		write_truth(line, 0);
		if (i == 0)
			raise(SIGKILL);
		if (i == 1)
			exit(1);
		if (i == 2)
			abort();
		if (i == 3)
			raise(SIGSEGV);
		if (i == 5)
			spin_forever();
		if (i == 6)
			raise(SIGSTOP);
		for (;;)
			sleep(1);
	}
}

void keep(const char *site, int line, double *values, int n)
{
	int k = plan_of.pick % n;
	bool is_parted = plan_of.done && rank == plan_of.rank && !strcmp(plan_of.fault, "drift");

	if (!is_parted && (!is_due("drift", site) || values[k] == 0))
		return;
	values[k] *= 1.01;
	if (!is_parted)
		write_truth(line, 0);
}

int swap_calls(const char *site, int line)
{
	if (!is_due("order", site))
		return 0;
	write_truth(line + 2, line + 6);
	return 1;
}

/* Changes what is sent; false if that makes no difference. */
static bool change_values(const char *site, double *data, int n)
{
	double largest = 0;
	int k = plan_of.pick % n;

	for (int i = 0; i < n; i++)
		largest = fmax(largest, fabs(data[i]));
	if (is_due("nan", site))
		data[k] = NAN;
	else if (is_due("inf", site))
		data[k] = INFINITY;
	else if (is_due("big", site) && largest > 0)
		data[k] = largest * 1e7;
	else if (is_due("blank", site) && largest > 0)
		memset(data, 0, (size_t)n * sizeof(*data));
	else if (is_due("stale", site) && plan_of.last_size == n &&
		 memcmp(plan_of.last, data, (size_t)n * sizeof(*data)))
		memcpy(data, plan_of.last, (size_t)n * sizeof(*data));
	else
		return false;
	return true;
}

static void remember_values(const char *site, const double *data, int n)
{
	if (strcmp(plan_of.fault, "stale") || strcmp(plan_of.site, site) || rank != plan_of.rank)
		return;
	free(plan_of.last);
	plan_of.last = make_array(n);
	plan_of.last_size = n;
	memcpy(plan_of.last, data, (size_t)n * sizeof(*data));
}

static MPI_Datatype get_other_type(MPI_Datatype type)
{
	return type == MPI_DOUBLE ? (plan_of.pick % 2 ? MPI_FLOAT : MPI_LONG_LONG)
	       : type == MPI_INT  ? MPI_FLOAT
				  : type;
}

static bool change_arguments(const char *site, struct call *c)
{
	struct call before = *c;

	if (is_due("skip", site))
		c->times = 0;
	else if (is_due("extra", site))
		c->times = 2;
	else if (is_due("less", site) && c->n > 3)
		c->n -= 1 + plan_of.pick % (c->n / 2);
	else if (is_due("more", site) && c->n > 0)
		c->n += 1 + plan_of.pick % c->n;
	else if (is_due("dtype", site))
		c->type = get_other_type(c->type);
	else if (is_due("op", site))
		c->op = c->op == MPI_SUM ? MPI_MAX : MPI_SUM;
	else if (is_due("root", site))
		c->peer = (c->peer + 1) % ranks;
	else if (is_due("tag", site))
		c->tag += 57;
	return memcmp(&before, c, sizeof(before)) != 0;
}

/* A zeroed producer stays zero. */
static void zero_values(const char *site, int line, double *data, int n)
{
	bool was_zero = true;

	if (strcmp(plan_of.fault, "zero") || rank != plan_of.rank || strcmp(plan_of.site, site) ||
		step < plan_of.step)
		return;
	for (int i = 0; i < n; i++)
		was_zero = was_zero && data[i] == 0;
	memset(data, 0, (size_t)n * sizeof(*data));
	if (!plan_of.done && !was_zero)
		write_truth(line, 0);
}

struct call plan(const char *site, int line, void *data, struct call c)
{
	/* An all-to-all has a part for each rank, and so has the root of a scatter. */
	int n = c.peer == -2 || c.tag == -2 ? c.n * ranks : c.n;

	if (data && c.type == MPI_DOUBLE && n > 0) {
		zero_values(site, line, data, n);
		if (change_values(site, data, n))
			write_truth(line, 0);
		else
			remember_values(site, data, n);
	}
	if (change_arguments(site, &c))
		write_truth(line, 0);
	if (is_due("flip", site))
		heldout_flip = 1 + plan_of.pick;
	return c;
}

void after(const char *site, int line)
{
	if (!heldout_flip && !heldout_flipped)
		return;
	heldout_flip = 0;
	if (heldout_flipped && is_due("flip", site))
		write_truth(line, 0);
	heldout_flipped = 0;
}
