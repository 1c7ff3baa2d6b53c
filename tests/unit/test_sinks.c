/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=write */
/*
 * Several sinks beside each other: the CSV files, one that keeps in memory and in a file without lines what it was given, and
 * one that has no room now and then. All are given the same entries, once and in order, whatever fails.
 */
#include "journal/columns.h"
#include "terms/scalar.h"
#include "core_helper.h"

#define MIB (1u << 20)
#define THREADS 2u
#define ROUNDS 6u /* a step each */
#define CALLS 20u /* of a thread in a step; each fifth is asynchronous and ends a step later */
#define LOG_MAX 4096u
#define TOY_FILE "toy.bin"

/* ---- the n-th write fails, half done ---- */

static unsigned fail_at, writes;

ssize_t __real_write(int fd, const void *buf, size_t n);
ssize_t __wrap_write(int fd, const void *buf, size_t n);

ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
	if (!fail_at || ++writes != fail_at)
		return __real_write(fd, buf, n);
	assert_true(__real_write(fd, buf, n / 2) >= 0);
	errno = ENOSPC;
	return -1;
}

/* ---- the sinks ---- */

struct given {
	char what; /* Record Stack Comm sTep scaLar */
	uint64_t id;
	uint32_t step;
	unsigned tensors;
	bool open;
};

static struct {
	struct given log[LOG_MAX];
	unsigned n, committed, retracted, forgotten, closed;
} toy;

static unsigned narrow_most, narrow_now; /* entries that the narrow one takes in a pass; 0: all */

static int open_toy(void *state, struct files *files)
{
	*(struct files **)state = files;
	return 0;
}

/* 8 bytes of its file for each, none of which is a newline. */
static int keep(void *state, struct given g)
{
	struct out_file *o;
	char *at = files_get_table_space(*(struct files **)state, TOY_FILE, "", 8, &o), text[9];

	if (!at)
		return -ENOBUFS;
	snprintf(text, sizeof(text), "%c%07llu", g.what, (unsigned long long)g.id);
	memcpy(at, text, 8);
	files_add_length(*(struct files **)state, o, 8);
	assert_true(toy.n < LOG_MAX);
	toy.log[toy.n++] = g;
	return 0;
}

static int keep_record(void *state, const struct record *r)
{
	assert_string_equal(r->api.symbol, "MPI_X");
	for (unsigned i = 0; i < r->n; i++)
		assert_int_equal(r->tensor[i]->count, r->call->seq);
	return keep(state, (struct given){'R', r->call->seq, r->call->step, r->n, r->open});
}

static int keep_stack(void *state, const struct record_stack *e)
{
	assert_string_equal(e->python, "a.py:1 f");
	assert_string_equal(e->native, "0x1234");
	return keep(state, (struct given){'S', e->id, e->step, 0, false});
}

static int keep_comm(void *state, const struct record_comm *e)
{
	assert_string_equal(e->kind, "dup");
	assert_string_equal(e->world_ranks, "0-3");
	return keep(state, (struct given){'C', e->id, 0, 0, false});
}

static int keep_scalar(void *state, const struct record_scalar *e)
{
	assert_int_equal(e->which, SCALAR_LEARNING_RATE);
	assert_true(e->value >= 0.5 && e->value <= 0.5);
	return keep(state, (struct given){'L', 1 + e->group, e->step, 0, false});
}

static int keep_step(void *state, uint32_t next)
{
	return keep(state, (struct given){'T', next, next, 0, false});
}

static void take_back(void *state)
{
	(void)state;
	assert_true(toy.n > toy.committed);
	toy.n--;
	toy.retracted++;
}

static void end_toy_pass(void *state, bool written)
{
	(void)state;
	toy.forgotten += written ? 0 : toy.n - toy.committed;
	if (written)
		toy.committed = toy.n;
	toy.n = toy.committed;
}

static void close_toy(void *state)
{
	(void)state;
	toy.closed++;
}

static enum sink_file own_toy_file(const char *path)
{
	return strcmp(path, TOY_FILE) == 0 ? SINK_FILE_BYTES : SINK_FILE_OTHER;
}

static const struct sink_format toy_format = {
	.state_bytes = sizeof(struct files *),
	.open = open_toy,
	.record = keep_record,
	.stack = keep_stack,
	.comm = keep_comm,
	.scalar = keep_scalar,
	.step = keep_step,
	.retract = take_back,
	.commit = end_toy_pass,
	.close = close_toy,
	.owns = own_toy_file,
};

static int squeeze(void)
{
	if (narrow_most && narrow_now == narrow_most)
		return -ENOBUFS;
	narrow_now++;
	return 0;
}

static int squeeze_record(void *state, const struct record *r)
{
	(void)state, (void)r;
	return squeeze();
}

static int squeeze_step(void *state, uint32_t next)
{
	(void)state, (void)next;
	return squeeze();
}

static void end_narrow_pass(void *state, bool written)
{
	(void)state, (void)written;
	narrow_now = 0;
}

static const struct sink_format narrow_format = {
	.record = squeeze_record,
	.step = squeeze_step,
	.commit = end_narrow_pass,
};

const struct sink_format *const sink_formats[] = {
	&csv_format, &calls_format, &scalars_format, &toy_format, &narrow_format, NULL};

/* ---- a short life of a few threads ---- */

static void put_test_stack(struct chain *c, uint32_t id, uint32_t step)
{
	static const char python[8] = "a.py:1 f";
	uint32_t bytes = (uint32_t)sizeof(struct journal_stack) + 16;
	struct journal_stack *e = chain_reserve(c, bytes, NO_WAKE);
	uint64_t pc = 0x1234;

	assert_non_null(e);
	*e = (struct journal_stack){.e = {.bytes = bytes, .type = JE_STACK, .n = 1},
		.id = id,
		.step = step,
		.api = 1,
		.text_bytes = 8};
	memcpy(e + 1, &pc, 8);
	memcpy((char *)(e + 1) + 8, python, 8);
	chain_publish(c, bytes);
}

static void put_test_comm(struct chain *c, uint64_t id)
{
	static const char text[] = "mpi\0dup\0name\0"
				   "0-3";
	uint32_t bytes = (uint32_t)(sizeof(struct journal_comm) + sizeof(text) + 7) & ~7u;
	struct journal_comm *e = chain_reserve(c, bytes, NO_WAKE);

	assert_non_null(e);
	memset(e, 0, bytes);
	*e = (struct journal_comm){.e = {.bytes = bytes, .type = JE_COMM}, .id = id, .size = 4};
	memcpy(e + 1, text, sizeof(text));
	chain_publish(c, bytes);
}

static void put_test_scalar(struct chain *c, uint32_t step, uint16_t group)
{
	struct journal_scalar *e = chain_reserve(c, sizeof(*e), NO_WAKE);

	assert_non_null(e);
	*e = (struct journal_scalar){.e = {.bytes = sizeof(*e), .type = JE_SCALAR},
		.which = SCALAR_LEARNING_RATE,
		.optimizer = (uint16_t)(step % 2),
		.step = step,
		.group = group,
		.value = 0.5};
	chain_publish(c, sizeof(*e));
}

static uint64_t seq_of_call(unsigned thread, unsigned step, unsigned i)
{
	return (step * THREADS + thread) * CALLS + i + 1;
}

static bool is_async(uint64_t seq)
{
	return seq % 5 == 0;
}

static void live_one_step(struct chain *c, unsigned thread, unsigned step)
{
	if (!thread)
		put_test_stack(c, step + 1, step);
	put_test_comm(c, 100 + step * THREADS + thread);
	put_test_scalar(c, step, (uint16_t)(step * THREADS + thread));
	for (unsigned i = 0; i < CALLS; i++) {
		uint64_t seq = seq_of_call(thread, step, i);
		struct journal_call *r = enter_call(c, seq, step, 1, seq % 3);

		assert_non_null(r);
		if (!is_async(seq))
			leave_call(r, seq % 3);
		else
			leave_async(r);
		if (step && is_async(seq))
			assert_true(end_test_call(c, seq - THREADS * CALLS, 1));
	}
}

/* errors: drains that failed. reopen: the sinks are opened again between two steps, as by another process. */
static unsigned live_and_drain(struct rank *r, bool reopen)
{
	struct chain c[THREADS];
	unsigned errors = 0;

	memset(&toy, 0, sizeof(toy));
	writes = narrow_now = 0;
	rank_make(r, MIB);
	r->j.head->block_steps = 2;
	rank_sink(r);
	dict_api(&r->j, 1, "MPI_X");
	for (unsigned t = 0; t < THREADS; t++)
		assert_int_equal(chain_open(&c[t], &r->j, t + 1), 0);
	for (unsigned step = 0; step < ROUNDS; step++) {
		for (unsigned t = 0; t < THREADS; t++)
			live_one_step(&c[t], t, step);
		/* Sometimes two steps end at once. */
		if (step % 3 != 1)
			atomic_store(&r->j.head->step, step + 1);
		errors += drain_all(&r->drain, false) != 0;
		if (reopen) {
			rank_unsink(r);
			rank_sink(r);
		}
	}
	for (int last = 0; last < 2; last++)
		if (drain_all(&r->drain, last)) {
			errors++;
			assert_int_equal(drain_all(&r->drain, last), 0);
		}
	return errors;
}

/* ---- what must have come of it ---- */

static unsigned count_given(char what, uint64_t id)
{
	unsigned n = 0;

	for (unsigned i = 0; i < toy.n; i++)
		n += toy.log[i].what == what && toy.log[i].id == id;
	return n;
}

static void check_order(void)
{
	uint64_t last[THREADS] = {0};
	uint32_t ended = 0;

	for (unsigned i = 0; i < toy.n; i++) {
		const struct given *g = &toy.log[i];
		unsigned thread = g->what == 'R' ? (unsigned)((g->id - 1) / CALLS % THREADS) : 0;

		if (g->what == 'T') {
			assert_true(g->id > ended);
			ended = (uint32_t)g->id;
		}
		if (g->what != 'R')
			continue;
		assert_int_equal(g->step, (g->id - 1) / CALLS / THREADS);
		/* After the end of a step only operations still in flight come. */
		if (!is_async(g->id)) {
			assert_true(g->id > last[thread] && g->step >= ended);
			last[thread] = g->id;
		}
		assert_int_equal(g->open, is_async(g->id) && g->step == ROUNDS - 1);
		assert_int_equal(g->tensors, 1 + (is_async(g->id) ? !g->open : g->id % 3));
	}
	assert_int_equal(ended, ROUNDS);
}

static void check_complete(void)
{
	for (uint64_t seq = 1; seq <= THREADS * ROUNDS * CALLS; seq++)
		assert_int_equal(count_given('R', seq), 1);
	for (unsigned step = 0; step < ROUNDS; step++) {
		assert_int_equal(count_given('S', step + 1), 1);
		for (unsigned t = 0; t < THREADS; t++)
			assert_int_equal(count_given('C', 100 + step * THREADS + t), 1);
		for (unsigned t = 0; t < THREADS; t++)
			assert_int_equal(count_given('L', 1 + step * THREADS + t), 1);
	}
}

/* Each number once, in the file of its step, under the name of its optimizer and group. */
static void check_scalar_files(const struct rank *r)
{
	for (unsigned step = 0; step < ROUNDS; step++) {
		char path[128], want[128];
		size_t n;

		snprintf(path, sizeof(path), "%s/scalars_%u-%u.csv", r->dir, step / 2 * 2,
			step / 2 * 2 + 1);

		char *text = read_test_file(path, &n);

		assert_true(n && text[n - 1] == '\n');
		assert_memory_equal(text, "step,name,value,wall_ns\n", 24);
		for (unsigned t = 0; t < THREADS; t++) {
			snprintf(want, sizeof(want), "\n%u,learning-rate/%sgroup%u,0.5,", step,
				step % 2 ? "opt1." : "", step * THREADS + t);

			const char *at = strstr(text, want);

			assert_non_null(at);
			assert_null(strstr(at + 1, want));
		}
		free(text);
	}
}

/* Its file has what it was given in committed passes, in that order, and so have the rows of each block. */
static void check_files(const struct rank *r)
{
	char path[128], text[9];
	size_t n, at[ROUNDS / 2] = {0};

	snprintf(path, sizeof(path), "%s/" TOY_FILE, r->dir);

	char *bytes = read_test_file(path, &n);
	struct table t = read_test_table(r->dir);

	assert_sound(&t);
	assert_int_equal(toy.committed, toy.n);
	assert_int_equal(n, 8 * toy.n);
	for (unsigned i = 0; i < toy.n; i++) {
		const struct given *g = &toy.log[i];
		unsigned left = g->tensors;

		snprintf(text, sizeof(text), "%c%07llu", g->what, (unsigned long long)g->id);
		assert_memory_equal(bytes + (size_t)8 * i, text, 8);
		if (g->what != 'R')
			continue;
		snprintf(path, sizeof(path), "calls_%u-%u.csv", g->step / 2 * 2,
			g->step / 2 * 2 + 1);
		for (size_t *k = &at[g->step / 2]; left && *k < t.n; ++*k) {
			if (strcmp(t.row[*k].file, path))
				continue;
			assert_int_equal(strtoull(t.row[*k].field[COL_seq], NULL, 10), g->id);
			left--;
		}
		assert_int_equal(left, 0);
	}
	free(bytes);
	free_test_table(&t);
	check_scalar_files(r);
}

static void check_life(struct rank *r)
{
	check_order();
	check_complete();
	check_files(r);
	rank_drop(r);
}

static void test_order(void **state)
{
	struct rank r;

	(void)state;
	assert_int_equal(live_and_drain(&r, false), 0);
	assert_int_equal(toy.retracted + toy.forgotten, 0);
	/* Steps 2 and 5 end together with the one before. */
	assert_int_equal(count_given('T', 1) + count_given('T', 3) + count_given('T', 4) +
				 count_given('T', ROUNDS),
		4);
	check_life(&r);
	assert_int_equal(toy.closed, 1);
}

/* One sink has no room: none keeps that entry, and it is the first of the next pass. */
static void test_no_room(void **state)
{
	struct rank r;

	(void)state;
	for (narrow_most = 1; narrow_most < 30; narrow_most += 4) {
		assert_int_equal(live_and_drain(&r, false), 0);
		assert_true(toy.retracted >= THREADS * ROUNDS * CALLS / narrow_most - ROUNDS - 2);
		assert_int_equal(toy.forgotten, 0);
		check_life(&r);
	}
	narrow_most = 0;
}

/* The disk is full: what sinks have of that pass they forget, and are given again. */
static void test_disk_full(void **state)
{
	unsigned failed = 0;
	struct rank r;

	(void)state;
	for (narrow_most = 0; narrow_most <= 50; narrow_most += 50)
		for (fail_at = 1;; fail_at++) {
			unsigned errors = live_and_drain(&r, false);

			assert_int_equal(errors, writes >= fail_at);
			assert_int_equal(toy.forgotten != 0, errors);
			check_life(&r);
			failed += errors;
			if (!errors)
				break;
		}
	assert_true(failed > 20);
	narrow_most = fail_at = 0;
}

/* Steps are not said twice to one who goes on after another process, and its files are cut to the byte. */
static void test_goes_on(void **state)
{
	static const char junk[] = "a pass that\nwas killed";
	struct rank r;
	char path[128], *text;
	size_t n, was;
	int fd;

	(void)state;
	assert_int_equal(live_and_drain(&r, true), 0);
	assert_int_equal(toy.closed, ROUNDS);
	check_order();
	check_complete();
	check_files(&r);
	snprintf(path, sizeof(path), "%s/" TOY_FILE, r.dir);
	free(read_test_file(path, &was));
	fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, junk, sizeof(junk)), sizeof(junk));
	close(fd);
	rank_unsink(&r);
	rank_sink(&r);
	text = read_test_file(path, &n);
	assert_int_equal(n, was);
	free(text);
	check_files(&r);
	rank_drop(&r);
}

/* Records after an open call wait for it; the step has ended all the same. */
static void test_open_call(void **state)
{
	struct journal_call *outer, *inner;
	struct chain c[2];
	struct rank r;

	(void)state;
	memset(&toy, 0, sizeof(toy));
	rank_make(&r, MIB);
	rank_sink(&r);
	dict_api(&r.j, 1, "MPI_X");
	for (unsigned t = 0; t < 2; t++)
		assert_int_equal(chain_open(&c[t], &r.j, t + 1), 0);
	outer = enter_call(&c[0], 1, 0, 1, 0);
	inner = enter_call(&c[0], 2, 0, 1, 0);
	leave_call(inner, 0);
	leave_call(enter_call(&c[1], 3, 0, 1, 0), 0);
	assert_int_equal(drain_all(&r.drain, false), 0);
	assert_int_equal(toy.n, 1); /* no step yet */
	atomic_store(&r.j.head->step, 1);
	assert_int_equal(drain_all(&r.drain, false), 0);
	leave_call(outer, 0);
	assert_int_equal(drain_all(&r.drain, false), 0);
	assert_int_equal(toy.n, 4);
	assert_int_equal(toy.log[0].id, 3);
	assert_int_equal(toy.log[1].what, 'T');
	assert_int_equal(toy.log[2].id, 1);
	assert_int_equal(toy.log[3].id, 2);
	assert_int_equal(toy.log[3].step, 0);
	rank_drop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_open_call),
	};

	return cmocka_run_group_tests_name("sinks", tests, NULL, NULL);
}
