/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that are wrong without being NaN: findings from the data of invariants.c, replicas.c,
 * results.c and messages.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/end/hang.h"
#include "tools/probe/rules/values/inputs.h"
#include "tools/probe/rules/report.h"

/* Formats "12.5", with only as many digits as are useful. */
static const char *short_number(double v)
{
	static char text[8][32];
	static unsigned at;

	snprintf(text[at = (at + 1) % 8], sizeof(text[0]), "%.6g", v);
	return text[at];
}

static char *next_command(const struct report *r, const struct call *c)
{
	uint64_t from = c->step ? c->step - 1 : 0;
	int rank = r->g.folders.dir[c->rank].rank;

	if (rank < 0)
		return tool_format("probe report --stacks --step %llu-%llu %s",
			(unsigned long long)from, (unsigned long long)c->step, r->g.folders.path);
	return tool_format("probe report --stacks --rank %d --step %llu-%llu %s", rank,
		(unsigned long long)from, (unsigned long long)c->step, r->g.folders.path);
}

static char *index_ranks(const struct report *r, const uint32_t *list, unsigned n)
{
	int rank[NAMED_MAX];

	if (n > NAMED_MAX)
		return tool_format("%u ranks", n);
	for (unsigned i = 0; i < n; i++)
		rank[i] = r->g.folders.dir[list[i]].rank;
	return out_format_ranks(rank, n);
}

/*
 * True if some ranks still run and have not written this step yet: if they did the same, the
 * program is the cause and not one rank.
 */
static bool may_others_follow(const struct report *r, const struct call *c, uint64_t step)
{
	const struct comm_info *k = comms_find(&r->g.comms, c->comm);

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		const struct rank_dir *d = &r->g.folders.dir[i];

		if (i != c->rank && (!k || !k->member || comm_has(k, d->rank)) &&
			r->g.rank[i].last_step < step && may_write_more(&r->g, d))
			return true;
	}
	return false;
}

static void complete_strange(struct report *r, struct finding *f, const struct strange *s)
{
	if (s->weight != WEIGHT_BAD)
		f->severity = FIND_NOTE;
	/* The rank is alone on its communicator, so no other rank shows what is usual. */
	if (s->call.size == 1 && !(s->call.bits & CALL_P2P) && r->g.folders.n > 1) {
		f->severity = FIND_NOTE;
	}
	name_culprit(r, f, s->call.rank);
	name_call(f, &s->call);
	f->event = s->event;
	f->next = next_command(r, &s->call);
}

static void find_spike(struct report *r)
{
	const struct strange *s = &r->g.diagnose.invariants.spike;
	struct finding *f;
	char *what, *at;
	bool all;

	if (!s->any)
		return;
	what = report_call(r, &s->call);
	at = called_from_text(r, &s->call);
	all = s->ranks > 1 && s->ranks == s->call.size;
	f = add_finding(r,
		!all		    ? FINDING_SPIKE
		: s->call.count > 1 ? FINDING_SPIKE_ALL
				    : FINDING_SPIKE_NUMBER,
		tool_format("first in step %llu, %s%s: a value of %s in the input of %s; in the %s "
			    "before "
			    "none at this place was above %s%s%s%s",
			(unsigned long long)s->call.step, all ? "on all ranks alike, as on " : "",
			report_rank(r, s->call.rank), short_number(s->now), what,
			out_format_plural(s->seen, "step", "steps"), short_number(s->before), at,
			s->more ? "; later calls with such values: " : "",
			s->more ? out_format_count(s->more) : ""));
	complete_strange(r, f, s);
	/*
	 * No rank is the culprit: it is the training itself, or a value that the program measures.
	 */
	if (all) {
		f->nrank = 0;
	}
	f->evidence = tool_format("largest absolute value %s, so far at most %s",
		short_number(s->now), short_number(s->before));
	free(what);
	free(at);
}

/* how: what is unusual about the input; the function frees it. */
static struct finding *add_strange(struct report *r, enum finding_kind kind,
	const struct strange *s, const char *since, char *how)
{
	char *what = report_call(r, &s->call), *at = called_from_text(r, &s->call);
	struct finding *f = add_finding(r, kind,
		tool_format("%sstep %llu%s, %s: the input of %s %s%s", since,
			(unsigned long long)s->call.step, *since ? " on" : "",
			report_rank(r, s->call.rank), what, how, at));

	complete_strange(r, f, s);
	free(what);
	free(at);
	free(how);
	return f;
}

static void find_violated_invariants(struct report *r)
{
	const struct invariants *h = &r->g.diagnose.invariants;
	const struct strange *stale = &h->first_stale, *zero = &h->first_zero,
			     *once = &h->first_once;
	struct finding *f;

	if (stale->any) {
		f = add_strange(r, FINDING_STALE, stale, "",
			tool_format("has the same minimum, maximum, mean and norm as %s; it "
				    "was new in each of %s so far, on all ranks: the buffer was "
				    "not filled",
				stale->turn ? "the time before" : "in the step before",
				stale->turn ? out_format_plural(stale->seen, "call", "calls")
					    : out_format_plural(stale->seen, "step", "steps")));
		f->awaited = may_others_follow(r, &stale->call, stale->call.step + 1);
		f->evidence = tool_format("minimum %s, maximum %s, mean %s, as before",
			short_number(stale->call.in.least), short_number(stale->call.in.most),
			short_number(stale->call.in.sum / (double)stale->call.in.count));
	}
	if (zero->any) {
		f = add_strange(r, FINDING_ZERO, zero, "from ",
			tool_format("has only zeros; in the %s before it never did, nor on "
				    "other ranks",
				out_format_plural(zero->seen, "step", "steps")));
		f->awaited = may_others_follow(r, &zero->call, zero->call.step + zero->length);
		f->evidence = tool_format("norm 0 in %s, to the end of the recording",
			out_format_plural(zero->length, "step", "steps"));
	}
	if (once->any) {
		f = add_strange(r, FINDING_ZERO_ONCE, once, "",
			tool_format("had only zeros in this step alone, on this rank and "
				    "not on most others; in the %s before it never had",
				out_format_plural(once->seen, "step", "steps")));
		f->evidence = tool_strdup("norm 0 in one step, and neither before nor later");
	}
}

/* Adds a finding about an operation. Takes ownership of text. */
static struct finding *add_odd_finding(
	struct report *r, enum finding_kind kind, const struct odd_meeting *o, char *text)
{
	struct finding *f = add_finding(r, kind, text);

	for (unsigned i = 0; i < o->nrank && i < NAMED_MAX; i++)
		name_culprit(r, f, o->rank[i]);
	for (unsigned i = 0; i < o->nother && i < NAMED_MAX; i++)
		name_concerned(r, f, o->other[i]);
	name_call(f, &o->call);
	f->event = o->event;
	f->next = next_command(r, &o->call);
	return f;
}

static const char *unsure_text(const struct odd_meeting *o)
{
	return o->unsure ? " (which of them is right cannot be told)" : "";
}

/*
 * Describes how `side` differs from `other`: by its range, or, if the ranges are equal, by mean and
 * norm.
 */
static char *side_text(const struct side *s, const struct side *other)
{
	double n = (double)s->count;

	if (s->least != other->least || s->most != other->most || s->count < 2)
		return tool_format(
			"values from %s to %s", short_number(s->least), short_number(s->most));
	return tool_format("a mean of %.9g and a norm of %.9g", s->sum / n, sqrt(s->squares));
}

static void find_corruption(struct report *r)
{
	const struct odd_meeting *o = &r->g.diagnose.results.corruption;
	const struct messages *m = &r->g.diagnose.messages;
	char *what, *at, *who, *rest;

	if (o->any) {
		what = report_call(r, &o->call);
		at = called_from_text(r, &o->call);
		who = index_ranks(r, o->rank, o->nrank);
		rest = o->nother ? index_ranks(r, o->other, o->nother) : tool_strdup("each other");
		add_odd_finding(r, FINDING_CORRUPTION, o,
			tool_format(
				"step %llu: the results of %s differ: %s got another result than "
				"%s%s; "
				"those of the %s before were equal on all ranks%s",
				(unsigned long long)o->call.step, what, who, rest, unsure_text(o),
				out_format_plural(o->agreed, "operation", "operations"), at))
			->evidence =
			tool_strdup("minimum, maximum, mean and norm of the `out` rows with this "
				    "comm and comm_seq");
		free(what);
		free(at);
		free(who);
		free(rest);
	}
	if (is_any_damaged(m)) {
		struct finding *f;

		what = report_call(r, &m->damaged);
		at = called_from_text(r, &m->damaged);
		who = side_text(&m->damaged.out, &m->damaged_by.in);
		rest = side_text(&m->damaged_by.in, &m->damaged.out);
		f = add_finding(r, FINDING_CORRUPTION,
			tool_format("step %llu, %s: the message of %s arrived with %s, "
				    "and was sent by %s with %s%s",
				(unsigned long long)m->damaged.step,
				report_rank(r, m->damaged.rank), what, who,
				report_rank(r, m->damaged_by.rank), rest, at));
		free(who);
		free(rest);
		name_culprit(r, f, m->damaged.rank);
		name_concerned(r, f, m->damaged_by.rank);
		name_call(f, &m->damaged);
		f->next = next_command(r, &m->damaged);
		free(what);
		free(at);
	}
}

static void find_not_sum(struct report *r)
{
	const struct odd_meeting *o = &r->g.diagnose.results.not_sum;
	char *what, *at, *who;
	struct finding *f;

	if (!o->any)
		return;
	what = report_call(r, &o->call);
	at = called_from_text(r, &o->call);
	who = o->call.bits & CALL_GAPS
		      ? tool_strdup(
				"its tensor is a strided view, and the library read "
				"memory contiguously, including elements between the view's own")
	      : o->moved  ? tool_strdup("which of the parts was changed on its way cannot be told")
	      : o->unsure ? tool_strdup("it cannot be told whose input is missing")
	      : o->fault == SUM_OF_ONE_WRONG
		      ? tool_format("only the result of %s is wrong", report_rank(r, o->rank[0]))
	      : o->fault == SUM_HAS_OTHER_INPUT
		      ? tool_format("what %s put in arrived changed", report_rank(r, o->rank[0]))
		      : tool_format("%s what %s put in",
				o->extreme ? "that is" : "the difference is",
				report_rank(r, o->rank[0]));
	f = add_odd_finding(r, o->moved ? FINDING_CORRUPTION : FINDING_NOT_SUM, o,
		tool_format("step %llu: the result of %s is not %s: %s "
			    "%s, %s of the inputs %s; %s. In the %s before it was right%s",
			(unsigned long long)o->call.step, what,
			o->moved ? "what its ranks put in" : "the reduction of its inputs",
			o->extreme ? "the extreme value is" : "the elements add up to",
			short_number(o->have), o->extreme ? "that" : "those", short_number(o->want),
			who, out_format_plural(o->agreed, "operation", "operations"), at));
	f->evidence = o->extreme ? tool_strdup("columns min and max of the rows with this comm and "
					       "comm_seq: `out` and all `in`")
				 : tool_format("sum %s instead of %s; rounding explains at most %s",
					   short_number(o->have), short_number(o->want),
					   short_number(o->bound));
	free(what);
	free(at);
	free(who);
}

static void find_odd_volume(struct report *r)
{
	const struct odd_meeting *o = &r->g.diagnose.results.volume;
	struct finding *f;
	char *what, *at, *who, *names;

	if (!o->any)
		return;
	what = report_call(r, &o->call);
	at = called_from_text(r, &o->call);
	names = o->nrank ? index_ranks(r, o->rank, o->nrank) : tool_strdup("");
	who = o->nrank == 1 ? tool_format("%s %s %.0f bytes, and %.0f in all steps before", names,
				      o->sent ? "sent" : "took", o->have, o->want)
	      : o->nrank    ? tool_format("%s had other amounts than in all steps before", names)
			    : tool_strdup("amounts change here in every step, so that the rank "
					     "cannot be told");
	f = add_odd_finding(r, FINDING_MISMATCH, o,
		tool_format("step %llu: in %s the ranks together did not take as many bytes as "
			    "they sent, as in the %s before: %s%s",
			(unsigned long long)o->call.step, what,
			out_format_plural(o->agreed, "operation", "operations"), who, at));
	f->what = "count";
	f->evidence =
		tool_strdup("column bytes of the `in` and `out` rows with this comm and comm_seq");
	free(what);
	free(at);
	free(who);
	free(names);
}

static void find_mismatched_message(struct report *r)
{
	const struct mismatched_message *u = &r->g.diagnose.messages.mismatch;
	char *what, *at;
	struct finding *f;

	if (!u->any)
		return;
	what = report_call(r, &u->call);
	at = called_from_text(r, &u->call);
	f = add_finding(r, FINDING_MISMATCH,
		tool_format("step %llu: %s has another data type in %s: %s; %s has %s on the other "
			    "side, as "
			    "both had in the %s before%s",
			(unsigned long long)u->call.step, report_rank(r, u->call.rank), what,
			intern_get_name(u->call.dtype), report_rank(r, u->other.rank),
			intern_get_name(u->usual),
			out_format_plural(u->agreed, "message", "messages"), at));
	f->what = "dtype";
	name_culprit(r, f, u->call.rank);
	name_concerned(r, f, u->other.rank);
	name_call(f, &u->call);
	f->event = clock_set_right(&r->g.skew[u->call.rank], u->call.start);
	f->evidence = tool_strdup("column dtype of the message's rows on both sides");
	f->next = next_command(r, &u->call);
	free(what);
	free(at);
}

/* If lengths repeat in a cycle, they show which rank is one message ahead of the other. */
static char *skipped_text(struct report *r, const struct truncated *t, const struct call *c,
	const struct call *o, const char *what, const char *at)
{
	return tool_format(
		"step %llu: %s skipped the message before %s: the lengths of these messages repeat "
		"in a cycle, and it has the next length, %s elements, where %s has %s%s",
		(unsigned long long)c->step, report_rank(r, c->rank), what,
		out_format_count(t->sender ? t->send.in.count : t->recv.count),
		report_rank(r, o->rank),
		out_format_count(t->sender ? t->recv.count : t->send.in.count), at);
}

static void find_shorter_message(struct report *r)
{
	const struct shorter *s = &r->g.diagnose.messages.shorter;
	char *what, *at;
	struct finding *f;

	if (!s->any)
		return;
	what = report_call(r, &s->send);
	at = called_from_text(r, &s->send);
	f = add_finding(r, FINDING_MISMATCH_SHORT,
		tool_format(
			"step %llu: %s sent %s elements in %s, which %s received; at this place it "
			"had sent %s all %s before, and they were received. A last batch is "
			"shorter too%s",
			(unsigned long long)s->send.step, report_rank(r, s->send.rank),
			out_format_count(s->send.in.count), what, report_rank(r, s->recv.rank),
			out_format_count(s->usual), out_format_plural(s->times, "time", "times"),
			at));
	f->what = "count";
	name_culprit(r, f, s->send.rank);
	name_concerned(r, f, s->recv.rank);
	name_call(f, &s->send);
	f->event = clock_set_right(&r->g.skew[s->send.rank], s->send.start);
	f->next = next_command(r, &s->send);
	free(what);
	free(at);
}

static bool has_finding(const struct report *r, const char *kind)
{
	for (unsigned i = 0; i < r->nfinding; i++)
		if (strcmp(r->finding[i].kind, kind) == 0)
			return true;
	return false;
}

/*
 * A message with a tag that its line never had, and that no rank received: later messages may have arrived in its place.
 * Returns true if these explain the message that did not fit.
 */
static bool find_stray_message(struct report *r)
{
	const struct truncated *t = &r->g.diagnose.messages.truncated;
	struct call send;
	struct finding *f;
	int64_t usual;
	char *what, *at;
	bool hang, replaced, sure;

	if (has_finding(r, "tag") || !find_stray_tag(&r->g.diagnose.messages, &send, &usual))
		return false;
	replaced = t->any && t->send.rank == send.rank && t->send.peer == send.peer &&
		   t->send.comm == send.comm && t->send.seq > send.seq;
	sure = replaced || are_all_finished(r);
	/* It may still be on its way. */
	if (!sure && !is_job_over(r) && !report_stuck(r, &hang))
		return false;
	what = report_call(r, &send);
	at = called_from_text(r, &send);
	f = add_finding(r, FINDING_TAG,
		tool_format("step %llu: %s did %s, which no rank receives%s: so far all messages "
			    "of this line had tag %lld%s",
			(unsigned long long)send.step, report_rank(r, send.rank), what,
			replaced ? ", and a later message arrived in its place" : "",
			(long long)usual, at));
	f->severity = sure ? f->severity : FIND_NOTE;
	f->what = "tag";
	name_culprit(r, f, send.rank);
	name_call(f, &send);
	f->event = clock_set_right(&r->g.skew[send.rank], send.start);
	f->next = next_command(r, &send);
	free(what);
	free(at);
	return replaced;
}

static void find_truncated_message(struct report *r)
{
	const struct truncated *t = &r->g.diagnose.messages.truncated;
	const struct call *c = t->sender ? &t->send : &t->recv,
			  *o = t->sender ? &t->recv : &t->send;
	char *what, *at, *usual;
	struct finding *f;

	if (!t->any)
		return;
	what = report_call(r, c);
	at = called_from_text(r, c);
	usual = t->either
			? tool_strdup("; which of them is wrong cannot be told: lengths vary here")
		: t->usual ? tool_format("; at this place it had %s in all steps before",
				     out_format_count(t->usual))
			   : tool_strdup("");
	f = add_finding(r, t->skipped ? FINDING_SKIP : FINDING_MISMATCH,
		t->skipped ? skipped_text(r, t, c, o, what, at)
			   : tool_format("step %llu: %s has another count in %s: %s elements, "
					 "where %s %s%s%s",
				     (unsigned long long)c->step, report_rank(r, c->rank), what,
				     out_format_count(t->sender ? t->send.in.count : t->recv.count),
				     report_rank(r, o->rank),
				     t->sender				? "has less room"
				     : t->recv.count > t->send.in.count ? "sent fewer"
									: "sent more",
				     usual, at));
	f->what = t->skipped ? "missing" : "count";
	name_culprit(r, f, c->rank);
	if (t->either)
		name_culprit(r, f, o->rank);
	else
		name_concerned(r, f, o->rank);
	name_call(f, c);
	f->event = clock_set_right(&r->g.skew[c->rank], c->start);
	f->evidence = tool_format("%s sent %s elements, the receive has room for %s",
		report_rank(r, t->send.rank), out_format_count(t->send.in.count),
		out_format_count(t->recv.count));
	f->next = next_command(r, c);
	free(what);
	free(at);
	free(usual);
}

static void find_diverged(struct report *r)
{
	const struct results *k = &r->g.diagnose.results;
	const struct odd_meeting *o = &r->g.diagnose.replicas.diverged;
	struct finding *f;
	char *what, *at, *who, *rest;

	/*
	 * It follows from a NaN that some ranks got and others did not, which find_values()
	 * reports.
	 */
	if (!o->any || (k->diverged.any && k->diverged.event <= o->event))
		return;
	what = report_call(r, &o->call);
	at = called_from_text(r, &o->call);
	who = index_ranks(r, o->rank, o->nrank);
	rest = o->nother ? index_ranks(r, o->other, o->nother) : tool_strdup("each other");
	f = add_odd_finding(r, FINDING_DIVERGED, o,
		tool_format("first in step %llu: %s put other values into %s than %s, and had the "
			    "same in all "
			    "steps before (%s)%s%s",
			(unsigned long long)o->call.step, who, what, rest,
			out_format_plural(o->agreed, "different value", "different values"),
			unsure_text(o), at));
	f->severity = o->weight == WEIGHT_BAD ? FIND_BAD : FIND_NOTE;
	f->evidence =
		tool_strdup("minimum, maximum, mean and norm of the `in` rows with this comm and "
			    "comm_seq, and of those of earlier steps");
	free(what);
	free(at);
	free(who);
	free(rest);
}

/* A call too many, or too few, on a rank, which the step numbers of an operation's ranks show. */
static void add_other_count(struct report *r, char *text, bool missing, uint32_t rank,
	const struct call *c, uint64_t event)
{
	struct finding *f = add_finding(r, FINDING_SKIP, text);

	f->what = missing ? "missing" : "extra";
	name_culprit(r, f, rank);
	name_call(f, c);
	f->event = event;
	f->evidence = tool_strdup(
		"column step of the rows with this comm and comm_seq on each of its ranks");
	f->next = next_command(r, c);
}

static void find_skipped_step(struct report *r)
{
	const struct step_lag *k = first_step_lag(&r->g.diagnose.results);
	char *what, *steps;

	if (!k)
		return;
	what = report_call(r, &k->call);
	steps = tool_strdup(out_format_plural((uint64_t)llabs(k->lag), "step", "steps"));
	add_other_count(r,
		tool_format(
			"step %llu: %s %s %s: from %s on, its step number is %s %s than that "
			"of the other ranks in the same operations; before, it was equal for %s",
			(unsigned long long)k->call.step, report_rank(r, k->rank),
			k->lag > 0 ? "skipped" : "made too many:", steps, what, steps,
			k->lag > 0 ? "lower" : "higher",
			out_format_plural(k->equal, "step", "steps")),
		k->lag > 0, k->rank, &k->call, k->event);
	free(what);
	free(steps);
}

/* True if each rank has finished, and the rows of all its calls were read. */
static bool is_every_call_known(const struct report *r)
{
	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		const struct rank_dir *d = &r->g.folders.dir[i];

		if (d->state != RANK_FINISHED || d->meta.seen != d->meta.recorded ||
			d->meta.lost_rows || d->meta.removed_blocks)
			return false;
	}
	return !r->steps_chosen && !r->g.thinned && !r->g.meet.given_up;
}

static void find_odd_count(struct report *r)
{
	const struct odd_count *k = first_odd_count(&r->g.diagnose.results);
	char *what, *at, *left, *who;

	if (!k || !is_every_call_known(r))
		return;
	what = report_call(r, &k->call);
	at = called_from_text(r, &k->call);
	who = tool_strdup(report_rank(r, k->rank));
	left = tool_strdup(out_format_plural(k->left, "operation", "operations"));
	add_other_count(r,
		tool_format(
			"step %llu: %s %s %s%s. No rank waited for it; since then calls of this "
			"communicator meet calls of another step, first those of step %llu, and "
			"at the end of the job %s %s",
			(unsigned long long)k->call.step, who,
			k->more ? "made a call too many:" : "skipped", what, at,
			(unsigned long long)k->other_step, left,
			k->more ? "had no other rank in it" : "had all ranks but this one in it"),
		!k->more, k->rank, &k->call, k->event);
	free(what);
	free(at);
	free(left);
	free(who);
}

void find_odd_values(struct report *r)
{
	find_skipped_step(r);
	find_odd_count(r);
	/*
	 * Call sites, and so their invariants, are distinguished by the number in the step, which is
	 * not known if calls were not recorded.
	 */
	if (!r->g.thinned) {
		find_spike(r);
		find_violated_invariants(r);
	}
	find_corruption(r);
	find_not_sum(r);
	if (r->g.thinned)
		return;
	find_odd_volume(r);
	find_mismatched_message(r);
	if (!find_stray_message(r))
		find_truncated_message(r);
	find_shorter_message(r);
	find_diverged(r);
}
