/* SPDX-License-Identifier: Apache-2.0 */
/* Turns entries of the journal into records, and passes these to every sink. */
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "terms/scalar.h"
#include "text/text.h"
#include "terms/train_kind.h"
#include "elf/demangle/demangle.h"
#include "folder/meta.h"
#include "journal/tensor_at.h"
#include "sink/call_site.h"
#include "sink/modules_csv.h"
#include "sink/name_book.h"

#define SYMBOLS_BYTES (32u << 20)

static uint32_t committed_steps(const struct journal *j)
{
	uint64_t seq = atomic_load_explicit(&j->head->commit_seq, memory_order_relaxed);

	return journal_get_commit(j, seq)->steps;
}

static int open_format(struct sink *s, unsigned i)
{
	const struct sink_format *f = sink_formats[i];
	void *state = calloc(1, f->state_bytes ? f->state_bytes : 1);
	int err = !state ? -ENOMEM : f->open ? f->open(state, &s->files) : 0;

	if (err) {
		free(state);
		return err;
	}
	if (f->idle && f->idle(state)) {
		if (f->close)
			f->close(state);
		free(state);
		return 0;
	}
	s->state[i] = state;
	s->open |= 1u << i;
	if (f->record)
		s->on_record[s->non_record++] =
			(struct sink_taker){.record = f->record, .state = state, .number = i};
	return 0;
}

static int open_formats(struct sink *s, uint32_t formats)
{
	uint32_t known = 0; /* formats that have a sink of their own */
	int err = 0;

	for (unsigned i = 0; !err && i < SINKS_MAX && sink_formats[i]; i++) {
		uint32_t of = sink_formats[i]->formats;

		if (formats & SINK_FROM_FILES && of & FORMAT_TABLES)
			continue;
		if (!of || of & formats)
			err = open_format(s, i);
		/* A sink that several formats share does not count as one of their own. */
		if (!(of & (of - 1)) && of & FORMAT_FILES)
			known |= of;
	}
	for (unsigned f = 0; f < OUTPUT_FORMATS; f++)
		if (formats & FORMAT_FILES & ~known & UINT32_C(1) << f)
			log_loss(LOSS_CONFIG,
				"format: %s is not part of this libprobe.so: it writes none",
				output_format_names[f]);
	return err;
}

int sink_open(
	struct sink *s, struct journal *j, int dirfd, const struct config *cfg, uint32_t formats)
{
	int err;

	*s = (struct sink){.j = j};
	s->steps = committed_steps(j);
	err = files_open(&s->files, j, dirfd);
	s->files.cfg = cfg;
	s->files.from_files = formats & SINK_FROM_FILES;
	if (!err && !(s->sites = open_call_sites()))
		err = -ENOMEM;
	if (!err)
		err = name_book_read(&s->names, &s->files);
	if (!err)
		err = open_formats(s, formats);
	if (err)
		sink_close(s);
	return err;
}

void sink_close(struct sink *s)
{
	for (uint32_t left = s->open; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		if (sink_formats[i]->close)
			sink_formats[i]->close(s->state[i]);
		free(s->state[i]);
	}
	files_close(&s->files);
	if (s->symbols)
		symbols_free(s->symbols);
	free(s->api);
	free(s->sites);
	name_book_free(s->names);
	*s = (struct sink){0};
}

/* ---- passing an entry to all sinks, or to none ---- */

/* given: bit i is set if sink_formats[i] got the entry. */
static void remove_given_entry(struct sink *s, uint32_t given)
{
	for (; given; given &= given - 1) {
		unsigned i = (unsigned)__builtin_ctz(given);

		if (sink_formats[i]->retract)
			sink_formats[i]->retract(s->state[i]);
	}
	files_remove_entry(&s->files);
}

/* Calls all sinks that have the method, bit by bit. */
#define GIVE_TO_ALL(s, method, what)                                           \
	({                                                                     \
		uint32_t given_ = 0;                                           \
		int err_ = 0;                                                  \
                                                                               \
		files_start_entry(&(s)->files);                                \
		for (uint32_t w_ = (s)->open; w_ && !err_; w_ &= w_ - 1) {     \
			unsigned i_ = (unsigned)__builtin_ctz(w_);             \
                                                                               \
			if (!sink_formats[i_]->method)                         \
				continue;                                      \
			err_ = sink_formats[i_]->method((s)->state[i_], what); \
			given_ |= (uint32_t)!err_ << i_;                       \
		}                                                              \
		if (err_)                                                      \
			remove_given_entry(s, given_);                         \
		err_;                                                          \
	})

__attribute__((noinline)) static int retract_record(struct sink *s, unsigned takers, int err)
{
	uint32_t given = 0;

	for (unsigned i = 0; i < takers; i++)
		given |= UINT32_C(1) << s->on_record[i].number;
	remove_given_entry(s, given);
	return err;
}

static inline int give_record(struct sink *s, const struct record *r)
{
	const struct sink_taker *end = s->on_record + s->non_record;

	files_start_entry(&s->files);
	for (const struct sink_taker *t = s->on_record; t < end; t++) {
		int err = t->record(t->state, r);

		if (__builtin_expect(err, 0))
			return retract_record(s, (unsigned)(t - s->on_record), err);
	}
	return 0;
}

int sink_give_record(struct sink *s, const struct record *r)
{
	return give_record(s, r);
}

int sink_give_stack(struct sink *s, const struct record_stack *e)
{
	return GIVE_TO_ALL(s, stack, e);
}

int sink_give_comm(struct sink *s, const struct record_comm *e)
{
	return GIVE_TO_ALL(s, comm, e);
}

int sink_give_kind(struct sink *s, const struct record_kind *e)
{
	return GIVE_TO_ALL(s, kind, e);
}

int sink_give_name(struct sink *s, const struct record_name *e)
{
	return GIVE_TO_ALL(s, name, e);
}

int sink_give_scalar(struct sink *s, const struct record_scalar *e)
{
	return GIVE_TO_ALL(s, scalar, e);
}

/* ---- records ---- */

/*
 * Returns the dictionary's content for an id, cached because the dictionary can only be searched
 * from its start. Returns NULL if there is none, or no memory.
 */
static const struct row_api *find_api(struct sink *s, uint32_t id)
{
	const char *p;

	if (id > UINT16_MAX)
		return NULL;
	if (id >= s->napi) {
		uint32_t want = (id + 256) & ~255u;
		struct row_api *more = realloc(s->api, want * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + s->napi, 0, (want - s->napi) * sizeof(*more));
		s->api = more;
		s->napi = want;
	}
	p = journal_dict_get(s->j, DICT_API, (uint16_t)id);
	if (!p)
		return NULL;
	s->api[id].lib = p;
	s->api[id].symbol = p += strlen(p) + 1;
	s->api[id].op = p + strlen(p) + 1;
	return &s->api[id];
}

static inline struct row_api get_row_api(struct sink *s, uint32_t id)
{
	const struct row_api *a = id < s->napi && s->api[id].lib ? &s->api[id] : find_api(s, id);

	return a ? *a : (struct row_api){"", "", ""};
}

/*
 * Finds the measurement of an input in the call's completion: an input that a device copied is
 * measured only then. It replaces the one in the call.
 */
static const struct journal_tensor *find_measured_late(
	const struct journal_end *end, const struct journal_tensor *in)
{
	const struct journal_tensor *t = NULL;

	for (unsigned i = 0; !(end->flags & CF_ERROR) && i < end->e.n; i++) {
		t = t ? journal_get_next_tensor(&end->e, t) : journal_get_first_tensor(&end->e);
		if (!t)
			break;
		if (t->io == IO_IN && t->index == in->index)
			return t;
	}
	return in;
}

/*
 * Collects the tensors of the entry, from byte `at` of it on, that become rows in the call's
 * current state. Inputs in the completion replace those of the call.
 */
static inline __attribute__((always_inline)) void add_record_rows(
	struct sink *s, struct record *r, const struct journal_entry *e, uint32_t at)
{
	/*
	 * A process killed while a call closed its record may have left outputs that are not
	 * complete.
	 */
	bool outputs = !r->open && !(r->call->flags & CF_ERROR), inputs = e == &r->call->e;
	const struct journal_tensor **tensor = s->tensor + r->n;
	const char **name = s->name + r->n;
	bool all = inputs && outputs && !r->end;
	unsigned n = r->n;

	for (unsigned left = e->n; left && n < RECORD_TENSORS_MAX; left--) {
		const struct journal_tensor *t = journal_get_tensor_at(e, at);

		if (__builtin_expect(!t, 0))
			break;
		at += journal_get_tensor_bytes(t->ndim);
		if (__builtin_expect(!all, 0)) {
			if (!(t->io == IO_OUT ? outputs : inputs) && t->io <= IO_OUT)
				continue;
			if (r->end && t->io == IO_IN)
				t = find_measured_late(r->end, t);
		}
		*name++ = __builtin_expect(t->name, 0) ? name_book_get_text(s->names, t->name) : "";
		*tensor++ = t;
		n++;
	}
	r->n = n;
}

__attribute__((noinline)) static void add_late_rows(
	struct sink *s, struct record *r, const struct journal_end *end)
{
	if (!(end->flags & CF_ERROR))
		add_record_rows(s, r, &end->e, sizeof(*end));
}

/*
 * Names the outputs of a collective on a bucket or a gradient: an output gets the name of an
 * input of the same size.
 */
static void set_output_names(struct sink *s, const struct record *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		const struct journal_tensor *out = s->tensor[i];

		if (out->io != IO_OUT || s->name[i][0])
			continue;
		for (unsigned k = 0; k < r->n && !s->name[i][0]; k++)
			if (s->tensor[k]->io == IO_IN && s->tensor[k]->index == out->index &&
				s->tensor[k]->count == out->count)
				s->name[i] = s->name[k];
	}
}

/* last: tick at which the call ended. */
static inline void update_pass_counts(
	struct sink *s, unsigned rows, const struct journal_call *c, uint64_t last)
{
	s->rows += rows;
	if (__builtin_expect(!s->have_rows, 0)) {
		s->last_step = c->step;
		s->first_tick = c->start;
		s->last_tick = last;
		s->have_rows = true;
		return;
	}
	if (c->step > s->last_step)
		s->last_step = c->step;
	if (c->start < s->first_tick)
		s->first_tick = c->start;
	if (last > s->last_tick)
		s->last_tick = last;
}

static void update_record_counts(struct sink *s, const struct record *r)
{
	const struct journal_call *c = r->call;

	update_pass_counts(s, r->n ? r->n : 1, c,
		r->end	  ? r->end->end
		: r->open ? c->start
			  : c->end);
}

/* Passes on a call that has a site: everything but its numbers is known. */
static inline int handle_known_call(
	struct sink *s, const struct journal_call *c, struct call_site *site)
{
	struct record *r = &site->record;
	int err;

	r->clock = &s->j->head->clock;
	r->call = c;
	for (unsigned i = 0; i < r->n; i++)
		site->tensor[i] = (const struct journal_tensor *)((const char *)c + site->at[i]);
	err = give_record(s, r);
	if (__builtin_expect(!err, 1))
		update_pass_counts(s, r->n, c, c->end);
	return err;
}

static int handle_any_call(struct sink *s, const struct journal_call *c, const struct row_api *api,
	const struct journal_end *end, bool open)
{
	struct record r = {.api = *api,
		.clock = &s->j->head->clock,
		.call = c,
		.end = end,
		.open = open,
		.tensor = s->tensor,
		.name = s->name};
	int err;

	add_record_rows(s, &r, &c->e, sizeof(*c));
	if (__builtin_expect(end != NULL, 0))
		add_late_rows(s, &r, end);
	if (s->names && r.call->comm)
		set_output_names(s, &r);
	err = give_record(s, &r);
	if (!err)
		update_record_counts(s, &r);
	return err;
}

__attribute__((noinline)) static int handle_unexpected_call(
	struct sink *s, const struct journal_call *c, const struct journal_end *end, bool open)
{
	const struct row_api api = get_row_api(s, c->api);
	struct call_site *site = end || open ? NULL : find_call_site(s->sites, c, &api);

	return site ? handle_known_call(s, c, site) : handle_any_call(s, c, &api, end, open);
}

int sink_add_call(
	struct sink *s, const struct journal_call *c, const struct journal_end *end, bool open)
{
	struct call_site *site = end || open ? NULL : find_expected_site(s->sites, c);

	return __builtin_expect(site != NULL, 1) ? handle_known_call(s, c, site)
						 : handle_unexpected_call(s, c, end, open);
}

/*
 * Loads the symbols of the modules that the journal has so far. Returns NULL if there is no
 * memory.
 */
static struct symbols *load_symbols(struct sink *s)
{
	const struct dict_entry *e;
	struct module m;
	uint64_t at = s->modules_at;
	bool gap = false;

	if (!s->symbols && (s->symbols = symbols_init(SYMBOLS_BYTES)))
		symbols_set_demangler(s->symbols, format_frame_symbol);
	while (s->symbols && (e = journal_dict_read_next(s->j, &at, &gap)))
		if (e->kind == DICT_MODULE && module_parse((const char *)(e + 1), &m))
			symbols_add_module(s->symbols, &m);
	/*
	 * If an entry was being filled in, it is read again next time, with all entries after it.
	 */
	if (!gap)
		s->modules_at = at;
	return s->symbols;
}

int sink_add_stack(struct sink *s, const struct journal_stack *e)
{
	const uint64_t *pc = (const uint64_t *)(e + 1);
	const char *py = (const char *)(pc + e->e.n);
	char frame[512], *python = NULL, *native;
	size_t space = 64 + (sizeof(frame) + 4) * (size_t)e->e.n;
	int err = -ENOBUFS;

	native = malloc(space);
	if (!native)
		return -ENOBUFS;

	struct text nt = text_init(native, space);

	for (unsigned i = 0; i < e->e.n; i++) {
		if (!load_symbols(s) ||
			symbols_format_name(s->symbols, pc[i], frame, sizeof(frame)) < 0)
			frame[0] = 0;
		if (i)
			text_add_string(&nt, " <- ");
		if (frame[0])
			text_add_string(&nt, frame);
		else
			text_add_format(&nt, "0x%llx", (unsigned long long)pc[i]);
	}
	if (e->text_bytes)
		python = strndup(py, e->text_bytes);
	if (!e->text_bytes || python) {
		struct record_stack r = {.id = e->id,
			.step = e->step,
			.api = get_row_api(s, e->api).symbol,
			.python = python ? python : "",
			.native = native};

		err = sink_give_stack(s, &r);
	}
	free(python);
	free(native);
	return err;
}

int sink_add_comm(struct sink *s, const struct journal_comm *e)
{
	const char *end = (const char *)e + e->e.bytes, *str[4] = {"", "", "", ""};
	const char *p = (const char *)(e + 1);

	/* journal_get_entry_at() has checked that the last byte is a NUL. */
	for (int i = 0; i < 4 && p < end; i++) {
		str[i] = p;
		p += strlen(p) + 1;
	}

	struct record_comm r = {.id = e->id,
		.parent = e->parent,
		.size = e->size,
		.rank = e->rank,
		.lib = str[0],
		.kind = str[1],
		.name = str[2],
		.world_ranks = str[3]};

	return sink_give_comm(s, &r);
}

int sink_add_scalar(struct sink *s, const struct journal_scalar *e)
{
	struct record_scalar r = {.step = e->step,
		.which = e->which,
		.optimizer = e->optimizer,
		.group = e->group,
		.value = e->value,
		.wall_ns = e->at_is_real ? e->at : clock_to_real(&s->j->head->clock, e->at)};

	/* Unknown: the journal is damaged, or was written by a newer version. */
	if (r.which >= SCALARS) {
		s->j->head->damaged++;
		return 0;
	}
	return sink_give_scalar(s, &r);
}

int sink_add_kind(struct sink *s, const struct journal_kind_row *e)
{
	const uint64_t *dim = (const uint64_t *)(e + 1);
	const double *value = (const double *)(dim + e->ndim);
	const char *name = (const char *)(value + e->e.n), *word = name + strlen(name) + 1;

	/* A kind that only a newer version knows. */
	if (e->kind >= TRAIN_KINDS)
		return 0;

	struct record_kind r = {.kind = e,
		.word = *word ? word : train_kinds[e->kind].word,
		.name = name,
		.dtype_prefix = word + strlen(word) + 1,
		.dim = dim,
		.value = value};

	return sink_give_kind(s, &r);
}

int sink_add_name(struct sink *s, const struct journal_name *e)
{
	const uint64_t *dims = (const uint64_t *)(e + 1);
	const char *end = (const char *)e + e->e.bytes, *str[3] = {"", "", ""};
	const char *p = (const char *)(dims + e->e.n);

	for (int i = 0; i < 3 && p < end; i++) {
		str[i] = p;
		p += strlen(p) + 1;
	}

	struct record_name r = {.what = e->what,
		.dtype = e->dtype,
		.optimizer = e->optimizer,
		.group = e->group,
		.vpp_stage = e->vpp_stage,
		.id = e->id,
		.step = e->step,
		.bucket = e->bucket,
		.flags = e->flags,
		.offset = e->offset,
		.count = e->count,
		.name = str[0],
		.module = str[1],
		.type = str[2],
		.ndim = e->e.n,
		.dims = dims};

	if (r.what == JN_PARAM && !name_book_add(&s->names, r.id, r.name))
		return -ENOBUFS;
	return sink_give_name(s, &r);
}

int sink_add_step(struct sink *s, uint32_t next)
{
	int err = 0;

	if (next > s->steps) {
		err = GIVE_TO_ALL(s, step, next);
		if (!err)
			s->steps = next;
	}
	return err;
}

/* ---- passes ---- */

static void close_pass(struct sink *s, bool written)
{
	for (uint32_t left = s->open; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		if (sink_formats[i]->commit)
			sink_formats[i]->commit(s->state[i], written);
	}
	s->rows = 0;
	s->have_rows = false;
}

static int write_formats(struct sink *s)
{
	int err = 0;

	for (uint32_t left = s->open; left && !err; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		if (sink_formats[i]->pack)
			err = sink_formats[i]->pack(s->state[i]);
	}
	return err;
}

int sink_write(struct sink *s, struct journal_commit *next)
{
	int err = write_formats(s);

	if (!err)
		err = files_write(&s->files, next);
	if (err) {
		sink_reset_pass(s);
		return err;
	}
	next->steps = s->steps;
	next->rows += s->rows;
	if (s->have_rows) {
		if (!next->have_rows || s->last_step > next->last_step)
			next->last_step = s->last_step;
		if (!next->have_rows || s->first_tick < next->first_tick)
			next->first_tick = s->first_tick;
		if (!next->have_rows || s->last_tick > next->last_tick)
			next->last_tick = s->last_tick;
		next->have_rows = 1;
	}
	close_pass(s, true);
	return 0;
}

void sink_reset_pass(struct sink *s)
{
	files_reset_buffers(&s->files);
	s->steps = committed_steps(s->j);
	close_pass(s, false);
}

void sink_write_results(struct sink *s)
{
	for (uint32_t left = s->open; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);

		if (sink_formats[i]->finish)
			sink_formats[i]->finish(s->state[i]);
	}
}

int sink_write_meta(struct sink *s)
{
	char *buf = malloc(META_MAX);

	if (!buf)
		return -ENOMEM;

	uint64_t seq = atomic_load_explicit(&s->j->head->commit_seq, memory_order_acquire);
	struct text t = text_init(buf, META_MAX);

	meta_format(&t, s->j, journal_get_commit(s->j, seq));

	int err = t.cut ? -EMSGSIZE
			: io_replace_file(files_get_dir(&s->files), "meta.json", buf, t.len);

	free(buf);
	/* If this fails, only source lines are missing. */
	modules_write(s->j, files_get_dir(&s->files), &s->modules_written);
	return err;
}
