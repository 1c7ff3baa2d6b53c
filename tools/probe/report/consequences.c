/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/consequences.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/report.h"

/* The subject of a finding. It decides which other findings can be consequences. */
enum nature {
	NATURE_ALONE, /* files, or the whole run: nothing can follow from it */
	/* The calls that a rank makes and their parameters: everything but time can follow. */
	NATURE_ORDER,
	NATURE_VALUE, /* values: other values can follow */
	NATURE_END, /* how a rank ended */
	NATURE_TIME, /* time: further delays of the same ranks can follow */
};

/*
 * If two findings are about the same operation, or about the time of the same rank, the one with
 * the smaller depth explains the other.
 */
static const struct {
	const char *kind;
	enum nature nature;
	unsigned depth;
} natures[] = {
	{"mismatch", NATURE_ORDER, 0},
	{"skip", NATURE_ORDER, 1},
	{"order", NATURE_ORDER, 1},
	{"tag", NATURE_ORDER, 1},
	{"deadlock", NATURE_ORDER, 2},
	{"nan", NATURE_VALUE, 3},
	{"inf", NATURE_VALUE, 3},
	{"spike", NATURE_VALUE, 4},
	{"stale", NATURE_VALUE, 4},
	{"zero", NATURE_VALUE, 4},
	{"corruption", NATURE_VALUE, 5},
	{"not_sum", NATURE_VALUE, 5},
	{"diverged", NATURE_VALUE, 6},
	{"died", NATURE_END, 7},
	{"hang", NATURE_END, 8},
	{"error", NATURE_END, 8},
	{"stopped", NATURE_END, 8},
	{"slow", NATURE_TIME, 0},
	{"jitter", NATURE_TIME, 0},
	{"link", NATURE_TIME, 0},
	{"stall", NATURE_TIME, 1},
	{"straggler", NATURE_TIME, 2},
};

static enum nature find_nature(const struct finding *f, unsigned *depth)
{
	for (unsigned i = 0; i < sizeof(natures) / sizeof(*natures); i++)
		if (strcmp(natures[i].kind, f->kind) == 0) {
			*depth = natures[i].depth;
			return natures[i].nature;
		}
	return NATURE_ALONE;
}

static bool is_of_collective(const struct finding *f)
{
	return f->has_call && f->call.comm && f->call.comm_seq != NO_NUMBER &&
	       !(f->call.bits & (CALL_P2P | CALL_LOCAL));
}

/*
 * Returns true if the rank's call was rejected because it passed no readable elements. The rank took no
 * part in the operation, but its call was counted. From then on, equal numbers mean different operations
 * on different ranks, which causes mismatches.
 */
static bool has_shifted_numbers(const struct finding *error, const struct finding *f)
{
	const struct call *c = &error->call;

	return strcmp(error->kind, "error") == 0 && is_of_collective(error) &&
	       c->bits & CALL_ERROR && !c->count && !c->in_bytes && !c->out_bytes &&
	       is_of_collective(f) && f->call.comm == c->comm && f->call.comm_seq >= c->comm_seq;
}

static bool is_about_same_operation(const struct finding *a, const struct finding *b)
{
	const struct call *x = &a->call, *y = &b->call;

	return (x->rank == y->rank && x->api && x->seq == y->seq) ||
	       (is_of_collective(a) && is_of_collective(b) && x->comm == y->comm &&
		       x->comm_seq == y->comm_seq);
}

static bool has_culprit_of(const struct finding *a, const struct finding *b)
{
	for (unsigned i = 0; i < a->nrank; i++)
		for (unsigned k = 0; k < b->nrank; k++)
			if (a->rank[i] == b->rank[k])
				return true;
	return false;
}

/* Returns true if a certainly happened before b and can have affected it. */
static bool can_lead_to(const struct report *r, const struct finding *a, const struct finding *b)
{
	const struct diagnose *d = &r->g.diagnose;
	const struct call *x = &a->call, *y = &b->call;

	if (!a->event || !b->event || a->event >= b->event || x->step > y->step)
		return false;
	return can_reach(&d->contacts, &d->messages.links, r->g.folders.n, x->rank, x->step,
		y->rank, y->step);
}

/* Returns true if b can be a consequence of a. */
static bool can_explain(const struct report *r, const struct finding *a, const struct finding *b)
{
	unsigned x = 0, y = 0;
	enum nature cause = find_nature(a, &x), effect = find_nature(b, &y);

	/*
	 * A finding that is more severe than its cause stays separate, because the user must see
	 * it.
	 */
	if (a->severity > b->severity || cause == NATURE_ALONE || effect == NATURE_ALONE)
		return false;
	if (cause == NATURE_TIME || effect == NATURE_TIME)
		return cause == effect && x < y && has_culprit_of(a, b);
	if (!a->has_call || !b->has_call)
		return false;
	/* Values that no rank is named for may be meant. */
	if (cause == NATURE_VALUE && a->severity == FIND_NOTE && !a->nrank)
		return false;
	if (has_shifted_numbers(a, b))
		return !has_shifted_numbers(b, a);
	if (is_about_same_operation(a, b))
		return x < y && effect != NATURE_END;
	/*
	 * Wrong values change what a program computes, but rarely which calls it makes. A fault in
	 * its calls is therefore a separate fault.
	 */
	if (cause == NATURE_VALUE || cause == NATURE_END)
		return cause == effect && x <= y && can_lead_to(r, a, b);
	return can_lead_to(r, a, b);
}

/* Makes f, and its own consequences, consequences of `cause`. */
static void add_consequence(struct finding *cause, struct finding *f)
{
	cause->consequence = tool_realloc(
		cause->consequence, (cause->nconsequence + 1 + f->nconsequence) * sizeof(*f));
	cause->consequence[cause->nconsequence++] = *f;
	f = &cause->consequence[cause->nconsequence - 1];
	for (unsigned i = 0; i < f->nconsequence; i++)
		f[i + 1] = f->consequence[i];
	cause->nconsequence += f->nconsequence;
	free(f->consequence);
	f->consequence = NULL;
	f->nconsequence = 0;
}

void join_consequences(struct report *r)
{
	/* A cause may be found later than its consequences. */
	for (unsigned k = r->nfinding; k-- > 0;) {
		unsigned i = 0;

		while (i < r->nfinding &&
			(i == k || !can_explain(r, &r->finding[i], &r->finding[k])))
			i++;
		if (i == r->nfinding)
			continue;
		add_consequence(&r->finding[i], &r->finding[k]);
		memmove(r->finding + k, r->finding + k + 1,
			(--r->nfinding - k) * sizeof(*r->finding));
	}
}
