/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "sink/meta.h"
#include "sink/modules.h"
#include "sink/row.h"

#define STACK_HEADER "stack_id,api,first_step,python_stack,native_stack\n"
#define COMM_HEADER "comm,lib,size,rank,kind,parent,name,world_ranks\n"
#define SYMBOLS_BYTES (32u << 20)

int sink_open(struct sink *s, struct journal *j, int dirfd)
{
	*s = (struct sink){.j = j};
	return files_open(&s->files, j, dirfd);
}

void sink_close(struct sink *s)
{
	files_close(&s->files);
	if (s->symbols)
		symbols_free(s->symbols);
	free(s->api);
	free(s->name);
	*s = (struct sink){0};
}

/* Strings of a dictionary id, remembered in *table because the dictionary is only to be searched from its start. */
static const char *dict(
	struct sink *s, enum dict_kind kind, uint32_t id, const char ***table, uint32_t *n)
{
	if (id > UINT16_MAX)
		return NULL;
	if (id >= *n) {
		uint32_t want = (id + 256) & ~255u;
		const char **more = realloc(*table, want * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + *n, 0, (want - *n) * sizeof(*more));
		*table = more;
		*n = want;
	}
	if (!(*table)[id])
		(*table)[id] = journal_dict_get(s->j, kind, (uint16_t)id);
	return (*table)[id];
}

static struct row_api api_of(struct sink *s, uint32_t id)
{
	const char *p = dict(s, DICT_API, id, &s->api, &s->napi);
	struct row_api a = {"", "", ""};

	if (p) {
		a.lib = p;
		a.symbol = a.lib + strlen(a.lib) + 1;
		a.op = a.symbol + strlen(a.symbol) + 1;
	}
	return a;
}

struct row_source {
	struct row_api api;
	const struct journal_call *c;
	const struct journal_end *end;
	bool open;
	const char *name;
};

/* An input that a device copied comes with the end, measured, and takes the place of the one in the call. */
static bool measured_late(const struct journal_end *end, uint16_t index)
{
	const struct journal_tensor *t = NULL;

	for (unsigned i = 0; end && !(end->flags & CF_ERROR) && i < end->e.n; i++) {
		t = t ? journal_tensor_next(&end->e, t) : journal_tensor_first(&end->e);
		if (!t)
			break;
		if (t->io == IO_IN && t->index == index)
			return true;
	}
	return false;
}

/* Tensors of the entry that are rows of the call as it stands. */
static const struct journal_tensor *next_row(const struct row_source *r,
	const struct journal_entry *e, const struct journal_tensor *t, unsigned *i)
{
	for (; *i < e->n; ++*i) {
		t = t ? journal_tensor_next(e, t) : journal_tensor_first(e);
		if (!t)
			return NULL;
		/* A call killed on its way out may have outputs already that nobody was told of. */
		if (t->io == IO_OUT && (r->open || r->c->flags & CF_ERROR))
			continue;
		if (t->io == IO_IN && e == &r->c->e && measured_late(r->end, t->index))
			continue;
		++*i;
		return t;
	}
	return NULL;
}

static unsigned count_rows(const struct row_source *r, const struct journal_entry *e)
{
	const struct journal_tensor *t = NULL;
	unsigned n = 0, i = 0;

	while ((t = next_row(r, e, t, &i)))
		n++;
	return n;
}

static size_t put_row(
	struct sink *s, const struct row_source *r, const struct journal_tensor *t, char *at)
{
	struct text out = text_over(at, ROW_MAX);

	row_format(&out, &s->j->head->clock, &r->api, r->c, r->end, t, r->open, r->name);
	s->rows++;
	return out.len;
}

static size_t put_rows(
	struct sink *s, const struct row_source *r, const struct journal_entry *e, char *at)
{
	const struct journal_tensor *t = NULL;
	size_t n = 0;
	unsigned i = 0;

	while ((t = next_row(r, e, t, &i)))
		n += put_row(s, r, t, at + n);
	return n;
}

int sink_call(
	struct sink *s, const struct journal_call *c, const struct journal_end *end, bool open)
{
	struct row_source r = {.api = api_of(s, c->api), .c = c, .end = end, .open = open};
	unsigned nc = count_rows(&r, &c->e),
		 ne = end && !(end->flags & CF_ERROR) ? count_rows(&r, &end->e) : 0;
	struct out_file *o;
	size_t n;

	/*
	 * Room for all of them before the first: a pass that ended between two rows of a call would have written the
	 * first one already, and the next pass writes the whole call.
	 */
	char *at =
		files_room_calls(&s->files, c->step, (nc + ne ? nc + ne : 1) * (size_t)ROW_MAX, &o);

	if (!at)
		return -ENOBUFS;
	if (c->name)
		r.name = dict(s, DICT_NAME, c->name, &s->name, &s->nname);
	n = put_rows(s, &r, &c->e, at);
	if (ne)
		n += put_rows(s, &r, &end->e, at + n);
	if (!n)
		n = put_row(s, &r, NULL, at);
	files_took(&s->files, o, n);

	uint64_t last = end ? end->end : open ? c->start : c->end;

	if (!s->have_rows || c->step > s->last_step)
		s->last_step = c->step;
	if (!s->have_rows || c->start < s->first_tick)
		s->first_tick = c->start;
	if (!s->have_rows || last > s->last_tick)
		s->last_tick = last;
	s->have_rows = true;
	return 0;
}

/* Symbols of the modules that the journal knows of by now. NULL: out of memory. */
static struct symbols *symbols(struct sink *s)
{
	const struct dict_entry *e;
	struct module m;
	uint64_t at = s->modules_at;
	bool gap = false;

	if (!s->symbols)
		s->symbols = symbols_new(SYMBOLS_BYTES);
	while (s->symbols && (e = journal_dict_next(s->j, &at, &gap)))
		if (e->kind == DICT_MODULE && module_parse((const char *)(e + 1), &m))
			symbols_add_module(s->symbols, &m);
	/* What is being filled in now is looked at again the next time, with all behind it. */
	if (!gap)
		s->modules_at = at;
	return s->symbols;
}

/* NULL: *err is -ENOBUFS, or 0 where there is nothing to be done but to count the row as lost. */
static char *table_room(struct sink *s, const char *path, const char *header, size_t bytes,
	struct out_file **o, int *err)
{
	*err = -ENOBUFS;
	if (!files_table_is_full(&s->files, path, bytes))
		return files_room_table(&s->files, path, header, bytes, o);
	s->j->head->lost_rows++;
	*err = 0;
	return NULL;
}

int sink_stack(struct sink *s, const struct journal_stack *e)
{
	const uint64_t *pc = (const uint64_t *)(e + 1);
	const char *py = (const char *)(pc + e->e.n);
	char frame[512], *python = NULL, *native;
	/* Every byte of a field may become two. */
	size_t room = 64 + (sizeof(frame) + 4) * (size_t)e->e.n;
	size_t cap = 128 + 2 * (room + (size_t)e->text_bytes + ROW_STRING_MAX);
	struct out_file *o;
	int err;

	native = malloc(room);
	if (!native)
		return -ENOBUFS;

	struct text nt = text_over(native, room);

	for (unsigned i = 0; i < e->e.n; i++) {
		if (!symbols(s) || symbols_name(s->symbols, pc[i], frame, sizeof(frame)) < 0)
			frame[0] = 0;
		if (i)
			text_str(&nt, " <- ");
		if (frame[0])
			text_str(&nt, frame);
		else
			text_fmt(&nt, "0x%llx", (unsigned long long)pc[i]);
	}
	if (e->text_bytes)
		python = strndup(py, e->text_bytes);

	char *at = table_room(s, "stack_info.csv", STACK_HEADER, cap, &o, &err);

	if (at && (!e->text_bytes || python)) {
		struct text out = text_over(at, cap);

		text_u64(&out, e->id);
		text_char(&out, ',');
		csv_field_max(&out, api_of(s, e->api).symbol, ROW_STRING_MAX);
		text_char(&out, ',');
		text_u64(&out, e->step);
		text_char(&out, ',');
		csv_field(&out, python ? python : "");
		text_char(&out, ',');
		csv_field(&out, native);
		csv_end(&out);
		files_took(&s->files, o, out.len);
		err = 0;
	}
	free(python);
	free(native);
	return err;
}

int sink_comm(struct sink *s, const struct journal_comm *e)
{
	const char *end = (const char *)e + e->e.bytes, *str[4] = {"", "", "", ""};
	const char *p = (const char *)(e + 1);
	struct out_file *o;

	for (int i = 0; i < 4 && p < end; i++) {
		str[i] = p;
		p += strlen(p) + 1; /* journal_entry_at() made sure that the last byte is a NUL */
	}

	size_t room = 256 + 2 * (size_t)e->e.bytes;
	int err;
	char *at = table_room(s, "comms.csv", COMM_HEADER, room, &o, &err);

	if (!at)
		return err;

	struct text out = text_over(at, room);

	text_hex(&out, e->id, 16);
	text_char(&out, ',');
	csv_field(&out, str[0]);
	text_char(&out, ',');
	text_i64(&out, e->size);
	text_char(&out, ',');
	text_i64(&out, e->rank);
	text_char(&out, ',');
	csv_field(&out, str[1]);
	text_char(&out, ',');
	if (e->parent)
		text_hex(&out, e->parent, 16);
	text_char(&out, ',');
	csv_field(&out, str[2]);
	text_char(&out, ',');
	csv_field(&out, str[3]);
	csv_end(&out);
	files_took(&s->files, o, out.len);
	return 0;
}

int sink_write(struct sink *s, struct journal_commit *next)
{
	int err = files_write(&s->files, next);

	if (err) {
		sink_drop(s);
		return err;
	}
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
	s->rows = 0;
	s->have_rows = false;
	return 0;
}

void sink_drop(struct sink *s)
{
	files_drop(&s->files);
	s->rows = 0;
	s->have_rows = false;
}

int sink_meta(struct sink *s)
{
	char *buf = malloc(META_MAX);

	if (!buf)
		return -ENOMEM;

	uint64_t seq = atomic_load_explicit(&s->j->head->commit_seq, memory_order_acquire);
	struct text t = text_over(buf, META_MAX);

	meta_format(&t, s->j, journal_commit(s->j, seq));

	int err =
		t.cut ? -EMSGSIZE : io_replace_file(files_dir(&s->files), "meta.json", buf, t.len);

	free(buf);
	/* Without it only source lines are missing. */
	modules_write(s->j, files_dir(&s->files), &s->modules_written);
	return err;
}
