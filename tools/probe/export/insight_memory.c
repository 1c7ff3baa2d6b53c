/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes memory_record.csv and operator_memory.csv of a profile. MindStudio Insight opens both or none. The columns are those of
 * MindSpore 2.10 (profiler/analysis/viewer/ascend_memory_viewer.py, ascend_op_memory_viewer.py). Component APP is the resident
 * set of the process at the end of a step (a scalar), as reserved memory. Component PTA is the sums that device allocators report
 * (kind operator_memory). The blocks come from the same kind, each with the call that allocated it. The host's allocator reports
 * no sums, so these cells are empty. So are the cells for memory in use by other streams ("active").
 */
#include "tools/probe/export/memory_blocks.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "terms/scalar.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/scalar_rows.h"

#define KIB 1024.0
#define MIB 1048576.0

static const char record_header[] =
	"Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Device "
	"Type\n";
static const char operator_header[] =
	"Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),"
	"Active Duration(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),"
	"Allocation Total Active(MB),Release Total Allocated(MB),Release Total Reserved(MB),"
	"Release Total Active(MB),Stream Ptr,Device Type\n";

/* A line of memory_record.csv. NaN: not known. */
struct memory_line {
	const char *component, *device;
	double at_us, allocated, reserved;
};

struct memory_lines {
	struct export *e;
	struct memory_events events;
	struct memory_line *line;
	unsigned index, n, cap;
};

/* Returns the microseconds since the start of the profile. time_ns: Unix epoch, by the corrected clock. */
static double get_profile_us(const struct memory_lines *m, uint64_t time_ns)
{
	return (double)(int64_t)(time_ns - m->e->base_ns) * 1e-3;
}

/* "CPU", "CUDA:0" */
static const char *find_device_word(uint32_t device)
{
	char word[32];
	size_t n = 0;

	for (const char *s = intern_get_name(device); *s && n + 1 < sizeof(word); s++)
		word[n++] = (char)toupper((unsigned char)*s);
	word[n] = 0;
	return intern_get_name(intern_add_text(word, n));
}

static void add_memory_line(struct memory_lines *m, const struct memory_line *line)
{
	TOOL_GROW(m->line, m->n, m->cap);
	m->line[m->n++] = *line;
}

static void add_resident_set(
	void *arg, uint64_t step, const struct csv_text *name, double v, uint64_t wall_ns)
{
	const char *wanted = scalar_names[SCALAR_MEMORY_RSS];
	struct memory_lines *m = arg;
	uint64_t at = clock_set_right(&m->e->report.g.skew[m->index], wall_ns);

	(void)step;
	if (wall_ns && strlen(wanted) == name->n && memcmp(wanted, name->s, name->n) == 0)
		add_memory_line(m, &(struct memory_line){.component = "APP",
					   .device = "CPU",
					   .at_us = get_profile_us(m, at),
					   .allocated = NAN,
					   .reserved = v / MIB});
}

static int compare_memory_lines(const void *x, const void *y)
{
	const struct memory_line *a = x, *b = y;

	return a->at_us < b->at_us ? -1 : a->at_us > b->at_us;
}

static void read_memory_lines(struct memory_lines *m)
{
	struct gather *g = &m->e->report.g;

	read_scalar_rows(g->folders.dir[m->index].path, &g->rank[m->index].overlay, m->e->step_lo,
		m->e->step_hi, add_resident_set, m);
	for (unsigned i = 0; i < m->events.n; i++) {
		const struct memory_event *event = &m->events.event[i];

		if (!isnan(event->allocated))
			add_memory_line(m, &(struct memory_line){.component = "PTA",
						   .device = find_device_word(event->device),
						   .at_us = get_profile_us(m, event->at),
						   .allocated = event->allocated / MIB,
						   .reserved = event->reserved / MIB});
	}
	if (m->n)
		qsort(m->line, m->n, sizeof(*m->line), compare_memory_lines);
}

/* A cell and the comma after it. */
static void write_memory_cell(struct target *t, double v, int digits)
{
	if (isnan(v))
		target_write_text(t, ",");
	else
		target_print(t, "%.*f,", digits, v);
}

static void write_memory_lines(const struct memory_lines *m, struct target *t)
{
	target_write_text(t, record_header);
	for (unsigned i = 0; i < m->n; i++) {
		const struct memory_line *line = &m->line[i];

		target_print(t, "%s,", line->component);
		write_memory_cell(t, line->at_us, 3);
		write_memory_cell(t, line->allocated, 6);
		write_memory_cell(t, line->reserved, 6);
		target_print(t, ",%s\n", line->device);
	}
}

static void write_memory_blocks(const struct memory_lines *m, struct target *t)
{
	target_write_text(t, operator_header);
	for (unsigned i = 0; i < m->events.n; i++) {
		const struct memory_event *given = &m->events.event[i], *end;
		double at;

		if (given->taken)
			continue;
		end = given->end ? &m->events.event[given->end - 1] : NULL;
		at = get_profile_us(m, given->at);
		target_print(t, "%s,", given->api ? intern_get_name(given->api) : "");
		write_memory_cell(t, given->bytes / KIB, 10); /* exact */
		write_memory_cell(t, at, 3);
		write_memory_cell(t, end ? get_profile_us(m, end->at) : NAN, 3);
		write_memory_cell(t, NAN, 0);
		write_memory_cell(t, end ? get_profile_us(m, end->at) - at : NAN, 3);
		write_memory_cell(t, NAN, 0);
		write_memory_cell(t, given->allocated / MIB, 6);
		write_memory_cell(t, given->reserved / MIB, 6);
		write_memory_cell(t, NAN, 0);
		write_memory_cell(t, end ? end->allocated / MIB : NAN, 6);
		write_memory_cell(t, end ? end->reserved / MIB : NAN, 6);
		target_print(t, ",,%s\n", find_device_word(given->device));
	}
}

static int write_memory_file(struct memory_lines *m, const char *dir, const char *name,
	void (*write)(const struct memory_lines *m, struct target *t))
{
	char *path = tool_format("%s/ASCEND_PROFILER_OUTPUT/%s", dir, name);
	struct target t;
	int status = target_open(&t, path);

	free(path);
	if (status)
		return status;
	write(m, &t);
	m->e->written += t.bytes;
	return target_close(&t, true);
}

int write_insight_memory(struct export *e, const char *dir, unsigned folder_index)
{
	struct memory_lines m = {.e = e, .index = folder_index};
	int status = 0;

	read_memory_events(&m.events, e, folder_index);
	read_memory_lines(&m);
	if (m.n || m.events.n) {
		status = write_memory_file(&m, dir, "memory_record.csv", write_memory_lines);
		if (!status)
			status = write_memory_file(
				&m, dir, "operator_memory.csv", write_memory_blocks);
	}
	free_memory_events(&m.events);
	free(m.line);
	return status;
}
