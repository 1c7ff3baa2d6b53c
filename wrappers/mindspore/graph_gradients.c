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

struct memory_content {
	const void *data;
	uint64_t key; /* of the kernel that wrote it; 0: not known */
	uint32_t generation; /* the slot is free if this differs from the current generation */
	uint32_t content_number;
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
static struct memory_content *contents; /* PLACES, open addressing */
static struct measured *measured; /* MEASURED_MAX */
static uint32_t generation, occupied, nmeasured, step_of_all;
static bool full; /* reported once */
static _Atomic bool any; /* some memory is tracked in the current step */
/*
 * The parameter (id) whose gradient is computed by kernel `key`, as seen at earlier updates. Used in steps without an
 * update.
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

bool ms_has_graph_gradients(void)
{
	return any;
}

static void *map_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* The lock is held here and in all following functions up to set_content(). */
static void reset_contents(void)
{
	generation++;
	occupied = nmeasured = 0;
	any = false;
	step_of_all = step_now();
}

static bool open_contents(void)
{
	if (!contents)
		contents = map_pages(PLACES * sizeof(*contents));
	if (!measured)
		measured = map_pages(MEASURED_MAX * sizeof(*measured));
	if (!generation || step_of_all != step_now())
		reset_contents();
	return contents && measured;
}

static struct memory_content *find_content_slot(const void *data)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)data) % PLACES;

	while (contents[i].generation == generation && contents[i].data != data)
		i = (i + 1) % PLACES;
	return &contents[i];
}

static uint32_t get_content(const void *data)
{
	const struct memory_content *h = find_content_slot(data);

	return h->generation == generation ? h->content_number : NOTHING;
}

static void handle_full_table(void)
{
	if (!full)
		log_loss(LOSS_ENTRY, "MindSpore: too many gradients of graphs: "
				     "some are not measured before reduction");
	full = true;
}

static void set_content(const void *data, uint32_t content_number, uint64_t key)
{
	struct memory_content *h = find_content_slot(data);
	bool fresh = h->generation != generation;

	if (fresh && content_number == NOTHING)
		return;
	if (fresh && occupied == PLACES / 2) {
		handle_full_table();
		return;
	}
	occupied += fresh;
	*h = (struct memory_content){data, key, generation, content_number};
}

/* ---- a kernel is about to run ---- */

static bool has_shape_of(const struct buffer *a, const struct buffer *b)
{
	return a->ndim == b->ndim && a->count == b->count &&
	       memcmp(a->counts, b->counts, a->ndim * sizeof(int64_t)) == 0;
}

static bool read_held_tensor(const struct kernel_tensors *t, size_t i, struct ms_tensor_view *s)
{
	return (size_t)(t->end - t->begin) > i &&
	       ms_read_tensor_buffer(t->begin[i], &s->v, s->strides) && s->v.base && s->v.count;
}

/*
 * If MindSpore makes several kernels from one operator, their paths do not show which part they
 * belong to. Such a kernel belongs to the part of its inputs if its output has another shape (a
 * sum over a batch); otherwise it comes after that part (a factor).
 */
static bool is_part_of_backward(
	enum ms_place place, const struct ms_tensor_view *in, const struct kernel_tensors *out)
{
	struct ms_tensor_view s;

	return place == MS_PLACE_SHARED && read_held_tensor(out, 0, &s) &&
	       !has_shape_of(&in->v, &s.v);
}

static void measure_held(const struct kernel_tensors *in, unsigned i)
{
	struct measured m = {0};
	struct ms_tensor_view s;
	struct memory_content *h;
	bool wanted;

	if (!ms_read_kernel_tensor(in, i, &s))
		return;
	pthread_mutex_lock(&measuring);
	pthread_mutex_lock(&lock);
	h = find_content_slot(s.v.base);
	wanted = h->generation == generation && h->content_number == UNMEASURED;
	m.key = h->key;
	pthread_mutex_unlock(&lock);
	if (wanted) {
		if (get_dtype_info(s.v.dtype)->cls == DTC_FLOAT)
			train_kind_measure(&m.v, &s.v);
		memcpy(m.dims, s.v.counts, s.v.ndim * sizeof(*m.dims));
		pthread_mutex_lock(&lock);
		if (m.v.stats.n && nmeasured < MEASURED_MAX) {
			set_content(s.v.base, FIRST_MEASURED + nmeasured, m.key);
			measured[nmeasured++] = m;
		} else {
			if (m.v.stats.n)
				handle_full_table();
			set_content(s.v.base, TOGETHER, 0);
		}
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_unlock(&measuring);
}

void ms_handle_gradients_before(
	enum ms_place place, const struct kernel_tensors *in, const struct kernel_tensors *out)
{
	if (place == MS_PLACE_BACKWARD || !any)
		return;
	for (unsigned i = 0; i < in->end - in->begin; i++) {
		struct ms_tensor_view s;
		bool unmeasured;

		if (!read_held_tensor(in, i, &s))
			continue;
		pthread_mutex_lock(&lock);
		unmeasured = open_contents() && get_content(s.v.base) == UNMEASURED;
		pthread_mutex_unlock(&lock);
		if (unmeasured && !is_part_of_backward(place, &s, out))
			measure_held(in, i);
	}
}

/* ---- a kernel has run ---- */

/*
 * The content of output j, by the inputs with its shape. alone: the kernel has one output, and
 * all inputs count, or for a single element the first one, because others are factors; otherwise
 * only input j counts.
 */
static uint32_t find_content_of_inputs(
	const struct kernel_tensors *in, unsigned j, bool alone, const struct buffer *out)
{
	uint32_t content_number = NOTHING;
	struct ms_tensor_view s;

	for (unsigned i = alone ? 0 : j; i < in->end - in->begin; i++) {
		uint32_t one = NOTHING;

		if (read_held_tensor(in, i, &s) && has_shape_of(&s.v, out))
			one = get_content(s.v.base);
		if (one >= TOGETHER)
			content_number =
				content_number == NOTHING || content_number == one ? one : TOGETHER;
		if (!alone || out->count == 1)
			break;
	}
	return content_number;
}

static bool has_unmeasured_input(const struct kernel_tensors *in)
{
	struct ms_tensor_view s;

	for (unsigned i = 0; i < in->end - in->begin; i++)
		if (read_held_tensor(in, i, &s) && get_content(s.v.base) == UNMEASURED)
			return true;
	return false;
}

void ms_handle_gradients_after(enum ms_place place, uint64_t key, bool updates,
	const struct kernel_tensors *in, const struct kernel_tensors *out)
{
	unsigned n = (unsigned)(out->end - out->begin);
	bool backward = place == MS_PLACE_BACKWARD;
	struct ms_tensor_view s;

	pthread_mutex_lock(&lock);
	if (open_contents()) {
		backward |= place == MS_PLACE_SHARED && has_unmeasured_input(in);
		any |= backward;
		for (unsigned j = 0; j < n && any; j++) {
			uint32_t content_number = UNMEASURED;

			if (!read_held_tensor(out, j, &s))
				continue;
			if (!backward)
				content_number =
					updates ? NOTHING
						: find_content_of_inputs(in, j, n == 1, &s.v);
			set_content(s.v.base, content_number, backward && key ? key + j : 0);
		}
	}
	pthread_mutex_unlock(&lock);
}

/* ---- the parameters of gradients ---- */

bool ms_find_graph_gradient(
	const void *data, const struct train_param *p, struct train_value *v, uint64_t *dims)
{
	uint32_t content_number;
	bool known = false;

	pthread_mutex_lock(&lock);
	content_number = any && open_contents() ? get_content(data) : NOTHING;
	if (content_number >= FIRST_MEASURED) {
		const struct measured *m = &measured[content_number - FIRST_MEASURED];

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

uint32_t ms_get_next_gradient(uint32_t *at, struct train_value *v, uint64_t *dims)
{
	uint32_t id = 0;

	pthread_mutex_lock(&lock);
	if (!any || !open_contents())
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
