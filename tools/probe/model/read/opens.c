/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/opens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "folder/opened.h"
#include "folder/owner.h"
#include "journal/inspect.h"
#include "tools/lib/files/whole_file.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"

#define OPENS_MAX 1000000u

void opens_init(struct opens *o)
{
	*o = (struct opens){.now = clock_ns(CLOCK_REALTIME)};
}

void opens_free(struct opens *o)
{
	free(o->call);
}

/* Returns the time of the process's last sign of life: its open calls lasted until then. */
static uint64_t get_last_sign_ns(const struct opens *o, const struct rank_dir *dir)
{
	if (dir->state == RANK_RUNNING)
		return o->now;
	return dir->alive_ns > dir->last_ns ? dir->alive_ns : dir->last_ns;
}

static void add_open_call(struct opens *o, const struct rank_dir *dir, struct open_call *c)
{
	uint64_t end = get_last_sign_ns(o, dir);

	if (o->n == OPENS_MAX) {
		o->full = true;
		return;
	}
	if (dir->nround)
		c->call.step =
			get_rounds_before(dir->round, dir->nround, c->call.start, c->call.seq);
	if (dir->peers_steps)
		c->call.bits |= CALL_PEERS_STEP;
	c->age = end > c->call.start ? end - c->call.start : 0;
	/* A process that ended while a thread was inside a call was interrupted in it (MPI_Abort, a launcher that gave up). */
	c->ended_ok = (dir->state == RANK_FINISHED || dir->state == RANK_UNWRITTEN) &&
		      c->call.bits & CALL_ASYNC;
	TOOL_GROW(o->call, o->n, o->cap);
	o->call[o->n++] = *c;
}

void opens_add_row(struct opens *o, const struct rank_dir *dir, const struct call *c)
{
	struct open_call now = {.call = *c};

	add_open_call(o, dir, &now);
}

struct look {
	struct opens *o;
	const struct rank_dir *dir;
	uint32_t rank;
	bool calls;
};

static int64_t get_number_or_none(int64_t v, bool none)
{
	return none ? NO_NUMBER : v;
}

/* A Wait on a communicator is for a message, or it has the number of a meeting. */
static void set_message_bit(struct open_call *c)
{
	if (c->call.peer != NO_NUMBER || c->call.tag != NO_NUMBER ||
		(c->waiting && c->call.comm && c->call.comm_seq == NO_NUMBER))
		c->call.bits |= CALL_P2P;
}

static void take_inspected_call(void *arg, const struct inspect_call *c)
{
	struct look *l = arg;
	struct open_call now = {.waiting = c->waiting};

	if (!c->waiting && !l->calls)
		return;
	now.call = (struct call){
		.rank = l->rank,
		.lib = intern_add_text(c->lib, strlen(c->lib)),
		.api = intern_add_text(c->api, strlen(c->api)),
		.op = intern_add_text(c->op, strlen(c->op)),
		.redop = intern_add_text(c->redop, strlen(c->redop)),
		.dtype = intern_add_text(c->dtype, strlen(c->dtype)),
		.count = c->count,
		.in_bytes = c->bytes,
		.bits = CALL_OPEN | (c->async ? CALL_ASYNC : 0),
		.stack = c->stack,
		.thread = c->tid,
		.step = c->step,
		.seq = c->seq,
		.comm = c->comm,
		.comm_seq = get_number_or_none(c->comm_seq, c->comm_seq == JOURNAL_NONE64),
		.comm_rank = get_number_or_none(c->rank, c->rank < 0),
		.size = get_number_or_none(c->size, c->size < 0),
		.root = get_number_or_none(c->root, c->root == JOURNAL_NONE),
		.peer = get_number_or_none(c->peer, c->peer == JOURNAL_NONE),
		.tag = get_number_or_none(c->tag, c->tag == JOURNAL_NONE),
		.source = NO_NUMBER,
		.start = c->start_ns,
	};
	set_message_bit(&now);
	if (c->flags & CF_LOCALCOMM)
		now.call.bits |= CALL_LOCAL;
	add_open_call(l->o, l->dir, &now);
}

/* Returns a number from a line of open.jsonl. */
static int64_t number_of_inspected(const char *line, const char *key)
{
	char pat[32];
	const char *p;

	snprintf(pat, sizeof(pat), "\"%s\": ", key);
	p = strstr(line, pat);
	return p ? strtoll(p + strlen(pat), NULL, 10) : NO_NUMBER;
}

static uint64_t get_number_or_zero(int64_t v)
{
	return v == NO_NUMBER || v < 0 ? 0 : (uint64_t)v;
}

static uint32_t read_interned_text(const char *line, const char *key)
{
	char text[512];

	meta_string(line, key, text, sizeof(text));
	return intern_add_text(text, strlen(text));
}

/* Reads an object of open.jsonl, or of `waits` in meta.json (folder/opened.h). */
static void take_opened_line(
	struct opens *o, const struct rank_dir *dir, uint32_t rank, const char *line)
{
	char comm[32];
	int64_t start = number_of_inspected(line, "start_ns");
	struct open_call now = {.waiting = number_of_inspected(line, "waiting") == 1};

	if (start <= 0)
		return;
	meta_string(line, "comm", comm, sizeof(comm));
	now.call = (struct call){
		.rank = rank,
		.lib = read_interned_text(line, "lib"),
		.api = read_interned_text(line, "api"),
		.op = read_interned_text(line, "op"),
		.redop = read_interned_text(line, "redop"),
		.dtype = read_interned_text(line, "dtype"),
		.count = get_number_or_zero(number_of_inspected(line, "count")),
		.in_bytes = get_number_or_zero(number_of_inspected(line, "bytes")),
		.bits = CALL_OPEN | (number_of_inspected(line, "async") == 1 ? CALL_ASYNC : 0) |
			(number_of_inspected(line, "local") == 1 ? CALL_LOCAL : 0),
		.stack = (uint32_t)get_number_or_zero(number_of_inspected(line, "stack")),
		.thread = (uint32_t)get_number_or_zero(number_of_inspected(line, "thread")),
		.step = (uint32_t)get_number_or_zero(number_of_inspected(line, "step")),
		.seq = get_number_or_zero(number_of_inspected(line, "seq")),
		.comm = strtoull(comm, NULL, 16),
		.comm_seq = number_of_inspected(line, "comm_seq"),
		.comm_rank = number_of_inspected(line, "comm_rank"),
		.size = number_of_inspected(line, "comm_size"),
		.root = number_of_inspected(line, "root"),
		.peer = number_of_inspected(line, "peer"),
		.tag = number_of_inspected(line, "tag"),
		.source = NO_NUMBER,
		.start = (uint64_t)start,
	};
	set_message_bit(&now);
	add_open_call(o, dir, &now);
}

/*
 * If the journal is gone or on another host: reads what the process wrote about open calls while it
 * ran.
 */
static void read_opens_from_file(struct opens *o, const struct rank_dir *dir, uint32_t rank)
{
	char *path = tool_format("%s/%s", dir->path, OPENED_FILE), *line = NULL;
	FILE *f = open_regular_stream(path, O_NOFOLLOW);
	size_t cap = 0;

	free(path);
	while (f && getline(&line, &cap, f) > 0)
		take_opened_line(o, dir, rank, line);
	free(line);
	if (f)
		fclose(f);
}

#define META_BYTES_READ (1u << 20)

/* Reads the open calls that recovery stored in meta.json. */
static void read_waits_from_meta(struct opens *o, const struct rank_dir *dir, uint32_t rank)
{
	char *path = tool_format("%s/meta.json", dir->path), *text, *at;
	ssize_t n;

	text = read_whole_file(path, META_BYTES_READ, &n);
	at = strstr(text, "\"waits\": [");
	while (at && (at = strchr(at, '{'))) {
		char *end = at + strcspn(at, "}\n"), *after = end + (*end != 0);

		*end = 0;
		take_opened_line(o, dir, rank, at);
		if (*after != ',')
			break;
		at = after;
	}
	free(text);
	free(path);
}

char *opens_read_journal(struct opens *o, const struct rank_dir *dir, uint32_t rank, bool calls)
{
	struct look l = {.o = o, .dir = dir, .rank = rank, .calls = calls};
	struct journal j;
	int err;

	if (dir->state == RANK_RECOVERED) {
		/* Otherwise no thread was blocked, and meta.json need not be read again. */
		if (*dir->meta.end.inside)
			read_waits_from_meta(o, dir, rank);
		return NULL;
	}
	if (!dir->journal) {
		read_opens_from_file(o, dir, rank);
		return NULL;
	}
	err = journal_open(&j, AT_FDCWD, dir->journal, true);
	if (err == -EPROTO)
		return tool_strdup("the journal is one of another version of libprobe: open calls "
				   "are not shown");
	/* The process may have ended a moment ago, or may not have begun to record. */
	if (err == -ENOENT || err == -ENODATA)
		return NULL;
	if (err)
		return tool_format("the journal: %s: open calls are not shown",
			err == -EINVAL ? "damaged" : io_error_text(err));
	inspect_open(&j, take_inspected_call, &l);
	journal_close(&j);
	return NULL;
}

static int by_rank_and_start(const void *x, const void *y)
{
	const struct open_call *a = x, *b = y;

	if (a->call.rank != b->call.rank)
		return a->call.rank < b->call.rank ? -1 : 1;
	if (a->call.start != b->call.start)
		return a->call.start < b->call.start ? -1 : 1;
	return a->call.seq < b->call.seq ? -1 : a->call.seq > b->call.seq;
}

void opens_sort(struct opens *o)
{
	if (o->n)
		qsort(o->call, o->n, sizeof(*o->call), by_rank_and_start);
}
