/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that ended while others needed them: which rank ended first, how it ended (`end` of meta.json), and how the others
 * ended. A launcher ends the remaining ranks, and their errors follow from the first end.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/end/complete_calls.h"
#include "tools/probe/rules/end/ended_by.h"
#include "tools/probe/rules/end/ended_together.h"
#include "tools/probe/rules/end/first_by_signal.h"
#include "tools/probe/rules/end/leaving.h"
#include "tools/probe/rules/last_words.h"
#include "tools/probe/rules/report.h"

#define TEXT_SHOWN 500
#define TEXT_OF_OTHERS 160
#define OTHERS_TEXT 3 /* other ranks whose own messages are shown */

/*
 * True if the library ended rank i, or returned an error after which the rank ended. Then the rank may only have noticed that
 * another rank acted wrongly or had ended.
 */
static bool left_by_communication(const struct report *r, uint32_t i)
{
	const struct rank_info *k = &r->g.rank[i];
	const struct meta_ending *e = &r->g.folders.dir[i].meta.end;
	bool mid_call = (k->last.rows && k->last.bits & CALL_OPEN) || was_told_of_error(r, i);

	/* The program itself calls MPI_Abort(). A runtime calls abort() also if the program ends because of a call's error. */
	if (strcmp(e->how, "abort") == 0)
		return strcmp(e->text, "abort") == 0 && was_told_of_error(r, i);
	if (*e->inside)
		return true;
	return mid_call;
}

/* Corrected times; UINT64_MAX: no rank. */
struct earliest {
	uint32_t who;
	uint64_t left; /* time of the first end of any rank */
	uint64_t told; /* time of the first end of a rank to which a call had returned an error */
};

static struct earliest find_earliest(const struct report *r)
{
	struct earliest e = {0, UINT64_MAX, UINT64_MAX};

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		uint64_t at = moment_of_leaving(r, i);

		if (how_it_left(r, i) == STAYED)
			continue;
		if (at < e.left) {
			e.left = at;
			e.who = i;
		}
		if (how_it_left(r, i) == SPOKE && was_told_of_error(r, i) && at < e.told)
			e.told = at;
	}
	return e;
}

/*
 * True if an exception ended the last call of rank i after another rank had ended: a closed connection is reported that way. An
 * error of the call itself is reported while all ranks still run.
 */
static bool exited_after_another_rank(const struct report *r, uint32_t i, const struct earliest *e)
{
	const struct call *last = &r->g.rank[i].last;

	return last->rows && last->bits & CALL_UNWOUND && e->who != i &&
	       e->left < clock_set_right(&r->g.skew[i], last->start + last->dur);
}

/*
 * True if rank i called exit() with an operation under way that it had only started, and no rank had
 * ended before: then neither the operation nor an ended peer made it exit.
 */
static bool exited_before_all(const struct report *r, uint32_t i, const struct earliest *e)
{
	const struct meta_ending *end = &r->g.folders.dir[i].meta.end;
	const struct call *last = &r->g.rank[i].last;

	return e->who == i && strcmp(end->how, "exit") == 0 && !*end->inside && last->rows &&
	       last->bits & CALL_ASYNC && !was_told_of_error(r, i);
}

/* The first of the ranks that left in that way; -1: there is none. */
static int first_to_leave(const struct report *r, enum leaving how, bool by_itself)
{
	struct earliest e = find_earliest(r);
	int first = -1;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		if (how_it_left(r, i) != how)
			continue;
		if (by_itself &&
			(how == SPOKE ? (left_by_communication(r, i) &&
						!exited_before_all(r, i, &e)) ||
						exited_after_another_rank(r, i, &e)
				      : is_blocked_in_call(r, i) || was_told_of_error(r, i)))
			continue;
		/* It was alive after another rank had ended because of an error: the first fault did not end it. */
		if (how == SILENT && moment_of_leaving(r, i) > e.told)
			continue;
		if (first < 0 || moment_of_leaving(r, i) < moment_of_leaving(r, (uint32_t)first))
			first = (int)i;
	}
	return first;
}

/*
 * True if another rank made calls after the last silent rank had ended, and finished normally. Then no launcher ended the
 * silent ranks: each ended by itself, and the program survives that (ULFM).
 */
static bool others_went_on(const struct report *r)
{
	uint64_t silent = 0, going = 0;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		const struct rank_info *k = &r->g.rank[i];
		uint64_t at;

		if (how_it_left(r, i) == SILENT) {
			at = moment_of_leaving(r, i);
			silent = at > silent ? at : silent;
		} else if (r->g.folders.dir[i].state == RANK_FINISHED && k->last.rows &&
			   !(k->last.bits & (CALL_OPEN | CALL_ERROR))) {
			at = clock_set_right(&r->g.skew[i], k->last.start);
			going = at > going ? at : going;
		}
	}
	return silent && going > silent;
}

static char *leaving_text(struct report *r, uint32_t i, int most)
{
	/* A silent rank with a message continued after it, so it survived that error. */
	char *reported = how_it_left(r, i) == SILENT
				 ? NULL
				 : last_words_text(&r->g.folders.dir[i].meta.end, most);
	struct ended_by by;

	if (reported)
		return reported;
	by = how_signal_ended(r, i);
	return ended_by_text(&by);
}

static char *last_call_text(struct report *r, uint32_t i)
{
	const struct rank_info *k = &r->g.rank[i];
	const struct rank_dir *d = &r->g.folders.dir[i];
	uint64_t until = own_moment_of_leaving(r, i), end;
	char *what, *at, *all, *before;

	if (!k->last.rows)
		return tool_strdup("it recorded no call");
	end = k->last.start + (k->last.bits & CALL_OPEN ? 0 : k->last.dur);
	what = report_call(r, &k->last);
	at = called_from_text(r, &k->last);
	/* If its last record is the last sign of life, the time until its end is not known. */
	before = how_it_left(r, i) == SILENT && d->alive_ns <= d->last_ns && !d->died_ns
			 ? tool_strdup("")
			 : tool_format(", %s before",
				   out_format_duration(until > end ? (double)(until - end) : 0));
	all = tool_format("its last call was %s in step %llu%s%s", what,
		(unsigned long long)k->last.step, before, at);
	free(before);
	free(what);
	free(at);
	return all;
}

static void add_peer_activity(struct report *r, uint32_t first, char **text)
{
	uint64_t event = moment_of_leaving(r, first);
	int *rank = tool_alloc((r->g.folders.n + 1) * sizeof(*rank));
	const struct open_call *in = NULL;
	unsigned n = 0, reported = 0;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		const struct open_call *o = i == first ? NULL : r->stuck.blocked_in[i];

		if (!o || (in && !stuck_alike(in, o)))
			continue;
		in = in ? in : o;
		rank[n++] = r->g.folders.dir[i].rank;
	}
	if (n) {
		char *who = out_format_ranks(rank, n), *what = report_call(r, &in->call),
		     *at = called_from_text(r, &in->call);

		tool_add_text(text, "\n%s waited for it in %s%s", who, what, at);
		free(who);
		free(what);
		free(at);
	}
	for (uint32_t i = 0; i < r->g.folders.n && reported < OTHERS_TEXT; i++) {
		uint64_t at = moment_of_leaving(r, i);
		char *how;

		if (i == first || how_it_left(r, i) != SPOKE)
			continue;
		how = leaving_text(r, i, TEXT_OF_OTHERS);
		/* An error of communication may come first: a rank closes its connections before its own exception ends it. */
		if (at > event)
			tool_add_text(text, "\nthen %s left, %s later, %s", report_rank(r, i),
				out_format_duration((double)(at - event)), how);
		else
			tool_add_text(text, "\n%s left %s before it, %s", report_rank(r, i),
				out_format_duration((double)(event - at)), how);
		free(how);
		reported++;
	}
	n = 0;
	for (uint32_t i = 0; i < r->g.folders.n; i++)
		if (i != first && how_it_left(r, i) == SILENT)
			rank[n++] = r->g.folders.dir[i].rank;
	if (n && how_it_left(r, first) == SILENT && others_went_on(r)) {
		char *who = out_format_ranks(rank, n);

		tool_add_text(
			text, "\nthen %s ended too, without a message; the others continued", who);
		free(who);
	} else if (n && how_it_left(r, first) == SPOKE) {
		char *who = out_format_ranks(rank, n);

		tool_add_text(text, "\n%s %s ended by a signal, as a launcher does then", who,
			n == 1 ? "was" : "were");
		free(who);
	} else if (n && all_ended_by_signal(r)) {
		char *who = out_format_ranks(rank, n);

		tool_add_text(text,
			"\n%s %s ended by a signal too, as a launcher does then; "
			"which rank was "
			"first is taken from %s",
			who, n == 1 ? "was" : "were",
			r->g.folders.dir[first].died_ns ? "when each of them ended"
							: "the last calls");
		free(who);
	}
	free(rank);
}

static bool is_ended_by_library(const struct report *r, uint32_t i)
{
	const struct meta_ending *e = &r->g.folders.dir[i].meta.end;

	return how_it_left(r, i) == SPOKE && *e->inside && strcmp(e->how, "exit") == 0;
}

static bool any_ended_by_library(const struct report *r)
{
	for (uint32_t i = 0; i < r->g.folders.n; i++)
		if (is_ended_by_library(r, i))
			return true;
	return false;
}

/* Names the first rank that its library ended. Another rank may be the cause: a message that was too long, an ended peer. */
void find_fatal_errors(struct report *r)
{
	if (r->left)
		return;
	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		const struct rank_info *k = &r->g.rank[i];
		const struct meta_ending *e = &r->g.folders.dir[i].meta.end;
		struct finding *f;
		char *what, *at;
		bool own;

		if (!is_ended_by_library(r, i))
			continue;
		what = k->last.rows ? report_call(r, &k->last) : tool_strdup(e->inside);
		at = k->last.rows ? called_from_text(r, &k->last) : tool_strdup("");
		own = has_own_terms(r, &k->last);
		f = add_finding(r, FINDING_ERROR,
			tool_format("step %llu: the library ended %s inside of %s, with exit code "
				    "%d%s: it found an error "
				    "there, %s; what it printed says which",
				(unsigned long long)k->last.step, report_rank(r, i), what, e->code,
				at,
				own ? "in a call without elements where all others have some"
				    : "whose cause may be another rank's"));
		if (own)
			name_culprit(r, f, i);
		else
			name_concerned(r, f, i);
		if (k->last.rows)
			name_call(f, &k->last);
		/* The end of the rank: an asynchronous call may start long before the call of another rank. */
		f->event = moment_of_leaving(r, i);
		f->evidence = tool_format("\"end\" in %s/meta.json", r->g.folders.dir[i].name);
		free(what);
		free(at);
		return; /* only the first one, because the others follow from it */
	}
}

static bool is_started_only(const struct report *r, uint32_t i)
{
	const struct call *c = &r->g.rank[i].last;

	return c->rows && c->bits & CALL_OPEN;
}

/*
 * Signals ended all ranks, after calls had returned errors to some of them. Returns the only rank that got no error and was in
 * no call: it ended first. Returns -1 if there is none, or several.
 */
static int only_one_without_error(const struct report *r)
{
	unsigned told = 0;
	int one = -1;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		told += was_told_of_error(r, i);
		if (was_told_of_error(r, i) || is_blocked_in_call(r, i) || is_started_only(r, i))
			continue;
		if (one >= 0)
			return -1;
		one = (int)i;
	}
	return told ? one : -1;
}

/* True if rank i is the peer of message c. */
static bool is_peer(const struct report *r, const struct call *c, uint32_t i)
{
	const struct comm_info *k = comms_find(&r->g.comms, c->comm);

	return c->bits & CALL_P2P && k && c->peer != NO_NUMBER &&
	       comm_get_member(k, c->peer) == r->g.folders.dir[i].rank;
}

/* True if rank i exited as if its work were done, but never entered an operation that failed on another rank. */
static bool left_too_early(const struct report *r, uint32_t i)
{
	const struct meta_ending *e = &r->g.folders.dir[i].meta.end;
	const struct call *mine = &r->g.rank[i].last;

	if (how_it_left(r, i) != STAYED || strcmp(e->how, "exit") != 0 || !mine->rows ||
		mine->bits & CALL_ERROR)
		return false;
	for (uint32_t k = 0; k < r->g.folders.n; k++) {
		const struct call *other = &r->g.rank[k].last;

		/* MPI's launchers end the other ranks when one exits before MPI_Finalize. */
		if (strcmp(intern_get_name(mine->lib), "mpi") == 0 && how_it_left(r, k) == SILENT &&
			(is_blocked_in_call(r, k) ||
				moment_of_leaving(r, k) >= moment_of_leaving(r, i)))
			return true;
		if (!was_told_of_error(r, k))
			continue;
		/* A message fails if its peer has ended. */
		if (is_peer(r, other, i) && other->start + other->dur > mine->start)
			return true;
		if (!((mine->bits | other->bits) & CALL_P2P) && !(mine->bits & CALL_OPEN) &&
			mine->comm_seq != NO_NUMBER && other->comm == mine->comm &&
			other->comm_seq != NO_NUMBER && other->comm_seq > mine->comm_seq)
			return true;
		if (!(other->bits & (CALL_P2P | CALL_LOCAL)) && other->comm_seq != NO_NUMBER &&
			other->comm != mine->comm && has_never_entered(r, i, other))
			return true;
	}
	return false;
}

static int only_early_leaver(const struct report *r)
{
	int one = -1;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		if (!left_too_early(r, i))
			continue;
		if (one >= 0)
			return -1;
		one = (int)i;
	}
	return one;
}

/* The first rank that crashed or ran out of memory according to the kernel log, or -1. *at: the time of that. */
static int first_by_kernel(struct report *r, uint64_t *at)
{
	int first = -1;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		struct ended_by by;
		uint64_t then;

		if (how_it_left(r, i) != SILENT)
			continue;
		by = how_signal_ended(r, i);
		then = clock_set_right(&r->g.skew[i], by.word.at_ns);
		if (by.log != KERNEL_SAYS || !by.word.signal || (first >= 0 && then >= *at))
			continue;
		first = (int)i;
		*at = then;
	}
	return first;
}

/*
 * The rank that ended first, or -1. A rank that left a message of its own, unless the kernel log shows an earlier crash. If all
 * messages are errors from the library: a silent rank that was in no call. If no rank left a message, signals ended all: the
 * rank that ended before the others, or for which all others had just begun to wait.
 */
static int look_for_first(struct report *r, bool *doubtful)
{
	unsigned silent = count_leaving(r, SILENT), spoke = count_leaving(r, SPOKE);
	int first = first_to_leave(r, SPOKE, true), ended;
	uint64_t at = 0;

	*doubtful = false;
	ended = silent ? first_by_kernel(r, &at) : -1;
	if (ended >= 0 && (first < 0 || at <= moment_of_leaving(r, (uint32_t)first)))
		return ended;
	if (first < 0)
		first = only_early_leaver(r);
	if (first >= 0)
		return first;
	if (silent && !spoke && others_went_on(r))
		return first_to_leave(r, SILENT, false);
	if (all_ended_by_signal(r)) {
		first = find_first_by_signal(r, doubtful);
		return first >= 0 ? first : only_one_without_error(r);
	}
	if (!silent)
		return -1;
	/* A launcher may have ended a silent rank in a call; others may have got exceptions because any silent one was gone. */
	if (silent == 1 || spoke)
		return first_to_leave(r, SILENT, !spoke || silent > 1 || any_ended_by_library(r));
	return find_first_by_lead(r, doubtful);
}

/*
 * True if the end of rank `first` affected no other rank: all calls of all ranks were complete, and no signal ended another
 * rank. What a program or its launcher does after the work is done says nothing about the run.
 */
static bool is_end_harmless(const struct report *r, uint32_t first)
{
	if (r->g.folders.n < 2 || !are_all_calls_complete(r))
		return false;
	for (uint32_t i = 0; i < r->g.folders.n; i++)
		if (i != first && how_it_left(r, i) == SILENT)
			return false;
	return true;
}

void find_left(struct report *r)
{
	bool doubtful;
	int first = look_for_first(r, &doubtful);
	const struct rank_dir *d;
	const struct rank_info *k;
	struct finding *f;
	char *how, *last, *text;
	uint64_t step;

	if ((first < 0 || how_it_left(r, (uint32_t)first) == SILENT) && find_ended_host(r))
		return;
	if (first < 0) {
		r->ended_together = is_ended_together(r);
		return;
	}
	d = &r->g.folders.dir[first];
	k = &r->g.rank[first];
	/* Steps may have ended after its last call. */
	step = k->last.rows ? k->last.step : 0;
	if (d->nround && k->last.rows)
		step = get_rounds_before(d->round, d->nround, k->last.start, k->last.seq + 1);
	else if (d->meta.step_now > step)
		step = d->meta.step_now;
	how = leaving_text(r, (uint32_t)first, TEXT_SHOWN);
	last = last_call_text(r, (uint32_t)first);
	text = tool_format("step %llu: %s left %s\n%s", (unsigned long long)step,
		report_rank(r, (uint32_t)first), how, last);
	add_peer_activity(r, (uint32_t)first, &text);
	if (is_end_harmless(r, (uint32_t)first)) {
		tool_add_text(&text, "\nall calls of all ranks were complete, and no rank waited");
		f = add_finding(r, FINDING_ENDED_DONE, text);
		name_concerned(r, f, (uint32_t)first);
		free(how);
		free(last);
		return;
	}
	if (doubtful)
		tool_add_text(&text,
			"\n%s ended first, and a launcher ended the rest; or signals to "
			"all were "
			"sent one after the other, by a process that waited for a core "
			"between two of them: the launcher's output tells which",
			report_rank(r, (uint32_t)first));
	f = add_finding(r, doubtful ? FINDING_DIED_DOUBTFUL : FINDING_DIED, text);
	name_culprit(r, f, (uint32_t)first);
	for (uint32_t i = 0; i < r->g.folders.n && r->g.folders.n <= 1024; i++)
		if (i != (uint32_t)first)
			name_concerned(r, f, i);
	if (k->last.rows) {
		name_call(f, &k->last);
		f->call.step = step;
	}
	/* The end of the rank, not of its last call: an error in that call can then be the cause of this finding. */
	f->event = moment_of_leaving(r, (uint32_t)first);
	f->evidence = tool_format("\"end\" in %s/meta.json", d->name);
	f->next = tool_format("probe report --stacks --rank %d %s", d->rank, r->g.folders.path);
	r->left = true;
	free(how);
	free(last);
}
