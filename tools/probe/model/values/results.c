/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/values/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "terms/dtype.h"
#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/join/signature.h"

#define TABLE_MAX (1u << 18)
/*
 * Number of correct results that must precede an incorrect one. The operation guarantees correct
 * results, so this is not an invariant: they show that the buffers are read correctly (in place, another
 * type), and two cannot be an accident.
 */
#define CONTRACT_MIN 2
/* relative to the sum of absolute values: nine digits of each row, on both sides */
#define MOVED_ERROR 4e-9
/* minimum number of meetings with the correct bytes, or with a rank's usual bytes */
#define VOLUME_MIN 3
/* minimum number of meetings in which all ranks called from the same call site */
#define ALONE_MIN 3

struct contract {
	struct table_key key; /* a: communicator; b: operation */
	uint64_t equal, summed;
};

/* The operations that ranks make together from one line, or from one combination of lines. */
struct exchange {
	struct table_key key; /* a: communicator; b: hash of the lines */
	uint64_t conserved;
};

/* The bytes that a rank has always sent and received at a call site. */
struct usual_volume {
	struct table_key key; /* a: rank; b: call site */
	uint32_t in, out, n;
	bool changes;
};

struct place_met {
	struct table_key key; /* a: communicator; b: call site */
	uint64_t near; /* line of the call, independent of the calling function */
	uint64_t alone;
	bool mixed;
};

void results_init(struct results *r, const struct clock_fix *skew, const struct sites *sites,
	const struct comms *comms)
{
	*r = (struct results){.skew = skew, .sites = sites, .comms = comms};
	table_init(&r->contracts, sizeof(struct contract), TABLE_MAX);
	table_init(&r->exchanges, sizeof(struct exchange), TABLE_MAX);
	table_init(&r->volumes, sizeof(struct usual_volume), TABLE_MAX);
	table_init(&r->pairs, sizeof(struct place_met), TABLE_MAX);
	table_init(&r->lags, sizeof(struct step_lag), TABLE_MAX);
}

void results_free(struct results *r)
{
	table_free(&r->contracts);
	table_free(&r->exchanges);
	table_free(&r->volumes);
	table_free(&r->pairs);
	table_free(&r->lags);
}

bool is_operation(const struct meeting *m, const char *const *list)
{
	const char *op = intern_get_name(m->longest.op);

	for (; *list; list++)
		if (strcmp(op, *list) == 0)
			return true;
	return false;
}

uint64_t meeting_event(const struct results *r, const struct meeting *m)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < m->n; i++) {
		uint64_t at = clock_set_right(&r->skew[m->a[i].rank], m->a[i].start);

		if (at < first)
			first = at;
	}
	return first;
}

void add_rank_index(uint32_t *list, unsigned *n, uint32_t rank)
{
	unsigned i = *n < NAMED_MAX ? *n : NAMED_MAX;

	for (unsigned k = 0; k < i; k++)
		if (list[k] == rank)
			return;
	if (i < NAMED_MAX)
		list[i] = rank;
	++*n;
}

void keep_odd(struct odd_meeting *have, struct odd_meeting *now)
{
	if (have->any && (now->call.step > have->call.step || (now->call.step == have->call.step &&
								      now->event >= have->event))) {
		have->more++;
		return;
	}
	now->more = have->any ? have->more + 1 : 0;
	*have = *now;
}

/* ---- sums of the inputs ---- */

/* Returns the rounding error of a sum over the ranks, as a share of the sum of absolute values. */
static double rounding_of_type(uint32_t dtype)
{
	static const struct {
		const char *name;
		double error;
	} list[] = {{"float64", 1e-8}, {"complex64", 1e-6}, {"complex128", 1e-8}, {"float32", 1e-6},
		{"float16", 2e-3}, {"bfloat16", 1.6e-2}, {"int32", 1e-8}, {"int64", 1e-8}};
	const char *name = intern_get_name(dtype);

	for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (strcmp(name, list[i].name) == 0)
			return list[i].error;
	return -1;
}

/* Returns true for operations that only move their inputs. */
static bool is_move(const struct meeting *m)
{
	static const char *const moved[] = {"all_gather", "all_gather_v", "gather", "gather_v",
		"scatter", "scatter_v", "all_to_all", "all_to_all_v", "all_to_all_w", NULL};

	return is_operation(m, moved);
}

/* A rank that puts nothing in, such as all but the root of a scatter, has no values. */
static bool has_known_inputs(const struct meeting *m)
{
	for (unsigned i = 0; i < m->n; i++)
		if (!m->a[i].in && m->a[i].in_bytes)
			return false;
	return m->nin;
}

/* The sum over all results that follows from the inputs. False: it is not known. */
static bool sum_wanted(const struct meeting *m, double *want, double *have, double *bound)
{
	static const char *const reduced[] = {
		"all_reduce", "reduce", "reduce_scatter", "reduce_scatter_v", NULL};
	double error = rounding_of_type(m->longest.dtype);
	const char *redop = intern_get_name(m->longest.redop);
	bool sum = is_operation(m, reduced) &&
		   (strcmp(redop, "sum") == 0 || strcmp(redop, "avg") == 0);
	double parts = strcmp(redop, "avg") == 0 ? (double)m->n : 1;
	uint64_t per = m->nin ? m->in_count / m->nin : 0;

	if (m->bad || !has_known_inputs(m) || !m->nout || error < 0 || (!sum && !is_move(m)))
		return false;
	if (sum && m->nout == m->n && m->out_count == m->in_count)
		*have = m->out_sum / (double)m->n; /* all_reduce: each rank has the whole result */
	else if (sum && m->out_count == per)
		*have = m->out_sum; /* reduce: one rank has it, or each rank has a part */
	else if (!sum && m->out_count == (uint64_t)m->nout * m->in_count)
		*have = m->out_sum / (double)m->nout;
	else if (!sum && m->out_count == m->in_count)
		*have = m->out_sum; /* each part goes to one rank */
	else
		return false;
	*want = m->in_sum / parts;
	/* Moved data is not rounded, except to the nine digits of each row. */
	*bound = (sum ? error : MOVED_ERROR) * m->in_abs / parts + 1e-8 * fabs(*want);
	return isfinite(*want) && isfinite(*have) && isfinite(*bound);
}

/*
 * Returns the distance of x from the nearest multiple of m, a power of two, without rounding.
 * remainder() is not used, because it has another symbol version since glibc 2.43.
 */
static double find_distance_to_multiple(double x, double m)
{
	return fabs(x - m * nearbyint(x / m));
}

/* Returns true if an integer sum overflowed and wrapped around. */
static bool goes_around(const struct meeting *m, double want, double have, double bound)
{
	int dtype = dtype_from_name(intern_get_name(m->longest.dtype));
	const struct dtype_info *t = get_dtype_info(dtype < 0 ? DT_OTHER : (unsigned)dtype);

	return (t->cls == DTC_SIGNED || t->cls == DTC_UNSIGNED) &&
	       find_distance_to_multiple(have - want, ldexp(1, 8 * t->size)) <= bound;
}

/* Names no rank if the culprit is not certain. */
static struct odd_meeting odd_result(const struct results *r, const struct meeting *m,
	const struct contract *k, const struct arrival *missing)
{
	struct odd_meeting o = {.any = true,
		.call = call_of_arrival(m, missing ? missing : &m->a[0]),
		.unsure = !missing,
		.agreed = k->summed,
		.event = meeting_event(r, m)};

	for (unsigned i = 0; i < m->n; i++)
		if (!missing || missing == &m->a[i])
			add_rank_index(o.rank, &o.nrank, m->a[i].rank);
		else
			add_rank_index(o.other, &o.nother, m->a[i].rank);
	return o;
}

static bool is_of_extremes(const struct meeting *m)
{
	const char *redop = intern_get_name(m->longest.redop);

	return strcmp(redop, "min") == 0 || strcmp(redop, "max") == 0;
}

/*
 * The minimum of the results must be the minimum of all inputs. If it is not, the contribution of
 * the rank with that minimum is missing in the result.
 */
static void check_extremes(struct results *r, const struct meeting *m, struct contract *k)
{
	static const char *const list[] = {"all_reduce", "reduce", NULL};
	bool max = strcmp(intern_get_name(m->longest.redop), "max") == 0;
	double want = max ? m->in_most : m->in_least;
	double have = max ? m->one_out.most : m->one_out.least;
	const struct arrival *missing = NULL;
	struct odd_meeting o;
	unsigned n = 0;

	if (m->bad || m->nin != m->n || !m->nout || !is_operation(m, list) ||
		m->out_count * m->n != m->in_count * m->nout)
		return;
	if (have == want) {
		k->summed++;
		return;
	}
	if (k->summed < CONTRACT_MIN)
		return;
	for (unsigned i = 0; i < m->n && (max ? have < want : have > want); i++)
		if (m->a[i].in_reach == (float)fabs(want)) {
			missing = &m->a[i];
			n++;
		}
	o = odd_result(r, m, k, n == 1 ? missing : NULL);
	o.extreme = true;
	o.have = have;
	o.want = want;
	keep_odd(&r->not_sum, &o);
}

/* ---- results that have the inputs of the ranks up to their own ---- */

/* The first wrong one: its place in the communicator, what it is and should be, and whether all after it differ by as much. */
struct wrong_sum {
	unsigned at, n; /* n: number of wrong results; 0: none */
	double have, want;
	bool lasts;
};

static int compare_arrival_ranks(const void *x, const void *y)
{
	const struct arrival *a = *(const struct arrival *const *)x,
			     *b = *(const struct arrival *const *)y;

	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Returns the arrivals by rank of the communicator, to be freed, or NULL if that is not known, or values are missing. */
static const struct arrival **list_by_comm_rank(const struct results *r, const struct meeting *m)
{
	const struct comm_info *k = comms_find(r->comms, m->comm);
	const struct arrival **list;

	if (m->bad || m->nin != m->n || !k || !k->in_order || k->nmember != m->n)
		return NULL;
	list = tool_alloc(m->n * sizeof(const struct arrival *));
	for (unsigned i = 0; i < m->n; i++)
		list[i] = &m->a[i];
	qsort(list, m->n, sizeof(const struct arrival *), compare_arrival_ranks);
	return list;
}

static struct wrong_sum find_wrong_sum(
	const struct arrival *const *list, unsigned n, bool excludes_own, double bound)
{
	struct wrong_sum w = {.lasts = true};
	double sum = 0;

	for (unsigned i = 0; i < n; i++) {
		double want = excludes_own ? sum : sum + list[i]->in_sum;
		double off = want - list[i]->out_sum;
		bool wrong = fabs(off) > bound + 1e-8 * fabs(want);

		sum += list[i]->in_sum;
		/* The first rank's result of an exscan is undefined. */
		if (!list[i]->out || (excludes_own && !i))
			continue;
		if (wrong && !w.n++) {
			w.at = i;
			w.have = list[i]->out_sum;
			w.want = want;
		}
		w.lasts &= !w.n || fabs(off - (w.want - w.have)) <= 2 * bound + 1e-8 * fabs(want);
	}
	return w;
}

/*
 * If all results from a rank on are wrong by as much, its input is missing or arrived changed. If one result alone is wrong, it
 * was changed on its rank; the last rank's could be either.
 */
static const struct arrival *find_culprit_of_sum(const struct arrival *const *list, unsigned n,
	bool excludes_own, const struct wrong_sum *w, double bound, enum sum_fault *fault)
{
	const struct arrival *in = list[w->at - excludes_own], *own = list[w->at];
	double off = w->want - w->have;

	if (w->lasts && fabs(off - in->in_sum) <= bound + 1e-5 * fabs(in->in_sum)) {
		*fault = SUM_LACKS_INPUT;
		return in;
	}
	if (w->lasts && w->at + 1 < n) {
		*fault = SUM_HAS_OTHER_INPUT;
		return in;
	}
	*fault = SUM_OF_ONE_WRONG;
	return w->n == 1 && (in == own || !w->lasts) ? own : NULL;
}

static void check_running_sum(
	struct results *r, const struct meeting *m, struct contract *k, bool excludes_own)
{
	double error = rounding_of_type(m->longest.dtype), bound = error * m->in_abs;
	const struct arrival **list;
	enum sum_fault fault;
	struct odd_meeting o;
	struct wrong_sum w;

	if (error < 0 || strcmp(intern_get_name(m->longest.redop), "sum") != 0 ||
		!(list = list_by_comm_rank(r, m)))
		return;
	w = find_wrong_sum(list, m->n, excludes_own, bound);
	if (!w.n) {
		k->summed++;
	} else if (k->summed >= CONTRACT_MIN && !goes_around(m, w.want, w.have, bound)) {
		o = odd_result(
			r, m, k, find_culprit_of_sum(list, m->n, excludes_own, &w, bound, &fault));
		o.fault = fault;
		o.have = w.have;
		o.want = w.want;
		o.bound = bound;
		keep_odd(&r->not_sum, &o);
	}
	free(list);
}

static void check_sum(struct results *r, const struct meeting *m, struct contract *k)
{
	double want, have, bound;
	const struct arrival *missing = NULL;
	struct odd_meeting o;

	bool excludes_own;

	if (is_running_reduction(m->longest.op, &excludes_own)) {
		check_running_sum(r, m, k, excludes_own);
		return;
	}
	if (is_of_extremes(m)) {
		check_extremes(r, m, k);
		return;
	}
	if (!sum_wanted(m, &want, &have, &bound))
		return;
	if (fabs(have - want) <= bound) {
		k->summed++;
		return;
	}
	if (k->summed < CONTRACT_MIN || goes_around(m, want, have, bound))
		return; /* the layout of the buffer may be another one than assumed */
	/* Finds the rank whose contribution explains the difference. */
	for (unsigned i = 0; i < m->n && !is_move(m); i++) {
		if (fabs(want - have - m->a[i].in_sum) > bound + fabs(m->a[i].in_sum) * 1e-5)
			continue;
		if (missing) {
			missing = NULL;
			break;
		}
		missing = &m->a[i];
	}
	o = odd_result(r, m, k, missing);
	o.moved = is_move(m);
	if (o.moved) {
		memcpy(o.other, o.rank, sizeof(o.other));
		o.nother = o.nrank;
		o.nrank = 0;
	}
	o.have = have;
	o.want = want;
	o.bound = bound;
	keep_odd(&r->not_sum, &o);
}

/* ---- results that all ranks get ---- */

bool majority_of(const uint64_t *v, unsigned n, uint64_t *best)
{
	unsigned top = 0;

	*best = n ? v[0] : 0;
	for (unsigned i = 0; i < n && 2 * top <= n; i++) {
		unsigned same = 0;

		for (unsigned k = 0; k < n; k++)
			same += v[k] == v[i];
		if (same > top) {
			top = same;
			*best = v[i];
		}
		/* In a large communicator the first members are enough. */
		if (i > 64)
			break;
	}
	return 2 * top > n;
}

static void add_diverged_nan(struct results *r, const struct meeting *m)
{
	uint64_t event = meeting_event(r, m);
	unsigned n = 0;

	for (unsigned i = 0; i < m->n; i++)
		n += m->a[i].out_bad;
	if (!n || n == m->n || (r->diverged.any && r->diverged.event <= event))
		return;
	r->diverged.any = true;
	r->diverged.event = event;
}

static void check_equal(struct results *r, const struct meeting *m, struct contract *k)
{
	static const char *const list[] = {
		"all_reduce", "broadcast", "all_gather", "all_gather_v", NULL};
	struct odd_meeting o = {.any = true};
	uint64_t *v, best;
	double want, have, bound;
	bool same = true, bad = true, sure;

	if (!is_operation(m, list) || m->nout != m->n) {
		check_sum(r, m, k);
		return;
	}
	for (unsigned i = 1; i < m->n; i++)
		same &= m->a[i].out == m->a[0].out;
	for (unsigned i = 0; i < m->n; i++)
		bad &= m->a[i].out_bad;
	/*
	 * If several elements are NaN, the sign and payload of the result depend on the order of
	 * the additions. Whether the minimum of a NaN and a number is the number depends on the
	 * order as well.
	 */
	if (!same && m->bad && is_of_extremes(m))
		add_diverged_nan(r, m);
	if (!same && (bad || (m->bad && is_of_extremes(m))))
		return;
	if (same) {
		k->equal++;
		check_sum(r, m, k);
		return;
	}
	if (k->equal < CONTRACT_MIN)
		return;
	v = tool_alloc(m->n * sizeof(*v));
	for (unsigned i = 0; i < m->n; i++)
		v[i] = m->a[i].out;
	sure = majority_of(v, m->n, &best);
	/*
	 * With two ranks, the culprit is the one whose result is not the reduction of the inputs.
	 */
	if (!sure && m->nin == m->n && sum_wanted(m, &want, &have, &bound)) {
		double nearest = INFINITY, second = INFINITY;

		for (unsigned i = 0; i < m->n; i++) {
			double off = fabs(m->a[i].out_sum - want);

			if (off < nearest) {
				second = m->a[i].out == best ? second : nearest;
				nearest = off;
				best = v[i];
			} else if (v[i] != best && off < second) {
				second = off;
			}
		}
		sure = nearest < bound && second > 4 * nearest + 1e-9 * m->in_abs;
	}
	/* The sender's own data is the reference. */
	if (!sure && m->nin == 1)
		for (unsigned i = 0; i < m->n; i++)
			if (m->a[i].in) {
				best = v[i];
				sure = true;
			}
	for (unsigned i = 0; i < m->n; i++) {
		if (sure && v[i] == best) {
			add_rank_index(o.other, &o.nother, m->a[i].rank);
			continue;
		}
		if (!o.nrank)
			o.call = call_of_arrival(m, &m->a[i]);
		add_rank_index(o.rank, &o.nrank, m->a[i].rank);
	}
	free(v);
	o.unsure = !sure;
	o.agreed = k->equal;
	o.event = meeting_event(r, m);
	keep_odd(&r->corruption, &o);
}

/* ---- bytes that the ranks send and receive ---- */

static uint64_t volume_place(const struct meeting *m, const struct arrival *a)
{
	return hash_u64(hash_u64(hash_u64(a->site, m->comm), m->longest.api), a->nth);
}

/*
 * Returns true if all ranks together receive what all together send. *known is false for operations
 * about which nothing is known.
 */
static bool is_conserved(const struct meeting *m, bool *known)
{
	static const char *const moved[] = {"all_to_all_v", "gather_v", "scatter_v",
		"neighbor_all_to_all_v", "all_to_all", NULL};
	static const char *const spread[] = {"all_gather_v", NULL};
	static const char *const rooted[] = {"gather_v", "scatter_v", NULL};
	uint32_t in = 0, out = 0;

	*known = is_operation(m, moved) || is_operation(m, spread);
	for (unsigned i = 0; i < m->n; i++) {
		/* A root's own part that stays in its place is neither sent nor received. */
		if (m->a[i].in_place && is_operation(m, rooted))
			*known = false;
		in += m->a[i].in_bytes;
		out += m->a[i].out_bytes;
	}
	return out == (is_operation(m, spread) ? in * m->n : in);
}

static bool is_as_ever(const struct usual_volume *u, const struct arrival *a)
{
	return u && !u->changes && u->n >= VOLUME_MIN && u->in == a->in_bytes &&
	       u->out == a->out_bytes;
}

static bool is_new_amount(const struct usual_volume *u, const struct arrival *a)
{
	return u && !u->changes && u->n >= VOLUME_MIN &&
	       (u->in != a->in_bytes || u->out != a->out_bytes);
}

/*
 * The culprits are ranks that have always had another amount at this call site. If amounts change
 * from step to step, there are none.
 */
static void keep_odd_volume(struct results *r, const struct meeting *m, const struct exchange *k)
{
	struct odd_meeting o = {.any = true, .want = -1, .agreed = k->conserved};
	const struct usual_volume *u;

	for (unsigned i = 0; i < m->n; i++) {
		const struct arrival *a = &m->a[i];

		u = table_find(&r->volumes, a->rank, volume_place(m, a));
		if (is_as_ever(u, a)) {
			add_rank_index(o.other, &o.nother, a->rank);
			continue;
		}
		if (!is_new_amount(u, a))
			continue;
		if (!o.nrank) {
			o.call = call_of_arrival(m, a);
			o.sent = u->in != a->in_bytes;
			o.have = o.sent ? a->in_bytes : a->out_bytes;
			o.want = o.sent ? u->in : u->out;
		}
		add_rank_index(o.rank, &o.nrank, a->rank);
	}
	if (!o.nrank)
		o.call = call_of_arrival(m, &m->a[0]);
	o.unsure = o.nrank != 1;
	o.event = meeting_event(r, m);
	keep_odd(&r->volume, &o);
}

static void check_volumes(struct results *r, const struct meeting *m)
{
	bool known, conserved = is_conserved(m, &known);
	struct exchange *k;
	uint64_t lines = m->longest.api;

	if (!known)
		return;
	for (unsigned i = 0; i < m->n; i++)
		lines += hash_u64(0, m->a[i].site);
	k = table_get(&r->exchanges, m->comm, lines);
	if (!k)
		return;
	if (conserved)
		k->conserved++;
	else if (k->conserved >= VOLUME_MIN)
		keep_odd_volume(r, m, k);
	/*
	 * The layout may be another one than assumed: in place, or another type on the other side.
	 */
	else
		return;
	for (unsigned i = 0; conserved && i < m->n; i++) {
		const struct arrival *a = &m->a[i];
		struct usual_volume *u = table_get(&r->volumes, a->rank, volume_place(m, a));

		if (!u)
			continue;
		u->changes |= u->n && (u->in != a->in_bytes || u->out != a->out_bytes);
		u->in = a->in_bytes;
		u->out = a->out_bytes;
		u->n++;
	}
}

/* ---- the places from which ranks meet ---- */

static struct place_met *get_place(struct results *r, const struct meeting *m, unsigned i)
{
	struct place_met *p = table_get(&r->pairs, m->comm, m->a[i].site);

	if (p && !p->near) {
		struct call c = call_of_arrival(m, &m->a[i]);

		p->near = find_near_site(r->sites, &c);
	}
	return p;
}

/*
 * Returns the call site from which calls of this line have been made so far, or NULL if there is
 * none, or several. A branch that is taken only once makes them with other callers.
 */
static const struct place_met *find_usual_place(const struct results *r, const struct place_met *p)
{
	const struct place_met *found = NULL;

	if (p->alone || p->mixed)
		return p;
	for (uint32_t i = 0; i < r->pairs.n; i++) {
		const struct place_met *o = table_at(&r->pairs, i);

		if (o == p || o->key.a != p->key.a || o->near != p->near || !o->alone)
			continue;
		if (found)
			return NULL;
		found = o;
	}
	return found;
}

static bool is_met_alone(const struct place_met *p)
{
	return p && !p->mixed && p->alone >= ALONE_MIN;
}

/*
 * Lists all ranks, first those of the call site with fewer ranks, because those of a large
 * communicator do not all fit.
 */
static void list_fewer_first(const struct meeting *m, struct odd_meeting *o)
{
	unsigned first = 0;

	for (unsigned i = 0; i < m->n; i++)
		first += m->a[i].site == m->a[0].site;
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < m->n; i++)
			if ((m->a[i].site == m->a[0].site) == ((2 * first <= m->n) == (pass == 0)))
				add_rank_index(o->rank, &o->nrank, m->a[i].rank);
}

static void check_places(struct results *r, const struct meeting *m)
{
	const struct place_met *usual_a, *usual_b;
	struct place_met *a, *b;
	bool same = true;
	unsigned other = 0;

	for (unsigned i = 0; i < m->n; i++) {
		if (!m->a[i].site)
			return;
		if (m->a[i].site != m->a[0].site) {
			other = same ? i : other;
			same = false;
		}
	}
	a = get_place(r, m, 0);
	if (!a)
		return;
	if (same) {
		a->alone++;
		return;
	}
	b = get_place(r, m, other);
	if (!b)
		return;
	usual_a = find_usual_place(r, a);
	usual_b = find_usual_place(r, b);
	if (usual_a && usual_a == usual_b)
		return;
	if (is_met_alone(usual_a) && is_met_alone(usual_b)) {
		struct odd_meeting o = {.any = true,
			.call = call_of_arrival(m, &m->a[other]),
			.agreed = usual_a->alone < usual_b->alone ? usual_a->alone : usual_b->alone,
			.event = meeting_event(r, m)};

		list_fewer_first(m, &o);
		keep_odd(&r->places, &o);
		return;
	}
	a->mixed = b->mixed = true;
}

void judge_results(struct results *r, const struct meeting *m, bool complete)
{
	struct contract *k;

	if (!complete)
		note_unfinished(r, m);
	if (!complete || m->open || m->n < 2)
		return;
	if (m->mismatch)
		return;
	judge_steps(r, m);
	check_places(r, m);
	k = table_get(&r->contracts, m->comm, m->longest.op);
	if (!k)
		return;
	check_equal(r, m, k);
	check_volumes(r, m);
}
