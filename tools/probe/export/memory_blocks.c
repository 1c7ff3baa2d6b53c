/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/export/memory_blocks.h"

#include <math.h>
#include <stdlib.h>

#include "tools/lib/intern.h"
#include "tools/lib/table.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/training/step_files.h"

#define LIVE_MAX 4000000u

enum {
	AT_NAME,
	AT_STEP,
	AT_CALL,
	AT_ADDRESS,
	AT_BYTES,
	AT_ALLOCATED,
	AT_RESERVED,
	AT_TIME,
	AT_COLUMNS
};

static double read_event_number(const struct csv *c, int column)
{
	double v;

	return csv_parse_double(csv_get_field(c, column), &v) ? v : NAN;
}

static void read_event_rows(
	struct memory_events *m, const struct export *e, const struct step_file *f)
{
	static const char *const name[AT_COLUMNS] = {
		"name", "step", "call", "address", "bytes", "allocated", "reserved", "at_ns"};
	struct csv csv;
	int col[AT_COLUMNS];

	if (csv_open(&csv, f->path, f->limit, false, 65536)) {
		csv_close(&csv);
		return;
	}
	for (unsigned i = 0; i < AT_COLUMNS; i++)
		col[i] = csv_find_column(&csv, name[i]);
	while (csv_read_row(&csv)) {
		struct memory_event event = {
			.device = csv_get_field_id(csv_get_field(&csv, col[AT_NAME])),
			.call = read_event_number(&csv, col[AT_CALL]),
			.bytes = read_event_number(&csv, col[AT_BYTES]),
			.allocated = read_event_number(&csv, col[AT_ALLOCATED]),
			.reserved = read_event_number(&csv, col[AT_RESERVED])};
		double address = read_event_number(&csv, col[AT_ADDRESS]);
		uint64_t step;

		if (!csv_parse_u64(csv_get_field(&csv, col[AT_STEP]), &step) || step < e->step_lo ||
			step > e->step_hi ||
			!csv_parse_u64(csv_get_field(&csv, col[AT_TIME]), &event.at) ||
			!(address > 0 && address < 0x1p64))
			continue;
		event.address = (uint64_t)address;
		event.taken = !(event.bytes > 0);
		TOOL_GROW(m->event, m->n, m->cap);
		m->event[m->n++] = event;
	}
	csv_close(&csv);
}

/* Until the blocks are paired, `end` is the position of the row, which keeps the sort stable. */
static int compare_memory_events(const void *x, const void *y)
{
	const struct memory_event *a = x, *b = y;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

struct live_block {
	struct table_key key; /* address, device */
	uint32_t given; /* number of the event that allocated it, plus 1; 0: it was freed */
};

static void match_memory_events(struct memory_events *m)
{
	struct table live;

	table_init(&live, sizeof(struct live_block), LIVE_MAX);
	for (unsigned i = 0; i < m->n; i++) {
		struct memory_event *event = &m->event[i];
		struct live_block *b = table_get(&live, event->address, event->device);

		event->end = 0;
		if (!b)
			continue;
		if (event->taken && b->given)
			m->event[b->given - 1].end = i + 1;
		b->given = event->taken ? 0 : i + 1;
	}
	table_free(&live);
}

struct call_name {
	struct table_key key; /* seq */
	uint32_t api;
};

static void find_memory_calls(
	struct memory_events *m, const struct export *e, unsigned folder_index)
{
	const struct walk_call *c;
	struct call_name *n;
	struct table names;
	struct walk w;

	table_init(&names, sizeof(struct call_name), LIVE_MAX);
	for (unsigned i = 0; i < m->n; i++)
		if (m->event[i].call > 0)
			table_get(&names, (uint64_t)m->event[i].call, 0);
	export_open_rank_walk(e, &w, folder_index);
	while ((c = walk_next(&w))) {
		n = table_find(&names, c->call.seq, 0);
		if (n)
			n->api = c->call.api;
	}
	walk_close(&w);
	for (unsigned i = 0; i < m->n; i++) {
		n = m->event[i].call > 0 ? table_find(&names, (uint64_t)m->event[i].call, 0) : NULL;
		m->event[i].api = n ? n->api : 0;
	}
	table_free(&names);
}

void read_memory_events(struct memory_events *out, struct export *e, unsigned folder_index)
{
	struct gather *g = &e->report.g;
	struct step_files files;

	*out = (struct memory_events){0};
	step_files_list(&files, g->folders.dir[folder_index].path, &g->rank[folder_index].overlay,
		"operator_memory");
	for (unsigned i = 0; i < files.n; i++)
		if (files.file[i].first <= e->step_hi && files.file[i].last >= e->step_lo)
			read_event_rows(out, e, &files.file[i]);
	step_files_free(&files);
	if (!out->n)
		return;
	for (unsigned i = 0; i < out->n; i++) {
		out->event[i].at = clock_set_right(&g->skew[folder_index], out->event[i].at);
		out->event[i].end = i;
	}
	qsort(out->event, out->n, sizeof(*out->event), compare_memory_events);
	match_memory_events(out);
	find_memory_calls(out, e, folder_index);
}

void free_memory_events(struct memory_events *m)
{
	free(m->event);
	*m = (struct memory_events){0};
}
