/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that do different things, or that are blocked: which of them does something unusual, and
 * what.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/rank_activity.h"
#include "tools/probe/rules/sequence/explain.h"
#include "tools/probe/rules/sequence/explain_order.h"
#include "tools/probe/rules/sequence/mismatch_cause.h"
#include "tools/probe/rules/sequence/passed.h"
#include "tools/probe/rules/end/hang.h"
#include "tools/probe/rules/report.h"
#include "tools/probe/rules/sequence/suspects.h"
#include "tools/probe/rules/waits.h"
#include "tools/probe/rules/sequence/window.h"

#define NAMED_IN_TERMS 16u
/* ns; a rank that waited for less when all were ended was not blocked by another one */
#define CUT_OFF_NS 1000000000u
/* ns after which ranks that all wait for each other are blocked, if some of the waits are not recorded */
#define ALL_WAIT_NS UINT64_C(10000000000)

struct trouble {
	bool any;
	uint64_t step, comm, event;
	const struct stuck *stuck; /* NULL: no rank is blocked */
	bool only_stuck; /* ranks are blocked, and there is no other sign of a fault */
	/*
	 * A rank made the calls of one step in another order, and no rank had to wait because of
	 * it; NULL: none.
	 */
	const struct order_seen *only_order;
	enum order_way way;
	/* A message of another length than its receive, and no other sign of a fault; NULL: none. */
	const struct truncated *only_message;
};

/* ---- the disagreement itself ---- */

static char *terms_text(const struct report *r, const struct terms *t, enum meet_mismatch what)
{
	const char *label = report_rank(r, t->rank), *api = intern_get_name(t->api);

	switch (what) {
	case MISMATCH_REDOP:
		return tool_format("%s reduces by %s", label, intern_get_name(t->redop));
	case MISMATCH_ROOT:
		return tool_format("%s has root %lld", label, (long long)t->root);
	case MISMATCH_DTYPE:
		if (t->received_dtype && t->received_dtype != t->dtype)
			return tool_format("%s sends %s and receives %s", label,
				intern_get_name(t->dtype), intern_get_name(t->received_dtype));
		return tool_format("%s has %s", label, intern_get_name(t->dtype));
	case MISMATCH_BYTES:
		if (t->received && t->received != t->bytes)
			return tool_format("%s sends %s B and receives %s B", label,
				out_format_count(t->bytes), out_format_count(t->received));
		return tool_format("%s has %s B", label, out_format_count(t->bytes));
	case MISMATCH_LAYOUT:
		return tool_format("%s's elements are in the order of %s", label,
			t->permuted ? "another dimension first (transposed, or channels last)"
				    : "their indices");
	default:
		return tool_format("%s called %s", label, api);
	}
}

static char *format_mismatch(const struct report *r, const struct mismatch *u)
{
	char label[COMM_LABEL_MAX], *all;
	char *a = terms_text(r, &u->a, u->what), *b = terms_text(r, &u->b, u->what);
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->g.late.comms.n; i++)
		n += ((const struct late_comm *)table_at(&r->g.late.comms, i))->mismatch;
	all = tool_format("ranks do not agree on the %s of call #%lld on %s, step %llu: %s, %s. "
			  "%s like this; look at the "
			  "first one, later numbers may only be shifted",
		meet_mismatch_name(u->what), (long long)u->seq,
		comm_format_label(&r->g.comms, u->comm, label), (unsigned long long)u->step, a, b,
		out_format_plural(n, "call is", "calls are"));
	free(a);
	free(b);
	return all;
}

/*
 * Appends "rank 0 made it in its backward pass, called from ...". Appends nothing if neither is
 * known.
 */
static void append_place_of_terms(struct report *r, char **text, const struct terms *t)
{
	struct call c = {.rank = t->rank, .stack = t->stack};
	char *at = called_from_text(r, &c);
	const char *phase = intern_get_name(t->phase);

	if (*at || *phase)
		tool_add_text(text, "\n%s made it%s%s%s", report_rank(r, t->rank),
			*phase ? " in phase " : "", phase, at);
	free(at);
}

/* Describes both sides, with the lines that made the calls. */
static char *disagreement_text(struct report *r, const struct mismatch *u)
{
	char *text = format_mismatch(r, u);

	append_place_of_terms(r, &text, &u->a);
	append_place_of_terms(r, &text, &u->b);
	return text;
}

/* Returns the word of `what` for --json. */
static const char *find_mismatched_field(enum meet_mismatch what)
{
	static const char *const word[] = {[MISMATCH_NOTHING] = NULL,
		[MISMATCH_OP] = "op",
		[MISMATCH_REDOP] = "redop",
		[MISMATCH_ROOT] = "root",
		[MISMATCH_DTYPE] = "dtype",
		[MISMATCH_BYTES] = "count",
		[MISMATCH_LAYOUT] = "layout"};

	return word[what];
}

/* ---- one rank's fault ---- */

static char *format_term(const struct call *c, const char *what)
{
	if (strcmp(what, "dtype") == 0)
		return tool_strdup(intern_get_name(c->dtype));
	if (strcmp(what, "redop") == 0)
		return tool_strdup(intern_get_name(c->redop));
	if (strcmp(what, "root") == 0)
		return tool_format("%lld", (long long)c->root);
	if (strcmp(what, "tag") == 0)
		return tool_format("%lld", (long long)c->tag);
	if (strcmp(what, "peer") == 0)
		return tool_format("%lld", (long long)c->peer);
	return tool_format("%s elements", out_format_count(c->count));
}

/* Returns the field `what` of --json in words. */
static const char *term_word(const char *what)
{
	return strcmp(what, "redop") == 0   ? "reduction"
	       : strcmp(what, "dtype") == 0 ? "data type"
					    : what;
}

static char *verdict_text(struct report *r, const struct verdict *v)
{
	const char *who = report_rank(r, v->rank);
	char *call = report_call(r, &v->call), *usual = report_call(r, &v->usual),
	     *before = report_call(r, &v->before), *at = called_from_text(r, &v->call), *all = NULL,
	     *a, *b;
	char *times = tool_format("%s", out_format_plural(v->times, "time", "times"));

	switch (v->kind) {
	case VERDICT_MISSING:
		all = v->times ? tool_format("step %llu: %s skipped %s, which followed %s all %s "
					     "before%s",
					 (unsigned long long)v->step, who, call, before, times, at)
			       : tool_format("step %llu: %s skipped %s, which others made after "
					     "%s%s",
					 (unsigned long long)v->step, who, call, before, at);
		break;
	case VERDICT_EXTRA:
		if (v->alone) {
			a = called_from_text(r, &v->usual);
			all = tool_format(
				"step %llu: %s alone made %s%s; the others made %s, which "
				"it has not come to%s",
				(unsigned long long)v->step, who, call, at, usual, a);
			free(a);
			break;
		}
		all = tool_format("step %llu: %s made one call too many: %s after %s, where %s "
				  "followed all %s "
				  "before%s",
			(unsigned long long)v->step, who, call, before, usual, times, at);
		break;
	case VERDICT_ORDER:
		/*
		 * The rank is blocked in one call, so it is not known whether the other one would
		 * have followed.
		 */
		a = v->may_follow ? called_from_text(r, &v->usual) : tool_strdup("");
		all = tool_format("step %llu: %s made two calls in another order%s: %s before %s, "
				  "which came first "
				  "all %s before%s%s%s",
			(unsigned long long)v->step, who, v->may_follow ? ", or skipped one" : "",
			call, usual, times, a, *a ? "; the other one" : "", at);
		free(a);
		break;
	case VERDICT_TERMS:
		a = format_term(&v->call, v->what);
		b = format_term(&v->usual, v->what);
		all = tool_format("step %llu: %s has another %s in %s: %s; at this place it had %s "
				  "all %s before%s",
			(unsigned long long)v->step, who, term_word(v->what), call, a, b, times,
			at);
		free(a);
		free(b);
		break;
	case VERDICT_NONE:
		break;
	}
	free(call);
	free(usual);
	free(before);
	free(at);
	free(times);
	return all;
}

/* ---- a backward pass fewer ---- */

static bool is_phase(uint32_t phase, const char *word)
{
	return strcmp(intern_get_name(phase), word) == 0;
}

/*
 * Each rank takes part once in each reduction of a backward pass. If one rank is in another call
 * outside of any backward pass, and the others are in one pass more, the rank made one pass fewer,
 * or this call is one too many. Which iteration had no pass is not known.
 */
static const struct terms *find_fewer_passes(const struct report *r, const struct verdict *v)
{
	const struct mismatch *u = &r->g.mismatch;
	const struct terms *own, *others;

	if (!u->any || u->what != MISMATCH_OP || v->kind != VERDICT_EXTRA || v->alone)
		return NULL;
	own = u->a.rank == v->rank ? &u->a : &u->b;
	others = u->a.rank == v->rank ? &u->b : &u->a;
	if (own->rank != v->rank || v->call.comm_seq != u->seq || v->call.comm != u->comm ||
		!is_phase(others->phase, "backward") || is_phase(own->phase, "backward") ||
		!is_phase(v->usual.phase, "backward"))
		return NULL;
	return others;
}

/*
 * True if the rank ended its step after a backward pass, and skipped a call that in the previous
 * step belonged to a further pass: to its forward pass, or between the two passes.
 */
static bool is_pass_skipped(const struct window *w, const struct verdict *v)
{
	if (v->kind != VERDICT_MISSING || !v->before.pass ||
		!is_phase(v->before.phase, "backward") || v->before.step != v->step ||
		v->call.pass <= v->before.pass)
		return false;
	for (unsigned j = 0; j < w->n; j++)
		for (unsigned i = 0; w->rank[j].rank == v->rank && i < w->rank[j].n; i++) {
			const struct call *c = &w->rank[j].e[i].call;

			if (c->step + 1 == v->step && c->pass == v->call.pass &&
				is_phase(c->phase, "backward"))
				return true;
		}
	return false;
}

static char *fewer_passes_text(
	struct report *r, const struct verdict *v, const struct terms *others)
{
	struct call there = {.rank = others->rank, .stack = others->stack};
	char *call = report_call(r, &v->call), *at = called_from_text(r, &v->call),
	     *pass = called_from_text(r, &there), *text;

	text = tool_format("step %llu: %s made one backward pass fewer than the others, whose next "
			   "one is here%s; or one call too many: %s, after %s%s",
		(unsigned long long)v->step, report_rank(r, v->rank), pass, call,
		out_format_plural(v->times, "step", "steps"), at);
	free(call);
	free(at);
	free(pass);
	return text;
}

static void name_others(struct report *r, struct finding *f)
{
	for (uint32_t i = 0; i < r->g.folders.n && r->g.folders.n <= 1024; i++) {
		bool culprit = false;

		for (unsigned k = 0; k < f->nrank; k++)
			culprit |= f->rank[k] == r->g.folders.dir[i].rank;
		if (!culprit)
			name_concerned(r, f, i);
	}
}

/*
 * Finds a circle without calls that were entered just before the job ended, because these would
 * have completed.
 */
static bool find_lasting_circle(struct report *r, struct waiting_ranks *w)
{
	if (!find_wait_circle(r, w))
		return false;
	for (unsigned i = 0; is_job_over(r) && i < w->n && i < WAITS_NAMED; i++)
		if (get_blocking_call(r, w->rank[i])->age < CUT_OFF_NS)
			return false;
	return true;
}

/*
 * Decides between swapped and skipped. The rank is blocked in a message and has not made the call
 * that usually comes first. If its peer waits for that call, directly or around a circle, the two
 * calls were swapped; else the first was skipped. It was also skipped if the lengths of messages
 * show it.
 */
static void settle_order(struct report *r, struct verdict *v)
{
	const struct open_call *in = r->stuck.blocked_in[v->rank];
	struct waiting_ranks circle;
	const struct truncated *t = &r->g.diagnose.messages.truncated;
	bool skipped = t->any && t->skipped && v->kind == VERDICT_ORDER &&
		       (t->sender ? t->send.rank : t->recv.rank) == v->rank;

	/*
	 * The rank has gone on to other calls than the one that came too early. After a swap, the
	 * expected call would be next.
	 */
	skipped |= v->may_follow && v->kind == VERDICT_ORDER && v->call.bits & CALL_P2P && in &&
		   !in->waiting && !(in->call.bits & CALL_P2P);
	if (!skipped && (!v->may_follow || find_lasting_circle(r, &circle)))
		return;
	set_verdict_missing(v);
}

/*
 * The end of a rank by a signal is known to a tick, or by its last sign of life. A wrong call that
 * another rank made in that time is the cause of the end and not its consequence.
 */
static void write_before_death(const struct report *r, struct finding *f)
{
	const struct finding *left = &r->finding[0]; /* the finding of find_left() comes first */

	if (r->left && f->nrank && f->rank[0] != left->rank[0] && f->event > left->event &&
		f->event - left->event < CUT_OFF_NS)
		f->event = left->event - 1;
}

static void add_verdict(
	struct report *r, const struct trouble *t, const struct window *w, const struct verdict *v)
{
	static const char *const what[] = {
		[VERDICT_MISSING] = "missing", [VERDICT_EXTRA] = "extra"};
	static const enum finding_kind kinds[] = {[VERDICT_NONE] = FINDING_SKIP,
		[VERDICT_MISSING] = FINDING_SKIP,
		[VERDICT_EXTRA] = FINDING_SKIP,
		[VERDICT_ORDER] = FINDING_ORDER,
		[VERDICT_TERMS] = FINDING_MISMATCH};
	enum finding_kind kind = kinds[v->kind];
	const struct terms *others = find_fewer_passes(r, v);
	char *text = others ? fewer_passes_text(r, v, others) : verdict_text(r, v), *more;
	struct waiting_ranks circle;
	struct finding *f;

	if (v->kind == VERDICT_TERMS && strcmp(v->what, "tag") == 0)
		kind = FINDING_TAG;
	if (v->kind == VERDICT_ORDER && v->call.bits & CALL_P2P && t->stuck &&
		find_lasting_circle(r, &circle)) {
		kind = FINDING_DEADLOCK;
		tool_add_text(&text, ". Since then ranks have waited for each other in a circle");
	}
	if (is_pass_skipped(w, v))
		tool_add_text(&text, "\n%s made %s in this step, and the others began another",
			report_rank(r, v->rank),
			out_format_plural(v->before.pass, "backward pass", "backward passes"));
	if (r->g.mismatch.any) {
		more = disagreement_text(r, &r->g.mismatch);
		tool_add_text(&text, "\n%s", more);
		free(more);
	}
	f = add_finding(r, kind, text);
	if (t->only_order)
		set_finding_kind(f, FINDING_ORDER_APART);
	f->what = v->kind == VERDICT_TERMS   ? v->what
		  : v->kind <= VERDICT_EXTRA ? what[v->kind]
					     : NULL;
	name_culprit(r, f, v->rank);
	name_others(r, f);
	name_call(f, &v->call);
	f->call.step = v->step;
	if (others) {
		/* The line that should have made the missing pass. */
		f->what = what[VERDICT_MISSING];
		f->call.rank = others->rank;
		f->call.stack = others->stack;
		f->call.api = others->api;
		f->call.op = others->op;
		f->call.seq = others->seq;
	}
	f->event = v->event && v->event < t->event ? v->event : t->event;
	/* A rank that learns of another rank's end may skip calls, or make others. */
	if (v->kind == VERDICT_ORDER || v->kind == VERDICT_TERMS)
		write_before_death(r, f);
	f->evidence =
		tool_format("what rank %d called in the steps before, in order, and in this one",
			r->g.folders.dir[v->rank].rank);
	f->next = tool_format("probe report --stacks --rank %d --step %llu-%llu %s",
		r->g.folders.dir[v->rank].rank, (unsigned long long)(v->step ? v->step - 1 : 0),
		(unsigned long long)v->step, r->g.folders.path);
}

/*
 * Adds the finding that a message was sent that no rank receives, while a rank waits for another
 * one. odd: what is wrong with the send or the receive.
 */
static struct finding *add_crossed(struct report *r, const struct trouble *t,
	enum finding_kind kind, const struct call *send, const struct call *recv, bool sender,
	const char *odd)
{
	const struct call *c = sender ? send : recv;
	char *a = report_call(r, send), *b = report_call(r, recv), *at = called_from_text(r, c);
	struct finding *f = add_finding(r, kind,
		tool_format("step %llu: %s did %s, which no rank receives, and %s waits in %s, "
			    "which no rank sends: the %s has %s%s",
			(unsigned long long)send->step, report_rank(r, send->rank), a,
			report_rank(r, recv->rank), b, sender ? "send" : "receive", odd, at));

	name_culprit(r, f, c->rank);
	name_concerned(r, f, sender ? recv->rank : send->rank);
	name_call(f, c);
	f->event = t->event;
	f->next = tool_format("probe report --stacks --rank %d,%d %s",
		r->g.folders.dir[send->rank].rank, r->g.folders.dir[recv->rank].rank,
		r->g.folders.path);
	free(a);
	free(b);
	free(at);
	return f;
}

/*
 * Looks for messages that match except for the tag, then for those that match except for the peer.
 */
static bool add_crossed_message(struct report *r, const struct trouble *t)
{
	const struct messages *m = &r->g.diagnose.messages;
	struct call recv, send;
	bool sender;

	if (find_crossed_tag(m, &recv, &send, &sender, NULL))
		add_crossed(
			r, t, FINDING_TAG, &send, &recv, sender, "a tag that was never used before")
			->what = "tag";
	else if (find_crossed_peer(m, &recv, &send, &sender))
		add_crossed(r, t, FINDING_MISMATCH, &send, &recv, sender,
			"another peer than ever before")
			->what = "peer";
	else
		return false;
	return true;
}

static void add_mismatch(struct report *r, const struct trouble *t, const struct window *w)
{
	const struct mismatch *u = &r->g.mismatch;
	uint32_t rank[NAMED_IN_TERMS];
	enum meet_mismatch what = u->what;
	struct call is = {0}, others = {0};
	char *text = format_mismatch(r, u);
	unsigned n;
	struct finding *f;

	/* If type and size both differ, the type is the fault. */
	if (what == MISMATCH_BYTES && u->a.dtype != u->b.dtype && u->a.dtype && u->b.dtype)
		what = MISMATCH_DTYPE;
	n = judge_terms(w, u->comm, u->seq, what, rank, NAMED_IN_TERMS, &is, &others);
	if (n == 1) {
		char *at = called_from_text(r, &is);

		tool_add_text(&text, ". %s is alone with it%s", report_rank(r, rank[0]), at);
		free(at);
	}
	append_place_of_terms(r, &text, &u->a);
	append_place_of_terms(r, &text, &u->b);
	f = add_finding(r, FINDING_MISMATCH, text);
	f->what = find_mismatched_field(what);
	for (unsigned i = 0; i < n && i < NAMED_IN_TERMS; i++)
		name_culprit(r, f, rank[i]);
	if (!n) {
		name_culprit(r, f, u->a.rank);
		name_culprit(r, f, u->b.rank);
		is = (struct call){.rank = u->a.rank,
			.api = u->a.api,
			.op = u->a.op,
			.comm = u->comm,
			.comm_seq = u->seq,
			.seq = u->a.seq,
			.stack = u->a.stack,
			.phase = u->a.phase,
			.peer = NO_NUMBER,
			.tag = NO_NUMBER};
	}
	name_others(r, f);
	name_call(f, &is);
	f->call.step = u->step;
	f->event = t->event;
	f->next = tool_format("probe report --stacks --step %llu %s", (unsigned long long)u->step,
		r->g.folders.path);
}

/*
 * Adds the finding that ranks wait for each other although none did anything new: the program
 * itself is the cause.
 */
static bool add_circle(struct report *r, const struct trouble *t)
{
	struct waiting_ranks w;
	struct finding *f;
	char *text = NULL;

	/* If one rank delays the others, it is no circle. */
	if (find_holding_ranks(r, &w) || !find_lasting_circle(r, &w))
		return false;
	for (unsigned i = 0; i < w.n && i < WAITS_NAMED; i++) {
		const struct call *c = &get_blocking_call(r, w.rank[i])->call;
		char *what = report_call(r, c), *at = called_from_text(r, c);
		bool next_named = i + 1 < w.n && i + 1 < WAITS_NAMED;

		tool_add_item(&text, "\n", "%s waits in %s for %s%s", report_rank(r, w.rank[i]),
			what,
			!next_named && w.n > WAITS_NAMED
				? "the next one"
				: report_rank(r, w.rank[next_named ? i + 1 : 0]),
			at);
		free(what);
		free(at);
	}
	f = add_finding(r, FINDING_DEADLOCK,
		tool_format("step %llu: %s wait for each other in a circle%s\n%s",
			(unsigned long long)t->step, out_format_plural(w.n, "rank", "ranks"),
			w.n > WAITS_NAMED ? "; the first of them" : "", text));
	free(text);
	f->whole = w.n == r->g.folders.n && w.n <= WAITS_NAMED;
	for (unsigned i = 0; i < w.n && i < WAITS_NAMED; i++)
		name_culprit(r, f, w.rank[i]);
	name_others(r, f);
	name_call(f, &get_blocking_call(r, w.rank[0])->call);
	f->event = t->event;
	f->evidence = tool_strdup("the calls in which these ranks are blocked, and their peers");
	f->next = tool_format("probe report --stacks %s", r->g.folders.path);
	return true;
}

/*
 * True if the new call is a message to or from a rank that others wait for and that is in no
 * recorded call: it waits in a probe or test, which is not recorded. No rank waits for the rank
 * that skipped the message or sent another one.
 */
static bool holds_up_awaited(const struct report *r, const struct verdict *v, const bool *awaited)
{
	int peer;

	if (v->kind == VERDICT_NONE || v->kind == VERDICT_ORDER || !(v->call.bits & CALL_P2P))
		return false;
	peer = index_of_peer(r, &v->call);
	return peer >= 0 && awaited[peer] && !r->stuck.blocked_in[peer];
}

/* True if the call cannot complete before another rank has made a call of its own. */
static bool is_rank_missing(const struct report *r, const struct open_call *c)
{
	int at = stuck_group_of(&r->stuck, c);
	const struct stuck *s = at >= 0 ? &r->stuck.stuck[at] : NULL;

	if (c->call.bits & CALL_P2P)
		return is_message_alone(&r->g.diagnose.messages, &c->call);
	for (unsigned i = 0; s && s->joined && i < s->nabsent; i++)
		if (s->absent[i].why == ABSENT_NEVER || s->absent[i].why == ABSENT_OTHER)
			return true;
	return false;
}

/*
 * True if each rank waits for another one, some in a wait for an operation that they started, which is not recorded.
 * Such a rank may compute as well, so it must have made no progress for as long.
 */
static bool is_each_rank_waiting(struct report *r)
{
	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		const struct open_call *in = r->stuck.blocked_in[i];
		const struct open_call *c = in ? in : r->stuck.blocked[i];
		struct activity m = find_rank_activity(r, i);

		if (!c || c->age < ALL_WAIT_NS || !is_rank_missing(r, c) ||
			(!in && (m.state != ACTIVITY_STILL || m.since_ns < ALL_WAIT_NS)))
			return false;
	}
	return r->g.folders.n > 1;
}

static struct trouble first_trouble(struct report *r)
{
	const struct mismatch *u = &r->g.mismatch;
	const struct odd_meeting *o = &r->g.diagnose.results.places;
	static const struct odd_meeting no_meeting;
	const struct call *l = find_lagging(&r->g.diagnose.messages, are_all_finished(r));
	const struct truncated *x = &r->g.diagnose.messages.truncated;
	const struct order_seen *order;
	enum order_way way;
	bool hang;
	const struct stuck *s = report_stuck(r, &hang);
	struct trouble t = {.stuck = s};

	/*
	 * A pause of a running job is no fault yet. Neither is the state in which signals ended the
	 * ranks during their work.
	 */
	if (s && !r->left &&
		(hang || is_each_rank_waiting(r) ||
			(is_job_over(r) && !(s->age_max < CUT_OFF_NS && all_ended_by_signal(r))))) {
		t.any = true;
		t.step = s->sample->call.step;
		t.comm = s->sample->call.comm;
		t.event = s->sample->call.start;
	}
	/*
	 * Calls between the recorded ones are missing, so neither call sites nor the steps of
	 * messages can be compared.
	 */
	if (r->g.thinned)
		o = &no_meeting, l = NULL;
	if (o->any && (!t.any || o->event < t.event)) {
		t.any = true;
		t.step = o->call.step;
		t.comm = o->call.comm;
		t.event = o->event;
	}
	if (l && (!t.any || l->start < t.event)) {
		t.any = true;
		t.step = l->step;
		t.comm = l->comm;
		t.event = l->start;
	}
	if (u->any && (!t.any || u->event < t.event || u->step < t.step)) {
		t.any = true;
		t.step = u->step;
		t.comm = u->comm;
		t.event = u->event < t.event || !t.event ? u->event : t.event;
	}
	t.only_stuck = t.any && !o->any && !l && !u->any;
	if (!t.any && !r->g.thinned && x->any && x->either) {
		t.any = true;
		t.only_message = x;
		t.step = x->recv.step;
		t.comm = x->recv.comm;
		t.event = clock_set_right(&r->g.skew[x->recv.rank], x->recv.start);
	}
	/*
	 * Another order in one step, because of which no rank had to wait; nothing else went wrong.
	 */
	if (!t.any && !r->g.thinned && (order = find_odd_step_order(&r->g.diagnose.orders, &way)))
		t = (struct trouble){.any = true,
			.step = order->odd_first.step,
			.comm = order->odd_first.comm,
			.event = order->odd_first.start,
			.only_order = order,
			.way = way};
	return t;
}

static bool is_any_stopped(const struct report *r)
{
	for (uint32_t i = 0; i < r->g.folders.n; i++)
		if (is_rank_stopped(r, i))
			return true;
	return false;
}

/* awaited: ranks to judge, by folder; NULL: all. */
static struct verdict judge_awaited(
	const struct report *r, const struct window *w, const bool *awaited)
{
	/*
	 * A rank that did something new, but that no rank waits for, does not block the others: it
	 * only went on.
	 */
	struct verdict v = judge_sequences(w, awaited);

	if (v.kind || !awaited)
		return v;
	v = judge_sequences(w, NULL);
	if (!holds_up_awaited(r, &v, awaited))
		v.kind = VERDICT_NONE;
	return v;
}

/*
 * Calls were skipped to keep max_overhead, so the calls before and after a recorded one are not
 * known. Still, two rows of one operation show that ranks do not agree on it, and open calls show
 * that ranks wait for each other.
 */
static void find_trouble_of_thinned(struct report *r, const struct trouble *t)
{
	if (r->g.mismatch.any) {
		struct suspects suspects = list_suspects(r, t->stuck, NULL);
		struct window *w = window_read(&r->g, &suspects, t->step, t->comm);

		add_mismatch(r, t, w);
		window_free(w);
	} else if (t->stuck) {
		add_circle(r, t);
	}
}

/* The earlier messages of c's route had equal lengths on both sides, so nothing was wrong before them. */
static void set_first_judged(struct window *w, const struct truncated *x, const struct call *c)
{
	for (unsigned j = 0; j < w->n; j++)
		for (unsigned i = 0; w->rank[j].rank == c->rank && i < w->rank[j].n; i++) {
			const struct call *k = &w->rank[j].e[i].call;

			if (k->seq < c->seq && is_on_route(x, k))
				w->rank[j].first = i + 1;
		}
}

/*
 * A skipped message shifts the later ones of its route. Returns what one of the two ranks did that can have caused
 * it.
 */
static struct verdict find_message_cause(
	const struct report *r, struct window *w, const struct truncated *x)
{
	bool *two = tool_alloc(r->g.folders.n * sizeof(*two));
	struct verdict v;

	two[x->send.rank] = two[x->recv.rank] = true;
	set_first_judged(w, x, &x->send);
	set_first_judged(w, x, &x->recv);
	w->message = x;
	v = judge_sequences(w, two);
	free(two);
	return v;
}

void find_trouble(struct report *r)
{
	struct trouble t = first_trouble(r);
	const struct step_lag *lag;
	struct suspects suspects;
	struct window *w;
	struct verdict v;
	bool *awaited, is_special = t.only_order || t.only_message;

	/* A stopped rank has done nothing unusual. */
	if (!t.any || (t.only_stuck && is_any_stopped(r)))
		return;
	if (r->g.thinned) {
		find_trouble_of_thinned(r, &t);
		return;
	}
	suspects = list_suspects(r, t.stuck, t.only_order);
	w = window_read(&r->g, &suspects, t.step, t.comm);
	awaited = t.only_stuck ? list_awaited_ranks(r) : NULL;
	if (awaited)
		mark_missing_ranks(w, awaited);
	v = t.only_order     ? explain_step_order(t.only_order, t.way, w)
	    : t.only_message ? find_message_cause(r, w, t.only_message)
			     : judge_awaited(r, w, awaited);
	if (!v.kind && !is_special && window_look_earlier(w))
		v = judge_awaited(r, w, awaited);
	if (!v.kind && !is_special)
		v = judge_passed(w);
	free(awaited);
	/* Two steps of the rank have one number, which is reported separately. */
	lag = first_step_lag(&r->g.diagnose.results);
	if (lag && v.kind && lag->rank == v.rank && v.step + 1 >= lag->call.step)
		v.kind = VERDICT_NONE;
	settle_order(r, &v);
	if (v.kind)
		add_verdict(r, &t, w, &v);
	else if (t.stuck && add_crossed_message(r, &t))
		;
	else if (r->g.mismatch.any)
		add_mismatch(r, &t, w);
	else if (t.stuck)
		add_circle(r, &t);
	window_free(w);
}
