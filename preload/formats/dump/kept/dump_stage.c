/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/kept/dump_stage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX_BYTES (1u << 20)

void dump_format_part_path(uint32_t step, char *out, size_t cap)
{
	snprintf(out, cap, "dump_%u.part", step);
}

bool dump_parse_part_path(const char *path, uint32_t *step)
{
	int used = 0;

	return sscanf(path, "dump_%u.part%n", step, &used) == 1 && used && !path[used];
}

/* Reserves an item of `bytes`, with its head filled in. */
static struct staged_head *get_staging_space(
	struct files *f, const char *path, size_t bytes, enum staged_what what, struct out_file **o)
{
	struct staged_head *h = (struct staged_head *)files_get_table_space(f, path, "", bytes, o);

	if (h)
		*h = (struct staged_head){.bytes = (uint32_t)bytes, .what = (uint16_t)what};
	return h;
}

static size_t padded_bytes(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static char *put_staged_text(char *at, const char *s)
{
	size_t n = strlen(s) + 1;

	memcpy(at, s, n);
	return at + n;
}

/* Writes `lead`, and then the n texts, as one item. */
static int write_staged_texts(struct files *f, const char *path, enum staged_what what, uint32_t id,
	const void *lead, size_t lead_bytes, const char *const *text, unsigned n)
{
	size_t bytes = sizeof(struct staged_head) + lead_bytes;
	struct staged_head *h;
	struct out_file *o;
	char *at;

	for (unsigned i = 0; i < n; i++)
		bytes += strlen(text[i]) + 1;
	bytes = padded_bytes(bytes);
	if (bytes > TEXT_MAX_BYTES || files_table_is_full(f, path, bytes)) {
		f->j->head->lost_rows++;
		return 0;
	}
	h = get_staging_space(f, path, bytes, what, &o);
	if (!h)
		return -ENOBUFS;
	h->id = id;
	at = (char *)(h + 1);
	if (lead_bytes) /* memcpy() of NULL is undefined even for 0 bytes */
		memcpy(at, lead, lead_bytes);
	at += lead_bytes;
	for (unsigned i = 0; i < n; i++)
		at = put_staged_text(at, text[i]);
	memset(at, 0, bytes - (size_t)(at - (char *)h));
	files_add_length(f, o, bytes);
	return 0;
}

int write_staged_stack(struct files *f, const struct record_stack *e)
{
	return write_staged_texts(f, DUMP_STACKS_PART, STAGED_STACK, e->id, NULL, 0, &e->python, 1);
}

struct comm_head {
	uint64_t id;
	int32_t size, rank;
};

int write_staged_comm(struct files *f, const struct record_comm *e)
{
	struct comm_head lead = {e->id, e->size, e->rank};
	const char *text[] = {e->kind, e->name, e->world_ranks};

	return write_staged_texts(f, DUMP_COMMS_PART, STAGED_COMM, 0, &lead, sizeof(lead), text, 3);
}

int write_staged_step(struct files *f, uint32_t step)
{
	char path[48];

	dump_format_part_path(step, path, sizeof(path));
	return write_staged_texts(f, path, STAGED_MADE, 0, NULL, 0, NULL, 0);
}

int write_staged_call(struct files *f, const struct record *r)
{
	size_t bytes = sizeof(struct staged_head) + sizeof(struct journal_call);
	unsigned n = r->n < DUMP_TENSORS_MAX ? r->n : DUMP_TENSORS_MAX;
	/* The call's role in the training is that of its first named tensor. */
	const char *name = "";
	struct staged_head *h;
	struct journal_call *c;
	struct out_file *o;
	char path[48], *at;

	dump_format_part_path(r->call->step, path, sizeof(path));
	for (unsigned i = 0; i < n; i++) {
		bytes += journal_get_tensor_bytes(r->tensor[i]->ndim);
		if (!*name)
			name = r->name[i];
	}
	bytes += strlen(r->api.lib) + strlen(r->api.symbol) + strlen(r->api.op) + strlen(name) + 4;
	bytes = padded_bytes(bytes);
	if (files_table_is_full(f, path, bytes)) {
		f->j->head->lost_rows++;
		return 0;
	}
	h = get_staging_space(f, path, bytes, STAGED_CALL, &o);
	if (!h)
		return -ENOBUFS;
	h->n = (uint16_t)n;
	h->open = r->open;
	c = (struct journal_call *)(h + 1);
	memcpy(c, r->call, sizeof(*c));
	if (r->end) {
		c->flags |= r->end->flags;
		c->end = r->end->end;
		if (r->end->peer != JOURNAL_NONE)
			c->peer = r->end->peer;
	}
	at = (char *)(c + 1);
	for (unsigned i = 0; i < n; i++) {
		size_t size = journal_get_tensor_bytes(r->tensor[i]->ndim);

		memcpy(at, r->tensor[i], size);
		at += size;
	}
	at = put_staged_text(at, r->api.lib);
	at = put_staged_text(at, r->api.symbol);
	at = put_staged_text(at, r->api.op);
	at = put_staged_text(at, name);
	memset(at, 0, bytes - (size_t)(at - (char *)h));
	files_add_length(f, o, bytes);
	return 0;
}

bool staged_head_valid(const struct staged_head *h, uint64_t bytes)
{
	return bytes >= sizeof(*h) && h->bytes >= sizeof(*h) && !(h->bytes & 7) &&
	       h->bytes <= bytes && h->what >= STAGED_CALL && h->what <= STAGED_COMM;
}

/*
 * Returns the text at *at and moves *at to its end. Returns NULL if the text does not end inside
 * the item.
 */
static const char *take_staged_text(const char **at, const char *end)
{
	const char *s = *at, *nul = s < end ? memchr(s, 0, (size_t)(end - s)) : NULL;

	if (nul)
		*at = nul + 1;
	return nul ? s : NULL;
}

bool staged_call_read(const struct staged_head *h, struct staged_call *c)
{
	const char *at = (const char *)(h + 1), *end = (const char *)h + h->bytes;

	if (h->what != STAGED_CALL || h->bytes < sizeof(*h) + sizeof(*c->call) ||
		h->n > DUMP_TENSORS_MAX)
		return false;
	c->call = (const struct journal_call *)at;
	c->flags = c->call->flags;
	c->open = h->open;
	c->n = h->n;
	at += sizeof(*c->call);
	for (unsigned i = 0; i < c->n; i++) {
		const struct journal_tensor *t = (const struct journal_tensor *)at;

		if (end - at < (ptrdiff_t)sizeof(*t) ||
			end - at < (ptrdiff_t)journal_get_tensor_bytes(t->ndim))
			return false;
		c->tensor[i] = t;
		at += journal_get_tensor_bytes(t->ndim);
	}
	c->lib = take_staged_text(&at, end);
	c->symbol = take_staged_text(&at, end);
	c->op = take_staged_text(&at, end);
	c->name = take_staged_text(&at, end);
	return c->lib && c->symbol && c->op && c->name;
}

bool staged_comm_read(const struct staged_head *h, struct staged_comm *c)
{
	const struct comm_head *lead = (const struct comm_head *)(h + 1);
	const char *at = (const char *)(lead + 1), *end = (const char *)h + h->bytes;

	if (h->what != STAGED_COMM || h->bytes < sizeof(*h) + sizeof(*lead))
		return false;
	*c = (struct staged_comm){.id = lead->id, .size = lead->size, .rank = lead->rank};
	c->kind = take_staged_text(&at, end);
	c->name = take_staged_text(&at, end);
	c->world_ranks = take_staged_text(&at, end);
	return c->kind && c->name && c->world_ranks;
}
