/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/aclnn/acl_tensor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "journal/layout.h"

#define SHARDS 64u
#define TENSORS 256u /* slots per shard */
#define LISTS 16u
#define WINDOW 16u /* number of slots that can hold a handle */

static struct tensor_shard {
	pthread_mutex_t lock;
	struct acl_tensor t[TENSORS];
} tensors[SHARDS] = {[0 ... SHARDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static struct list_shard {
	pthread_mutex_t lock;
	struct acl_list {
		uint64_t handle, age, n;
		bool ending; /* as for a tensor */
		uint64_t item[ACL_LIST_MAX];
	} l[LISTS];
} lists[SHARDS] = {[0 ... SHARDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static _Atomic uint64_t made;

void acl_tensors_forked(void)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&tensors[i].lock, NULL);
		pthread_mutex_init(&lists[i].lock, NULL);
	}
}

/* ---- types ---- */

/* aclDataType of acl_base.h. Types without a name here are known by their size. */
static const struct {
	uint8_t dtype, size;
} types[] = {
	[0] = {DT_FLOAT32, 4},
	[1] = {DT_FLOAT16, 2},
	[2] = {DT_INT8, 1},
	[3] = {DT_INT32, 4},
	[4] = {DT_UINT8, 1},
	[6] = {DT_INT16, 2},
	[7] = {DT_UINT16, 2},
	[8] = {DT_UINT32, 4},
	[9] = {DT_INT64, 8},
	[10] = {DT_UINT64, 8},
	[11] = {DT_FLOAT64, 8},
	[12] = {DT_BOOL, 1},
	[16] = {DT_COMPLEX64, 8},
	[17] = {DT_COMPLEX128, 16},
	[27] = {DT_BFLOAT16, 2},
	[33] = {DT_OTHER, 4}, /* complex32 */
	[34] = {DT_OTHER, 1}, /* hifloat8 */
	[35] = {DT_FLOAT8_E5M2, 1},
	[36] = {DT_FLOAT8_E4M3FN, 1},
	[37] = {DT_OTHER, 1}, /* float8_e8m0 */
};

/* aclFormat: undefined, NCHW, NHWC, ND, NCDHW, NCL are stored element by element; others in blocks with gaps. */
static bool is_blocked_format(int32_t format)
{
	return format > 2 && format != 30 && format != 47;
}

/* ---- tensors ---- */

static struct tensor_shard *get_tensor_shard(uint64_t handle)
{
	return &tensors[hash_mix(handle) % SHARDS];
}

/*
 * Returns the slot of tensor `handle`, or NULL; with `make` a new slot is taken if there is none.
 * The lock is held.
 */
static struct acl_tensor *find_tensor_slot(struct tensor_shard *s, uint64_t handle, bool make)
{
	uint64_t first = hash_mix(handle) / SHARDS;
	struct acl_tensor *oldest = NULL;

	for (unsigned i = 0; i < WINDOW; i++) {
		struct acl_tensor *t = &s->t[(first + i) % TENSORS];

		if (t->handle == handle)
			return t;
		if (!oldest || (oldest->handle && (!t->handle || t->age < oldest->age)))
			oldest = t;
	}
	return make ? oldest : NULL;
}

static void set_acl_tensor(struct acl_tensor *t, const struct acl_tensor_args *a)
{
	bool fits = a->n <= ACL_DIMS_MAX,
	     known = a->type >= 0 && (size_t)a->type < sizeof(types) / sizeof(*types);
	int64_t next = 1;

	t->data = a->data;
	t->offset = a->offset;
	t->ndim = fits ? (uint8_t)a->n : JOURNAL_NDIM_NONE;
	t->dtype = known && types[a->type].size ? types[a->type].dtype : DT_OTHER;
	t->size = known ? types[a->type].size : 0;
	t->blocked = is_blocked_format(a->format);
	t->count = 1;
	for (uint64_t i = 0; i < a->n; i++)
		if (a->dims[i] < 0 ||
			__builtin_mul_overflow(t->count, (uint64_t)a->dims[i], &t->count))
			t->count = 0;
	for (uint64_t i = fits ? a->n : 0; i-- > 0;) {
		t->dims[i] = a->dims[i];
		t->strides[i] = a->strides ? a->strides[i] : next;
		if (__builtin_mul_overflow(next, a->dims[i], &next))
			next = 0;
	}
}

void acl_tensor_add(uint64_t handle, const struct acl_tensor_args *a)
{
	struct tensor_shard *s = get_tensor_shard(handle);
	struct acl_tensor *t;

	if (!handle || (a->n && !a->dims))
		return;
	pthread_mutex_lock(&s->lock);
	t = find_tensor_slot(s, handle, true);
	t->handle = handle;
	t->age = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
	t->ending = false;
	set_acl_tensor(t, a);
	pthread_mutex_unlock(&s->lock);
}

void acl_tensor_start_ending(uint64_t handle)
{
	struct tensor_shard *s = get_tensor_shard(handle);
	struct acl_tensor *t;

	if (!handle)
		return;
	pthread_mutex_lock(&s->lock);
	t = find_tensor_slot(s, handle, false);
	if (t)
		t->ending = true;
	pthread_mutex_unlock(&s->lock);
}

void acl_tensor_handle_ended(uint64_t handle, bool ended)
{
	struct tensor_shard *s = get_tensor_shard(handle);
	struct acl_tensor *t;

	if (!handle)
		return;
	pthread_mutex_lock(&s->lock);
	t = find_tensor_slot(s, handle, false);
	/* If `ending` is not set, the handle belongs to a new tensor by now. */
	if (t && t->ending) {
		t->handle = ended ? 0 : handle;
		t->ending = false;
	}
	pthread_mutex_unlock(&s->lock);
}

void acl_tensor_moved(uint64_t handle, const void *data)
{
	struct tensor_shard *s = get_tensor_shard(handle);
	struct acl_tensor *t;

	if (!handle)
		return;
	pthread_mutex_lock(&s->lock);
	t = find_tensor_slot(s, handle, false);
	if (t)
		t->data = data;
	pthread_mutex_unlock(&s->lock);
}

bool acl_tensor_get(uint64_t handle, struct acl_tensor *out)
{
	struct tensor_shard *s = get_tensor_shard(handle);
	const struct acl_tensor *t;

	if (!handle || handle % sizeof(void *))
		return false;
	pthread_mutex_lock(&s->lock);
	t = find_tensor_slot(s, handle, false);
	if (t && t->ending)
		t = NULL;
	if (t)
		*out = *t;
	pthread_mutex_unlock(&s->lock);
	return t != NULL;
}

/* ---- lists ---- */

static struct list_shard *get_list_shard(uint64_t handle)
{
	return &lists[hash_mix(handle) % SHARDS];
}

static struct acl_list *find_list_slot(struct list_shard *s, uint64_t handle, bool make)
{
	struct acl_list *oldest = &s->l[0];

	for (struct acl_list *l = s->l; l < s->l + LISTS; l++) {
		if (l->handle == handle)
			return l;
		if (oldest->handle && (!l->handle || l->age < oldest->age))
			oldest = l;
	}
	return make ? oldest : NULL;
}

void acl_list_add(uint64_t handle, const uint64_t *items, uint64_t n)
{
	struct list_shard *s = get_list_shard(handle);
	struct acl_list *l;

	if (!handle || (n && !items))
		return;
	pthread_mutex_lock(&s->lock);
	l = find_list_slot(s, handle, true);
	l->handle = handle;
	l->ending = false;
	l->age = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
	l->n = n;
	memcpy(l->item, items, (n < ACL_LIST_MAX ? n : ACL_LIST_MAX) * sizeof(*items));
	pthread_mutex_unlock(&s->lock);
}

static uint64_t read_list_items(uint64_t handle, uint64_t items[ACL_LIST_MAX], bool ending)
{
	struct list_shard *s = get_list_shard(handle);
	const struct acl_list *l;
	uint64_t n = 0;

	if (!handle || handle % sizeof(void *))
		return 0;
	pthread_mutex_lock(&s->lock);
	l = find_list_slot(s, handle, false);
	if (l && l->ending == ending) {
		n = l->n;
		memcpy(items, l->item, (n < ACL_LIST_MAX ? n : ACL_LIST_MAX) * sizeof(*items));
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

uint64_t acl_list_get(uint64_t handle, uint64_t items[ACL_LIST_MAX])
{
	return read_list_items(handle, items, false);
}

void acl_list_start_ending(uint64_t handle)
{
	struct list_shard *s = get_list_shard(handle);
	uint64_t items[ACL_LIST_MAX], n = acl_list_get(handle, items);
	struct acl_list *l;

	for (uint64_t i = 0; i < n && i < ACL_LIST_MAX; i++)
		acl_tensor_start_ending(items[i]);
	pthread_mutex_lock(&s->lock);
	l = handle ? find_list_slot(s, handle, false) : NULL;
	if (l)
		l->ending = true;
	pthread_mutex_unlock(&s->lock);
}

void acl_list_handle_ended(uint64_t handle, bool ended)
{
	struct list_shard *s = get_list_shard(handle);
	uint64_t items[ACL_LIST_MAX], n = read_list_items(handle, items, true);
	struct acl_list *l;

	for (uint64_t i = 0; i < n && i < ACL_LIST_MAX; i++)
		acl_tensor_handle_ended(items[i], ended);
	pthread_mutex_lock(&s->lock);
	l = handle ? find_list_slot(s, handle, false) : NULL;
	if (l && l->ending) {
		l->handle = ended ? 0 : handle;
		l->ending = false;
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- buffers ---- */

void acl_tensor_set_buffer(
	const struct acl_tensor *t, int64_t *dims, int64_t *strides, struct buffer *v)
{
	bool shaped = t->ndim != JOURNAL_NDIM_NONE;

	memcpy(dims, t->dims, sizeof(t->dims));
	memcpy(strides, t->strides, sizeof(t->strides));
	*v = (struct buffer){
		.base = t->data ? t->data + t->offset * t->size : NULL,
		.count = t->count,
		.bytes = t->count * t->size,
		.unit = t->size,
		.dtype = t->dtype,
		.layout = BUFFER_STRIDED,
		.nostats = t->dtype == DT_OTHER || t->blocked || !shaped || !t->data,
		.ndim = t->ndim,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.comm_seq = JOURNAL_NONE64,
		.n = shaped ? t->ndim : 0,
		.counts = dims,
		.displs = strides,
	};
}
