/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/mindspore/attention_values.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "call/step.h"
#include "config/rooms/kinds.h"
#include "journal/layout.h"
#include "session/state.h"
#include "stats/stats.h"
#include "terms/dtype.h"
#include "training/params/attention.h"
#include "training/params/kind.h"
#include "wrappers/mindspore/kernel_values.h"

#define LOGIT_KINDS KIND_BIT(MAX_LOGIT)
#define SPREAD_KINDS (KIND_BIT(ATTENTION_ENTROPY) | KIND_BIT(SOFTMAX_MAX))

bool is_softmax_kernel(const char *name)
{
	return strcmp(name, "Softmax") == 0 || strcmp(name, "SoftmaxExt") == 0;
}

bool is_softmax_due(void)
{
	uint32_t interval;

	if (!(train_get_kinds() & (LOGIT_KINDS | SPREAD_KINDS)))
		return false;
	interval = (uint32_t)get_kinds_keys(get_config())->attention_interval;
	return step_now() % interval == 0 && train_are_kinds_due();
}

/* True if the softmax is over the last dimension. The kernel's second input is the axis, one integer. */
static bool is_over_last_dimension(
	const struct kernel_tensors *in, const struct ms_tensor_view *logits)
{
	struct ms_tensor_view axis;
	int64_t v;

	if (!ms_read_kernel_tensor(in, 1, &axis) || axis.v.count != 1 || axis.v.dtype != DT_INT64)
		return false;
	memcpy(&v, axis.v.base, sizeof(v));
	return v == -1 || v == logits->v.ndim - 1;
}

/* Counts the softmax kernels of a step, from 0. counter: step + 1 in the upper half, the next number in the lower half. */
static uint32_t get_next_softmax_number(void)
{
	static _Atomic uint64_t counter;
	uint64_t step = ((uint64_t)step_now() + 1) << 32, now = atomic_load(&counter), next;

	do
		next = now >> 32 == step >> 32 ? now + 1 : step + 1;
	while (!atomic_compare_exchange_weak(&counter, &now, next));
	return (uint32_t)next - 1;
}

static void write_softmax_row(
	enum train_kind kind, const char *name, const double *value, uint16_t n)
{
	struct train_value v = {.kind = kind,
		.name = name,
		.step = step_now(),
		.micro_step = 0,
		.dtype = DT_FLOAT64,
		.count = 1,
		.nvalue = n,
		.value = value};

	if (!(train_get_kinds() >> kind & 1))
		return;
	train_kind_write(&v);
	ms_set_kind_written(kind);
}

static void write_largest_logits(const struct ms_tensor_view *logits, uint32_t number)
{
	struct max_logits m;
	char name[48];

	if (!compute_max_logits(&logits->v, 0, &m))
		return;
	for (uint32_t h = 0; h < m.heads; h++) {
		double value[] = {m.at[h].upper, m.at[h].lower};

		snprintf(name, sizeof(name), "softmax_%u/head_%u", number, h);
		write_softmax_row(TK_MAX_LOGIT, name, value, 2);
	}
}

void ms_record_softmax(const struct kernel_tensors *in)
{
	uint64_t rows_max = (uint64_t)get_kinds_keys(get_config())->attention_rows;
	struct attention_spread s;
	struct stats_fenv fenv;
	struct ms_tensor_view logits;
	uint32_t number;
	char name[32];
	bool known;

	if (!ms_read_kernel_tensor(in, 0, &logits) || logits.v.ndim != 4 ||
		!is_over_last_dimension(in, &logits))
		return;
	number = get_next_softmax_number();
	stats_fenv_set(&fenv);
	if (train_get_kinds() & LOGIT_KINDS)
		write_largest_logits(&logits, number);
	known = train_get_kinds() & SPREAD_KINDS && compute_logits_spread(&logits.v, rows_max, &s);
	stats_fenv_reset(&fenv);
	if (!known)
		return;

	double entropy[] = {s.entropy, (double)s.rows, (double)s.rows_total};
	double most[] = {s.softmax_max, (double)s.rows, (double)s.rows_total};

	snprintf(name, sizeof(name), "softmax_%u", number);
	write_softmax_row(TK_ATTENTION_ENTROPY, name, entropy, 3);
	write_softmax_row(TK_SOFTMAX_MAX, name, most, 3);
}
