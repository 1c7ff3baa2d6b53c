/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/views/op_lines.h"

#include <stdlib.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"

static uint64_t get_comm_class(const struct report *r, uint64_t id)
{
	const struct comm_info *k = comms_find(&r->g.comms, id);

	if (!k)
		return id ? 1 : 0;
	return hash_u64(hash_u64(hash_u64(2, k->kind), k->name), (uint64_t)k->size) | 2;
}

static int compare_operation_times(const void *x, const void *y)
{
	const struct op_line *a = *(const struct op_line *const *)x,
			     *b = *(const struct op_line *const *)y;

	if (a->sum.dur.sum != b->sum.dur.sum)
		return a->sum.dur.sum > b->sum.dur.sum ? -1 : 1;
	if (a->sum.calls != b->sum.calls)
		return a->sum.calls > b->sum.calls ? -1 : 1;
	return a->key.b != b->key.b  ? (a->key.b < b->key.b ? -1 : 1)
	       : a->key.a < b->key.a ? -1
				     : a->key.a > b->key.a;
}

char *format_op_line_comm(const struct report *r, const struct op_line *l)
{
	const struct comm_info *k = comms_find(&r->g.comms, l->sum.comm);
	char label[COMM_LABEL_MAX];

	if (l->ncomm == 1)
		return tool_strdup(comm_format_label(&r->g.comms, l->sum.comm, label));
	if (!k)
		return tool_format("%u communicators", l->ncomm);
	return tool_format("%u x %s of %lld", l->ncomm,
		*intern_get_name(k->name) ? intern_get_name(k->name) : intern_get_name(k->kind),
		(long long)k->size);
}

void init_op_lines(struct op_lines *l, const struct report *r)
{
	const struct ops *ops = &r->g.ops;

	table_init(&l->table, sizeof(struct op_line), UINT32_MAX / 4);
	for (uint32_t i = 0; i <= ops->table.n; i++) {
		const struct op_stat *s = i < ops->table.n ? table_at(&ops->table, i) : &ops->rest;
		struct op_line *k;

		if (!s->calls)
			continue;
		k = table_get(&l->table, get_comm_class(r, s->comm), s->key.b);
		if (!k->ncomm++) {
			k->sum.lib = s->lib;
			k->sum.api = s->api;
			k->sum.op = s == &ops->rest ? 0 : s->op;
			k->sum.comm = s->comm;
		}
		ops_merge(&k->sum, s);
	}
	l->n = l->table.n;
	l->line = tool_alloc((l->n + 1) * sizeof(*l->line));
	for (uint32_t i = 0; i < l->n; i++)
		l->line[i] = table_at(&l->table, i);
	qsort(l->line, l->n, sizeof(*l->line), compare_operation_times);
}

void free_op_lines(struct op_lines *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		hist_free(&l->line[i]->sum.dur);
	free(l->line);
	table_free(&l->table);
}
