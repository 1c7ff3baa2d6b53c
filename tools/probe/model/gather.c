/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/gather.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tools/lib/intern.h"
#include "tools/lib/progress.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/join/peer_steps.h"
#include "tools/probe/model/join/rounds.h"
#include "tools/probe/model/call_order.h"
#include "tools/probe/model/parallel/relay.h"
#include "tools/probe/model/parallel/turns.h"

#define TOUCHED_NS UINT64_C(60000000000)
#define BUFFERS (64u << 20) /* bytes, for all ranks together */
#define BUFFER_MAX (1u << 18)
#define BUFFER_MIN (1u << 14)
#define ROUNDS_BYTES_MAX \
	(UINT64_C(1)     \
		<< 30) /* bytes of calls files: larger runs are not read a second time for their rounds */
#define FETCH_CALLS 16 /* number of calls whose meetings are prefetched together */
#define COLLECTIVES_MAX 65536u /* maximum number of communicators of a rank */
/* ns without a sign of life after which a process on another host counts as ended */
#define STALE_NS UINT64_C(120000000000)

/* Set by a signal. The process must remove its temporary folders before it ends. */
static volatile sig_atomic_t stopped;

static void note_stop_signal(int sig)
{
	stopped = sig;
}

static void catch_signals(void)
{
	static const int list[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction act = {.sa_handler = note_stop_signal, .sa_flags = SA_RESETHAND}, was;

	for (unsigned i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (sigaction(list[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			sigaction(list[i], &act, NULL);
}

int gather_stop_signal(void)
{
	return stopped;
}

void gather_end_by_signal(void)
{
	signal(stopped, SIG_DFL);
	raise(stopped);
}

bool has_finalized(const struct rank_dir *d)
{
	return d->meta.end.how && strcmp(d->meta.end.how, "finalized") == 0;
}

bool gather_gone(const struct gather *g, const struct rank_dir *d)
{
	return d->state == RANK_KILLED || (d->state == RANK_UNWRITTEN && !d->lives) ||
	       (d->state == RANK_UNSEEN && d->alive_ns && d->alive_ns + STALE_NS < g->opens.now);
}

/* ---- one call: data of its rank alone ---- */

static void record_extent(struct rank_info *r, const struct call *c)
{
	uint64_t end = c->start + c->dur;

	if (c->comm && !(c->bits & (CALL_ASYNC | CALL_OPEN)) && c->dur > r->longest_ns)
		r->longest_ns = c->dur;
	if (!r->calls || c->step < r->first_step)
		r->first_step = c->step;
	if (r->calls && c->start > r->last_ns && c->start - r->last_ns > r->longest_pause)
		r->longest_pause = c->start - r->last_ns;
	if (!r->calls++ || c->start < r->first_ns)
		r->first_ns = c->start;
	if (end > r->last_ns)
		r->last_ns = end;
	if (!r->last.rows || c->start >= r->last.start)
		r->last = *c;
	if (c->step > r->last_step)
		r->last_step = c->step;
	r->bytes += call_get_bytes(c);
	if (c->bits & CALL_ERROR && end > r->error_end)
		r->error_end = end;
}

static void note_measured(struct rank_info *r, const struct call *c)
{
	if (!(c->in.rows + c->out.rows) || !c->count ||
		c->bits & (CALL_OPEN | CALL_ERROR | CALL_UNWOUND) || is_dtype_other(c->dtype))
		return;
	r->with_values++;
	r->unmeasured += c->blind >= c->in.rows && (!c->out.rows || c->out.blind);
}

/* A communicator of one rank. */
struct latest_collective {
	struct table_key key; /* a: communicator */
	uint64_t n; /* highest number + 1; 0: none */
};

static void record_collective(struct rank_info *r, const struct call *c)
{
	struct latest_collective *l;

	if (!c->comm || c->comm_seq == NO_NUMBER || c->bits & CALL_P2P)
		return;
	l = table_get(&r->latest, c->comm, 0);
	if (l && (uint64_t)c->comm_seq >= l->n)
		l->n = (uint64_t)c->comm_seq + 1;
}

int64_t gather_latest_collective(const struct gather *g, unsigned rank, uint64_t comm)
{
	const struct latest_collective *l = table_find(&g->rank[rank].latest, comm, 0);

	return l && l->n ? (int64_t)(l->n - 1) : NO_NUMBER;
}

static void record_longer_round(struct diagnose *to, const struct rank_dir *d, const struct call *c)
{
	struct call k = *c;

	k.step = get_rounds_before(d->longer, d->nlonger, c->start, c->seq);
	diagnose_longer_round(to, &k);
}

/*
 * Handles the calls of a rank in the order in which the rank made them. Called by the threads that read the files (ahead.h), by
 * one at a time for each rank, so it may only touch data of that rank.
 */
static void gather_rank_call(struct gather *g, struct call *c)
{
	const struct rank_dir *d = &g->folders.dir[c->rank];
	struct rank_info *r = &g->rank[c->rank];

	bool waited = c->bits & CALL_ASYNC && c->bits & CALL_WAITED;

	r->waits_seen |= waited;
	if (waited && is_wait_shared(&r->waits, c))
		c->bits |= CALL_WAIT_SHARED;
	diagnose_rank_call(&g->diagnose, c);
	if (d->nlonger)
		record_longer_round(&g->diagnose, d, c);
	record_extent(r, c);
	note_measured(r, c);
	record_collective(r, c);
	if (d->state == RANK_RUNNING || d->state == RANK_UNSEEN)
		add_site_wait(&r->site_waits, c);
	if (r->cycle)
		cycle_call(r->cycle, c);
}

/* Adds up the extents of all ranks. */
static void add_extents(struct gather *g)
{
	for (unsigned i = 0; i < g->folders.n; i++) {
		const struct rank_info *r = &g->rank[i];

		if (!r->calls)
			continue;
		if (!g->any || r->first_ns < g->first_ns)
			g->first_ns = r->first_ns;
		if (r->last_ns > g->last_ns)
			g->last_ns = r->last_ns;
		if (!g->any || r->first_step < g->first_step)
			g->first_step = r->first_step;
		if (r->last_step > g->last_step)
			g->last_step = r->last_step;
		if (r->longest_ns > g->longest_ns)
			g->longest_ns = r->longest_ns;
		g->calls += r->calls;
		g->bytes += r->bytes;
		g->any = true;
	}
}

/* ---- one call: data that several ranks share ---- */

/* True if the call is joined with those of other ranks. If not, it may be one of the slowest calls by itself. */
static bool joins_with_ranks(const struct gather *g, const struct call *c)
{
	return g->folders.n > 1 && c->comm && c->comm_seq != NO_NUMBER &&
	       !(c->bits & (CALL_P2P | CALL_LOCAL | CALL_NESTED));
}

/* Handles a call before it is joined with others: messages, operations, errors, open calls. */
static void gather_call(struct gather *g, const struct call *c)
{
	uint64_t end = c->start + c->dur;

	diagnose_message(&g->diagnose, c);
	ops_add(&g->ops, c);
	/* The rank that waits for a message that cannot arrive gets its error last. */
	if (c->bits & CALL_ERROR &&
		(!g->errors++ || clock_set_right(&g->skew[c->rank], end) <
					 clock_set_right(&g->skew[g->first_error.rank],
						 g->first_error.start + g->first_error.dur)))
		g->first_error = *c;
	if (c->bits & CALL_OPEN)
		opens_add_row(&g->opens, &g->folders.dir[c->rank], c);
}

/*
 * Handles values and meetings. While calls are read only this function touches them, so a separate thread can run it (relay.h).
 */
static void join_call(struct gather *g, const struct call *c)
{
	diagnose_values(&g->diagnose, c);
	if (joins_with_ranks(g, c))
		meet_add(&g->meet, c);
	else if (slow_wants(&g->slow, c->dur))
		slow_add(&g->slow,
			&(struct slow_call){.call = *c, .ranks = 1, .last_rank = c->rank});
}

/* A relay_fn: handles the next n calls of one rank. */
static void join_calls(void *gather, const struct call *c, unsigned n)
{
	struct gather *g = gather;

	for (unsigned i = 0, k; i < n; i += k) {
		k = n - i < FETCH_CALLS ? n - i : FETCH_CALLS;
		meet_fetch(&g->meet, c + i, k);
		for (unsigned j = 0; j < k; j++)
			join_call(g, &c[i + j]);
	}
}

static uint64_t first_start(const struct gather *g, const struct meeting *m)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < m->n; i++) {
		uint64_t at = clock_set_right(&g->skew[m->a[i].rank], m->a[i].start);

		first = at < first ? at : first;
	}
	return first;
}

static void gather_meeting(void *arg, const struct meeting *m, bool complete)
{
	struct gather *g = arg;

	late_meeting(&g->late, m, complete);
	diagnose_meeting(&g->diagnose, m, complete);
	if (m->mismatch && (!g->mismatch.any || m->step < g->mismatch.step ||
				   (m->step == g->mismatch.step && m->comm == g->mismatch.comm &&
					   m->seq < g->mismatch.seq)))
		g->mismatch = (struct mismatch){true, m->comm, m->step, m->seq, m->mismatch,
			m->first, m->other, first_start(g, m)};
	if (!slow_wants(&g->slow, m->longest.dur))
		return;

	const struct arrival *last = late_last(&g->late, m);
	uint64_t at = clock_set_right(&g->skew[last->rank], last->start);
	uint64_t from = clock_set_right(&g->skew[m->longest.rank], m->longest.start);
	/* A rank whose call had ended by then did not wait for the last rank. */
	bool held = at > from && at - from < m->longest.dur;

	slow_add(&g->slow, &(struct slow_call){.call = m->longest,
				   .ranks = m->n,
				   .last_rank = last->rank,
				   .lag = held ? at - from : 0});
}

/* ---- all ranks together ---- */

struct reader {
	struct gather *g;
	struct calls calls;
	struct call next;
	bool has, ended;
	struct call_order order;
	struct shares *shares; /* threads or processes that read the rank's files */
};

/* A rank_call_fn; readers: the readers of all ranks. */
static bool read_rank_call(void *readers, struct shares *shares, uint32_t rank, struct call *c)
{
	struct reader *r = (struct reader *)readers + rank;

	while (!take_held_call(&r->order, c, r->ended)) {
		if (r->ended)
			return false;
		r->ended = !shares_read(shares, &r->calls, c);
		if (!r->ended && !hold_early_call(&r->order, c))
			break;
	}
	gather_rank_call(r->g, c);
	return true;
}

static void read_next_call(struct reader *r, struct call *next)
{
	r->has = shares_get_next(r->shares, r->calls.rank, next);
}

/* Handles the next calls of reader r, at most turn. */
static void gather_turn(struct gather *g, struct reader *r, struct relay *join, unsigned turn)
{
	for (unsigned done = 0; done < turn && r->has;) {
		unsigned most = turn - done < RELAY_CALLS ? turn - done : RELAY_CALLS, n = 0;
		struct call *c = relay_get_space(join);

		c[0] = r->next;
		for (; n < most && r->has; read_next_call(r, ++n < most ? &c[n] : &r->next)) {
			comms_set_call_numbers(&g->comms, &c[n], g->folders.dir[c[n].rank].rank);
			gather_call(g, &c[n]);
		}
		relay_pass(join, n);
		done += n;
	}
}

/* Returns the bytes that were read of its files if the rank has no call left. */
static uint64_t end_turn(struct turns *t, struct reader *r)
{
	if (!r->has)
		return shares_get_position(r->shares, &r->calls);
	turns_add(t, r->calls.rank, r->next.start);
	return 0;
}

/* Returns the bytes of the files of ranks that have no call left since. */
static uint64_t sweep_readers(
	struct gather *g, struct reader *reader, struct turns *t, struct relay *join, unsigned turn)
{
	struct reader *first = &reader[turns_remove_first(t)];
	uint64_t done = 0;

	gather_turn(g, first, join, turn);

	unsigned n = turns_remove_due(t, first->has ? first->next.start : UINT64_MAX);

	for (unsigned i = 0; i < n && !stopped; i++) {
		gather_turn(g, &reader[t->due[i]], join, turn);
		done += end_turn(t, &reader[t->due[i]]);
	}
	return done + end_turn(t, first);
}

static void read_all_calls(struct gather *g, struct reader *reader, const struct gather_options *o)
{
	struct relay *join = relay_begin(join_calls, g, o->division.jobs >= JOBS_OF_JOIN);
	unsigned turn = turns_choose_length(g->folders.n);
	struct turns turns;
	struct progress bar;
	uint64_t done = 0;

	progress_start(&bar, o->progress, g->bytes_read);
	turns_init(&turns, g->folders.n);
	for (unsigned i = 0; i < g->folders.n; i++) {
		read_next_call(&reader[i], &reader[i].next);
		done += end_turn(&turns, &reader[i]);
	}
	while (turns.n && !stopped) {
		done += sweep_readers(g, reader, &turns, join, turn);
		if (progress_is_due(&bar)) {
			uint64_t now = done;

			for (unsigned i = 0; i < turns.n; i++) {
				const struct reader *r = &reader[turns.first[i].rank];

				now += shares_get_position(r->shares, &r->calls);
			}
			progress_print(&bar, now);
		}
	}
	relay_end(join);
	progress_stop(&bar);
	turns_free(&turns);
}

static void open_readers(struct gather *g, struct reader *reader, struct shares *shares,
	const struct gather_options *o)
{
	size_t buffer = BUFFERS / (g->folders.n ? g->folders.n : 1);
	bool keep_open;

	buffer = buffer > BUFFER_MAX ? BUFFER_MAX : buffer < BUFFER_MIN ? BUFFER_MIN : buffer;
	keep_open = g->folders.n <= source_get_open_limit();
	for (unsigned i = 0; i < g->folders.n; i++) {
		struct calls *s = &reader[i].calls;

		reader[i].g = g;
		reader[i].shares = shares;
		calls_open(s, &g->folders.dir[i], i, &g->rank[i].overlay);
		s->step_lo = o->step_lo;
		s->step_hi = o->step_hi;
		s->keep_open = keep_open;
		s->buffer = buffer;
		s->bad = bad_add;
		s->bad_arg = &g->bad;
		g->bytes_read += calls_get_bytes(s);
	}
}

static void close_readers(struct gather *g, struct reader *reader)
{
	for (unsigned i = 0; i < g->folders.n; i++) {
		struct calls *s = &reader[i].calls;
		struct rank_info *r = &g->rank[i];

		r->rows = s->rows;
		r->damaged = s->damaged;
		r->truncated = s->truncated;
		r->unreadable = s->unreadable;
		r->files_wrong = s->wrong;
		s->wrong = NULL;
		g->rows += s->rows;
		free_call_order(&reader[i].order);
		calls_close(s);
	}
}

/* ---- before and after ---- */

/* Keeps only the selected ranks. */
static int choose_ranks(struct gather *g, const struct ranges *want)
{
	struct folders *f = &g->folders;
	unsigned n = 0;

	g->nasked = f->n;
	g->all_ranks = tool_alloc(f->n * sizeof(*g->all_ranks));
	for (unsigned i = 0; i < f->n; i++)
		g->all_ranks[i] = f->dir[i].rank;
	if (!want->n)
		return 0;
	for (unsigned i = 0; i < f->n; i++) {
		struct rank_dir t = f->dir[i];

		if (t.rank < 0 || !ranges_has(want, (uint64_t)t.rank))
			continue;
		/* Swapped instead of overwritten, so that every folder is freed at the end. */
		f->dir[i] = f->dir[n];
		f->dir[n++] = t;
	}
	if (!n) {
		tool_error(
			"%s: has no folder of a selected rank; `probe report %s` lists its ranks",
			f->path, f->path);
		return STATUS_USAGE;
	}
	folders_remove_after(f, n);
	return 0;
}

/*
 * If no steps are marked, the rounds of the calls are the steps. If only some ranks have no steps, they take those of the
 * others.
 */
static void number_steps(struct gather *g, const struct division *d)
{
	const struct overlay **each;
	struct numbering how = {.most = ROUNDS_BYTES_MAX, .threads = d->jobs};
	bool *want = NULL;

	if (!g->folders.n)
		return;
	/* Rounds consist of consecutive calls, so none may be missing. */
	if (g->thinned && !g->diagnose.sites.steps)
		return;
	each = tool_alloc(g->folders.n * sizeof(struct overlay *));
	for (unsigned i = 0; i < g->folders.n; i++)
		each[i] = &g->rank[i].overlay;
	/* The steps of other ranks are read only if few ranks need them. */
	if (d->parts > 1 && !g->diagnose.sites.steps) {
		how.want = want = tool_alloc(g->folders.n * sizeof(*want));
		for (unsigned i = 0; i < g->folders.n; i++)
			want[i] = division_reads(d, i, true);
	}
	if (g->diagnose.sites.steps)
		number_by_peers(&g->folders, each, &how);
	else
		g->by_rounds = number_by_rounds(&g->folders, each, &how);
	if (g->by_rounds)
		diagnose_steps(&g->diagnose);
	free(want);
	if (how.longer)
		diagnose_longer_rounds(&g->diagnose);
	free(each);
}

static void prepare_gather(struct gather *g, const struct gather_options *o)
{
	unsigned n = g->folders.n;

	g->rank = tool_alloc(n * sizeof(*g->rank));
	g->skew = tool_alloc(n * sizeof(*g->skew));
	opens_init(&g->opens);
	comms_init(&g->comms);
	ops_init(&g->ops);
	late_init(&g->late, g->skew);
	bad_init(&g->bad, &g->folders, g->skew);
	slow_init(&g->slow, o->top);
	diagnose_init(&g->diagnose, n, g->skew, &g->comms);
	for (unsigned i = 0; i < n && !stopped; i++) {
		const struct rank_dir *d = &g->folders.dir[i];
		struct rank_info *r = &g->rank[i];

		table_init_small(&r->latest, sizeof(struct latest_collective), COLLECTIVES_MAX);
		init_site_waits(&r->site_waits);
		g->thinned |= d->meta.thinned;
		if (i < CYCLE_RANKS_MAX && !meta_has_steps(&d->meta) && !d->meta.thinned)
			r->cycle = cycle_new();
		if (meta_has_steps(&d->meta))
			diagnose_steps(&g->diagnose);
		if (gather_gone(g, d))
			r->journal_wrong = overlay_open(&r->overlay, d);
		if (r->overlay.members)
			meta_copy_members(&g->folders.dir[i].meta, r->overlay.members);
		comms_read(&g->comms, d, &r->overlay);
		name_site_folders(&g->diagnose.sites, i, d->path, r->overlay.path);
	}
	comms_set_present_members(&g->comms, g->folders.dir, n);
	if (!stopped)
		number_steps(g, &o->division);
}

/* Duration of a rank in ns: from its first call to its last, or to its last sign of life if it did not end. */
static double rank_duration(struct gather *g, const struct rank_dir *d, const struct rank_info *r)
{
	uint64_t end = r->last_ns;

	if (!r->calls && !r->inside_ns)
		return 0;
	if (end < r->inside_ns)
		end = r->inside_ns;
	if (d->state == RANK_RUNNING)
		end = g->opens.now;
	else if (d->state != RANK_FINISHED && d->state != RANK_UNWRITTEN)
		end = d->alive_ns;
	if (end < r->last_ns)
		end = r->last_ns;
	if (end > g->until_ns)
		g->until_ns = end;
	return end > r->first_ns ? (double)(end - r->first_ns) : 0;
}

/*
 * The rank was blocked in its last call until a timeout ended the call (PyTorch's), and then ended because of that. For the
 * other ranks this is as if it were still blocked in it. A call that fails at once is another case.
 */
static void add_call_given_up(struct gather *g, uint32_t i)
{
	const struct rank_dir *d = &g->folders.dir[i];
	struct call c = g->rank[i].last;

	if (!c.rows || !(c.bits & CALL_ERROR) || c.bits & CALL_NESTED || c.dur < GIVEN_UP_NS ||
		strcmp(intern_get_name(c.lib), "c10d") != 0 || d->state == RANK_RUNNING ||
		(strcmp(d->meta.end.how, "exception") != 0 &&
			strcmp(d->meta.end.how, "abort") != 0 &&
			(strcmp(d->meta.end.how, "exit") != 0 || d->meta.end.code <= 0)))
		return;
	c.bits = (c.bits & ~(uint32_t)CALL_ASYNC) | CALL_OPEN;
	opens_add_row(&g->opens, d, &c);
}

static bool has_said_its_end(const struct rank_dir *d)
{
	return d->state == RANK_FINISHED ||
	       (*d->meta.end.how && strcmp(d->meta.end.how, "signal") != 0);
}

/*
 * The time at which a signal ended a rank is the modification time of its journal. If that is long after the last sign of life
 * of all ranks, the file was copied or touched, and the time must not be compared with those of other ranks.
 */
static void remove_late_deaths(struct gather *g)
{
	bool any = false;

	for (unsigned i = 0; i < g->folders.n; i++)
		any |= has_said_its_end(&g->folders.dir[i]);
	for (unsigned i = 0; any && i < g->folders.n; i++) {
		struct rank_dir *d = &g->folders.dir[i];

		if (d->died_ns > g->until_ns + TOUCHED_NS)
			d->died_ns = 0;
	}
}

static void finish_gather(struct gather *g)
{
	add_extents(g);
	g->opens.now = clock_ns(CLOCK_REALTIME);
	for (unsigned i = 0; i < g->folders.n; i++)
		add_call_given_up(g, i);
	for (unsigned i = 0; i < g->folders.n; i++) {
		const struct rank_dir *d = &g->folders.dir[i];

		if (d->state == RANK_RUNNING || d->state == RANK_KILLED ||
			d->state == RANK_UNSEEN || d->state == RANK_UNWRITTEN ||
			d->state == RANK_RECOVERED) {
			unsigned before = g->opens.n;
			char *wrong = opens_read_journal(&g->opens, d, i, !gather_gone(g, d));

			for (unsigned k = before; k < g->opens.n; k++)
				comms_set_call_numbers(&g->comms, &g->opens.call[k].call, d->rank);
			/* The message of overlay_open() is more detailed. */
			if (g->rank[i].journal_wrong)
				free(wrong);
			else
				g->rank[i].journal_wrong = wrong;
		}
	}
	for (unsigned i = 0; i < g->opens.n; i++) {
		const struct open_call *c = &g->opens.call[i];
		struct rank_info *r = &g->rank[c->call.rank];

		if (!(c->call.bits & CALL_ASYNC) && c->call.start + c->age > r->inside_ns)
			r->inside_ns = c->call.start + c->age;
		/* A rank without rows has no first_ns yet. */
		if (!r->first_ns || c->call.start < r->first_ns)
			r->first_ns = c->call.start;
	}
	for (unsigned i = 0; i < g->folders.n; i++)
		g->life_ns += rank_duration(g, &g->folders.dir[i], &g->rank[i]);
	remove_late_deaths(g);
	/* An open call may show that its rank does something else than the others. */
	for (unsigned i = 0; i < g->opens.n; i++) {
		const struct open_call *c = &g->opens.call[i];
		const struct rank_dir *d = &g->folders.dir[c->call.rank];

		if (c->waiting || (d->state != RANK_RUNNING && d->state != RANK_UNSEEN) ||
			gather_gone(g, d))
			continue;
		record_collective(&g->rank[c->call.rank], &c->call);
		find_site(&g->diagnose.sites, &g->opens.call[i].call);
		if (c->call.bits & CALL_P2P)
			match_message(&g->diagnose.messages, &c->call);
		if (joins_with_ranks(g, &c->call))
			meet_add(&g->meet, &c->call);
	}
	for (unsigned i = 0; i < g->folders.n; i++)
		if (g->rank[i].cycle)
			cycle_end(g->rank[i].cycle);
	meet_end(&g->meet);
	diagnose_end(&g->diagnose);
	end_pace(&g->diagnose.pace);
	end_pace(&g->diagnose.longer);
	opens_sort(&g->opens);
	slow_sort(&g->slow);
}

int gather_calls(struct gather *g, const struct gather_options *o)
{
	uint64_t begun = clock_ns(CLOCK_MONOTONIC);
	struct shares *shares;
	enum share_result share;
	struct run_readers run;
	struct reader *reader;
	int err;

	memset(g, 0, sizeof(*g));
	err = folders_open(&g->folders, o->path);
	if (!err)
		err = choose_ranks(g, &o->ranks);
	if (err) {
		folders_close(&g->folders);
		free(g->all_ranks);
		return err;
	}
	catch_signals();
	shares = shares_open(&o->division, &g->folders, &stopped);
	if (!shares) {
		folders_close(&g->folders);
		free(g->all_ranks);
		if (stopped)
			gather_end_by_signal();
		return STATUS_USAGE;
	}
	prepare_gather(g, o);
	meet_init(&g->meet, &g->comms, g->folders.n, gather_meeting, g);
	reader = tool_alloc(g->folders.n * sizeof(*reader));
	open_readers(g, reader, shares, o);
	run = (struct run_readers){.reader = tool_alloc((g->folders.n + 1) * sizeof(*run.reader)),
		.n = g->folders.n,
		.twice = g->by_rounds,
		.next = read_rank_call,
		.arg = reader};
	for (unsigned i = 0; i < run.n; i++)
		run.reader[i] = &reader[i].calls;
	share = shares_start(shares, &run, &stopped);
	err = share == SHARE_LEFT ? GATHER_LEFT : share == SHARE_FAILED ? STATUS_USAGE : 0;
	if (!err) {
		/* Runs while other processes read. */
		skew_estimate(&g->hosts, g->skew, &g->folders, g->by_rounds ? 0 : o->step_lo,
			g->by_rounds ? UINT64_MAX : o->step_hi, o->division.jobs);
		read_all_calls(g, reader, o);
	}
	shares_free(shares);
	close_readers(g, reader);
	free(run.reader);
	free(reader);
	if (!err)
		finish_gather(g);
	else
		meet_end(&g->meet);
	if (stopped) {
		gather_free(g);
		gather_end_by_signal();
	}
	g->seconds = (double)(clock_ns(CLOCK_MONOTONIC) - begun) * 1e-9;
	if (err)
		gather_free(g);
	return err;
}

void gather_free(struct gather *g)
{
	for (unsigned i = 0; i < g->folders.n; i++) {
		cycle_free(g->rank[i].cycle);
		table_free(&g->rank[i].latest);
		table_free(&g->rank[i].site_waits);
		overlay_remove(&g->rank[i].overlay);
		free(g->rank[i].journal_wrong);
		free(g->rank[i].files_wrong);
	}
	diagnose_free(&g->diagnose);
	slow_free(&g->slow);
	bad_free(&g->bad);
	late_free(&g->late);
	ops_free(&g->ops);
	comms_free(&g->comms);
	opens_free(&g->opens);
	free(g->rank);
	free(g->skew);
	free(g->all_ranks);
	folders_close(&g->folders);
}

int gather_index(const struct gather *g, int rank)
{
	unsigned lo = 0, hi = g->folders.n;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (g->folders.dir[mid].rank < rank)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < g->folders.n && g->folders.dir[lo].rank == rank && rank >= 0 ? (int)lo : -1;
}

static int by_rank_asked(const void *x, const void *y)
{
	int a = *(const int *)x, b = *(const int *)y;

	return a < b ? -1 : a > b;
}

bool gather_has_folder(const struct gather *g, int rank)
{
	if (g->nasked && bsearch(&rank, g->all_ranks, g->nasked, sizeof(rank), by_rank_asked))
		return true;
	for (unsigned i = 0; i < g->folders.nout; i++)
		if (g->folders.out[i].rank == rank)
			return true;
	/* If `path` is the folder of one rank, nothing is known about the other ranks. */
	return g->folders.single;
}

void gather_unread(const struct gather *g, uint64_t comm, struct unread *u)
{
	const struct comm_info *c = comms_find(&g->comms, comm);

	*u = (struct unread){0};
	for (unsigned i = 0; c && c->member && i < c->nmember; i++) {
		int at = gather_index(g, c->member[i]);

		if (at >= 0 && !g->rank[at].unreadable)
			continue;
		TOOL_GROW(u->rank, u->n, u->cap);
		u->rank[u->n++] = c->member[i];
	}
}
