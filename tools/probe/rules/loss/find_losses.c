/* SPDX-License-Identifier: Apache-2.0 */
/* Finds data that is missing in the files, and the reasons. */
#include <stdlib.h>
#include <string.h>

#include "config/marker.h"
#include "journal/columns.h"
#include "tools/lib/out.h"
#include "tools/probe/rules/end/hang.h"
#include "tools/probe/rules/loss/left_out.h"
#include "tools/probe/rules/report.h"
#include "tools/lib/tool.h"

/* A message that some ranks reported, with these ranks. */
struct reported {
	const char *kind, *text;
	int *rank;
	unsigned n, cap;
};

static void add_said_text(struct reported **list, unsigned *n, unsigned *cap, const char *kind,
	const char *text, int rank)
{
	struct reported *s = NULL;

	for (unsigned i = 0; i < *n && !s; i++)
		if (strcmp((*list)[i].kind, kind) == 0 && strcmp((*list)[i].text, text) == 0)
			s = &(*list)[i];
	if (!s) {
		TOOL_GROW(*list, *n, *cap);
		s = &(*list)[(*n)++];
		*s = (struct reported){.kind = kind, .text = text};
	}
	TOOL_GROW(s->rank, s->n, s->cap);
	s->rank[s->n++] = rank;
}

/* Reports ranks of the job that have no folder. */
static void missing_ranks(struct report *r)
{
	const struct gather *g = &r->g;
	int *missing = NULL;
	unsigned n = 0, cap = 0, at = 0;
	char *who;

	if (g->folders.single || g->folders.world_size <= 0 || g->folders.world_size > 1 << 24)
		return;
	for (int k = 0; k < g->folders.world_size; k++) {
		while (at < g->nasked && g->all_ranks[at] < k)
			at++;
		if ((at < g->nasked && g->all_ranks[at] == k) || gather_has_folder(g, k))
			continue;
		TOOL_GROW(missing, n, cap);
		missing[n++] = k;
	}
	if (!n)
		return;
	who = out_format_ranks(missing, n);
	if (*g->folders.dir[0].meta.cfg_rank)
		add_finding(r, FINDING_RANKS_LEFT_OUT,
			tool_format("%s not recorded: the setting rank selects %s", who,
				g->folders.dir[0].meta.cfg_rank));
	else
		add_finding(r, FINDING_RANKS_MISSING,
			tool_format(
				"no folder of %s (world_size %d): it made no recorded call, wrote "
				"into a folder that "
				"is not shared, or libprobe was not loaded there (`probe check`)",
				who, g->folders.world_size));
	free(who);
	free(missing);
}

/* Ranks with the same problem share a line. */
static void journals_wrong(struct report *r)
{
	const struct folders *f = &r->g.folders;
	bool *reported = tool_alloc(f->n);
	int *rank = tool_alloc(f->n * sizeof(*rank));

	for (unsigned i = 0; i < f->n; i++) {
		const char *why = r->g.rank[i].journal_wrong;
		unsigned n = 0;

		if (!why || reported[i])
			continue;
		for (unsigned k = i; k < f->n; k++) {
			const char *other = r->g.rank[k].journal_wrong;

			if (!other || strcmp(other, why) || (f->dir[k].rank < 0 && k > i))
				continue;
			reported[k] = true;
			if (f->dir[k].rank >= 0)
				rank[n++] = f->dir[k].rank;
		}

		char *who = n ? out_format_ranks(rank, n) : tool_strdup(f->dir[i].label);

		add_finding(r, FINDING_JOURNAL, tool_format("%s: %s", who, why));
		free(who);
	}
	free(rank);
	free(reported);
}

/* Reports folders that may belong to this run but could not be read. */
static void unread_folders(struct report *r)
{
	const struct folders *f = &r->g.folders;

	for (unsigned i = 0; i < f->nout; i++)
		if (f->out[i].rank >= 0)
			add_finding(r, FINDING_FILES,
				tool_format("%s was not read: %s", f->out[i].name, f->out[i].why));
}

/* Names the ranks that the finding concerns. They are not culprits. */
static void name_ranks(const struct report *r, struct finding *f, const int *rank, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		int at = gather_index(&r->g, rank[i]);

		if (at >= 0)
			name_concerned(r, f, (uint32_t)at);
	}
}

static void find_rank_states(struct report *r)
{
	int *killed = NULL, *unseen = NULL, *ended = NULL;
	unsigned n = 0, cap = 0, m = 0, mcap = 0, e = 0, ecap = 0;
	bool journals = false, lives = false;
	uint64_t alive = 0;

	journals_wrong(r);
	unread_folders(r);
	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct rank_dir *d = &r->g.folders.dir[i];

		if (d->state == RANK_KILLED) {
			TOOL_GROW(killed, n, cap);
			killed[n++] = d->rank;
		}
		if (d->state == RANK_UNWRITTEN) {
			TOOL_GROW(ended, e, ecap);
			ended[e++] = d->rank;
			lives |= d->lives;
		}
		if (d->state == RANK_UNSEEN) {
			TOOL_GROW(unseen, m, mcap);
			unseen[m++] = d->rank;
			alive = d->alive_ns > alive ? d->alive_ns : alive;
		}
		journals |= d->journal != NULL;
		if (d->meta_wrong)
			add_finding(r, FINDING_FILES,
				tool_format("%s: meta.json: %s; its content is not known", d->label,
					d->meta_wrong));
		if (r->g.rank[i].files_wrong)
			add_finding(r, FINDING_FILES, tool_strdup(r->g.rank[i].files_wrong));
	}
	if (n) {
		char *who = out_format_ranks(killed, n);

		struct finding *f = add_finding(r, FINDING_KILLED,
			journals
				? tool_format("%s did not end properly; the rows in their journals "
					      "are shown "
					      "here; `probe recover %s` writes them into the files",
					  who, r->g.folders.folder)
				: tool_format("%s did not end properly and left no journal", who));
		name_ranks(r, f, killed, n);
		if (journals)
			f->next = tool_format("probe recover %s", r->g.folders.folder);
		free(who);
	}
	if (e) {
		char *who = out_format_ranks(ended, e);

		struct finding *f = add_finding(r, FINDING_ENDED,
			lives ? tool_format("%s ended, and what they recorded last is still being "
					    "written",
					who)
			      : tool_format("%s ended, and what they recorded last is not in the "
					    "files; `probe recover %s` writes it",
					who, r->g.folders.folder));
		name_ranks(r, f, ended, e);
		if (!lives)
			f->next = tool_format("probe recover %s", r->g.folders.folder);
		free(who);
	}
	if (m) {
		char *who = out_format_ranks(unseen, m);

		add_finding(r, FINDING_UNSEEN,
			tool_format("%s: the processes run (or ran) on other hosts; last sign of "
				    "life %s ago; run "
				    "this there to be sure of their state",
				who,
				out_format_duration(r->g.opens.now > alive
							    ? (double)(r->g.opens.now - alive)
							    : 0)));
		free(who);
	}
	free(killed);
	free(ended);
	free(unseen);
}

static void add_counted_finding(struct report *r, enum finding_kind kind, uint64_t n,
	const char *one, const char *many, const char *then)
{
	if (n)
		add_finding(r, kind, tool_format("%s %s", out_format_plural(n, one, many), then));
}

static uint64_t sum_count(const struct meta *m, enum journal_count k)
{
	bool skipped = call_count_words[k].group == COUNTS_SKIPPED;
	const struct meta_count *c = skipped ? m->skipped : m->dropped;
	unsigned n = skipped ? m->nskipped : m->ndropped;

	for (unsigned i = 0; i < n; i++)
		if (strcmp(c[i].name, call_count_words[k].word) == 0)
			return c[i].n;
	return 0;
}

/*
 * Reports calls that the user chose not to record, with a sentence for each reason of counts.def. A
 * reason without a sentence here is reported with its help text. Two reasons get no sentence: ranks
 * that are not recorded have a finding of their own, and inner calls are part of the outer call.
 */
static void find_skipped_calls(struct report *r)
{
	static const char *const help[JC_COUNT] = {
#define CALL_COUNT(id, group, name, text) text,
#include "journal/counts.def"
	};
	static const struct {
		const char *then;
		bool quiet;
	} known[JC_COUNT] = {
		[JC_SKIP_STEP] = {.then = "skipped by the settings that choose steps"},
		[JC_SKIP_SIZE] = {.then = "skipped by the setting min_bytes"},
		[JC_SKIP_OVERHEAD] = {.then = "skipped to keep max_overhead: rules that need each "
					      "call, and what came before it, were not applied"},
		[JC_SKIP_PAUSED] = {.then = "made while recording was paused"},
		[JC_SKIP_RANK] = {.quiet = true},
		[JC_SKIP_NESTED] = {.quiet = true},
	};

	for (unsigned k = 0; k < JC_COUNT; k++) {
		uint64_t n = 0;
		char *then;

		if (call_count_words[k].group != COUNTS_SKIPPED || known[k].quiet)
			continue;
		for (unsigned i = 0; i < r->g.folders.n; i++)
			n += sum_count(&r->g.folders.dir[i].meta, (enum journal_count)k);
		then = known[k].then ? tool_strdup(known[k].then)
				     : tool_format("skipped: %s", help[k]);
		add_counted_finding(r, FINDING_SKIPPED, n, "call was", "calls were", then);
		free(then);
	}
}

static void find_lost_counts(struct report *r)
{
	uint64_t full = 0, threads = 0, completion = 0, stacks = 0, lost = 0, removed = 0,
		 damaged = r->verdict.alerts.damaged, truncated = 0;
	uint64_t entries = 0, spilled = 0;

	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct meta *m = &r->g.folders.dir[i].meta;

		full += sum_count(m, JC_DROP_FULL);
		threads += sum_count(m, JC_DROP_THREADS);
		completion += sum_count(m, JC_DROP_PENDING);
		stacks += sum_count(m, JC_DROP_STACKS);
		lost += m->lost_rows;
		removed += m->removed_blocks;
		entries += m->damaged;
		damaged += r->g.rank[i].damaged;
		truncated += r->g.rank[i].truncated;
		spilled += r->g.rank[i].overlay.spilled;
	}
	add_counted_finding(r, FINDING_LOST, full, "call was", "calls were",
		"not recorded because the journal was full: raise journal_mib, or record less");
	add_counted_finding(r, FINDING_LOST, threads, "call was", "calls were",
		"not recorded because too many threads record at once");
	add_counted_finding(r, FINDING_LOST, completion, "asynchronous call has",
		"asynchronous calls have", "no outputs: the completion could not be followed");
	add_counted_finding(r, FINDING_LOST, stacks, "call has", "calls have",
		"no stack: there are too many different ones");
	add_counted_finding(r, FINDING_LOST, lost, "row", "rows", "could not be written");
	add_counted_finding(r, FINDING_LOST, spilled, "asynchronous call", "asynchronous calls",
		"kept outside the journal were lost with the killed processes");
	add_counted_finding(r, FINDING_LOST, entries, "entry of a journal was",
		"entries of journals were", "damaged");
	add_counted_finding(
		r, FINDING_DAMAGED, damaged, "damaged line was", "damaged lines were", "skipped");
	add_counted_finding(r, FINDING_DAMAGED, truncated, "file ends", "files end",
		"in the middle of a line; that line is skipped");
	add_counted_finding(r, FINDING_REMOVED, removed, "old block was", "old blocks were",
		"removed to keep output_limit_mib");
	find_skipped_calls(r);
}

#define UNMEASURED_MIN 4 /* calls of a rank */

/*
 * Reports tensors that were not measured, because in the tables they look like tensors with good
 * values.
 */
static void find_unmeasured(struct report *r)
{
	const struct folders *f = &r->g.folders;
	int *rank = tool_alloc((f->n + 1) * sizeof(*rank));
	uint64_t with = 0, without = 0;
	unsigned n = 0;
	bool copied = true;
	char *who;

	for (unsigned i = 0; i < f->n; i++) {
		const struct rank_info *k = &r->g.rank[i];

		if (!f->dir[i].meta.cfg_statistics || k->unmeasured < UNMEASURED_MIN ||
			k->unmeasured * 2 < k->with_values)
			continue;
		with += k->with_values;
		without += k->unmeasured;
		copied &= f->dir[i].meta.cfg_device_copy;
		rank[n++] = f->dir[i].rank;
	}
	if (n) {
		char *share = without == with ? tool_strdup("all")
					      : tool_format("%s of", out_format_count(without));

		who = out_format_ranks(rank, n);
		add_finding(r, FINDING_UNMEASURED,
			tool_format(
				"%s: the values of %s %s calls with tensors were not measured, so "
				"a NaN, a "
				"spike or a damaged buffer in them does not show%s",
				who, share, out_format_count(with),
				copied ? ""
				       : "; device memory is measured with "
					 "`device: auto`, or `device: copy` where its driver does "
					 "not take our "
					 "kernel"));
		free(who);
		free(share);
	}
	free(rank);
}

/* Reports what ranks wrote into their meta.json, once for all ranks that wrote the same. */
static void find_said_by_ranks(struct report *r, bool invisible)
{
	struct reported *list = NULL;
	unsigned n = 0, cap = 0;

	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct meta *m = &r->g.folders.dir[i].meta;
		const struct meta_text *t = invisible ? m->invisible : m->missing;
		unsigned nt = invisible ? m->ninvisible : m->nmissing;

		for (unsigned k = 0; k < nt; k++)
			add_said_text(
				&list, &n, &cap, t[k].name, t[k].text, r->g.folders.dir[i].rank);
	}
	for (unsigned i = 0; i < n; i++) {
		char *who = out_format_ranks(list[i].rank, list[i].n);

		if (invisible)
			add_finding(r, FINDING_INVISIBLE,
				tool_format("%s on %s: %s", list[i].kind, who, list[i].text));
		else
			add_finding(r, FINDING_REPORTED,
				tool_format("%s reported: %s", who, list[i].text));
		free(who);
		free(list[i].rank);
	}
	free(list);
}

/* Returns a sentence if a marker is configured but has not ended any step, else NULL. malloc'd. */
static char *marker_missed(const char *marker, bool by_rounds)
{
	const char *so = by_rounds ? "repetitions of the call sequence are counted instead"
				   : "everything is step 0";
	struct marker m;

	if (marker_parse(marker, strlen(marker), &m) == NULL && m.form == MARKER_LANGUAGE)
		return tool_format(
			"the step marker %s was seen called at most once, so %s. A call is seen "
			"where the function makes recorded calls, and distinguished from the "
			"previous call if there are recorded calls outside of it, or at several "
			"places in it: record some operators too (PROBE_WRAP_OPS). The file is "
			"matched by its end, the function by its name",
			marker, so);
	return tool_format("the step marker %s was never called outside of other recorded "
			   "calls, so %s. It must be a function that "
			   "`probe check CMD` shows, or an operator (aten::argmax)",
		marker, so);
}

/* Reports a training that resumes from a checkpoint but whose steps are numbered from 0. */
static void find_late_start(struct report *r)
{
	const struct meta *m = &r->g.folders.dir[0].meta;

	if (m->steps_before && !m->cfg_start_iteration)
		add_finding(r, FINDING_STEPS,
			tool_format("the optimizer had done %llu steps before the first one seen "
				    "here, which is step 0: set PROBE_START_ITERATION=%llu to "
				    "number the steps on from there",
				(unsigned long long)m->steps_before,
				(unsigned long long)m->steps_before));
}

static void find_step_losses(struct report *r)
{
	const struct gather *g = &r->g;
	const char *marker = g->folders.dir[0].meta.cfg_step_marker;
	struct period_found period;
	bool marked = false, missed;

	for (unsigned i = 0; i < g->folders.n; i++)
		marked |= g->folders.dir[i].meta.step_now > 0 ||
			  meta_has_steps(&g->folders.dir[i].meta);
	missed = !marked && (!g->last_step || g->by_rounds) && g->calls && *marker;
	if (!marked && report_period(r, &period)) {
		char *text = report_period_text(r, &period), *rest = strstr(text, "; ");

		/* Both findings share a line, so that "everything is step 0" is stated once. */
		if (missed && rest) {
			char *both = marker_missed(marker, g->by_rounds);

			add_finding(r, FINDING_STEPS_UNMARKED, tool_format("%s%s", both, rest));
			free(both);
			free(text);
		} else {
			add_finding(r, FINDING_STEPS, text);
		}
		free(period.alike);
		return;
	}
	if (missed)
		add_finding(r, FINDING_STEPS_UNMARKED, marker_missed(marker, g->by_rounds));
	else if (!marked && (!g->last_step || g->by_rounds) && g->calls)
		add_finding(r, FINDING_STEPS,
			tool_format("no step was ever marked, so %s. One of "
				    "these marks the end of a step: "
				    "probe_step() (C, or Python's ctypes), MPI_Pcontrol(2), or "
				    "PROBE_STEP_MARKER=<a function "
				    "that is called once a step>",
				g->by_rounds
					? "repetitions of the call sequence are counted instead"
					: "everything is step 0"));
}

void find_losses(struct report *r)
{
	missing_ranks(r);
	find_rank_states(r);
	find_lost_counts(r);
	find_unmeasured(r);
	find_said_by_ranks(r, false);
	find_said_by_ranks(r, true);
	if (!r->g.calls && !is_job_over(r) && !r->g.opens.n)
		add_finding(r, FINDING_EMPTY_YET, tool_strdup("no call was recorded so far"));
	else if (!r->g.calls && !r->g.opens.n)
		find_run_without_calls(r);
	else
		find_left_out(r);
	find_step_losses(r);
	find_late_start(r);
}
