/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/monitor/comm_places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terms/dtype.h"
#include "base/io.h"
#include "base/log.h"
#include "text/text.h"

#define STEPS 2
#define PLACES_MAX 1024 /* maximum number of call sites; additional ones are omitted */
#define GROUPS_MAX 1024
#define FILE_BYTES_MAX (4u << 20)

struct place_stack {
	uint32_t id;
	char *frames;
};

struct place_group {
	uint64_t id;
	int32_t size;
	char *name, *ranks;
};

/* An operation at one call site with one data type in one group. */
struct comm_place {
	char op[40];
	uint32_t stack;
	uint8_t dtype;
	uint64_t comm;
};

struct comm_places {
	bool reported, begun, ended, changed;
	uint32_t first; /* the first recorded step, once it has begun */
	unsigned nstack, ngroup, nplace;
	struct place_stack stack[PLACES_MAX];
	struct place_group group[GROUPS_MAX];
	struct comm_place place[PLACES_MAX];
};

struct comm_places *comm_places_init(bool reported)
{
	struct comm_places *l = calloc(1, sizeof(*l));

	if (l)
		l->reported = reported;
	return l;
}

void comm_places_free(struct comm_places *l)
{
	for (unsigned i = 0; l && i < l->nstack; i++)
		free(l->stack[i].frames);
	for (unsigned i = 0; l && i < l->ngroup; i++) {
		free(l->group[i].name);
		free(l->group[i].ranks);
	}
	free(l);
}

void comm_places_add_stack(struct comm_places *l, const struct record_stack *e)
{
	unsigned i = 0;

	while (i < l->nstack && l->stack[i].id != e->id)
		i++;
	if (l->ended || i < l->nstack || i == PLACES_MAX)
		return;
	l->stack[i].frames = strdup(*e->python ? e->python : e->native);
	l->stack[i].id = e->id;
	l->nstack += l->stack[i].frames != NULL;
}

void comm_places_add_comm(struct comm_places *l, const struct record_comm *e)
{
	unsigned i = 0;

	while (i < l->ngroup && l->group[i].id != e->id)
		i++;
	if (l->ended || i < l->ngroup || i == GROUPS_MAX)
		return;
	l->group[i] = (struct place_group){.id = e->id,
		.size = e->size,
		.name = strdup(e->name),
		.ranks = strdup(e->world_ranks)};
	if (l->group[i].name && l->group[i].ranks) {
		l->ngroup++;
	} else {
		free(l->group[i].name);
		free(l->group[i].ranks);
	}
}

void comm_places_record(struct comm_places *l, const struct record *r)
{
	struct comm_place p = {.stack = r->call->stack,
		.dtype = r->n ? r->tensor[0]->dtype : DT_OTHER,
		.comm = r->call->comm};
	unsigned i = 0;

	if (l->ended || !p.comm || r->call->parent)
		return;
	if (!l->begun) {
		l->begun = true;
		l->first = r->call->step;
	}
	if (r->call->step >= l->first + STEPS)
		return;
	snprintf(p.op, sizeof(p.op), "%s", r->api.op);
	while (i < l->nplace && (l->place[i].stack != p.stack || l->place[i].dtype != p.dtype ||
					l->place[i].comm != p.comm || strcmp(l->place[i].op, p.op)))
		i++;
	if (i < l->nplace || i == PLACES_MAX)
		return;
	l->place[l->nplace++] = p;
	l->changed = true;
}

void comm_places_handle_step_end(struct comm_places *l, uint32_t next)
{
	if (l->begun && next >= l->first + STEPS)
		l->ended = true;
}

/* Writes "a.py:12 f <- b.py:3 g" as "a.py[12] f", "b.py[3] g": texts for key cc_codeline. */
static void write_place_frames(struct text *t, const char *frames)
{
	char frame[1024];

	text_add_char(t, '[');
	for (const char *p = frames; *p;) {
		const char *end = strstr(p, " <- "), *next = end ? end + 4 : p + strlen(p);
		size_t n = end ? (size_t)(end - p) : strlen(p);
		const char *blank = memchr(p, ' ', n),
			   *colon = blank ? memrchr(p, ':', (size_t)(blank - p)) : NULL;
		struct text f = text_init(frame, sizeof(frame));

		if (colon) {
			text_add_bytes(&f, p, (size_t)(colon - p));
			text_add_char(&f, '[');
			text_add_bytes(&f, colon + 1, (size_t)(blank - colon - 1));
			text_add_string(&f, "]   ");
			text_add_bytes(&f, blank + 1, n - (size_t)(blank + 1 - p));
		} else {
			text_add_bytes(&f, p, n);
		}
		text_add_string(t, p > frames ? ", " : "");
		text_add_json(t, frame);
		p = next;
	}
	text_add_char(t, ']');
}

static void write_comm_place(
	struct text *t, const struct comm_places *l, const struct comm_place *p)
{
	const char *frames = "";

	for (unsigned i = 0; i < l->nstack; i++)
		if (p->stack && l->stack[i].id == p->stack)
			frames = l->stack[i].frames;
	text_add_string(t, "{\"stack\": ");
	write_place_frames(t, frames);
	text_add_string(t, ", \"dtype\": ");
	text_add_json(t, get_dtype_info(p->dtype)->name);
	for (unsigned i = 0; i < l->ngroup; i++) {
		if (l->group[i].id != p->comm)
			continue;
		text_add_string(t, ", \"group\": ");
		text_add_json(t, l->group[i].name);
		text_add_string(t, ", \"ranks\": ");
		text_add_json(t, l->group[i].ranks);
		text_add_format(t, ", \"size\": %d", l->group[i].size);
	}
	text_add_char(t, '}');
}

/*
 * Writes the call sites in the order of their first calls. A text that does not fit is not
 * written.
 */
static void write_call_sites(struct text *t, const struct comm_places *l)
{
	text_add_char(t, '{');
	for (unsigned i = 0; i < l->nplace; i++) {
		unsigned k = 0;

		while (strcmp(l->place[k].op, l->place[i].op))
			k++;
		if (k < i)
			continue;
		text_add_string(t, i ? ", " : "");
		text_add_json(t, l->place[i].op);
		text_add_string(t, ": [");
		for (; k < l->nplace; k++) {
			if (strcmp(l->place[k].op, l->place[i].op))
				continue;
			text_add_string(t, k > i ? ", " : "");
			write_comm_place(t, l, &l->place[k]);
		}
		text_add_char(t, ']');
	}
	text_add_string(t, "}\n");
}

void comm_places_write(struct comm_places *l, int dirfd, const char *path)
{
	char *buf = l->changed ? malloc(FILE_BYTES_MAX) : NULL;

	if (buf) {
		struct text t = text_init(buf, FILE_BYTES_MAX);

		write_call_sites(&t, l);
		if (!t.cut && io_replace_file(dirfd, COMM_PLACES_FILE, buf, t.len) == 0)
			l->changed = false;
		free(buf);
	}
	if (l->ended && l->reported && !l->changed) {
		l->reported = false;
		log_info(1,
			"cc_log_only: where collectives are called from is in %s/" COMM_PLACES_FILE
			"; the job goes on",
			path);
	}
}
