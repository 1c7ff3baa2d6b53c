/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sinks fed from a rank's files: a sink that notes all that it is given, beside the CSV files while entries come out of the
 * journal, and again from these files alone. Both times it must have been told the same.
 */
#define table test_table
#include "core_helper.h"
#undef table

#include "terms/scalar.h"
#include "terms/train_kind.h"
#include "tools/probe/export/feed.h"

#define MIB (1u << 20)
#define NOTES_MAX 4096u

/* ---- the sink that notes ---- */

static struct {
	char *line[NOTES_MAX];
	unsigned n;
} notes;

static void forget_notes(void)
{
	while (notes.n)
		free(notes.line[--notes.n]);
}

static int note_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int note_line(const char *fmt, ...)
{
	va_list ap;

	assert_true(notes.n < NOTES_MAX);
	va_start(ap, fmt);
	assert_true(vasprintf(&notes.line[notes.n++], fmt, ap) >= 0);
	va_end(ap);
	return 0;
}

static int note_record(void *state, const struct record *r)
{
	const struct journal_call *c = r->call;

	(void)state;
	note_line("call %s %s %s seq %llu step %u micro %d %llu-%llu comm %llx seq %lld rank %d of "
		  "%d root %d "
		  "peer %d tag %d error %d flags %x stack %u tid %u redop %u phase %u open %d",
		r->api.lib, r->api.symbol, r->api.op, (unsigned long long)c->seq, c->step,
		(int)c->micro_step, (unsigned long long)clock_to_real(r->clock, c->start),
		r->open ? 0ULL : (unsigned long long)clock_to_dur(r->clock, c->end - c->start),
		(unsigned long long)c->comm, (long long)c->comm_seq, c->comm_rank, c->comm_size,
		c->root, c->peer, c->tag, c->error, c->flags & ~(uint32_t)CF_OPEN, c->stack, c->tid,
		c->redop, c->phase, r->open);
	for (unsigned i = 0; i < r->n; i++) {
		const struct journal_tensor *t = r->tensor[i];
		const uint64_t *dim = (const uint64_t *)(t + 1);

		note_line(" tensor of %llu io %u index %u type %u dims %u %llu %llu count %llu "
			  "bytes %llu crc %x "
			  "flags %x stats %llu %.9g %.9g %.9g %.9g zeros %llu nans %llu infs %llu "
			  "name %s",
			(unsigned long long)c->seq, t->io, t->index, t->dtype, t->ndim,
			t->ndim == 2 ? (unsigned long long)dim[0] : 0ULL,
			t->ndim == 2 ? (unsigned long long)dim[1] : 0ULL,
			(unsigned long long)t->count, (unsigned long long)t->bytes, t->crc,
			t->flags, (unsigned long long)t->stats.n, t->stats.min.f, t->stats.max.f,
			t->stats.mean, t->stats.norm, (unsigned long long)t->stats.zeros,
			(unsigned long long)t->stats.nans, (unsigned long long)t->stats.infs,
			r->name[i]);
	}
	return 0;
}

static int note_stack(void *state, const struct record_stack *e)
{
	(void)state;
	return note_line("stack %u %u %s %s %s", e->id, e->step, e->api, e->python, e->native);
}

static int note_comm(void *state, const struct record_comm *e)
{
	(void)state;
	return note_line("comm %llx %llx %d %d %s %s %s %s", (unsigned long long)e->id,
		(unsigned long long)e->parent, e->size, e->rank, e->lib, e->kind, e->name,
		e->world_ranks);
}

static int note_scalar(void *state, const struct record_scalar *e)
{
	(void)state;
	return note_line("scalar %u %u %u %u %.9g %llu", e->step, e->which, e->optimizer, e->group,
		e->value, (unsigned long long)e->wall_ns);
}

static int note_kind(void *state, const struct record_kind *e)
{
	const struct journal_kind_row *k = e->kind;

	(void)state;
	return note_line("kind %s %s %s step %u micro %d ops %x vpp %u kind %u type %u dims %u "
			 "%llu %llu count %llu stats "
			 "%llu %.9g %.9g %.9g %.9g %llu %llu values %u %.9g",
		e->word, e->name, e->dtype_prefix, k->step, (int)k->micro_step,
		train_kinds[k->kind].form == KIND_OPS ? k->ops : 0, k->vpp_stage, k->kind, k->dtype,
		k->ndim, k->ndim ? (unsigned long long)e->dim[0] : 0ULL,
		k->ndim > 1 ? (unsigned long long)e->dim[1] : 0ULL, (unsigned long long)k->count,
		(unsigned long long)k->stats.n, k->stats.min.f, k->stats.max.f, k->stats.mean,
		k->stats.norm, (unsigned long long)k->stats.zeros,
		(unsigned long long)k->stats.nans, k->e.n, k->e.n ? e->value[k->e.n - 1] : 0);
}

static int note_name(void *state, const struct record_name *e)
{
	(void)state;
	return note_line("name %u %s %s %s type %u opt %u group %u vpp %u id %u step %u bucket %u "
			 "flags %x at %llu of %llu dims "
			 "%u %llu",
		e->what, e->name, e->module, e->type, e->dtype, e->optimizer, e->group,
		e->vpp_stage, e->id, e->step, e->bucket, e->flags, (unsigned long long)e->offset,
		(unsigned long long)e->count, e->ndim,
		e->ndim ? (unsigned long long)e->dims[0] : 0ULL);
}

static int note_step_end(void *state, uint32_t next)
{
	(void)state;
	return note_line("step %u", next);
}

static const struct sink_format noting_format = {
	.formats = FORMAT_BIT(MONITOR),
	.record = note_record,
	.stack = note_stack,
	.comm = note_comm,
	.kind = note_kind,
	.name = note_name,
	.scalar = note_scalar,
	.step = note_step_end,
};

const struct sink_format *const sink_formats[] = {&csv_format, &calls_format, &kinds_format,
	&names_format, &scalars_format, &noting_format, NULL};

/* ---- a life ---- */

static void put_fed_call(struct chain *c, uint64_t seq, uint32_t step)
{
	uint32_t one = (uint32_t)sizeof(struct journal_tensor) + 16;
	uint32_t bytes = (uint32_t)sizeof(struct journal_call) + 2 * one;
	struct journal_call *r = chain_reserve(c, bytes, NO_WAKE);
	char *at;

	assert_non_null(r);
	*r = (struct journal_call){.e = {.bytes = bytes, .type = JE_CALL, .n = 2},
		.seq = seq,
		.start = 1000 + seq,
		.end = 1500 + seq,
		.comm = 0xabcdef,
		.comm_seq = (int64_t)seq,
		.comm_rank = 1,
		.comm_size = 4,
		.step = step,
		.micro_step = step % 2 ? step : UINT32_MAX,
		.root = seq % 3 ? JOURNAL_NONE : 2,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.error = seq % 7 ? 0 : -3,
		.flags = seq % 7 ? CF_INPLACE | CF_GUESSED : CF_ERROR,
		.stack = 1,
		.tid = 77,
		.redop = 1,
		.phase = PHASE_BACKWARD,
		.api = 1};
	at = (char *)(r + 1);
	for (unsigned i = 0; i < 2; i++, at += one) {
		struct journal_tensor *t = (struct journal_tensor *)at;

		put_test_tensor(t, i ? IO_OUT : IO_IN, 0, 12);
		t->flags = i ? TF_CRC : TF_NOSTATS;
		t->crc = i ? 0xbeef : 0;
		t->ndim = 2;
		((uint64_t *)(t + 1))[0] = 3;
		((uint64_t *)(t + 1))[1] = 4;
		t->name = i ? 1 | JOURNAL_NAME_GRAD : 0;
		if (i)
			t->stats = (struct stats){.n = 12,
				.zeros = 3,
				.nans = seq % 2,
				.infs = 1,
				.min.f = -0.5,
				.max.f = (double)seq,
				.mean = 0.25,
				.norm = 1.75};
	}
	atomic_store(&r->e.state, JCS_CLOSED);
	chain_publish(c, bytes);
}

static void put_texts(char *to, const char *const *text, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		to = stpcpy(to, text[i]) + 1;
}

static void put_fed_kind(
	struct chain *c, enum train_kind kind, const char *word, uint32_t step, uint32_t micro)
{
	unsigned nvalue = train_kinds[kind].form == KIND_OPS	 ? 0
			  : train_kinds[kind].form == KIND_VALUE ? 1
								 : KIND_VALUES_MAX;
	uint32_t bytes = (uint32_t)(sizeof(struct journal_kind_row) + 16 + 8 * nvalue + 64);
	struct journal_kind_row *e = chain_reserve(c, bytes, NO_WAKE);
	const char *texts[] = {"layer.0,weight", word, "torch."};
	double *value;

	assert_non_null(e);
	memset(e, 0, bytes);
	*e = (struct journal_kind_row){
		.e = {.bytes = bytes, .type = JE_KIND, .n = (uint16_t)nvalue},
		.count = 12,
		.stats = {.n = 12,
			.zeros = 3,
			.nans = 2,
			.min.f = -1,
			.max.f = 2.5,
			.mean = 0.125,
			.norm = 3.5},
		.step = step,
		.micro_step = micro,
		.ops = parse_ops("norm\nmin\nmax\nmean\nnans\nzeros"),
		.vpp_stage = 1,
		.kind = (uint8_t)kind,
		.dtype = DT_BFLOAT16,
		.ndim = 2};
	if (nvalue)
		e->stats = (struct stats){0};
	((uint64_t *)(e + 1))[0] = 3;
	((uint64_t *)(e + 1))[1] = 4;
	value = (double *)(e + 1) + 2;
	for (unsigned i = 0; i < nvalue; i++)
		value[i] = i + 0.5;
	put_texts((char *)(value + nvalue), texts, 3);
	chain_publish(c, bytes);
}

static void put_fed_tables(struct chain *c)
{
	static const char *const comm[] = {"mpi", "split", "of \"rows\", two", "0-3"};
	static const char *const name[] = {"layer.0.weight", "layer.0", ""};
	uint32_t bytes = (uint32_t)sizeof(struct journal_comm) + 64;
	struct journal_comm *m = chain_reserve(c, bytes, NO_WAKE);

	assert_non_null(m);
	memset(m, 0, bytes);
	*m = (struct journal_comm){.e = {.bytes = bytes, .type = JE_COMM},
		.id = 0xabcdef,
		.parent = 7,
		.size = 4,
		.rank = 1};
	put_texts((char *)(m + 1), comm, 4);
	chain_publish(c, bytes);

	bytes = (uint32_t)sizeof(struct journal_name) + 16 + 64;

	struct journal_name *n = chain_reserve(c, bytes, NO_WAKE);

	assert_non_null(n);
	memset(n, 0, bytes);
	*n = (struct journal_name){.e = {.bytes = bytes, .type = JE_NAME, .n = 2},
		.id = 1,
		.step = 0,
		.optimizer = 1,
		.group = 2,
		.vpp_stage = 1,
		.what = JN_PARAM,
		.dtype = DT_FLOAT32,
		.flags = JN_TIED | JN_SHARD};
	((uint64_t *)(n + 1))[0] = 3;
	((uint64_t *)(n + 1))[1] = 4;
	put_texts((char *)(n + 1) + 16, name, 3);
	chain_publish(c, bytes);

	bytes = (uint32_t)sizeof(struct journal_stack) + 16;

	struct journal_stack *s = chain_reserve(c, bytes, NO_WAKE);

	assert_non_null(s);
	*s = (struct journal_stack){.e = {.bytes = bytes, .type = JE_STACK},
		.id = 1,
		.step = 0,
		.api = 1,
		.text_bytes = 16};
	memcpy(s + 1, "a.py:1 f, \"x\" y ", 16);
	chain_publish(c, bytes);
}

static void put_fed_scalar(struct chain *c, uint32_t step)
{
	struct journal_scalar *e = chain_reserve(c, sizeof(*e), NO_WAKE);

	assert_non_null(e);
	*e = (struct journal_scalar){.e = {.bytes = sizeof(*e), .type = JE_SCALAR},
		.at = 5000 + step,
		.which = step % 2 ? SCALAR_LOSS : SCALAR_LEARNING_RATE,
		.optimizer = (uint16_t)(step % 2),
		.step = step,
		.group = step % 2 ? 3 : JOURNAL_NO_GROUP,
		.value = 0.1 * step};
	chain_publish(c, sizeof(*e));
}

static void live(struct rank *r, unsigned steps)
{
	struct chain c;

	assert_int_equal(chain_open(&c, &r->j, 77), 0);
	dict_api(&r->j, 1, "MPI_Allreduce");
	put_fed_tables(&c);
	for (uint32_t step = 0; step < steps; step++) {
		for (unsigned i = 0; i < 5; i++)
			put_fed_call(&c, 1 + step * 5 + i, step);
		put_fed_kind(&c, TK_PARAM_ORIGIN, "", step, UINT32_MAX);
		put_fed_kind(&c, TK_ACTV, "", step, step % 2);
		put_fed_kind(&c, TK_STATE, "momentum", step, UINT32_MAX);
		put_fed_kind(&c, TK_MG_DIRECTION, "", step, UINT32_MAX);
		put_fed_kind(&c, TK_UR_DISTRIBUTION, "", step, UINT32_MAX);
		put_fed_scalar(&c, step);
		atomic_store(&r->j.head->step, step + 1);
		assert_int_equal(drain_all(&r->drain, false), 0);
	}
	assert_int_equal(drain_all(&r->drain, true), 0);
}

static int by_note(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *all_notes(void)
{
	size_t n = 1;
	char *all, *to;

	qsort(notes.line, notes.n, sizeof(*notes.line), by_note);
	for (unsigned i = 0; i < notes.n; i++)
		n += strlen(notes.line[i]) + 1;
	to = all = malloc(n);
	assert_non_null(all);
	*to = 0;
	for (unsigned i = 0; i < notes.n; i++) {
		to = stpcpy(to, notes.line[i]);
		to = stpcpy(to, "\n");
	}
	return all;
}

/* Steps of what was noted never go back, and step n comes before what belongs to n. */
static void check_fed_order(void)
{
	unsigned ended = 0, step;

	for (unsigned i = 0; i < notes.n; i++)
		if (sscanf(notes.line[i], "step %u", &step) == 1) {
			assert_true(step > ended);
			ended = step;
		} else if (sscanf(notes.line[i], "kind %*s %*s %*s step %u", &step) == 1 ||
			   sscanf(notes.line[i], "scalar %u", &step) == 1) {
			assert_int_equal(step, ended);
		}
}

/* Line by line, for a message that can be read. */
static void assert_same_notes(const char *got, const char *want)
{
	while (*got || *want) {
		size_t n = strcspn(got, "\n"), m = strcspn(want, "\n");

		if (n != m || memcmp(got, want, n))
			fail_msg("\n%.*s\nis not\n%.*s", (int)n, got, (int)m, want);
		got += n + (got[n] != 0);
		want += m + (want[m] != 0);
	}
}

static void fed_is_given(void **state)
{
	struct feed_options o = {.step_hi = UINT64_MAX, .format = FORMAT_MONITOR, .quiet = true};
	char top[80], *live_notes, *fed_notes;
	struct rank r;

	(void)state;
	rank_make(&r, MIB);
	r.j.head->block_steps = 4;
	snprintf(top, sizeof(top), "%s/rank0", r.dir);
	assert_int_equal(mkdir(top, 0755), 0);
	close(r.dirfd);
	r.dirfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(r.dirfd >= 0);
	assert_int_equal(
		sink_open(&r.sink, &r.j, r.dirfd, NULL, FORMAT_BIT(CSV) | FORMAT_BIT(MONITOR)), 0);
	assert_int_equal(drain_open(&r.drain, &r.j, &r.sink), 0);
	live(&r, 10);
	atomic_store(&r.j.head->state, JS_FINISHED);
	assert_int_equal(sink_write_meta(&r.sink), 0);
	live_notes = all_notes();
	assert_non_null(strstr(live_notes, "kind momentum layer.0,weight torch. step 9"));
	forget_notes();

	/* Beside the rank's folder it would be one itself. */
	snprintf(top, sizeof(top), "%s/journal.bin", r.dir);
	assert_int_equal(unlink(top), 0);
	o.dir = r.dir;
	assert_int_equal(feed_folders(&o), 0);
	check_fed_order();
	fed_notes = all_notes();
	/* Which word is a number of its own is known to the job alone; here each is. */
	assert_same_notes(fed_notes, live_notes);
	free(fed_notes);
	forget_notes();

	/* A part of it. */
	o.step_lo = 3;
	o.step_hi = 4;
	assert_int_equal(feed_folders(&o), 0);
	fed_notes = all_notes();
	assert_null(strstr(fed_notes, " step 2 "));
	assert_non_null(strstr(fed_notes, " step 3 "));
	assert_non_null(strstr(fed_notes, " step 4 "));
	assert_null(strstr(fed_notes, " step 5 "));
	assert_non_null(strstr(fed_notes, "step 5\n"));
	free(fed_notes);
	free(live_notes);
	forget_notes();
	rank_drop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(fed_is_given)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
