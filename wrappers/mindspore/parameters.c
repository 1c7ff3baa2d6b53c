/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/mindspore/parameters.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/log.h"
#include "call/step.h"
#include "elf/memory.h"
#include "session/state.h"
#include "wrappers/cxx/cxx_shadow.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/mindspore/layout/kernel_layout.h"
#include "wrappers/mindspore/kernel_phase.h"

#define ARGUMENTS_MAX 65536u

/* looking > naming, making a table, which is a leaf but for what entering a name takes. A forked child makes them anew. */
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER, naming = PTHREAD_MUTEX_INITIALIZER;
static uint64_t looked; /* ms_graphs_begun() when graphs were looked at last, + 1 */

void ms_parameters_forked(void)
{
	pthread_mutex_init(&looking, NULL);
	pthread_mutex_init(&naming, NULL);
	looked = 0;
}

static void *take_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---- a table ---- */

static const char *text_of_module(const char *name, char *out, size_t cap)
{
	const char *dot = strrchr(name, '.');
	size_t n = dot ? (size_t)(dot - name) : 0;

	if (n >= cap)
		n = cap - 1;
	memcpy(out, name, n);
	out[n] = 0;
	return out;
}

struct made_param {
	char module[TRAIN_NAME_MAX];
	uint64_t dims[CXX_DIMS_MAX];
};

static bool describe_parameter(const void *tensor, struct train_param *p, struct made_param *made)
{
	struct ms_tensor t;
	int64_t strides[CXX_DIMS_MAX];

	if (!ms_read_host_tensor(tensor, &t, strides) || !t.name)
		return false;
	if (t.v.ndim)
		memcpy(made->dims, t.v.counts, 8 * (size_t)t.v.ndim);
	p->name = t.name;
	p->module = text_of_module(t.name, made->module, sizeof(made->module));
	p->dims = made->dims;
	p->ndim = t.v.ndim;
	p->dtype = t.v.dtype;
	p->impl = tensor;
	p->lo = (uintptr_t)t.v.base;
	p->hi = t.v.base ? p->lo + t.v.bytes : 0;
	return true;
}

/* Under `naming`. */
static void publish_parameters(struct train_param *list, struct made_param *made,
	const void *const *tensor, uint32_t n, const char *why)
{
	const struct train_params *old = train_params_now();
	uint32_t total = old ? old->n : 0, known = total;
	bool changed = false;

	for (uint32_t i = 0; i < known; i++)
		list[i] = old->at[i];
	for (uint32_t i = 0; i < n; i++) {
		struct train_param p = {.optimizer = 0};
		const struct train_param *was = train_param_by_impl(old, tensor[i]);

		if (!describe_parameter(tensor[i], &p, &made[i]))
			continue;
		/* Memory that another tensor has now is another parameter. */
		if (was && strcmp(was->name, p.name) == 0) {
			changed |= was->lo != p.lo;
			p.id = was->id;
			list[was->id - 1] = p;
		} else {
			changed = true;
			list[total++] = p;
		}
	}
	if (changed && train_params_publish(list, total, why) < 0)
		log_loss(LOSS_ENTRY, "names: no room for further parameters: they have no names");
}

#define MOVES_MOST 16 /* a table of parameters is never freed */

/* Its memory is elsewhere now, as behind load_param_into_net(). */
static bool has_moved(const void *tensor, const struct train_param *p)
{
	static _Atomic unsigned moves;
	struct ms_tensor t;
	int64_t strides[CXX_DIMS_MAX];

	if (atomic_load_explicit(&moves, memory_order_relaxed) >= MOVES_MOST ||
		!ms_read_host_tensor(tensor, &t, strides) || !t.v.base ||
		(uintptr_t)t.v.base == p->lo)
		return false;
	atomic_fetch_add(&moves, 1);
	return true;
}

void ms_parameters_are(const void *const *tensor, uint32_t n, const char *why)
{
	const struct train_params *now = train_params_now();
	struct train_param *list;
	size_t bytes, known;
	bool new = false;

	for (uint32_t i = 0; i < n && !new; i++) {
		const struct train_param *p = train_param_by_impl(now, tensor[i]);

		new = !p || !p->lo || has_moved(tensor[i], p);
	}
	if (!new || !n || n > ARGUMENTS_MAX || !session_start())
		return;
	pthread_mutex_lock(&naming);
	now = train_params_now();
	known = now ? now->n : 0;
	bytes = (known + n) * sizeof(*list) + n * sizeof(struct made_param);
	list = take_pages(bytes);
	if (list) {
		publish_parameters(list, (struct made_param *)(list + known + n), tensor, n, why);
		munmap(list, bytes);
	}
	pthread_mutex_unlock(&naming);
}

/* ---- arguments of graphs ---- */

struct argument {
	const void *tensor;
	const char *name;
	bool has_state;
};

struct arguments {
	const void *data; /* the parameter that is looked for lies there */
	struct argument *at;
	uint32_t n;
	uint32_t *slot; /* 2 * ARGUMENTS_MAX: which are there, by address: number + 1 */
};

/* Tensors of an optimizer's own that belong to no parameter. */
static bool is_of_optimizer(const char *name)
{
	static const char own[][16] = {"learning_rate", "global_step", "beta1_power", "beta2_power",
		"weight_decay", "momentum"};
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (strcmp(dot ? dot + 1 : name, own[i]) == 0)
			return true;
	return false;
}

/* Where it is, or would be. A graph may be given one several times. */
static uint32_t *slot_of_argument(const struct arguments *a, const void *tensor)
{
	const uint32_t mask = 2 * ARGUMENTS_MAX - 1;
	uint32_t i = (uint32_t)hash_mix((uintptr_t)tensor) & mask;

	while (a->slot[i] && a->at[a->slot[i] - 1].tensor != tensor)
		i = (i + 1) & mask;
	return &a->slot[i];
}

static void collect_argument(struct arguments *a, const void *tensor)
{
	struct ms_tensor t;
	int64_t strides[CXX_DIMS_MAX];

	if (a->n == ARGUMENTS_MAX || *slot_of_argument(a, tensor) || !tensor ||
		!cxx_object_is_of(tensor, MS_TENSOR_CLASS) ||
		!ms_read_host_tensor(tensor, &t, strides) || !t.name || is_of_optimizer(t.name))
		return;
	*slot_of_argument(a, tensor) = a->n + 1;
	a->at[a->n++] = (struct argument){tensor, t.name, t.v.base && t.v.base == a->data};
}

/* std::vector: begin and end. False: there is none, or it is empty. */
static bool read_vector(const void *vector, const char **begin, const char **end)
{
	const char *const *words = vector;

	if (!memory_readable((uintptr_t)words) || !memory_readable((uintptr_t)(words + 1)))
		return false;
	*begin = words[0];
	*end = words[1];
	return *begin && *end > *begin;
}

#define VECTOR_BYTES 24 /* begin, end, room */
#define SHARED_BYTES 16 /* std::shared_ptr: object, owner */

static void collect_arguments(void *arg, const struct graph_run *r)
{
	const struct kernel_layout *l = ms_layout();
	const char *at, *end, *tensor, *last;

	if (read_vector((const char *)r->args + l->args, &at, &end))
		for (; at + l->arg_bytes <= end; at += l->arg_bytes)
			collect_argument(arg, *(const void *const *)(at + l->arg_object));
	if (read_vector(r->tensors, &at, &end))
		for (; at + VECTOR_BYTES <= end; at += VECTOR_BYTES)
			if (read_vector(at, &tensor, &last))
				for (; tensor + SHARED_BYTES <= last; tensor += SHARED_BYTES)
					collect_argument(arg, *(const void *const *)tensor);
}

/*
 * An optimizer keeps tensors of its own for each parameter, which are called as that is behind a word of theirs:
 * moment1.conv.weight. So who is called as the end of another one's name is a parameter that an optimizer has.
 */
static void mark_parameters(struct argument *at, uint32_t n, uint32_t *slot, uint32_t mask)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = (uint32_t)hash_str(0, at[i].name) & mask;

		while (slot[k])
			k = (k + 1) & mask;
		slot[k] = i + 1;
	}
	for (uint32_t i = 0; i < n; i++)
		for (const char *dot = strchr(at[i].name, '.'); dot; dot = strchr(dot + 1, '.'))
			for (uint32_t k = (uint32_t)hash_str(0, dot + 1) & mask; slot[k];
				k = (k + 1) & mask)
				if (strcmp(at[slot[k] - 1].name, dot + 1) == 0)
					at[slot[k] - 1].has_state = true;
}

static void name_by_arguments(const void *data)
{
	size_t bytes = ARGUMENTS_MAX * (sizeof(struct argument) + sizeof(void *) + 2 * 8);
	char *pages = take_pages(bytes);
	struct arguments a = {.data = data, .at = (struct argument *)pages};
	const void **tensor;
	uint32_t *by_name, n = 0;

	if (!pages)
		return;
	tensor = (const void **)(a.at + ARGUMENTS_MAX);
	by_name = (uint32_t *)(tensor + ARGUMENTS_MAX);
	a.slot = by_name + 2 * ARGUMENTS_MAX;
	ms_graphs_visit(collect_arguments, &a);
	mark_parameters(a.at, a.n, by_name, 2 * ARGUMENTS_MAX - 1);
	for (uint32_t i = 0; i < a.n; i++)
		if (a.at[i].has_state)
			tensor[n++] = a.at[i].tensor;
	ms_parameters_are(tensor, n, "graph");
	munmap(pages, bytes);
}

/*
 * Memory that was looked for in vain, so that its kernels neither wait nor look each step: it is looked for again 1, 2, ... 64
 * steps later, for other tensors may lie there by then, and when parameters have become known.
 */
#define UNKNOWN_SLOTS 4096u
#define UNKNOWN_WAIT_MOST 6u /* a power of 2 */
static struct {
	_Atomic uint64_t key; /* of the memory and the table of parameters */
	_Atomic uint64_t again; /* the step, and its power of 2 in the lowest byte */
} unknown[UNKNOWN_SLOTS];

static uint64_t key_of_unknown(const void *data, const struct train_params *all)
{
	return hash_u64(hash_u64(0, (uintptr_t)data), all ? all->generation + UINT64_C(1) : 0) | 1;
}

/* False, too, when it is time to look again. */
static bool is_unknown(uint64_t key, uint32_t step)
{
	unsigned i = (unsigned)(key >> 32) % UNKNOWN_SLOTS;

	return atomic_load_explicit(&unknown[i].key, memory_order_acquire) == key &&
	       step < atomic_load_explicit(&unknown[i].again, memory_order_relaxed) >> 8;
}

/* Under `looking`. */
static void note_unknown(uint64_t key, uint32_t step)
{
	unsigned i = (unsigned)(key >> 32) % UNKNOWN_SLOTS;
	uint64_t power = 0;

	if (unknown[i].key == key) {
		power = (unknown[i].again & 255) + 1;
		if (power > UNKNOWN_WAIT_MOST)
			power = UNKNOWN_WAIT_MOST;
	}
	atomic_store_explicit(&unknown[i].again, (step + (UINT64_C(1) << power)) << 8 | power,
		memory_order_relaxed);
	atomic_store_explicit(&unknown[i].key, key, memory_order_release);
}

const struct train_param *ms_parameter_at(const void *data, const struct train_params **all)
{
	const struct train_param *p;
	uint32_t step = step_now() + 1;
	uint64_t run;

	*all = train_params_now();
	p = train_param_by_address(*all, data);
	if (p || !data || is_unknown(key_of_unknown(data, *all), step))
		return p;
	/* Kernels of other parameters wait for the one that looks: it finds theirs, too. */
	pthread_mutex_lock(&looking);
	run = ms_graphs_begun() + 1;
	*all = train_params_now();
	p = train_param_by_address(*all, data);
	/* What runs is looked at once. */
	if (!p && looked != run) {
		looked = run;
		name_by_arguments(data);
		*all = train_params_now();
		p = train_param_by_address(*all, data);
	}
	if (!p)
		note_unknown(key_of_unknown(data, *all), step);
	pthread_mutex_unlock(&looking);
	return p;
}
