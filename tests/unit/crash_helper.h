/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording process that may be killed at any instruction, and the truth about it: a shared page that says of each
 * call how far its thread had come. After recovery the files must agree with it, row by row.
 */
#ifndef TESTS_UNIT_CRASH_HELPER_H
#define TESTS_UNIT_CRASH_HELPER_H

#include "journal/columns.h"
#include "terms/scalar.h"
#include "core_helper.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define CRASH_THREADS 3
#define CRASH_CALLS 4000u /* of a thread at most */
#define CRASH_SEQS (CRASH_THREADS * CRASH_CALLS + 1)
#define OUTSTANDING \
	24u /* requests under way of a thread: all of them fit into the journal's region */

/* The progress of a call. Odd values: perhaps further already. */
enum truth {
	T_NOTHING,
	T_ENTERING,
	T_ENTERED,
	T_LEAVING,
	T_LEFT,
	T_STARTING,
	T_STARTED, /* asynchronous */
	T_ENDING,
	T_ENDED,
	T_COMM_PUTTING,
	T_COMM_PUT, /* no call: a row of comms.csv */
	T_SCALAR_PUTTING,
	T_SCALAR_PUT, /* nor is this: a row of scalars_*.csv */
	T_DROPPED = 14, /* the journal was full */
	T_END_DROPPED = 16,
};

struct crash_truth {
	_Atomic uint8_t how[CRASH_SEQS];
	_Atomic bool over;
};

struct crash_plan {
	uint64_t seed;
	struct journal *j;
	struct crash_truth *truth;
	unsigned thread;
	uint32_t calls; /* at most CRASH_CALLS */
};

static inline unsigned plan_nin(uint64_t seq)
{
	return seq % 3;
}

static inline unsigned plan_nout(uint64_t seq)
{
	return seq % 5 < 3 ? 1 : 0;
}

static inline uint32_t roll(uint64_t *seed, uint32_t n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33) % n;
}

static inline void put_comm(struct chain *c, uint64_t id, struct crash_truth *truth)
{
	static const char text[] = "mpi\0dup\0name\0"
				   "0-3";
	uint32_t bytes = (uint32_t)(sizeof(struct journal_comm) + sizeof(text) + 7) & ~7u;
	struct journal_comm *e = chain_reserve(c, bytes, NO_WAKE);

	if (!e) {
		truth->how[id] = T_DROPPED;
		return;
	}
	memset(e, 0, bytes);
	*e = (struct journal_comm){.e = {.bytes = bytes, .type = JE_COMM}, .id = id, .size = 4};
	memcpy(e + 1, text, sizeof(text));
	truth->how[id] = T_COMM_PUTTING;
	chain_publish(c, bytes);
	truth->how[id] = T_COMM_PUT;
}

static inline void put_scalar(
	struct chain *c, uint64_t id, uint32_t step, struct crash_truth *truth)
{
	struct journal_scalar *e = chain_reserve(c, sizeof(*e), NO_WAKE);

	if (!e) {
		truth->how[id] = T_DROPPED;
		return;
	}
	*e = (struct journal_scalar){.e = {.bytes = sizeof(*e), .type = JE_SCALAR},
		.which = SCALAR_ITERATION_TIME,
		.group = JOURNAL_NO_GROUP,
		.step = step,
		.value = (double)id};
	truth->how[id] = T_SCALAR_PUTTING;
	chain_publish(c, sizeof(*e));
	truth->how[id] = T_SCALAR_PUT;
}

/* The life of one thread of the job. Steps go up with its calls; threads come and go. */
static inline void live(struct crash_plan *p)
{
	struct chain c = {0};
	uint64_t seed = p->seed, first = 1 + (uint64_t)p->thread * CRASH_CALLS, way[OUTSTANDING];
	unsigned nway = 0;

	for (uint64_t seq = first; seq < first + p->calls && !p->truth->over; seq++) {
		_Atomic uint8_t *how = &p->truth->how[seq];
		uint32_t what = roll(&seed, 16);

		if (!c.slot && chain_open(&c, p->j, (int64_t)p->thread) < 0)
			continue;
		if (what == 15) {
			put_comm(&c, seq, p->truth);
			continue;
		}
		if (what == 14) {
			put_scalar(&c, seq, (uint32_t)((seq - first) / 40), p->truth);
			continue;
		}
		*how = T_ENTERING;

		struct journal_call *r = enter_call(
			&c, seq, (uint32_t)((seq - first) / 40), plan_nin(seq), plan_nout(seq));

		if (!r) {
			*how = T_DROPPED;
			usleep(50);
			continue;
		}
		*how = T_ENTERED;
		if (what < 5 && nway < OUTSTANDING) {
			*how = T_STARTING;
			leave_async(r);
			*how = T_STARTED;
			way[nway++] = seq;
		} else {
			*how = T_LEAVING;
			leave_call(r, plan_nout(seq));
			*how = T_LEFT;
		}
		if (nway && what > 8) {
			unsigned k = roll(&seed, nway);
			bool ok;

			p->truth->how[way[k]] = T_ENDING;
			ok = end_test_call(&c, way[k], plan_nout(way[k]));
			p->truth->how[way[k]] = ok ? T_ENDED : T_END_DROPPED;
			way[k] = way[--nway];
		}
		if (roll(&seed, 200) == 0)
			chain_close(&c);
	}
	chain_close(&c);
}

/* ---- comparing ---- */

static inline char *wrong(uint64_t seq, uint8_t how, const char *what, unsigned n)
{
	char *s = NULL;

	return asprintf(&s, "call %llu, which had come to %u: %u %s", (unsigned long long)seq, how,
		       n, what) < 0
		       ? NULL
		       : s;
}

struct seen {
	uint8_t in, out, none, open, async, bad;
};

/* spilled: asynchronous calls were kept outside the journal, so those not completed may be lost. */
static inline char *check_call(uint64_t seq, uint8_t how, const struct seen *s, bool spilled)
{
	unsigned nin = plan_nin(seq), nout = plan_nout(seq), all = s->in + s->out + s->none;
	bool is_open = s->open == all && all && !s->out && s->in == nin && s->none == !nin;
	bool is_left = !s->open && s->in == nin && s->out == nout && s->none == !(nin + nout);
	bool fits = false;

	if (s->bad)
		return wrong(seq, how, "rows of other contents", s->bad);
	switch (how) {
	case T_NOTHING:
	case T_DROPPED:
	case T_COMM_PUTTING:
	case T_COMM_PUT:
	case T_SCALAR_PUTTING:
	case T_SCALAR_PUT:
		fits = all == 0;
		break;
	case T_ENTERING:
		fits = all == 0 || (is_open && !s->async);
		break;
	case T_ENTERED:
		fits = is_open && !s->async;
		break;
	case T_LEAVING:
		fits = (is_open || is_left) && !s->async;
		break;
	case T_LEFT:
		fits = is_left && !s->async;
		break;
	case T_STARTING:
		fits = is_open;
		break;
	case T_STARTED:
	case T_END_DROPPED:
		fits = is_open && s->async == all;
		break;
	case T_ENDING:
		fits = (is_open || is_left) && s->async == all;
		break;
	case T_ENDED:
		fits = is_left && s->async == all;
		break;
	}
	if (spilled && how >= T_STARTED && !all)
		fits = true;
	return fits ? NULL : wrong(seq, how, s->open ? "rows, some of them open" : "rows", all);
}

static inline char *check_comms(const char *dir, const struct crash_truth *truth)
{
	char path[128], line[64];
	size_t n;

	snprintf(path, sizeof(path), "%s/comms.csv", dir);

	char *text = read_test_file(path, &n), *bad = NULL;

	if (n && (text[n - 1] != '\n' || strlen(text) != n))
		bad = strdup("comms.csv ends in the middle of a line");
	for (uint64_t seq = 1; seq < CRASH_SEQS && !bad; seq++) {
		uint8_t how = truth->how[seq];
		unsigned found = 0;

		if (how != T_COMM_PUT && how != T_COMM_PUTTING)
			continue;
		snprintf(line, sizeof(line), "\n%016llx,mpi,4,0,dup,,name,0-3\n",
			(unsigned long long)seq);
		for (char *p = text; p && (p = strstr(p, line)); p++)
			found++;
		if (found > 1 || (!found && how == T_COMM_PUT))
			bad = wrong(seq, how, "rows of comms.csv", found);
	}
	free(text);
	return bad;
}

static inline char *check_scalars(const char *dir, const struct crash_truth *truth)
{
	uint8_t *found = calloc(CRASH_SEQS, 1);
	char *bad = NULL;
	DIR *d = opendir(dir);

	for (struct dirent *e; d && !bad && (e = readdir(d));) {
		char path[512], *text, *line;
		size_t n;

		if (strncmp(e->d_name, "scalars_", 8))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		text = read_test_file(path, &n);
		if (strncmp(text, "step,name,value,wall_ns\n", 24) || text[n - 1] != '\n')
			bad = strdup("scalars: no header, or a torn line");
		for (line = text; !bad && (line = strstr(line, ",iteration-time,"));) {
			uint64_t id = strtoull(line += 16, NULL, 10);

			found[id < CRASH_SEQS ? id : 0]++;
		}
		free(text);
	}
	if (d)
		closedir(d);
	if (found[0])
		bad = strdup("scalars that never were");
	for (uint64_t seq = 1; seq < CRASH_SEQS && !bad; seq++) {
		uint8_t how = truth->how[seq];
		bool may = how == T_SCALAR_PUT || how == T_SCALAR_PUTTING;

		if (found[seq] > may || (!found[seq] && how == T_SCALAR_PUT))
			bad = wrong(seq, how, "rows of scalars", found[seq]);
	}
	free(found);
	return bad;
}

/* NULL: the files of `dir` agree with the truth. Else what does not, malloc'd. */
static inline char *verify(const char *dir, const struct crash_truth *truth, bool spilled)
{
	struct table t = read_test_table(dir);
	struct seen *seen = calloc(CRASH_SEQS, sizeof(*seen));
	char *bad = t.bad ? strdup(t.bad) : NULL;

	for (size_t i = 0; i < t.n && !bad; i++) {
		char *const *f = t.row[i].field;
		uint64_t seq = strtoull(f[COL_seq], NULL, 10);
		struct seen *s = &seen[seq < CRASH_SEQS ? seq : 0];

		s->in += strcmp(f[COL_io], "in") == 0;
		s->out += strcmp(f[COL_io], "out") == 0;
		s->none += f[COL_io][0] == 0;
		s->open += strstr(f[COL_flags], "open") != NULL;
		s->async += strstr(f[COL_flags], "async") != NULL;
		s->bad += (f[COL_io][0] && strtoull(f[17], NULL, 10) != seq) ||
			  strcmp(f[COL_api], "MPI_X") != 0 ||
			  (f[COL_dur_ns][0] == 0) != (strstr(f[COL_flags], "open") != NULL);
	}
	if (!bad && (seen[0].in || seen[0].out || seen[0].none))
		bad = strdup("rows of calls that never were");
	for (uint64_t seq = 1; seq < CRASH_SEQS && !bad; seq++)
		bad = check_call(seq, truth->how[seq], &seen[seq], spilled);
	if (!bad)
		bad = check_comms(dir, truth);
	if (!bad)
		bad = check_scalars(dir, truth);
	free(seen);
	free_test_table(&t);
	return bad;
}

/* ---- a folder as bytes, to see that nothing changes any more ---- */

static inline uint64_t folder_hash(const char *dir)
{
	uint64_t sum = 0;
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));) {
		char path[512];
		uint64_t h = UINT64_C(0xcbf29ce484222325);
		size_t n;

		if (strncmp(e->d_name, "calls_", 6) && strcmp(e->d_name, "comms.csv") &&
			strncmp(e->d_name, "scalars_", 8))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);

		char *text = read_test_file(path, &n);

		for (const char *p = e->d_name; *p; p++)
			h = (h ^ (unsigned char)*p) * UINT64_C(0x100000001b3);
		for (size_t i = 0; i < n; i++)
			h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
		free(text);
		sum += h;
	}
	if (d)
		closedir(d);
	return sum;
}

static inline struct crash_truth *truth_make(void)
{
	void *p = mmap(NULL, sizeof(struct crash_truth), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

#endif
