/* SPDX-License-Identifier: Apache-2.0 */
#include "folder/opened.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "text/text.h"
#include "journal/inspect.h"
#include "journal/meta_part.h"

#define OLD_NS UINT64_C(1000000000)
#define FILE_MAX (1u << 20) /* calls that do not fit are omitted; at least a thousand fit */
#define LINE_MAX_BYTES 1024

struct opened {
	struct text t;
	uint64_t now;
	bool waits_only;
};

static void parse_opened_number(struct text *t, const char *key, int64_t v, bool none)
{
	if (none)
		return;
	text_add_format(t, ", \"%s\": ", key);
	text_add_i64(t, v);
}

static void opened_word(struct text *t, const char *key, const char *value)
{
	text_add_format(t, ", \"%s\": ", key);
	text_add_json(t, value);
}

static void write_open_call(void *arg, const struct inspect_call *c)
{
	struct opened *o = arg;
	struct text *t = &o->t;

	if (o->waits_only ? !c->waiting : c->start_ns > o->now || o->now - c->start_ns < OLD_NS)
		return;
	if (t->cap - t->len < LINE_MAX_BYTES)
		return;

	size_t line = t->len;

	text_add_string(t, "{\"start_ns\": ");
	text_add_u64(t, c->start_ns);
	opened_word(t, "lib", c->lib);
	opened_word(t, "api", c->api);
	opened_word(t, "op", c->op);
	if (*c->redop)
		opened_word(t, "redop", c->redop);
	if (*c->dtype) {
		opened_word(t, "dtype", c->dtype);
		text_add_format(t, ", \"count\": %llu, \"bytes\": %llu",
			(unsigned long long)c->count, (unsigned long long)c->bytes);
	}
	text_add_format(t, ", \"seq\": %llu, \"step\": %u, \"stack\": %u, \"thread\": %u",
		(unsigned long long)c->seq, c->step, c->stack, c->tid);
	if (c->comm) {
		text_add_string(t, ", \"comm\": \"");
		text_add_hex(t, c->comm, 16);
		text_add_char(t, '"');
	}
	parse_opened_number(t, "comm_seq", c->comm_seq, c->comm_seq == JOURNAL_NONE64);
	parse_opened_number(t, "comm_rank", c->rank, c->rank < 0);
	parse_opened_number(t, "comm_size", c->size, c->size < 0);
	parse_opened_number(t, "root", c->root, c->root == JOURNAL_NONE);
	parse_opened_number(t, "peer", c->peer, c->peer == JOURNAL_NONE);
	parse_opened_number(t, "tag", c->tag, c->tag == JOURNAL_NONE);
	text_add_format(t, ", \"local\": %d, \"async\": %d, \"waiting\": %d}\n",
		(c->flags & CF_LOCALCOMM) != 0, c->async, c->waiting);
	if (t->cut) {
		t->len = line;
		t->cut = false;
	}
}

int opened_write(const struct journal *j, int dirfd, uint64_t *last)
{
	char *buf = malloc(FILE_MAX);
	struct opened o = {.now = clock_ns(CLOCK_REALTIME)};
	uint64_t hash = 0;
	int err = 0;

	if (!buf)
		return -ENOMEM;
	o.t = text_init(buf, FILE_MAX);
	inspect_open(j, write_open_call, &o);
	if (o.t.len) {
		buf[o.t.len] = 0;
		hash = hash_str(1, buf) | 1;
	}
	if (hash != *last) {
		err = hash ? io_replace_file(dirfd, OPENED_FILE, buf, o.t.len)
		      : unlinkat(dirfd, OPENED_FILE, 0) < 0 && errno != ENOENT ? -errno
									       : 0;
		if (!err)
			*last = hash;
	}
	free(buf);
	return err;
}

int opened_keep_waits(struct journal *j, char *buf, size_t cap)
{
	static const char head[] = "waits\0[";
	struct opened o = {.waits_only = true};

	if (cap < sizeof(head) + LINE_MAX_BYTES)
		return -ENOSPC;
	o.t = text_init(buf, cap - 4);
	memcpy(buf, head, sizeof(head) - 1);
	o.t.len = sizeof(head) - 1;
	inspect_open(j, write_open_call, &o);
	if (o.t.len == sizeof(head) - 1)
		return 0;
	/* Adds "}\n" after each object. */
	for (size_t i = sizeof(head) - 1; i + 1 < o.t.len; i++)
		if (buf[i] == '\n')
			buf[i] = ',';
	buf[o.t.len - 1] = ']';
	buf[o.t.len] = 0;
	return journal_dict_add(j, DICT_META, META_WAITS, buf, o.t.len + 1);
}
