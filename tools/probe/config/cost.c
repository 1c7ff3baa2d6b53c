/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/config/cost.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/probe/model/read/calls.h"
#include "tools/lib/table.h"
#include "tools/lib/tool.h"

#define STEPS_MAX (1u << 22)

struct one_step {
	struct table_key key;
	uint64_t rows, calls;
};

static int compare_numbers_ascending(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

/* Returns the median over the steps. If there are two middle values: the larger one. */
static double compute_step_median(const struct table *t, size_t member)
{
	uint64_t *v = tool_alloc(t->n * sizeof(*v)), is;

	for (uint32_t i = 0; i < t->n; i++)
		memcpy(&v[i], (char *)table_at(t, i) + member, sizeof(*v));
	qsort(v, t->n, sizeof(*v), compare_numbers_ascending);
	is = v[t->n / 2];
	free(v);
	return (double)is;
}

/* Returns the bytes of files that do not grow with the steps. */
static double compute_fixed_bytes(const char *path)
{
	DIR *d = opendir(path);
	struct stat st;
	double n = 0;

	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, "journal.bin") && strncmp(e->d_name, "calls_", 6) &&
			fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode))
			n += (double)st.st_size;
	if (d)
		closedir(d);
	return n;
}

bool compute_run_cost(struct cost *c, const struct rank_dir *dir)
{
	struct calls s;
	struct call k;
	struct table steps;
	uint64_t rows = 0;

	*c = (struct cost){.once_bytes = compute_fixed_bytes(dir->path)};
	calls_open(&s, dir, 0, NULL);
	table_init(&steps, sizeof(struct one_step), STEPS_MAX);
	while (calls_read_next(&s, &k)) {
		struct one_step *t = table_get(&steps, k.step, 0);

		rows += k.rows;
		if (t) {
			t->rows += k.rows;
			t->calls++;
		}
		/* A new step begins. */
		if (!t || (calls_get_bytes_read(&s) > COST_BYTES && t->calls == 1 && steps.n > 1))
			break;
	}
	c->steps = steps.n;
	if (steps.n) {
		uint64_t recorded = dir->meta.recorded;

		c->rows = compute_step_median(&steps, offsetof(struct one_step, rows));
		c->step_bytes = c->rows * (double)calls_get_bytes_read(&s) / (double)rows;
		if (recorded)
			c->step_ns = dir->meta.own_calls_s * 1e9 / (double)recorded *
				     compute_step_median(&steps, offsetof(struct one_step, calls));
	}
	table_free(&steps);
	calls_close(&s);
	return c->steps > 0;
}
