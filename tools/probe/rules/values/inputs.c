/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/values/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"

/* True if call c of rank i is part of the operation whose result is b. */
static bool takes_part(const struct bad_row *b, const struct call *c, uint32_t i)
{
	if (i == b->call.rank)
		return c->seq == b->call.seq;
	return c->comm == b->call.comm && c->comm_seq == b->call.comm_seq &&
	       !(c->bits & (CALL_P2P | CALL_LOCAL | CALL_NESTED));
}

/* Finds the call of rank i that is part of the operation. Returns false if there is none. */
static bool find_part(struct gather *g, const struct bad_row *b, uint32_t i, struct call *c)
{
	struct calls s;
	bool found = false;

	calls_open(&s, &g->folders.dir[i], i, &g->rank[i].overlay);
	/* A step may end a little earlier on one rank than on another. */
	s.step_lo = b->call.step ? b->call.step - 1 : 0;
	s.step_hi = b->call.step + 1;
	while (!found && calls_read_next(&s, c))
		found = takes_part(b, c, i);
	calls_close(&s);
	return found;
}

enum looked { NOT_THERE, NOT_MEASURED, MEASURED };

/*
 * Determines what is known about the inputs of rank i. Measured inputs are finite, because a bad
 * one would be the first bad row instead of the result.
 */
static enum looked look_at_input(struct gather *g, const struct bad_row *b, uint32_t i)
{
	struct call c;

	if (!find_part(g, b, i, &c))
		return NOT_THERE;
	return c.blind || c.bits & CALL_MORE ? NOT_MEASURED : MEASURED;
}

/* True if the calls of the row's operation are joined by their number on the communicator. */
static bool is_joined_row(const struct bad_row *b)
{
	return b->call.comm && b->call.comm_seq != NO_NUMBER &&
	       !(b->call.bits & (CALL_P2P | CALL_LOCAL | CALL_NESTED));
}

char *lost_nan_text(struct gather *g, const struct bad_row *b)
{
	const char *redop = intern_get_name(b->call.redop);
	unsigned all = 0, without = 0;

	if (b->out || !b->nans || !is_joined_row(b) ||
		(strcmp(redop, "max") != 0 && strcmp(redop, "min") != 0))
		return tool_strdup("");
	for (uint32_t i = 0; i < g->folders.n; i++) {
		struct call c;

		if (!find_part(g, b, i, &c) || !c.out.rows || c.bits & (CALL_OPEN | CALL_ERROR) ||
			(c.out.blind && !c.out.bad))
			continue;
		all++;
		without += !c.out.bad;
	}
	if (!without)
		return tool_strdup("");
	return tool_format("; the result of %u of %s has no NaN: %s does not carry it%s", without,
		out_format_plural(all, "rank", "ranks"), redop,
		without < all ? ", and ranks go on with different results" : "");
}

static void add_input(char **text, char *more)
{
	tool_add_item(text, ", ", "%s", more);
	free(more);
}

bool may_write_more(const struct gather *g, const struct rank_dir *d)
{
	return (d->state == RANK_RUNNING || d->state == RANK_UNSEEN ||
		       d->state == RANK_UNWRITTEN) &&
	       !gather_gone(g, d);
}

/* Counts ranks that were read but whose inputs are missing. */
static void add_unmeasured(
	struct gather *g, const struct bad_row *b, bool joined, char **text, bool *awaited)
{
	const struct comm_info *c = joined ? comms_find(&g->comms, b->call.comm) : NULL;
	const bool listed = c && c->member;
	int *rank = NULL;
	unsigned n = 0, cap = 0;
	int64_t there = 0;
	char *who;

	for (uint32_t i = 0; i < g->folders.n; i++) {
		enum looked at;

		if (i != b->call.rank && (!joined || g->rank[i].unreadable ||
						 (listed && !comm_has(c, g->folders.dir[i].rank))))
			continue;
		at = look_at_input(g, b, i);
		there += at != NOT_THERE;
		*awaited |= at == NOT_THERE && may_write_more(g, &g->folders.dir[i]);
		/* If the members are not listed, a rank without such a call may not be a member. */
		if (at == MEASURED || (at == NOT_THERE && joined && !listed))
			continue;
		TOOL_GROW(rank, n, cap);
		rank[n++] = g->folders.dir[i].rank;
	}
	if (joined && !listed && there < b->call.size)
		add_input(text, tool_format("only %lld of its %lld ranks were read",
					(long long)there, (long long)b->call.size));
	if (n) {
		who = rank[0] < 0 ? tool_strdup("was") : out_format_ranks(rank, n);
		add_input(text, tool_format("what %s put in is not known", who));
		free(who);
	}
	free(rank);
}

char *inputs_origin(struct gather *g, const struct bad_row *b, bool *awaited)
{
	const bool p2p = b->call.bits & CALL_P2P;
	const bool joined = is_joined_row(b);
	struct unread u = {0};
	char *text = NULL, *all, *who;

	*awaited = false;
	if (!b->out)
		return tool_strdup("it came from the computation before this call");
	if (b->call.comm && !joined && !p2p)
		return tool_strdup("which calls of other ranks belong to it is not known, so their "
				   "inputs are not either");
	if (b->call.comm)
		gather_unread(g, b->call.comm, &u);
	if (u.n) {
		who = out_format_ranks(u.rank, u.n);
		add_input(&text, tool_format("%s %s not read", who, u.n == 1 ? "was" : "were"));
		free(who);
	}
	free(u.rank);
	if (!p2p)
		add_unmeasured(g, b, joined, &text, awaited);
	if (p2p)
		all = text ? tool_format("it came with the message; %s", text)
			   : tool_strdup("it came with the message");
	else
		all = text ? tool_format("where it came from is not known: %s", text)
			   : tool_strdup("all inputs were finite, so the operation made it");
	free(text);
	return all;
}
