/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/expert_rows.h"

#include <stdio.h>

#include "terms/dtype.h"
#include "training/params/metric.h"

static const char *const balance_parts[] = {
	"drop_rate", "utilization_min", "utilization_max", "cv", "dead_share", "diversity"};

void emit_expert_tokens(const struct expert_counts *c, expert_value_fn *fn, void *arg)
{
	double capacity = get_expert_capacity_factor();
	struct expert_balance b;

	for (uint32_t i = 0; i < c->n; i++)
		fn(arg, TK_TOKENS, (int)i, c->at[i]);
	if (!compute_expert_balance(c, capacity, &b))
		return;

	const double values[] = {
		b.drop_rate, b.utilization_min, b.utilization_max, b.cv, b.dead_share, b.diversity};

	for (unsigned i = capacity > 0 ? 0 : 1; i < sizeof(values) / sizeof(*values); i++)
		fn(arg, TK_BALANCE, EXPERT_PART_BALANCE + (int)i, values[i]);
}

bool write_expert_row(
	struct train_value v, enum train_kind kind, const char *router, int part, double value)
{
	char name[TRAIN_NAME_MAX + 32], part_name[32] = "";

	if (!(train_get_kinds() >> kind & 1))
		return false;
	if (part >= EXPERT_PART_BALANCE)
		snprintf(part_name, sizeof(part_name), "/%s",
			balance_parts[part - EXPERT_PART_BALANCE]);
	else if (part != EXPERT_PART_NONE)
		snprintf(part_name, sizeof(part_name), "/expert_%d", part);
	snprintf(name, sizeof(name), "%.*s%s", TRAIN_NAME_MAX, router, part_name);
	v.kind = kind;
	v.name = name;
	v.dtype = DT_FLOAT64;
	v.count = v.nvalue = 1;
	v.value = &value;
	train_kind_write(&v);
	return true;
}

bool has_number_per_expert(const struct buffer *b, uint32_t experts)
{
	const int64_t *dims = b->counts;

	return get_dtype_info(b->dtype)->cls == DTC_FLOAT && b->ndim >= 2 && b->count &&
	       (uint64_t)dims[b->ndim - 1] == experts;
}
