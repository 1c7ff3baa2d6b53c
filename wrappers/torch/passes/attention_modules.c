/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the modules in which attention operators are called (wrappers/torch/numbers/module_frames.h), and reads their attributes:
 * the number of heads, an attention sink, and a tensor of the largest logits if the module has one. All data here is protected by
 * the GIL.
 */
#include <string.h>

#include "base/private_stack.h"
#include "session/state.h"
#include "training/params/kind.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/module_names.h"
#include "wrappers/torch/numbers/attention_ops.h"
#include "wrappers/torch/numbers/module_frames.h"
#include "wrappers/torch/numbers/split_sizes.h"
#include "wrappers/torch/passes/module_call.h"
#include "wrappers/torch/tensors/tensor.h"

/* Attributes with the number of heads in torch.nn, Megatron-Core, Transformers, NanoGPT, torchtitan. */
static const char *const head_counts[] = {"num_heads", "num_attention_heads_per_partition",
	"num_attention_heads", "n_heads", "n_head", "heads"};

/* Attention sinks: parameters that are an additional logit in each row's softmax. Transformers (GPT-OSS), Megatron-Core. */
static const char *const sinks[] = {"sinks", "sink", "attention_sink", "softmax_offset"};

/* Tensors of the largest logits in MindSpore Transformers (max_logits_val) and Megatron-Core (current_max_attn_logits). */
static const char *const maxima[] = {"max_logits_val", "current_max_attn_logits",
	"max_attention_logit", "max_attention_logits", "max_attn_logits"};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const void *find_named_tensor(py_object *self, const char *const *names, unsigned n)
{
	static const char *const places[] = {"_buffers", "_parameters"};
	py_object *key, *value;

	for (unsigned i = 0; i < COUNT(places); i++) {
		py_object *all = py_get_own_attribute(self, places[i]);
		intptr_t at = 0;

		while (py_get_next_of_dict(all, &at, &key, &value)) {
			const char *text = py_get_ascii(key);

			for (unsigned k = 0; text && k < n; k++)
				if (strcmp(text, names[k]) == 0 && torch_get_object_tensor(value))
					return torch_get_object_tensor(value);
		}
	}
	for (unsigned k = 0; k < n; k++) {
		py_object *o = py_get_own_attribute(self, names[k]);

		if (o && torch_get_object_tensor(o))
			return torch_get_object_tensor(o);
	}
	return NULL;
}

static uint16_t find_head_count(py_object *self)
{
	struct py_object_lock hold;
	uint16_t heads = 0;
	const char *why;
	int64_t n;

	if (!py_lock_objects(&hold, &why))
		return 0;
	for (unsigned i = 0; i < COUNT(head_counts) && !heads; i++) {
		py_object *o = py_get_own_attribute(self, head_counts[i]);

		if (o && py_get_integer(o, &n) && n > 0 && n <= ATTENTION_HEADS_MAX)
			heads = (uint16_t)n;
	}
	py_unlock_objects(&hold);
	return heads;
}

static void handle_attention_begin(const struct torch_module_call *c)
{
	struct module_frame f = {.name = NULL};
	struct named_module *m;

	if (c->again)
		return;
	if (c->training && (is_attention_due() || is_split_due())) {
		m = find_named_module(c->self, c->depth == 0);
		if (m && !m->wrapper) {
			f = (struct module_frame){.name = m->name,
				.vpp_stage = m->vpp_stage,
				.target = is_attention_due() && module_is_target(m)};
		}
		if (f.target) {
			f.heads = find_head_count(c->self);
			f.sink = find_named_tensor(c->self, sinks, COUNT(sinks)) != NULL;
			f.tracked = find_named_tensor(c->self, maxima, COUNT(maxima)) != NULL;
		}
	}
	open_module_frame(c->depth, &f);
}

struct tracked {
	const struct module_frame *frame;
	const void *tensor;
};

static void write_tracked(void *arg)
{
	const struct tracked *t = arg;
	struct max_logits m;
	struct buffer b;

	if (torch_read_tensor(t->tensor, &b) && read_max_logits(&b, &m))
		write_max_logits(t->frame, &m, b.ndim == 0);
}

static void handle_attention_end(const struct torch_module_call *c)
{
	struct module_frame *f;
	struct tracked t;

	if (c->again)
		return;
	close_module_frames(c->depth + 1);
	f = c->training && c->result && is_attention_due() ? find_module_frame(0) : NULL;
	if (f && f->target) {
		t.frame = f;
		t.tensor = find_named_tensor(c->self, maxima, COUNT(maxima));
		if (t.tensor && f->name == find_named_module(c->self, false)->name)
			private_stack_call(write_tracked, &t);
	}
	close_module_frames(c->depth);
	if (f && c->depth == 0)
		check_attention_values();
}

bool is_attention_or_split_wanted(void)
{
	return is_attention_wanted() || is_split_wanted();
}

const struct torch_module_observer attention_observer = {
	.wanted = is_attention_or_split_wanted,
	.begin = handle_attention_begin,
	.end = handle_attention_end,
};
