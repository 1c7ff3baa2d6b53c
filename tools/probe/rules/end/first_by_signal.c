/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/end/first_by_signal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/lib/tool.h"
#include "tools/probe/model/shared_cores.h"
#include "tools/probe/rules/end/leaving.h"
#include "tools/probe/rules/waits.h"

#define LAUNCHER_ENDS_NS UINT64_C(3000000000) /* from the first end to those of the others */
#define PAUSE_NS UINT64_C(5000000) /* after a last call; shorter pauses are not significant */
#define CALLS_TO_KNOW_PAUSES 6
/*
 * Processes that one signal ends at once take some time to end. On idle cores that is a tick of the clock; on shared ones each
 * waits for a core, for tens of milliseconds if a core has many runnable threads.
 */
#define LEAD_NS 15000000u
/* Sufficient if the last calls also show that this rank was first; more than one tick, see clock_tick_ns(). */
#define LEAD_SEEN_NS 6000000u
#define LEAD_SURE_NS 500000000u
#define STANDSTILL_NS 1000000000u

/* When the rank last entered or left a call, by the first host's clock. */
static uint64_t moment_of_last_call(const struct report *r, uint32_t i)
{
	uint64_t end = r->g.rank[i].last_ns, start = r->g.rank[i].last.start;

	return clock_set_right(&r->g.skew[i], end > start ? end : start);
}

/* Times of death are read in ticks of 4 to 10 ms. Returns this kernel's tick; the hosts of a job usually have the same. */
static uint64_t clock_tick_ns(void)
{
	struct timespec t;

	return clock_getres(CLOCK_REALTIME_COARSE, &t) == 0 && !t.tv_sec ? (uint64_t)t.tv_nsec : 0;
}

/* ---- times of death ---- */

static bool is_on_host_of(const struct report *r, uint32_t i, uint32_t k)
{
	return strcmp(r->g.folders.dir[i].meta.owner.host, r->g.folders.dir[k].meta.owner.host) ==
	       0;
}

/* The silent rank that ended first; -1: the time of an end is not known, or none ended so. */
static int find_earliest_death(const struct report *r)
{
	int first = -1;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		if (how_it_left(r, i) != SILENT)
			continue;
		if (!r->g.folders.dir[i].died_ns)
			return -1;
		if (first < 0 || moment_of_leaving(r, i) < moment_of_leaving(r, (uint32_t)first))
			first = (int)i;
	}
	return first;
}

bool find_lead(const struct report *r, bool whole_host, struct lead *l)
{
	int first = find_earliest_death(r);
	uint64_t second = UINT64_MAX, last = 0, error = 0;

	*l = (struct lead){.one_host = true};
	if (first < 0)
		return false;
	l->first = (uint32_t)first;
	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		uint64_t at = moment_of_leaving(r, i);
		bool leads = i == l->first || (whole_host && is_on_host_of(r, i, l->first));

		if (r->g.skew[i].error_ns > (double)error)
			error = (uint64_t)r->g.skew[i].error_ns;
		if (how_it_left(r, i) != SILENT && leads)
			return false;
		/* Ranks that left by an error outlived a host, too. */
		if (how_it_left(r, i) != SILENT && (!whole_host || how_it_left(r, i) != SPOKE))
			continue;
		l->one_host &= is_on_host_of(r, i, l->first);
		if (leads) {
			l->n++;
			l->at = at > l->at ? at : l->at;
			continue;
		}
		l->nothers++;
		last = at > last ? at : last;
		second = at < second ? at : second;
	}
	if (second == UINT64_MAX || second < l->at)
		return false;
	l->by = second - l->at;
	l->others = last - second;
	/* A file's time is that of the last tick, and what is left of the clocks' error counts on both sides. */
	for (uint32_t i = 0; i < r->g.folders.n; i++)
		l->outlived |= i != l->first && !(whole_host && is_on_host_of(r, i, l->first)) &&
			       r->g.rank[i].last.rows &&
			       moment_of_last_call(r, i) > l->at + clock_tick_ns() + 2 * error;
	return true;
}

/* True if the lead is longer than the resolution of the clock. */
static bool is_lead_seen(const struct lead *l)
{
	return l->by >= LEAD_SEEN_NS && l->by > clock_tick_ns() + clock_tick_ns() / 4;
}

/* True if rank i alone blocks the others. */
static bool is_only_holder(struct report *r, uint32_t i)
{
	struct waiting_ranks hold;

	return find_holding_ranks(r, &hold) && hold.n == 1 && hold.rank[0] == i;
}

/* True if it made no call for STANDSTILL_NS plus twice its longest pause before: it slept, or was stopped. */
static bool was_silent_before(const struct report *r, uint32_t i)
{
	const struct rank_info *k = &r->g.rank[i];

	return k->calls >= CALLS_TO_KNOW_PAUSES &&
	       own_moment_of_leaving(r, i) > k->last_ns + STANDSTILL_NS + 2 * k->longest_pause;
}

/*
 * True if no rank moved for STANDSTILL_NS before the first one ended, except ranks that were done: then they did not wait because of its
 * end. All others were blocked in a call or slept. The first one was too; if it slept, it ended at the same time as the others.
 */
static bool was_standstill_before(const struct report *r, const struct lead *l)
{
	uint32_t i = l->first;

	for (uint32_t k = 0; k < r->g.folders.n; k++)
		if (k != i && !is_blocked_in_call(r, k) && !is_blocked(r, k) &&
			!was_silent_before(r, k) && !has_finalized(&r->g.folders.dir[k]))
			return false;
	if (is_blocked(r, i))
		return own_moment_of_leaving(r, i) >
		       r->stuck.blocked[i]->call.start + STANDSTILL_NS;
	return is_blocked_in_call(r, i) ? own_moment_of_leaving(r, i) >
						  r->stuck.blocked_in[i]->call.start + STANDSTILL_NS
					: l->by < LEAD_SURE_NS && was_silent_before(r, i);
}

/*
 * A process that sends a signal to one rank after the other may wait for a core between two of them, for as long as a
 * launcher takes to end the others. If ends of several hosts are compared, there is also some time between the hosts.
 */
enum lead_proof compute_lead_proof(struct report *r, const struct lead *l)
{
	struct shared_cores shared;
	bool holder;

	if (!is_lead_seen(l) || was_standstill_before(r, l))
		return LEAD_UNPROVEN;
	holder = l->n == 1 && is_only_holder(r, l->first);
	if (l->outlived && l->n > 1)
		return LEAD_PROVEN;
	if (l->by >= LEAD_SURE_NS && (l->one_host || l->n > 1 || holder))
		return LEAD_PROVEN;
	if (l->by < l->others && (l->one_host || !holder))
		return LEAD_UNPROVEN;
	/*
	 * On shared cores ranks that are ended at once do not end at once: the rank for which all others
	 * waited is likely. docs/reference/findings.md has the numbers of jobs in which this was counted.
	 */
	if (are_cores_shared(&r->g, &shared))
		return holder && l->nothers > 1 ? LEAD_LIKELY : LEAD_UNPROVEN;
	return l->outlived || holder || (l->one_host && l->by >= LEAD_NS) ? LEAD_PROVEN
									  : LEAD_UNPROVEN;
}

bool find_first_host(struct report *r, struct lead *l)
{
	return find_lead(r, true, l) && l->n > 1 && !l->one_host &&
	       compute_lead_proof(r, l) == LEAD_PROVEN;
}

/* ---- the last calls, where times of death are not known ---- */

/* The only rank that is in no call and that is not marked in `passed` (NULL: none is marked). -1: none, or several. */
static int only_one_in_no_call(const struct report *r, const bool *passed)
{
	int one = -1;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		if (is_blocked_in_call(r, i) || has_finalized(&r->g.folders.dir[i]) ||
			(passed && passed[i]))
			continue;
		if (one >= 0)
			return -1;
		one = (int)i;
	}
	return one;
}

/* The only rank in no call that has no pending request; one with a pending request may repeatedly test for it. */
static int only_one_without_request(const struct report *r)
{
	bool *awaits = tool_alloc(r->g.folders.n * sizeof(*awaits));
	int one;

	for (unsigned k = 0; k < r->g.opens.n; k++)
		awaits[r->g.opens.call[k].call.rank] |= !r->g.opens.call[k].ended_ok;
	one = only_one_in_no_call(r, awaits);
	free(awaits);
	return one;
}

/*
 * One of its threads is blocked in a call of another communicator, and its other thread is missing in the call in which all
 * other ranks wait. -1: not so.
 */
static int only_one_missing(const struct report *r)
{
	const struct stuck *s = stuck_cause(&r->stuck, &r->g);
	int one;

	if (!s || s->n + 1 != r->g.folders.n || s->nabsent != 1 || s->absent[0].n != 1 ||
		s->absent[0].why != ABSENT_OTHER ||
		s->absent[0].in->call.comm == s->sample->call.comm)
		return -1;
	one = gather_index(&r->g, s->absent[0].rank[0]);
	return one >= 0 && r->g.rank[one].last.rows ? one : -1;
}

/* True if it was silent for twice its longest pause before. */
static bool is_silent_until(const struct report *r, uint32_t i, uint64_t until)
{
	const struct rank_info *k = &r->g.rank[i];

	return k->calls >= CALLS_TO_KNOW_PAUSES &&
	       until >= moment_of_last_call(r, i) + PAUSE_NS + 2 * k->longest_pause;
}

/* The only rank in no call that was silent, while others went on. -1: none, or several. */
static int only_one_silent(const struct report *r, uint64_t until)
{
	bool *heard = tool_alloc(r->g.folders.n * sizeof(*heard));
	int one;

	for (uint32_t i = 0; i < r->g.folders.n; i++)
		heard[i] = !is_silent_until(r, i, until);
	one = only_one_in_no_call(r, heard);
	free(heard);
	return one;
}

/*
 * One rank had not entered the call in which the others waited, or was silent, for longer than ever before: it was first,
 * because a launcher ends the others soon after the first one. A shorter time is that of any rank that computes when all are
 * ended. If the others waited for longer, the rank was stalled, and whatever ended the job ended all of them together.
 */
static int only_one_late(const struct report *r)
{
	uint64_t until = 0;
	int one;

	for (uint32_t i = 0; i < r->g.folders.n; i++) {
		uint64_t at = moment_of_leaving(r, i);

		until = at > until && how_it_left(r, i) == SILENT ? at : until;
	}
	one = only_one_in_no_call(r, NULL);
	one = one < 0 ? only_one_silent(r, until) : one;
	one = one < 0 ? only_one_without_request(r) : one;
	one = one < 0 ? only_one_missing(r) : one;
	return one >= 0 && r->g.folders.n > 1 && r->g.rank[one].last.rows &&
			       is_silent_until(r, (uint32_t)one, until) &&
			       until < moment_of_last_call(r, (uint32_t)one) + LAUNCHER_ENDS_NS
		       ? one
		       : -1;
}

int find_first_by_lead(struct report *r, bool *doubtful)
{
	struct lead l;
	enum lead_proof proof = find_lead(r, false, &l) ? compute_lead_proof(r, &l) : LEAD_UNPROVEN;

	*doubtful = proof == LEAD_LIKELY;
	return proof == LEAD_UNPROVEN ? -1 : (int)l.first;
}

int find_first_by_signal(struct report *r, bool *doubtful)
{
	*doubtful = false;
	return find_earliest_death(r) < 0 ? only_one_late(r) : find_first_by_lead(r, doubtful);
}
