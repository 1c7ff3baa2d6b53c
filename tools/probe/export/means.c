/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Averages the scalars of a step over the ranks that have them, for TensorBoard: a run `mean`
 * beside those of the ranks, with tags loss/mean ...
 */
#include "tools/probe/export/means.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "terms/scalar.h"
#include "formats/tensorboard/tfevent.h"
#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/target.h"
#include "tools/lib/tool.h"

#define MEANS_MAX (UINT32_C(1) << 21)

void means_open(struct means *m)
{
	m->first_ns = 0;
	step_numbers_begin(&m->numbers, MEANS_MAX);
}

void means_add(struct means *m, const struct rank_dir *d, const struct overlay *o, uint32_t rank,
	uint64_t step_lo, uint64_t step_hi)
{
	step_numbers_add(&m->numbers, d->path, o, rank, step_lo, step_hi, 1);
	if (!m->first_ns || d->meta.clock_first_ns < m->first_ns)
		m->first_ns = d->meta.clock_first_ns;
}

static void write_rank_value(
	struct tfevents *e, double wall, uint64_t step, uint32_t name, const char *part, double v)
{
	char *tag = tool_format("%s/%s", intern_get_name(name), part);

	tfevent_write_scalar(e, wall, (int64_t)step, tag, (float)v);
	free(tag);
}

/*
 * If ranks must agree on a scalar but do not, their mean has no meaning. Then the minimum and the
 * maximum are written.
 */
static void write_means_events(const struct means *m, struct target *t)
{
	const struct step_numbers *s = &m->numbers;
	struct tfevents e = {0};
	double wall = m->first_ns ? (double)m->first_ns / 1e9 : (double)time(NULL);

	tfevent_write_version(&e, wall);
	for (unsigned i = 0; i < s->nstep; i++)
		for (unsigned k = 0; k < s->nname; k++) {
			const struct step_number *n = step_numbers_find(s, s->step[i], s->name[k]);

			if (!n)
				continue;
			if (scalar_is_equal_on_ranks(intern_get_name(s->name[k]))) {
				write_rank_value(&e, wall, s->step[i], s->name[k], "min", n->min);
				write_rank_value(&e, wall, s->step[i], s->name[k], "max",
					n->nans ? NAN : n->max);
			} else {
				write_rank_value(&e, wall, s->step[i], s->name[k], "mean",
					n->sum / n->ranks);
			}
			if (e.len > 1u << 20) {
				target_write(t, e.at, e.len);
				e.len = 0;
			}
		}
	target_write(t, e.at, e.len);
	tfevents_free(&e);
}

int means_write(struct means *m, const char *folder)
{
	struct target t;
	struct stat st;
	char *dir, *path;
	int status = 0;

	step_numbers_list(&m->numbers);
	if (!m->numbers.nstep)
		return 0;
	if (m->numbers.table.n == MEANS_MAX)
		tool_warn("export: means over the ranks: %u numbers are kept, further ones are "
			  "skipped; --step selects a part",
			MEANS_MAX);
	dir = tool_format("%s/mean", folder);
	if (stat(dir, &st) == 0) {
		tool_error("export: %s exists already; give another --output", dir);
		status = STATUS_USAGE;
	}
	path = tool_format("%s/events.out.tfevents.%010llu.mean", dir,
		(unsigned long long)(m->first_ns / 1000000000));
	if (!status && !(status = target_open(&t, path))) {
		write_means_events(m, &t);
		status = target_close(&t, true);
	}
	free(path);
	free(dir);
	return status;
}

void means_close(struct means *m)
{
	step_numbers_free(&m->numbers);
}
