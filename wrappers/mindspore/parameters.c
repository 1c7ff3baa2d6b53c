/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/mindspore/parameters.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/private_stack.h"
#include "base/hash.h"
#include "base/log.h"
#include "call/step.h"
#include "elf/memory.h"
#include "session/state.h"
#include "wrappers/cxx/cxx_shadow.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/mindspore/layout/kernel_layout.h"
#include "wrappers/mindspore/kernel_phase.h"
#include "wrappers/mindspore/layout/update_kernel.h"

#define ARGUMENTS_MAX 65536u

/*
 * Taken in this order while a table is made; leaves except for entering a name. A forked child
 * initialises both again.
 */
static pthread_mutex_t search_lock = PTHREAD_MUTEX_INITIALIZER,
		       table_lock = PTHREAD_MUTEX_INITIALIZER;

static void free_arguments(void);

void ms_parameters_forked(void)
{
	pthread_mutex_init(&search_lock, NULL);
	pthread_mutex_init(&table_lock, NULL);
	free_arguments();
}

static void *map_parameter_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---- a table ---- */

static const char *copy_module_name(const char *name, char *out, size_t cap)
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

static bool read_parameter(const void *tensor, struct train_param *p, struct made_param *made)
{
	struct ms_tensor t;
	int64_t strides[CXX_DIMS_MAX];

	if (!ms_read_host_tensor(tensor, &t, strides) || !t.name)
		return false;
	if (t.v.ndim)
		memcpy(made->dims, t.v.counts, 8 * (size_t)t.v.ndim);
	p->name = t.name;
	p->module = copy_module_name(t.name, made->module, sizeof(made->module));
	p->dims = made->dims;
	p->ndim = t.v.ndim;
	p->dtype = t.v.dtype;
	p->impl = tensor;
	p->lo = (uintptr_t)t.v.base;
	p->hi = t.v.base ? p->lo + t.v.bytes : 0;
	return true;
}

/* The lock `naming` is held. */
static void update_parameter_table(struct train_param *list, struct made_param *made,
	const void *const *tensor, uint32_t n, const char *why)
{
	const struct train_params *old = train_get_params();
	uint32_t total = old ? old->n : 0, known = total;
	bool changed = false;

	for (uint32_t i = 0; i < known; i++)
		list[i] = old->at[i];
	for (uint32_t i = 0; i < n; i++) {
		struct train_param p = {.optimizer = 0};
		const struct train_param *was = train_find_param_by_impl(old, tensor[i]);

		if (!read_parameter(tensor[i], &p, &made[i]))
			continue;
		/*
		 * A parameter with the same name whose memory now belongs to another tensor is
		 * another parameter.
		 */
		if (was && strcmp(was->name, p.name) == 0) {
			changed |= was->lo != p.lo;
			p.id = was->id;
			list[was->id - 1] = p;
		} else {
			changed = true;
			list[total++] = p;
		}
	}
	if (changed && train_register_params(list, total, why) < 0)
		log_loss(LOSS_ENTRY, "names: too many parameters: further ones have no names");
}

#define MOVES_MOST 16 /* maximum, because a table of parameters is never freed */

/* True if the tensor's memory has moved, as after load_param_into_net(). */
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

void ms_register_parameters(const void *const *tensor, uint32_t n, const char *why)
{
	const struct train_params *now = train_get_params();
	struct train_param *list;
	size_t bytes, known;
	bool new = false;

	for (uint32_t i = 0; i < n && !new; i++) {
		const struct train_param *p = train_find_param_by_impl(now, tensor[i]);

		new = !p || !p->lo || has_moved(tensor[i], p);
	}
	if (!new || !n || n > ARGUMENTS_MAX || !session_start())
		return;
	pthread_mutex_lock(&table_lock);
	now = train_get_params();
	known = now ? now->n : 0;
	bytes = (known + n) * sizeof(*list) + n * sizeof(struct made_param);
	list = map_parameter_pages(bytes);
	if (list) {
		update_parameter_table(
			list, (struct made_param *)(list + known + n), tensor, n, why);
		munmap(list, bytes);
	}
	pthread_mutex_unlock(&table_lock);
}

/* ---- arguments of graphs ---- */

struct argument {
	const void *tensor, *data;
	const char *name;
	bool is_parameter;
};

#define SLOTS (2 * ARGUMENTS_MAX)

/* A hash table (open addressing) of numbers of arguments, plus 1. */
struct arguments {
	struct argument at[ARGUMENTS_MAX];
	uint32_t by_tensor[SLOTS], by_data[SLOTS], by_name[SLOTS];
	const void *chosen[ARGUMENTS_MAX];
	uint32_t n;
	bool waiting; /* some are parameters that are not in the table yet */
};

/*
 * Arguments of the running graphs, kept as long as one of these graphs updates parameters without
 * a name; NULL if not collected. Guarded by `looking`.
 */
static struct arguments *arguments;
static uint64_t collected; /* value of ms_get_graph_count() when they were collected */
static _Atomic bool has_arguments;

static bool is_tensor_of(const struct argument *a, const void *key)
{
	return a->tensor == key;
}

static bool is_data_of(const struct argument *a, const void *key)
{
	return a->data == key;
}

static bool is_name_of(const struct argument *a, const void *key)
{
	return strcmp(a->name, key) == 0;
}

/* Returns the slot of an argument, or the free slot for it. */
static uint32_t *find_argument_slot(struct arguments *a, uint32_t *slot, uint64_t hash,
	bool (*is_equal)(const struct argument *, const void *), const void *key)
{
	uint32_t i = (uint32_t)hash & (SLOTS - 1);

	while (slot[i] && !is_equal(&a->at[slot[i] - 1], key))
		i = (i + 1) & (SLOTS - 1);
	return &slot[i];
}

static uint32_t *find_slot_by_name(struct arguments *a, const char *name)
{
	return find_argument_slot(a, a->by_name, hash_str(0, name), is_name_of, name);
}

static uint32_t *find_slot_by_address(struct arguments *a, uint32_t *slot,
	bool (*is_equal)(const struct argument *, const void *), const void *address)
{
	return find_argument_slot(a, slot, hash_mix((uintptr_t)address), is_equal, address);
}

/* A graph may get the same argument several times. */
static void add_run_argument(struct arguments *a, const void *tensor)
{
	struct ms_tensor t;
	int64_t strides[CXX_DIMS_MAX];
	uint32_t *slot;

	if (a->n == ARGUMENTS_MAX || !tensor || !cxx_object_is_of(tensor, MS_TENSOR_CLASS) ||
		!ms_read_host_tensor(tensor, &t, strides) || !t.name || !t.v.base)
		return;
	slot = find_slot_by_address(a, a->by_tensor, is_tensor_of, tensor);
	if (*slot)
		return;
	a->at[a->n++] = (struct argument){tensor, t.v.base, t.name, false};
	*slot = a->n;
	slot = find_slot_by_address(a, a->by_data, is_data_of, t.v.base);
	if (!*slot)
		*slot = a->n;
	slot = find_slot_by_name(a, t.name);
	if (!*slot)
		*slot = a->n;
}

/* Reads begin and end of a std::vector. Returns false if it cannot be read or is empty. */
static bool read_vector(const void *vector, const char **begin, const char **end)
{
	const char *const *words = vector;

	if (!is_memory_readable((uintptr_t)words) || !is_memory_readable((uintptr_t)(words + 1)))
		return false;
	*begin = words[0];
	*end = words[1];
	return *begin && *end > *begin;
}

#define VECTOR_BYTES 24 /* pointers to begin, end and the end of the memory */
#define SHARED_BYTES 16 /* std::shared_ptr: object, owner */

static void add_run_arguments(void *arg, const struct graph_run *r)
{
	const struct kernel_layout *l = ms_get_layout();
	const char *at, *end, *tensor, *last;

	if (read_vector((const char *)r->args + l->args, &at, &end))
		for (; at + l->arg_bytes <= end; at += l->arg_bytes)
			add_run_argument(arg, *(const void *const *)(at + l->arg_object));
	if (read_vector(r->tensors, &at, &end))
		for (; at + VECTOR_BYTES <= end; at += VECTOR_BYTES)
			if (read_vector(at, &tensor, &last))
				for (; tensor + SHARED_BYTES <= last; tensor += SHARED_BYTES)
					add_run_argument(arg, *(const void *const *)tensor);
}

/* The lock `looking` is held here and in all following functions. */
static void free_arguments(void)
{
	if (arguments)
		munmap(arguments, sizeof(*arguments));
	arguments = NULL;
	has_arguments = false;
}

/*
 * Collects the arguments of the running graphs, unless no graph has begun since the last time.
 * Returns false if memory is exhausted.
 */
static bool update_arguments(void)
{
	uint64_t run = ms_get_graph_count();

	if (arguments && collected == run)
		return true;
	free_arguments();
	arguments = map_parameter_pages(sizeof(*arguments));
	if (!arguments)
		return false;
	collected = run;
	has_arguments = true;
	ms_handle_each_graph(add_run_arguments, arguments);
	return true;
}

static const struct argument *find_argument(const void *data)
{
	uint32_t i = *find_slot_by_address(arguments, arguments->by_data, is_data_of, data);

	return i ? &arguments->at[i - 1] : NULL;
}

/* Adds collected arguments that are known to be parameters to the table. */
static void register_arguments(void)
{
	struct arguments *a = arguments;
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n; i++)
		if (a->at[i].is_parameter)
			a->chosen[n++] = a->at[i].tensor;
	ms_register_parameters(a->chosen, n, "graph");
	a->waiting = false;
}

/*
 * A kernel got parameter `parameter` and tensor `state` of the optimizer's state. What precedes
 * the common end of both names is the same for all other parameters. The optimizer's tensor may
 * be in a cell of the program (opt.moment1.conv.weight), and so may the parameter, in the same
 * cell or another (net.conv.weight).
 */
static bool set_parameter_by_names(const char *parameter, const char *state)
{
	char name[TRAIN_NAME_MAX + 1];
	size_t front, state_front;
	bool any = false;

	if (!find_name_prefixes(parameter, state, &front, &state_front) || front >= sizeof(name))
		return false;
	memcpy(name, parameter, front);
	for (uint32_t i = 0; i < arguments->n; i++) {
		const char *of = arguments->at[i].name;
		uint32_t found;

		if (strncmp(of, state, state_front) != 0 ||
			strlen(of + state_front) >= sizeof(name) - front)
			continue;
		strcpy(name + front, of + state_front);
		found = *find_slot_by_name(arguments, name);
		if (!found || found - 1 == i || arguments->at[found - 1].is_parameter)
			continue;
		arguments->at[found - 1].is_parameter = any = true;
	}
	return any;
}

/*
 * If no rule finds the parameter, it waits for the other parameters of the graph, so that one
 * table is made for all of them.
 */
static bool find_and_register_updated(const struct ms_updated *u)
{
	const struct argument *p = update_arguments() ? find_argument(u->parameter) : NULL;
	bool any = false;

	if (!p)
		return false;
	for (unsigned i = 0; i < u->nstate && !p->is_parameter; i++) {
		const struct argument *state = find_argument(u->state[i]);

		if (state && state != p)
			any |= set_parameter_by_names(p->name, state->name);
	}
	if (!p->is_parameter) {
		arguments->at[p - arguments->at].is_parameter = true;
		arguments->waiting = true;
	}
	if (any)
		register_arguments();
	return true;
}

static void register_waiting(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&search_lock);
	if (arguments && arguments->waiting)
		register_arguments();
	free_arguments();
	pthread_mutex_unlock(&search_lock);
}

void ms_register_graph_parameters(void)
{
	if (has_arguments)
		private_stack_call(register_waiting, NULL);
}

/*
 * Memory for which no parameter was found, so that its kernels neither wait nor search at each
 * step. The search is repeated 1, 2, ... 64 steps later, because other tensors may exist by then,
 * and when parameters become known.
 */
#define UNKNOWN_SLOTS 4096u
#define UNKNOWN_WAIT_MOST 6u /* a power of 2 */
static struct {
	_Atomic uint64_t key; /* hash of the memory and the table of parameters */
	_Atomic uint64_t again; /* the step, and its power of 2 in the lowest byte */
} unknown[UNKNOWN_SLOTS];

/* What is searched at the memory. */
enum search { SEARCH_UPDATED, SEARCH_NAME };

static uint64_t compute_unknown_key(
	enum search search, const void *data, const struct train_params *all)
{
	return hash_u64(
		       hash_u64(search, (uintptr_t)data), all ? all->generation + UINT64_C(1) : 0) |
	       1;
}

/* False also if it is time to search again. */
static bool is_unknown(uint64_t key, uint32_t step)
{
	unsigned i = (unsigned)(key >> 32) % UNKNOWN_SLOTS;

	return atomic_load_explicit(&unknown[i].key, memory_order_acquire) == key &&
	       step < atomic_load_explicit(&unknown[i].again, memory_order_relaxed) >> 8;
}

/* The lock `looking` is held. */
static void record_unknown(uint64_t key, uint32_t step)
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

const struct train_param *ms_parameter_updated(
	const struct ms_updated *u, const struct train_params **all)
{
	const struct train_param *p;
	uint32_t step = step_now() + 1;
	bool found;

	*all = train_get_params();
	p = train_find_param_by_address(*all, u->parameter);
	if (p || !u->parameter ||
		is_unknown(compute_unknown_key(SEARCH_UPDATED, u->parameter, *all), step))
		return p;
	/*
	 * Kernels of other parameters wait for the thread that searches, which finds their
	 * parameters, too.
	 */
	pthread_mutex_lock(&search_lock);
	*all = train_get_params();
	p = train_find_param_by_address(*all, u->parameter);
	if (!p) {
		found = find_and_register_updated(u);
		*all = train_get_params();
		p = train_find_param_by_address(*all, u->parameter);
		if (!p && !found)
			record_unknown(
				compute_unknown_key(SEARCH_UPDATED, u->parameter, *all), step);
	}
	pthread_mutex_unlock(&search_lock);
	return p;
}

bool ms_copy_argument_name(const void *data, char *name, size_t size)
{
	uint64_t key = compute_unknown_key(SEARCH_NAME, data, train_get_params());
	uint32_t step = step_now() + 1;
	const struct argument *a;
	bool found;

	if (!data || is_unknown(key, step))
		return false;
	pthread_mutex_lock(&search_lock);
	a = update_arguments() ? find_argument(data) : NULL;
	found = a && strlen(a->name) < size;
	if (found)
		strcpy(name, a->name);
	else
		record_unknown(key, step);
	pthread_mutex_unlock(&search_lock);
	return found;
}
