/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/join/signature.h"

#include <string.h>

#include "terms/dtype.h"
#include "tools/lib/intern.h"

/*
 * How many parts a side of the call has: NONE: parts of different sizes, of which no row shows each; ONE; EACH: one for each
 * rank.
 */
enum parts { NONE, ONE, EACH };

/*
 * Whose inputs are in a rank's result: those of all, of the ranks up to its own, or of those before it. PAIRS: of each rank a part of its
 * own, so that ranks that send each other nothing need not agree.
 */
enum reach { ALL, UP_TO_OWN, BEFORE_OWN, PAIRS };

/*
 * each: in each rank's memory the elements at the same place belong together. computes: it computes with them. In all_to_all
 * both sides have a part for each rank.
 */
static const struct signature {
	const char *op;
	enum parts in, out;
	bool each, computes;
	enum reach reach;
} signatures[] = {
	{"all_reduce", ONE, ONE, true, true, ALL},
	{"reduce", ONE, ONE, true, true, ALL},
	{"broadcast", ONE, ONE, true, false, ALL},
	{"scan", ONE, ONE, false, true, UP_TO_OWN},
	{"exscan", ONE, ONE, false, true, BEFORE_OWN},
	/* The part is what all ranks put in, a block for each. */
	{"reduce_scatter", ONE, NONE, false, true, ALL},
	{"reduce_scatter_v", ONE, NONE, false, true, ALL},
	{"all_gather", ONE, EACH, false, false, ALL},
	{"all_to_all", EACH, EACH, false, false, ALL},
	{"gather", ONE, EACH, false, false, ALL},
	{"scatter", EACH, ONE, false, false, ALL},
	{"gather_v", NONE, NONE, false, false, ALL},
	{"scatter_v", NONE, NONE, false, false, ALL},
	{"all_gather_v", NONE, NONE, false, false, ALL},
	{"all_to_all_v", NONE, NONE, false, false, PAIRS},
	{"neighbor_all_gather", NONE, NONE, false, false, PAIRS},
	{"neighbor_all_gather_v", NONE, NONE, false, false, PAIRS},
	{"neighbor_all_to_all", NONE, NONE, false, false, PAIRS},
	{"neighbor_all_to_all_v", NONE, NONE, false, false, PAIRS},
};

static const struct signature *find_signature(const char *op)
{
	for (unsigned i = 0; i < sizeof(signatures) / sizeof(*signatures); i++)
		if (strcmp(op, signatures[i].op) == 0)
			return &signatures[i];
	return NULL;
}

static bool has_signature(const char *op)
{
	return find_signature(op);
}

static bool has_parts_in(const char *op)
{
	const struct signature *s = find_signature(op);

	return s && s->in == EACH;
}

static bool has_parts_out(const char *op)
{
	const struct signature *s = find_signature(op);

	return s && s->out == EACH;
}

static bool is_with_input(const char *op)
{
	const struct signature *s = find_signature(op);

	return s && s->in != NONE;
}

static bool is_by_element(const char *op)
{
	const struct signature *s = find_signature(op);

	return s && s->each;
}

static bool is_computing(const char *op)
{
	const struct signature *s = find_signature(op);

	return s && s->computes;
}

static bool is_running(const char *op)
{
	const struct signature *s = find_signature(op);

	return s && (s->reach == UP_TO_OWN || s->reach == BEFORE_OWN);
}

static bool is_exclusive(const char *op)
{
	const struct signature *s = find_signature(op);

	return s && s->reach == BEFORE_OWN;
}

static bool is_paired(const char *op)
{
	const struct signature *s = find_signature(op);

	return s && s->reach == PAIRS;
}

/* Answers are kept by the number of the name. */
static struct name_question typed = {.ask = has_signature}, parts_in = {.ask = has_parts_in},
			    parts_out = {.ask = has_parts_out}, sized = {.ask = is_with_input},
			    by_element = {.ask = is_by_element}, computing = {.ask = is_computing},
			    running = {.ask = is_running}, exclusive = {.ask = is_exclusive},
			    paired = {.ask = is_paired};

bool is_combined_by_element(uint32_t op)
{
	return check_name_property(&by_element, op);
}

bool is_running_reduction(uint32_t op, bool *excludes_own)
{
	*excludes_own = check_name_property(&exclusive, op);
	return check_name_property(&running, op);
}

static bool is_c10d_call(const char *api)
{
	return strncmp(api, "c10d::", 6) == 0;
}

static struct name_question c10d = {.ask = is_c10d_call};

/* For an open call without inputs: the number of bytes that it will receive. 0: not known. */
static uint64_t awaited_bytes(const struct call *c)
{
	int dtype =
		c->bits & CALL_OPEN && c->dtype ? dtype_from_name(intern_get_name(c->dtype)) : -1;

	return dtype < 0 ? 0 : c->count * get_dtype_info((unsigned)dtype)->size;
}

struct part compute_part(const struct call *c, bool inter)
{
	bool shared_in = check_name_property(&parts_in, c->op),
	     shared_out = check_name_property(&parts_out, c->op);
	uint64_t n = c->size > 0 ? (uint64_t)c->size : 0, in = c->in_bytes;
	uint64_t out = c->out_bytes ? c->out_bytes : in ? 0 : awaited_bytes(c);
	struct part p = {.sized = check_name_property(&sized, c->op),
		.typed = check_name_property(&typed, c->op),
		.paired = check_name_property(&paired, c->op),
		.dtype = c->dtype};
	/* Outputs of PyTorch's lists may have other sizes than the inputs. */
	bool two_sided = !inter && !check_name_property(&computing, c->op) &&
			 !check_name_property(&c10d, c->api);

	if (two_sided && out)
		p.received_dtype = c->out_dtype;
	/* The type of nothing says nothing. */
	if (p.paired && !in && p.received_dtype) {
		p.dtype = p.received_dtype;
	}
	/* PyTorch's all_to_all may have splits, which no column shows: results.c checks whether everything that was sent is received. */
	if ((shared_in && shared_out && check_name_property(&c10d, c->api)) ||
		((shared_in || shared_out) && (inter || !n)))
		p.sized = false;
	if (!p.sized) {
		p.bytes = in ? in : out;
		return p;
	}
	/* A size that is no multiple of the ranks is not that of a part for each. */
	if (shared_in && n)
		in = in % n ? 0 : in / n;
	if (shared_out && n)
		out = out % n ? 0 : out / n;
	p.bytes = in ? in : out;
	/* The result of a reduction has the size of its input, or, of a sparse tensor, another one. */
	if (two_sided)
		p.received = out;
	return p;
}

bool is_copied_alike(uint32_t op, uint32_t a, uint32_t b)
{
	int x = dtype_from_name(intern_get_name(a)), y = dtype_from_name(intern_get_name(b));
	const struct dtype_info *p, *q;

	if (check_name_property(&computing, op) || x < 0 || y < 0)
		return false;
	p = get_dtype_info((unsigned)x);
	q = get_dtype_info((unsigned)y);
	if (p->size == 1 || q->size == 1)
		return true;
	if ((p->cls == DTC_SIGNED || p->cls == DTC_UNSIGNED) &&
		(q->cls == DTC_SIGNED || q->cls == DTC_UNSIGNED))
		return p->size == q->size;
	return p->component == q->component && p->component != DT_OTHER;
}
