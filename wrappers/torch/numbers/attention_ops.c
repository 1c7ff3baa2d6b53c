/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/numbers/attention_ops.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/thread.h"
#include "call/call.h"
#include "call/recorder.h"
#include "call/step.h"
#include "config/rooms/kinds.h"
#include "journal/layout.h"
#include "life/life.h"
#include "session/state.h"
#include "stats/stats.h"
#include "terms/dtype.h"
#include "training/params/kind.h"
#include "wrappers/torch/numbers/module_frames.h"
#include "wrappers/torch/tensors/torch.h"

#define LOGIT_KINDS KIND_BIT(MAX_LOGIT)
#define SPREAD_KINDS (KIND_BIT(ATTENTION_ENTROPY) | KIND_BIT(SOFTMAX_MAX))

enum attention_op { ATTENTION_NONE, ATTENTION_SOFTMAX, ATTENTION_FUSED, ATTENTION_ENTRANCE };

static const struct {
	char name[48];
	uint8_t op; /* enum attention_op */
	uint32_t kinds; /* the purpose of observing it */
} ops[] = {
	{"_softmax", ATTENTION_SOFTMAX, LOGIT_KINDS},
	{"_scaled_dot_product_flash_attention_for_cpu", ATTENTION_FUSED, LOGIT_KINDS},
	{"scaled_dot_product_attention", ATTENTION_ENTRANCE, SPREAD_KINDS},
};
#define NATTENTION_OPS (sizeof(ops) / sizeof(*ops))

static _Atomic uint32_t written; /* kinds that had a value */

bool is_attention_op(const char *name)
{
	for (unsigned i = 0; i < NATTENTION_OPS; i++)
		if (strcmp(ops[i].name, name) == 0)
			return train_get_kinds() & ops[i].kinds;
	return false;
}

void set_attention_op(struct torch_function *r, const char *name)
{
	for (unsigned i = 0; i < NATTENTION_OPS; i++)
		if (strcmp(ops[i].name, name) == 0)
			r->attention_op = ops[i].op;
}

bool is_attention_wanted(void)
{
	return train_get_kinds() & (LOGIT_KINDS | SPREAD_KINDS);
}

bool is_attention_due(void)
{
	uint32_t interval = (uint32_t)get_kinds_keys(get_config())->attention_interval;

	return is_attention_wanted() && step_now() % interval == 0 && train_are_kinds_due();
}

/* ---- rows ---- */

static void write_attention_row(const struct module_frame *f, enum train_kind kind,
	const char *part, const double *value, uint16_t n)
{
	uint32_t micro = step_micro();
	char name[TRAIN_NAME_MAX + 32];
	struct train_value v = {.kind = kind,
		.name = name,
		.step = step_now(),
		.micro_step = micro == UINT32_MAX ? 0 : micro,
		.vpp_stage = f->vpp_stage,
		.dtype = DT_FLOAT64,
		.count = 1,
		.nvalue = n,
		.value = value};

	snprintf(name, sizeof(name), "%.*s%s", TRAIN_NAME_MAX, f->name, part);
	if (!(train_get_kinds() >> kind & 1))
		return;
	atomic_fetch_or_explicit(&written, UINT32_C(1) << kind, memory_order_relaxed);
	train_kind_write(&v);
}

void write_max_logits(const struct module_frame *f, const struct max_logits *m, bool one)
{
	char part[24] = "";

	for (uint32_t h = 0; h < m->heads; h++) {
		double value[] = {m->at[h].upper, f->sink ? -__builtin_inf() : m->at[h].lower};

		if (!one)
			snprintf(part, sizeof(part), "/head_%u", h);
		if (!(value[0] == -__builtin_inf()))
			write_attention_row(f, TK_MAX_LOGIT, part, value, 2);
	}
}

void check_attention_values(void)
{
	static _Atomic uint32_t noted;
	uint32_t missing = train_get_kinds() & (LOGIT_KINDS | SPREAD_KINDS) &
			   ~atomic_load_explicit(&written, memory_order_relaxed);

	missing &= ~atomic_fetch_or(&noted, missing);
	if (missing & LOGIT_KINDS)
		session_record_invisible(train_kinds[TK_MAX_LOGIT].word,
			"no module has a tensor of its largest logits in host memory, or has "
			"called softmax on [batch, heads, queries, keys] or attention for the CPU");
	if (missing & SPREAD_KINDS)
		session_record_invisible("attention_entropy, softmax_max",
			"no module has called scaled_dot_product_attention with tensors in host "
			"memory and as many queries as keys");
}

/* ---- operators; on a private stack ---- */

struct attention {
	const struct call *call;
	const struct module_frame *frame;
};

static const void *get_operand(const struct call *c, unsigned arg)
{
	return *(const void *const *)c->v[arg].cp;
}

/* An argument of type optional<Tensor>; NULL: it has none. */
static const void *get_optional_operand(const struct call *c, unsigned arg)
{
	const struct op_type *t = &torch_get_function(c)->op;
	const char *at = c->v[arg].cp;

	if (t->arg[arg] == OP_OPTIONAL)
		return at[8] ? *(const void *const *)(const void *)at : NULL;
	return *at ? ((const void *const *)(const void *)at)[1] : NULL;
}

static bool measure_softmax(const struct attention *a, struct max_logits *m)
{
	const struct call *c = a->call;
	struct buffer logits;
	uint32_t heads = 0;
	int64_t dim = c->v[1].i;

	if (!torch_read_tensor(get_operand(c, 0), &logits) || logits.nostats ||
		(dim != -1 && dim != logits.ndim - 1))
		return false;
	/* A softmax may be a module of its own, within the one that has heads. */
	for (uint32_t up = 0; up < 3 && !heads; up++) {
		const struct module_frame *f = find_module_frame(up);

		heads = f ? f->heads : 0;
	}
	return compute_max_logits(&logits, heads, m);
}

/* query, key, value, dropout_p, is_causal, attn_mask, scale -> output, logsumexp. The first result is stored last. */
static bool measure_fused(const struct attention *a, struct max_logits *m)
{
	const struct call *c = a->call;
	const struct op_type *t = &torch_get_function(c)->op;
	struct attention_mask mask = {.keys = 0};
	struct buffer key, lse, masked;
	const int64_t *dims;

	if (t->result != OP_TUPLE || t->nresult != 2 || t->nargs < 6 || !c->result ||
		(t->arg[5] != OP_OPTIONAL && t->arg[5] != OP_OPTIONAL_1_13) ||
		!torch_read_tensor(get_operand(c, 1), &key) || key.ndim < 2 ||
		!torch_read_tensor(((void *const *)c->result)[0], &lse) || lse.nostats)
		return false;
	dims = key.counts;
	mask.keys = (uint64_t)dims[key.ndim - 2];
	mask.causal = c->v[4].u & 0xff;
	if (torch_read_tensor(get_optional_operand(c, 5), &masked))
		mask.mask = &masked;
	return compute_lse_bounds(&lse, &mask, m);
}

static void write_logits(void *arg)
{
	const struct attention *a = arg;
	struct max_logits m;
	struct stats_fenv fenv;
	bool known;

	stats_fenv_set(&fenv);
	known = torch_get_function(a->call)->attention_op == ATTENTION_FUSED
			? measure_fused(a, &m)
			: measure_softmax(a, &m);
	stats_fenv_reset(&fenv);
	if (known)
		write_max_logits(a->frame, &m, false);
}

static void write_spread(void *arg)
{
	const struct attention *a = arg;
	uint64_t rows_max = (uint64_t)get_kinds_keys(get_config())->attention_rows;
	struct attention_spread s;
	struct stats_fenv fenv;
	struct buffer q, k;
	bool known;

	if (!torch_read_tensor(get_operand(a->call, 0), &q) ||
		!torch_read_tensor(get_operand(a->call, 1), &k) || q.nostats || k.nostats)
		return;
	stats_fenv_set(&fenv);
	known = compute_attention_spread(&q, &k, rows_max, &s);
	stats_fenv_reset(&fenv);
	if (!known)
		return;

	double entropy[] = {s.entropy, (double)s.rows, (double)s.rows_total};
	double most[] = {s.softmax_max, (double)s.rows, (double)s.rows_total};

	write_attention_row(a->frame, TK_ATTENTION_ENTROPY, "", entropy, 3);
	write_attention_row(a->frame, TK_SOFTMAX_MAX, "", most, 3);
}

void record_attention_op(const struct call *c)
{
	uint8_t op = torch_get_function(c)->attention_op;
	struct attention a = {.call = c, .frame = find_module_frame(0)};
	struct own_work own;

	if (!a.frame || !a.frame->target || !c->ok || thread_state.phase == PHASE_BACKWARD ||
		(op != ATTENTION_ENTRANCE && a.frame->tracked))
		return;
	own = own_work_start();
	private_stack_call(op == ATTENTION_ENTRANCE ? write_spread : write_logits, &a);
	own_work_stop(&own);
}
