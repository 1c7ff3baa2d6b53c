/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/skew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/model/read/calls.h"
#include "tools/lib/each.h"
#include "tools/lib/intern.h"
#include "tools/lib/table.h"
#include "tools/lib/tool.h"

/* maximum number of operations that are examined per folder, at each end of the run */
#define ENDS_MAX 2048u
#define CALLS_MAX 65536u /* maximum number of calls in which they are searched for */
#define FOLDERS_MAX 256u /* of all hosts together */
#define SHARED_MIN 8u /* minimum number of operations that two hosts must share */
#define LEAST_NS 1000000 /* ns; smaller differences are not corrected */
#define DRIFT_MIN 24u /* minimum number of operations from which a drift is computed */
#define DRIFT_LEAST_NS (LEAST_NS / 2) /* ns gained over the run; a smaller drift is not corrected */
#define DRIFT_SURE 5 /* number of standard errors that a drift must exceed */
#define DRIFT_MOST 0.02 /* ns per ns: no clock is that wrong */
#define BOUNDS 512u /* parts of the run; the two tightest bounds of each are kept */

struct moment {
	struct table_key key; /* communicator, comm_seq */
	uint64_t start, end;
	/*
	 * ns, over all ranks: the duration on the last rank, which is that of the operation itself.
	 */
	uint64_t shortest;
	double error; /* ns: error of the clock by which these times are */
};

struct host {
	const struct journal_owner *owner;
	struct moment *moment;
	unsigned n, cap;
	/* folders: folders that are read; room: capacity of `folder`. */
	unsigned *folder, folders, space;
	struct clock_fix clock;
	bool known;
};

/*
 * Operations in which every rank waits for every other one. Without elements some MPIs do not wait
 * (Open MPI; MPICH in all but all_reduce), so operations without data say nothing about other
 * clocks.
 */
static bool is_name_of_synchronising(const char *op)
{
	static const char *const list[] = {
		"all_reduce", "barrier", "all_gather", "all_to_all", "reduce_scatter"};

	for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (strcmp(op, list[i]) == 0)
			return true;
	return false;
}

static bool is_synchronising_op(uint32_t op)
{
	static struct name_question q = {.ask = is_name_of_synchronising};

	return check_name_property(&q, op);
}

static bool moves_anything(const struct call *c)
{
	return c->in_bytes || c->out_bytes || strcmp(intern_get_name(c->op), "barrier") == 0;
}

/*
 * Reads the operations of steps lo to hi. If there are too many, only those whose number is
 * divisible by 2, 4, 8 ... are kept, because these are the same on every host.
 */
static void read_part_of_run(struct host *h, struct calls *s, uint64_t lo, uint64_t hi)
{
	uint64_t each = 1;
	unsigned from = h->n;
	struct call c;

	s->step_lo = lo;
	s->step_hi = hi;
	for (unsigned k = 0; k < CALLS_MAX && calls_read_next(s, &c); k++) {
		if (!c.comm || c.comm_seq == NO_NUMBER || (uint64_t)c.comm_seq % each ||
			!is_synchronising_op(c.op) || !moves_anything(&c) ||
			c.bits & (CALL_OPEN | CALL_ASYNC | CALL_ERROR | CALL_LOCAL | CALL_NESTED |
					 CALL_P2P))
			continue;
		if (h->n - from == ENDS_MAX) {
			unsigned n = from;

			each *= 2;
			for (unsigned i = from; i < h->n; i++)
				if (h->moment[i].key.b % each == 0)
					h->moment[n++] = h->moment[i];
			h->n = n;
			/*
			 * Many communicators have only an operation number 0, which no divisor
			 * separates.
			 */
			if (n - from == ENDS_MAX)
				break;
			if ((uint64_t)c.comm_seq % each)
				continue;
		}
		TOOL_GROW(h->moment, h->n, h->cap);
		h->moment[h->n++] = (struct moment){
			{c.comm, (uint64_t)c.comm_seq}, c.start, c.start + c.dur, c.dur, 0};
	}
}

/* Reads the first and the last file, because drift shows between them. */
static void read_moments(struct host *h, const struct rank_dir *d, uint64_t lo, uint64_t hi)
{
	struct rank_dir raw = *d;
	struct calls s;
	uint64_t last = 0;

	/*
	 * For the whole run the numbers of the rounds are not needed. For a rank that another
	 * process reads they are not known yet.
	 */
	if (!lo && hi == UINT64_MAX)
		raw.nround = 0;
	calls_open(&s, &raw, 0, NULL);
	for (unsigned i = 0; i < s.nfile; i++)
		if (s.file[i].first > last && s.file[i].first <= hi)
			last = s.file[i].first;
	s.keep_open = true;
	s.times_only = true;
	read_part_of_run(h, &s, lo, last > lo ? last - 1 : hi);
	calls_close(&s);
	if (last <= lo)
		return;
	calls_open(&s, &raw, 0, NULL);
	s.keep_open = true;
	s.times_only = true;
	read_part_of_run(h, &s, last, hi);
	calls_close(&s);
}

static bool same_host(const struct journal_owner *a, const struct journal_owner *b)
{
	return strcmp(a->host, b->host) == 0 && strcmp(a->boot_id, b->boot_id) == 0;
}

/* Returns the number of the folder's host. A host that is not known gets a new number. */
static unsigned host_of(
	struct host **host, unsigned *n, unsigned *cap, const struct journal_owner *o)
{
	for (unsigned i = 0; i < *n; i++)
		if (same_host((*host)[i].owner, o))
			return i;
	TOOL_GROW(*host, *n, *cap);
	(*host)[*n] = (struct host){.owner = o};
	return (*n)++;
}

/*
 * An operation that two hosts share: its start and end by this host's clock, and how far that clock
 * is ahead.
 */
struct common_end {
	uint64_t begun, at;
	double ahead;
	/* Upper and lower bound of `ahead`: no rank leaves before the other has entered. */
	double most, least;
	double took; /* duration of the operation itself */
};

/* Bounds of `ahead` at the time k.at. */
struct bound {
	double t, ahead;
	bool set;
};

struct bounds {
	struct bound most[BOUNDS], least[BOUNDS];
};

/*
 * Sets *lo and *hi to the range of values at time 0 for a line of this slope between the bounds.
 * Returns half of the range; below 0: there is none.
 */
static double find_gap_at_slope(const struct bounds *b, double slope, double *lo, double *hi)
{
	*lo = -1e300;
	*hi = 1e300;
	for (unsigned i = 0; i < BOUNDS; i++) {
		double m = b->most[i].ahead - slope * b->most[i].t;
		double l = b->least[i].ahead - slope * b->least[i].t;

		if (b->most[i].set && m < *hi)
			*hi = m;
		if (b->least[i].set && l > *lo)
			*lo = l;
	}
	return (*hi - *lo) / 2;
}

/*
 * For each part of the run, chooses the bounds closest to line k. e: sorted by time. Skipping
 * bounds only makes the range wider.
 */
static void choose_bounds(
	struct bounds *b, const struct common_end *e, unsigned n, const struct clock_fix *k)
{
	double first = (double)(int64_t)(e[0].at - k->at);
	double part = (double)(e[n - 1].at - e[0].at) / BOUNDS + 1;

	memset(b, 0, sizeof(*b));
	for (unsigned i = 0; i < n; i++) {
		double te = (double)(int64_t)(e[i].at - k->at);
		double tb = (double)(int64_t)(e[i].begun - k->at);
		unsigned at = (unsigned)((te - first) / part);
		struct bound *m = &b->most[at], *l = &b->least[at];

		if (!m->set || e[i].most - k->drift * te < m->ahead - k->drift * m->t)
			*m = (struct bound){te, e[i].most, true};
		if (!l->set || e[i].least - k->drift * tb > l->ahead - k->drift * l->t)
			*l = (struct bound){tb, e[i].least, true};
	}
}

/*
 * Returns the slope between `inside` (a range is left) and `outside` at which the range becomes
 * empty.
 */
static double find_slope_without_gap(const struct bounds *b, double inside, double outside)
{
	double lo, hi;

	for (int i = 0; i < 60; i++) {
		double m = (inside + outside) / 2;

		if (find_gap_at_slope(b, m, &lo, &hi) >= 0)
			inside = m;
		else
			outside = m;
	}
	return inside;
}

/*
 * Sets k to the line in the middle of the possible ones, if that is more precise than the medians.
 * No rank leaves such an operation before the other has entered. So each operation gives an upper
 * and a lower bound of the difference, however long either rank waited for a core. The error is the
 * largest distance to another possible line, at either end of the run.
 */
static void fit_by_bounds(struct clock_fix *k, const struct common_end *e, unsigned n)
{
	struct bounds *b = tool_alloc(sizeof(*b));
	double from = k->drift - DRIFT_MOST, to = k->drift + DRIFT_MOST, lo, hi, slope, middle;
	double end[2] = {
		(double)(int64_t)(e[0].at - k->at), (double)(int64_t)(e[n - 1].at - k->at)};
	double error = 0;

	choose_bounds(b, e, n, k);
	/* The range is a concave function of the slope. */
	for (int i = 0; i < 120; i++) {
		double a = from + (to - from) / 3, c = to - (to - from) / 3;

		if (find_gap_at_slope(b, a, &lo, &hi) < find_gap_at_slope(b, c, &lo, &hi))
			from = a;
		else
			to = c;
	}
	slope = (from + to) / 2;
	if (find_gap_at_slope(b, slope, &lo, &hi) >= 0) {
		double least = find_slope_without_gap(b, slope, slope - DRIFT_MOST);
		double most = find_slope_without_gap(b, slope, slope + DRIFT_MOST);

		/* A small drift that may be 0 is set to 0. */
		if (least <= 0 && most >= 0 &&
			(slope < 0 ? -slope : slope) * (end[1] - end[0]) < DRIFT_LEAST_NS)
			slope = 0;
		find_gap_at_slope(b, slope, &lo, &hi);
		middle = (lo + hi) / 2;
		for (int i = 0; i <= 64; i++) {
			double s = least + (most - least) * i / 64;

			find_gap_at_slope(b, s, &lo, &hi);
			for (int j = 0; j < 2; j++) {
				double mine = middle + slope * end[j];
				double up = hi + s * end[j] - mine, down = mine - lo - s * end[j];

				error = up > error ? up : error;
				error = down > error ? down : error;
			}
		}
		if (error < k->error_ns) {
			k->ahead = (int64_t)middle;
			k->drift = slope;
			k->error_ns = error;
		}
	}
	free(b);
}

static int by_nanoseconds(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static int by_moment(const void *x, const void *y)
{
	const struct common_end *a = x, *b = y;

	return a->at < b->at ? -1 : a->at > b->at;
}

/*
 * Returns the median of how far the ends e[0] ... e[n - 1] lie ahead of the line k, ns; negative if they lag. space: for n
 * numbers; receives these distances.
 */
static double median_ahead(
	const struct common_end *e, unsigned n, const struct clock_fix *k, double *space)
{
	for (unsigned i = 0; i < n; i++)
		space[i] = e[i].ahead -
			   ((double)k->ahead + k->drift * (double)(int64_t)(e[i].at - k->at));
	qsort(space, n, sizeof(*space), by_nanoseconds);
	return space[n / 2];
}

/*
 * Returns the median absolute deviation, scaled to the standard deviation of a normal distribution.
 * room: the distances of median_ahead().
 */
static double spread_of(double *space, unsigned n, double middle)
{
	for (unsigned i = 0; i < n; i++)
		space[i] = space[i] < middle ? middle - space[i] : space[i] - middle;
	qsort(space, n, sizeof(*space), by_nanoseconds);
	return 1.4826 * space[n / 2];
}

/*
 * Uses medians, because a process that was not scheduled makes an end late by any amount. The drift
 * comes from the first and the last third of the operations (Tukey's resistant line), if it exceeds
 * what their spread causes by chance: the standard error of a median is 1.25 standard deviations /
 * sqrt(n).
 */
static struct clock_fix fit_clock(struct common_end *e, unsigned n)
{
	double *space = tool_alloc(n * sizeof(*space));
	struct clock_fix k = {.at = 0};
	unsigned third = n / 3;
	double middle, spread;

	qsort(e, n, sizeof(*e), by_moment);
	k.at = e[n / 2].at;
	if (n >= DRIFT_MIN) {
		double a = median_ahead(e, third, &k, space), sa = spread_of(space, third, a);
		double b = median_ahead(e + n - third, third, &k, space);
		double sb = spread_of(space, third, b);
		double distance = (double)(e[n - 1 - third / 2].at - e[third / 2].at);

		if (distance > 0 &&
			(b - a) * (b - a) * third >
				DRIFT_SURE * DRIFT_SURE * 1.25 * 1.25 * (sa * sa + sb * sb) &&
			(b - a > DRIFT_LEAST_NS || a - b > DRIFT_LEAST_NS))
			k.drift = (b - a) / distance;
	}
	middle = median_ahead(e, n, &k, space);
	spread = spread_of(space, n, middle);
	k.ahead = (int64_t)middle;
	for (unsigned i = 0; i < n; i++)
		space[i] = e[i].took;
	qsort(space, n, sizeof(*space), by_nanoseconds);
	/*
	 * One of the two hosts may always be the last to get the result, so the error includes the
	 * operation's duration.
	 */
	k.error_ns = 1.645 * spread + space[n / 2];
	free(space);
	fit_by_bounds(&k, e, n);
	return k;
}

static void record_shortest(struct table *known, const struct host *h)
{
	for (unsigned i = 0; i < h->n; i++) {
		struct moment *m = table_find(known, h->moment[i].key.a, h->moment[i].key.b);

		if (m && h->moment[i].shortest < m->shortest)
			m->shortest = h->moment[i].shortest;
	}
}

/* Corrects the host's clock by the differences that are known already. */
static bool align_host_clock(struct host *h, struct table *known)
{
	struct common_end *e = tool_alloc((h->n + 1) * sizeof(*e));
	double error = 0;
	unsigned n = 0;

	record_shortest(known, h);
	for (unsigned i = 0; i < h->n; i++) {
		const struct moment *o = &h->moment[i], *m = table_find(known, o->key.a, o->key.b);

		if (!m)
			continue;
		e[n++] = (struct common_end){.begun = o->start,
			.at = o->end,
			.ahead = (double)(int64_t)(o->end - m->end),
			.most = (double)(int64_t)(o->end - m->start),
			.least = (double)(int64_t)(o->start - m->end),
			.took = (double)m->shortest};
		error = m->error > error ? m->error : error;
	}
	if (n >= SHARED_MIN) {
		h->clock = fit_clock(e, n);
		h->clock.error_ns += error;
		h->known = true;
	}
	free(e);
	return h->known;
}

static void learn_moments(struct table *known, const struct host *h)
{
	for (unsigned i = 0; i < h->n; i++) {
		struct moment *m = table_get(known, h->moment[i].key.a, h->moment[i].key.b);

		if (!m || m->end)
			continue;
		m->start = clock_set_right(&h->clock, h->moment[i].start);
		m->end = clock_set_right(&h->clock, h->moment[i].end);
		m->shortest = h->moment[i].shortest;
		m->error = h->clock.error_ns;
	}
	record_shortest(known, h);
}

static void align_all(struct host *host, unsigned n)
{
	struct table known;
	bool more = true;

	table_init(&known, sizeof(struct moment), 1u << 20);
	host[0].known = true;
	learn_moments(&known, &host[0]);
	while (more) {
		more = false;
		for (unsigned i = 1; i < n; i++) {
			if (host[i].known || !align_host_clock(&host[i], &known))
				continue;
			learn_moments(&known, &host[i]);
			more = true;
		}
	}
	table_free(&known);
}

struct reading {
	struct host *host;
	const struct folders *folders;
	uint64_t lo, hi;
};

static void read_host(void *arg, unsigned i)
{
	struct reading *g = arg;
	struct host *h = &g->host[i];

	for (unsigned k = 0; k < h->folders; k++)
		read_moments(h, &g->folders->dir[h->folder[k]], g->lo, g->hi);
}

void skew_estimate(struct skew_result *r, struct clock_fix *skew, const struct folders *f,
	uint64_t lo, uint64_t hi, unsigned threads)
{
	struct host *host = NULL;
	unsigned n = 0, cap = 0, *of = tool_alloc(f->n * sizeof(*of)), each;

	*r = (struct skew_result){0};
	for (unsigned i = 0; i < f->n; i++)
		of[i] = host_of(&host, &n, &cap, &f->dir[i].meta.owner);
	r->nhost = n;
	each = n && FOLDERS_MAX / n ? FOLDERS_MAX / n : 1;
	for (unsigned i = 0; n > 1 && i < f->n; i++) {
		struct host *h = &host[of[i]];

		if (h->folders == each)
			continue;
		TOOL_GROW(h->folder, h->folders, h->space);
		h->folder[h->folders++] = i;
	}
	if (n > 1)
		handle_each_in_threads(n, threads, read_host, &(struct reading){host, f, lo, hi});
	if (n > 1)
		align_all(host, n);
	for (unsigned i = 0; n > 1 && i < n; i++) {
		struct host *h = &host[i];

		r->unknown += !h->known;
		/* A clock that is not corrected has this error in addition. */
		if (!h->clock.drift && llabs(h->clock.ahead) < LEAST_NS) {
			h->clock.error_ns += (double)llabs(h->clock.ahead);
			h->clock.ahead = 0;
		}
		if (h->clock.error_ns > r->error_ns)
			r->error_ns = h->clock.error_ns;
		if (!h->clock.ahead && !h->clock.drift)
			continue;
		if (!r->corrected++ || llabs(h->clock.ahead) > llabs(r->largest)) {
			r->largest = h->clock.ahead;
			r->drift = h->clock.drift;
			snprintf(r->host, sizeof(r->host), "%s", h->owner->host);
		}
	}
	for (unsigned i = 0; i < f->n; i++)
		skew[i] = host[of[i]].clock;
	for (unsigned i = 0; i < n; i++) {
		free(host[i].moment);
		free(host[i].folder);
	}
	free(host);
	free(of);
}
