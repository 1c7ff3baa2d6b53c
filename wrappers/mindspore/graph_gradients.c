/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks gradients of a graph as its backward part has made them. A kernel that updates a
 * parameter gets the gradient after reduction and clipping. So libprobe tracks the content of
 * memory: memory written by a kernel of the backward part is measured when it is first passed to
 * a kernel of another part. If the output of that kernel has the same shape, it belongs to the
 * same gradient, and so on up to the update, which identifies the parameter. All kernels that
 * write are tracked, so that reused memory is noticed.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/log.h"
#include "call/step.h"
#include "journal/layout.h"
#include "training/params/kind.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/mindspore/layout/kernel_layout.h"
#include "wrappers/mindspore/kernel_values.h"

#define PLACES 65536u /* slots for pieces of memory; at most half of them are used */
#define MEASURED_MAX 32768u
#define LEARNED 16384u

/*
 * Content of a piece of memory: nothing of interest, a gradient that is not measured yet, several
 * gradients together, or (from FIRST_MEASURED on) the measured gradient with number `of` -
 * FIRST_MEASURED.
 */
enum { NOTHING, UNMEASURED, TOGETHER, FIRST_MEASURED };

struct held {
	const void *data;
	uint64_t key; /* of the kernel that wrote it; 0: not known */
	uint32_t generation; /* the slot is free if this differs from the current generation */
	uint32_t of;
};

struct measured {
	uint64_t key;
	struct train_value v; /* its pointers dims and names are not valid */
	uint64_t dims[CXX_DIMS_MAX];
};

/*
 * `measuring` is held by one kernel at a time while it measures; another kernel with the same
 * memory waits for it. It is taken before `lock`, a leaf, which is held for some look-ups. A
 * forked child initialises both again.
 */
static pthread_mutex_t measuring = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static struct held *places; /* PLACES, open addressing */
static struct measured *measured; /* MEASURED_MAX */
static uint32_t generation, occupied, nmeasured, step_of_all;
static bool full; /* reported once */
static _Atomic bool any; /* some memory is tracked in the current step */
/*
 * The parameter (id) whose gradient kernel `key` makes, learnt from earlier updates; used in
 * steps without an update.
 */
static struct {
	uint64_t key;
	uint32_t id;
} learned[LEARNED];

void ms_graph_gradients_forked(void)
{
	pthread_mutex_init(&measuring, NULL);
	pthread_mutex_init(&lock, NULL);
	generation++;
	occupied = nmeasured = 0;
	any = false;
}

bool ms_graph_gradients_wait(void)
{
	return any;
}

static void *map_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* The lock is held here and in all following functions up to put_held(). */
static void forget_all(void)
{
	generation++;
	occupied = nmeasured = 0;
	any = false;
	step_of_all = step_now();
}

static bool have_places(void)
{
	if (!places)
		places = map_pages(PLACES * sizeof(*places));
	if (!measured)
		measured = map_pages(MEASURED_MAX * sizeof(*measured));
	if (!generation || step_of_all != step_now())
		forget_all();
	return places && measured;
}

static struct held *held_at(const void *data)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)data) % PLACES;

	while (places[i].generation == generation && places[i].data != data)
		i = (i + 1) % PLACES;
	return &places[i];
}

static uint32_t what_is_held(const void *data)
{
	const struct held *h = held_at(data);

	return h->generation == generation ? h->of : NOTHING;
}

static void say_full(void)
{
	if (!full)
		log_loss(LOSS_ENTRY, "MindSpore: more gradients of graphs than there is room for: "
				     "some are not measured before reduction");
	full = true;
}

static void put_held(const void *data, uint32_t of, uint64_t key)
{
	struct held *h = held_at(data);
	bool fresh = h->generation != generation;

	if (fresh && of == NOTHING)
		return;
	if (fresh && occupied == PLACES / 2) {
		say_full();
		return;
	}
	occupied += fresh;
	*h = (struct held){data, key, generation, of};
}

/* ---- a kernel is about to run ---- */

static bool has_shape_of(const struct buffer *a, const struct buffer *b)
{
	return a->ndim == b->ndim && a->count == b->count &&
	       memcmp(a->counts, b->counts, a->ndim * sizeof(int64_t)) == 0;
}

static bool read_held_tensor(const struct kernel_tensors *t, size_t i, struct ms_seen *s)
{
	return (size_t)(t->end - t->begin) > i &&
	       ms_tensor_buffer(t->begin[i], &s->v, s->strides) && s->v.base && s->v.count;
}

/*
 * If MindSpore makes several kernels from one operator, their paths do not show which part they
 * belong to. Such a kernel belongs to the part of its inputs if its output has another shape (a
 * sum over a batch); otherwise it comes after that part (a factor).
 */
static bool is_backward_still(
	enum ms_place place, const struct ms_seen *in, const struct kernel_tensors *out)
{
	struct ms_seen s;

	return place == MS_PLACE_SHARED && read_held_tensor(out, 0, &s) &&
	       !has_shape_of(&in->v, &s.v);
}

static void measure_held(const struct kernel_tensors *in, unsigned i)
{
	struct measured m = {0};
	struct ms_seen s;
	struct held *h;
	bool wanted;

	if (!ms_see_tensor(in, i, &s))
		return;
	pthread_mutex_lock(&measuring);
	pthread_mutex_lock(&lock);
	h = held_at(s.v.base);
	wanted = h->generation == generation && h->of == UNMEASURED;
	m.key = h->key;
	pthread_mutex_unlock(&lock);
	if (wanted) {
		if (dtype_info(s.v.dtype)->cls == DTC_FLOAT)
			train_kind_measure(&m.v, &s.v);
		memcpy(m.dims, s.v.counts, s.v.ndim * sizeof(*m.dims));
		pthread_mutex_lock(&lock);
		if (m.v.stats.n && nmeasured < MEASURED_MAX) {
			put_held(s.v.base, FIRST_MEASURED + nmeasured, m.key);
			measured[nmeasured++] = m;
		} else {
			if (m.v.stats.n)
				say_full();
			put_held(s.v.base, TOGETHER, 0);
		}
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_unlock(&measuring);
}

void ms_graph_gradients_before(
	enum ms_place place, const struct kernel_tensors *in, const struct kernel_tensors *out)
{
	if (place == MS_PLACE_BACKWARD || !any)
		return;
	for (unsigned i = 0; i < in->end - in->begin; i++) {
		struct ms_seen s;
		bool unmeasured;

		if (!read_held_tensor(in, i, &s))
			continue;
		pthread_mutex_lock(&lock);
		unmeasured = have_places() && what_is_held(s.v.base) == UNMEASURED;
		pthread_mutex_unlock(&lock);
		if (unmeasured && !is_backward_still(place, &s, out))
			measure_held(in, i);
	}
}

/* ---- it has run ---- */

/*
 * The content of output j, by the inputs with its shape. alone: the kernel has one output, and
 * all inputs count, or for a single element the first one, because others are factors; otherwise
 * only input j counts.
 */
static uint32_t held_by_inputs(
	const struct kernel_tensors *in, unsigned j, bool alone, const struct buffer *out)
{
	uint32_t of = NOTHING;
	struct ms_seen s;

	for (unsigned i = alone ? 0 : j; i < in->end - in->begin; i++) {
		uint32_t one = NOTHING;

		if (read_held_tensor(in, i, &s) && has_shape_of(&s.v, out))
			one = what_is_held(s.v.base);
		if (one >= TOGETHER)
			of = of == NOTHING || of == one ? one : TOGETHER;
		if (!alone || out->count == 1)
			break;
	}
	return of;
}

static bool is_given_unmeasured(const struct kernel_tensors *in)
{
	struct ms_seen s;

	for (unsigned i = 0; i < in->end - in->begin; i++)
		if (read_held_tensor(in, i, &s) && what_is_held(s.v.base) == UNMEASURED)
			return true;
	return false;
}

void ms_graph_gradients_after(enum ms_place place, uint64_t key, bool updates,
	const struct kernel_tensors *in, const struct kernel_tensors *out)
{
	unsigned n = (unsigned)(out->end - out->begin);
	bool backward = place == MS_PLACE_BACKWARD;
	struct ms_seen s;

	pthread_mutex_lock(&lock);
	if (have_places()) {
		backward |= place == MS_PLACE_SHARED && is_given_unmeasured(in);
		any |= backward;
		for (unsigned j = 0; j < n && any; j++) {
			uint32_t of = UNMEASURED;

			if (!read_held_tensor(out, j, &s))
				continue;
			if (!backward)
				of = updates ? NOTHING : held_by_inputs(in, j, n == 1, &s.v);
			put_held(s.v.base, of, backward && key ? key + j : 0);
		}
	}
	pthread_mutex_unlock(&lock);
}

/* ---- the parameters of gradients ---- */

bool ms_graph_gradient_of(
	const void *data, const struct train_param *p, struct train_value *v, uint64_t *dims)
{
	uint32_t of;
	bool known = false;

	pthread_mutex_lock(&lock);
	of = any && have_places() ? what_is_held(data) : NOTHING;
	if (of >= FIRST_MEASURED) {
		const struct measured *m = &measured[of - FIRST_MEASURED];

		known = true;
		*v = m->v;
		memcpy(dims, m->dims, sizeof(m->dims));
		if (m->key) {
			learned[m->key % LEARNED].key = m->key;
			learned[m->key % LEARNED].id = p->id;
		}
	}
	pthread_mutex_unlock(&lock);
	return known;
}

uint32_t ms_graph_gradient_left(uint32_t *at, struct train_value *v, uint64_t *dims)
{
	uint32_t id = 0;

	pthread_mutex_lock(&lock);
	if (!any || !have_places())
		*at = nmeasured;
	while (*at < nmeasured && !id) {
		const struct measured *m = &measured[(*at)++];

		if (!m->key || learned[m->key % LEARNED].key != m->key)
			continue;
		id = learned[m->key % LEARNED].id;
		*v = m->v;
		memcpy(dims, m->dims, sizeof(m->dims));
	}
	pthread_mutex_unlock(&lock);
	return id;
}
