/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key use_skip_data_by_global_norm: withholds a step of an optimizer, and nothing else of the training. The decision:
 * training/steps/skip.h.
 *
 * Between the begin and the end of the step's mark the parameters have no gradients: each tensor's gradient pointer
 * (c10::TensorImpl::mutable_grad(), c10/core/TensorImpl.h) points to the undefined tensor meanwhile. Pointers are moved, no
 * reference count changes and no code of the program runs. Optimizers skip parameters without gradient, and have no state for
 * parameters that they never updated. At the end, also after an exception, each gradient is restored, unless the step has
 * computed a new one. Counters in the optimizer's param_groups are restored too.
 *
 * An optimizer that steps without gradients changes its parameters nevertheless. Those in host memory are compared, and if they
 * changed, no further step is withheld.
 *
 * Lock: `lock` (deciding) is held while files of other ranks are read; taken with no lock of libprobe held and without the GIL.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/data/view.h"
#include "elf/loaded/elfsym.h"
#include "journal/layout.h"
#include "session/state.h"
#include "training/steps/skip.h"
#include "wrappers/python/change.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/module_tree.h"
#include "wrappers/torch/names/optimizer_view.h"
#include "wrappers/torch/tensors/param_grad.h"
#include "wrappers/torch/act/step_guard.h"
#include "wrappers/torch/numbers/sure_norm.h"
#include "wrappers/torch/tensors/tensor.h"
#include "wrappers/torch/tensors/torch.h"
#include "wrappers/torch/tensors/train_observers.h"

#define MUTABLE_GRAD "_ZN3c1010TensorImpl12mutable_gradEv"
#define ARENA_BYTES ((size_t)256 << 20) /* address space; only the used part occupies memory */
#define NUMBER_BYTES 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Optimizers that record_skip_promise() has recorded: addresses, compared and never read. */
static const void *promised[SKIP_OPTIMIZERS];
static unsigned npromised;

/* Returns the address of a tensor's gradient pointer: an at::Tensor&. */
typedef const void **mutable_grad_fn(const void *impl);

struct removed_gradient {
	const void *impl, *grad;
};

/* An entry of a parameter group before the step, with a reference to each of its objects. */
struct group_entry {
	void *dict, *key, *value;
	void *number; /* address of the number in a tensor of one element in host memory */
	uint8_t old_bytes[NUMBER_BYTES], bytes;
	struct group_entry *next;
};

/* The step that is withheld on this thread. */
static THREAD_OWN struct {
	const void *record; /* of the step's mark; NULL: no step is withheld */
	struct arena arena;
	struct removed_gradient *grad;
	uint32_t n;
	struct group_entry *entries;
	const struct torch_optimizer_view *view;
	uint64_t weights;
	bool given_up; /* the step is not withheld after all */
} held;

static mutable_grad_fn *find_mutable_grad(void)
{
	static _Atomic(mutable_grad_fn *) found;
	mutable_grad_fn *f = atomic_load_explicit(&found, memory_order_relaxed);
	struct provider p;

	if (f || elfsym_find_all(MUTABLE_GRAD, &p, 1) <= 0 || p.ifunc)
		return f;
	f = (mutable_grad_fn *)p.addr;
	atomic_store_explicit(&found, f, memory_order_relaxed);
	return f;
}

static void stop_withholding(const char *why)
{
	pthread_mutex_lock(&lock);
	skip_stop(why);
	pthread_mutex_unlock(&lock);
}

/* ---- gradients ---- */

static void remove_step_gradients(const struct torch_optimizer_view *v)
{
	mutable_grad_fn *mutable_grad = find_mutable_grad();
	const void *undefined = torch_get_undefined();

	for (uint32_t i = 0; i < v->nparam; i++) {
		const void *impl = v->param[i].outer ? v->param[i].outer : v->param[i].impl;
		const void *grad = torch_get_grad(impl), **at;

		if (!grad || grad == undefined)
			continue;
		at = mutable_grad(impl);
		own(held).grad[own(held).n++] = (struct removed_gradient){impl, *at};
		*at = undefined;
	}
}

/* Restores the gradients. Returns how many the step has computed itself, which are kept. */
static uint32_t restore_removed_gradients(void)
{
	mutable_grad_fn *mutable_grad = find_mutable_grad();
	const void *undefined = torch_get_undefined();
	uint32_t made = 0;

	for (uint32_t i = 0; i < own(held).n; i++) {
		const void **at = mutable_grad(own(held).grad[i].impl);

		if (*at == undefined)
			*at = own(held).grad[i].grad;
		else
			made++;
	}
	own(held).n = 0;
	return made;
}

/*
 * True if mutable_grad() returns the address from which gradients are read, for the parameters of
 * v.
 */
static bool is_grad_pointer_known(const struct torch_optimizer_view *v)
{
	mutable_grad_fn *mutable_grad = find_mutable_grad();
	const void *undefined = torch_get_undefined();

	for (uint32_t i = 0; mutable_grad && undefined && i < v->nparam; i++) {
		const void *impl = v->param[i].outer ? v->param[i].outer : v->param[i].impl;
		const void *grad = torch_get_grad(impl);

		if (grad && grad != undefined)
			return *mutable_grad(impl) == grad;
	}
	return false;
}

/* ---- parameter groups ---- */

/*
 * Saves the entries of all groups except their parameters. Returns false if an entry could not be
 * restored later. The GIL is held.
 */
static bool copy_group_entries(const void *self)
{
	const void *groups = py_get_attribute(self, "param_groups"), *outer, *impl;
	struct tree t = {.arena = NULL};
	struct buffer b;

	tree_update_types(&t);
	for (size_t g = 0, n = groups ? py_get_item_count(groups) : 0; g < n; g++) {
		void *dict = py_get_item(groups, g), *k, *v;
		size_t at = 0;

		while (py_is_dict(dict) && py_get_next_entry(dict, &at, &k, &v)) {
			struct group_entry *e;

			if (!py_is_str(k) || py_has_text(k, "params"))
				continue;
			e = arena_add_bytes(&own(held).arena, sizeof(*e));
			if (!e)
				return false;
			*e = (struct group_entry){
				.dict = dict, .key = k, .value = v, .next = own(held).entries};
			impl = tree_get_tensor(&t, v, &outer);
			if (impl && torch_read_tensor(impl, &b) && b.count == 1 &&
				b.bytes <= NUMBER_BYTES) {
				/* A counter in device memory cannot be restored. */
				if (b.nostats && py_has_text(k, "step"))
					return false;
				if (!b.nostats && b.base) {
					e->number = (void *)(uintptr_t)b.base;
					e->bytes = (uint8_t)b.bytes;
					memcpy(e->old_bytes, b.base, b.bytes);
				}
			}
			py_add_reference(dict);
			py_add_reference(k);
			py_add_reference(v);
			own(held).entries = e;
		}
	}
	return true;
}

static bool is_entry_copied(const void *dict, const void *key)
{
	for (const struct group_entry *e = own(held).entries; e; e = e->next)
		if (e->dict == dict && e->key == key)
			return true;
	return false;
}

/*
 * Removes entries that the step has added, such as a counter at its start. One at a time, because
 * a dict must not change during iteration.
 */
static void remove_new_entries(void *dict)
{
	void *k, *v;
	bool more;

	do {
		size_t at = 0;

		more = false;
		while (!more && py_get_next_entry(dict, &at, &k, &v))
			more = py_is_str(k) && !py_has_text(k, "params") &&
			       !is_entry_copied(dict, k);
		if (more) {
			py_add_reference(k);
			more = py_remove_entry(dict, k);
			py_remove_reference(k);
		}
	} while (more);
}

static void *find_dict_value(const void *dict, const void *key)
{
	size_t at = 0;
	void *k, *v;

	while (py_get_next_entry(dict, &at, &k, &v))
		if (k == key)
			return v;
	return NULL;
}

static void set_copied_entries(void)
{
	const void *last = NULL;

	for (struct group_entry *e = own(held).entries; e; e = e->next) {
		if (e->dict != last)
			remove_new_entries(e->dict);
		last = e->dict;
		if (find_dict_value(e->dict, e->key) != e->value)
			py_set_entry(e->dict, e->key, e->value);
		if (e->number && memcmp(e->number, e->old_bytes, e->bytes) != 0)
			memcpy(e->number, e->old_bytes, e->bytes);
	}
}

/* The GIL is held. */
static void free_group_entries(void)
{
	for (struct group_entry *e = own(held).entries; e; e = e->next) {
		py_remove_reference(e->value);
		py_remove_reference(e->key);
		py_remove_reference(e->dict);
	}
	own(held).entries = NULL;
}

/* ---- weights ---- */

/* Hashes the parameters in host memory. */
static uint64_t compute_weights_hash(const struct torch_optimizer_view *v)
{
	uint64_t h = 1, word;
	struct buffer b;
	uintptr_t lo, hi;

	for (uint32_t i = 0; i < v->nparam; i++) {
		if (!torch_read_tensor(v->param[i].impl, &b) || b.nostats || !b.base ||
			!buffer_get_bounds(&b, &lo, &hi))
			continue;
		for (; hi - lo >= sizeof(word); lo += sizeof(word)) {
			memcpy(&word, (const void *)lo, sizeof(word));
			h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
			h ^= h >> 29;
		}
		for (; lo < hi; lo++)
			h = hash_u64(h, *(const uint8_t *)lo);
	}
	return h;
}

/* ---- the step ---- */

static void close_withheld_step(void)
{
	own(held).record = NULL;
	own(held).view = NULL;
	arena_close(&own(held).arena);
}

/* Starts to withhold the step. Returns false if nothing was changed. */
static bool start_withheld_step(
	const struct torch_train_event *e, const struct torch_optimizer_view *v, const void *self)
{
	struct py_object_lock hold;
	const char *why;
	bool ok;

	if (!arena_open(&own(held).arena, ARENA_BYTES))
		return false;
	own(held).n = 0;
	own(held).entries = NULL;
	own(held).given_up = false;
	own(held).grad = arena_add_bytes(
		&own(held).arena, ((size_t)v->nparam + 1) * sizeof(*own(held).grad));
	if (!own(held).grad || !py_lock_objects(&hold, &why)) {
		arena_close(&own(held).arena);
		return false;
	}
	ok = copy_group_entries(self);
	if (ok) {
		own(held).weights = compute_weights_hash(v);
		own(held).view = v;
		own(held).record = e->record;
		remove_step_gradients(v);
	} else {
		free_group_entries();
	}
	py_unlock_objects(&hold);
	if (!ok)
		arena_close(&own(held).arena);
	return ok;
}

static void handle_withheld_end(void)
{
	const char *why = NULL, *never;
	bool changed =
		!own(held).given_up && compute_weights_hash(own(held).view) != own(held).weights;
	uint32_t made = restore_removed_gradients();
	struct py_object_lock hold;
	char text[400];
	bool ends;

	if (changed)
		why = "a step without gradients changed the parameters nevertheless";
	else if (made)
		why = "a step that was withheld made gradients itself";
	pthread_mutex_lock(&lock);
	ends = skip_reached_limit(text, sizeof(text)) && !own(held).given_up;
	pthread_mutex_unlock(&lock);
	if (py_lock_objects(&hold, &never)) {
		if (!own(held).given_up)
			set_copied_entries();
		free_group_entries();
		if (ends && !py_set_value_error(text))
			log_info(1, "the job could not be ended: %s", text);
		py_unlock_objects(&hold);
	} else {
		/* The interpreter is ending: there will be no further step. */
		own(held).entries = NULL;
	}
	close_withheld_step();
	if (why)
		stop_withholding(why);
}

static struct step_check read_step_guard(void)
{
	struct step_check l = {.why = "Python's objects cannot be read"};
	struct py_object_lock hold;
	const char *why;

	if (py_lock_objects(&hold, &why)) {
		l = check_step_guard();
		py_unlock_objects(&hold);
	}
	return l;
}

/*
 * An optimizer steps inside the step of another one, which is withheld: functions called by the
 * inner step would find no gradients.
 */
static void check_inner_step(void)
{
	struct step_check l = read_step_guard();

	if (!l.why)
		return;
	if (own(held).record) {
		restore_removed_gradients();
		own(held).given_up = true;
	}
	stop_withholding(l.why);
}

static bool is_promised(const void *self)
{
	for (unsigned i = 0; i < npromised; i++)
		if (promised[i] == self)
			return true;
	return false;
}

static void check_step(const struct torch_train_event *e)
{
	const struct torch_optimizer_view *v = torch_get_optimizer();
	struct step_check l = read_step_guard();
	const char *why = l.why;
	enum sure_norm sure = UNSURE_NORM;
	double norm = 0;
	bool spikes;

	if (thread_state.phase == PHASE_BACKWARD)
		why = "step() is reached from inside a backward pass";
	if (!why && !v)
		why = "the optimizer cannot be read";
	if (!why)
		sure = sure_norm_read(v, &norm, &why);
	if (!why && sure == SURE_NORM && !is_grad_pointer_known(v))
		why = "the offset of gradients in this version of PyTorch is unknown";
	if (why) {
		stop_withholding(why);
		return;
	}
	if (sure == NO_GRADIENTS || l.scaler_skips_step)
		return;
	pthread_mutex_lock(&lock);
	spikes = skip_check_step(v->number, norm, is_promised(l.self));
	pthread_mutex_unlock(&lock);
	if (spikes && !start_withheld_step(e, v, l.self))
		stop_withholding("the step could not be withheld: no memory, or a number that it "
				 "counts lies in a device's memory");
}

static void handle_withhold_begin(const struct torch_train_event *e)
{
	struct fpenv env;

	/*
	 * session_start() takes locks of libprobe, which must not be waited for with the GIL
	 * held.
	 */
	if (skip_is_refused() || !session_start())
		return;
	skip_start();
	/* NaN norms raise floating-point flags, or trap. */
	fpenv_enter(&env);
	if (e->outermost)
		check_step(e);
	else
		check_inner_step();
	fpenv_leave(&env);
}

static void handle_withhold_end(const struct torch_train_event *e)
{
	struct fpenv env;

	if (!own(held).record || own(held).record != e->record)
		return;
	fpenv_enter(&env);
	handle_withheld_end();
	fpenv_leave(&env);
}

/*
 * The gradients of this pass are reduced after the pass has begun, so each rank reads the other
 * ranks' promises during the pass.
 */
static void record_first_promise(void)
{
	const void *found[SKIP_OPTIMIZERS];
	struct py_object_lock hold;
	const char *why;
	unsigned n = 0;
	bool needed;

	pthread_mutex_lock(&lock);
	needed = is_skip_promise_due();
	pthread_mutex_unlock(&lock);
	if (!needed)
		return;
	if (find_mutable_grad() && py_lock_objects(&hold, &why)) {
		n = find_optimizers_ahead(found, SKIP_OPTIMIZERS);
		py_unlock_objects(&hold);
	}
	pthread_mutex_lock(&lock);
	memcpy(promised, found, n * sizeof(*found));
	npromised = n;
	record_skip_promise(n);
	pthread_mutex_unlock(&lock);
}

static void handle_withhold_pass(const struct torch_train_event *e)
{
	if (!e->outermost || !e->accumulates)
		return;
	sure_norm_reset();
	if (!session_start())
		return;
	skip_start();
	record_first_promise();
}

static bool is_withholding_wanted(void)
{
	return skip_is_wanted();
}

void torch_withhold_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	/* The child may not see the end of the mark. */
	if (own(held).record) {
		restore_removed_gradients();
		own(held).entries = NULL;
		close_withheld_step();
	}
	npromised = 0;
}

const struct torch_train_observer withhold_observer = {
	.wanted = is_withholding_wanted,
	.backward_begin = handle_withhold_pass,
	.optimizer_begin = handle_withhold_begin,
	.optimizer_end = handle_withhold_end,
};
