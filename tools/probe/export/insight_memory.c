/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_record.csv and operator_memory.csv of a profile: MindStudio Insight opens both or none. Columns as MindSpore 2.10 writes
 * them (profiler/analysis/viewer/ascend_memory_viewer.py, ascend_op_memory_viewer.py). A process has what its scalars hold: the
 * resident set at the end of a step, as the memory that component APP has reserved. What an allocator has given out at a time, and
 * to which operator, is not recorded: these cells are empty, and operator_memory.csv has its header alone.
 */
#include "tools/probe/export/export.h"

#include <stdlib.h>
#include <string.h>

#include "terms/scalar.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/scalar_rows.h"

#define MIB 1048576.0

static const char record_header[] =
	"Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Device "
	"Type\n";
static const char operator_header[] =
	"Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),"
	"Active Duration(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),"
	"Allocation Total Active(MB),Release Total Allocated(MB),Release Total Reserved(MB),"
	"Release Total Active(MB),Stream Ptr,Device Type\n";

struct memory_rows {
	struct export *e;
	struct target *t; /* NULL: they are only counted */
	unsigned index;
	uint64_t n;
};

static void write_memory_row(
	void *arg, uint64_t step, const struct csv_text *name, double v, uint64_t wall_ns)
{
	const char *wanted = scalar_names[SCALAR_MEMORY_RSS];
	struct memory_rows *m = arg;
	uint64_t at = clock_set_right(&m->e->report.g.skew[m->index], wall_ns);

	(void)step;
	if (!wall_ns || strlen(wanted) != name->n || memcmp(wanted, name->s, name->n) != 0)
		return;
	m->n++;
	if (m->t)
		target_print(m->t, "APP,%.3f,,%.6f,,CPU\n",
			(double)(int64_t)(at - m->e->base_ns) * 1e-3, v / MIB);
}

static void read_memory_rows(struct memory_rows *m)
{
	struct gather *g = &m->e->report.g;

	m->n = 0;
	read_scalar_rows(g->folders.dir[m->index].path, &g->rank[m->index].overlay, m->e->step_lo,
		m->e->step_hi, write_memory_row, m);
}

static int write_memory_file(struct memory_rows *m, const char *dir, const char *name)
{
	char *path = tool_format("%s/ASCEND_PROFILER_OUTPUT/%s", dir, name);
	bool records = strcmp(name, "memory_record.csv") == 0;
	struct target t;
	int status = target_open(&t, path);

	free(path);
	if (status)
		return status;
	target_text(&t, records ? record_header : operator_header);
	m->t = records ? &t : NULL;
	if (records)
		read_memory_rows(m);
	m->e->written += t.bytes;
	return target_close(&t, true);
}

int write_insight_memory(struct export *e, const char *dir, unsigned index)
{
	struct memory_rows m = {.e = e, .index = index};
	int status;

	read_memory_rows(&m);
	if (!m.n)
		return 0;
	status = write_memory_file(&m, dir, "memory_record.csv");
	return status ? status : write_memory_file(&m, dir, "operator_memory.csv");
}
