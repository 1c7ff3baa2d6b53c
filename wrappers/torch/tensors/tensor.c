/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/tensors/tensor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "elf/loaded/elfsym.h"
#include "call/data/observer.h"
#include "journal/layout.h"
#include "elf/memory.h"
#include "life/life.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/tensors/torch.h"

/* c10::ScalarType (ScalarType.h of 2.15). The size of later types is queried from PyTorch. */
static const struct {
	uint8_t dtype, size;
} scalar_types[] = {
	[0] = {DT_UINT8, 1},
	[1] = {DT_INT8, 1},
	[2] = {DT_INT16, 2},
	[3] = {DT_INT32, 4},
	[4] = {DT_INT64, 8},
	[5] = {DT_FLOAT16, 2},
	[6] = {DT_FLOAT32, 4},
	[7] = {DT_FLOAT64, 8},
	[8] = {DT_OTHER, 4}, /* complex32 */
	[9] = {DT_COMPLEX64, 8},
	[10] = {DT_COMPLEX128, 16},
	[11] = {DT_BOOL, 1},
	[12] = {DT_OTHER, 1}, /* qint8, quint8, qint32 */
	[13] = {DT_OTHER, 1},
	[14] = {DT_OTHER, 4},
	[15] = {DT_BFLOAT16, 2},
	[16] = {DT_OTHER, 1}, /* quint4x2, quint2x4, bits1x8, bits2x4, bits4x2, bits8, bits16 */
	[17] = {DT_OTHER, 1},
	[18] = {DT_OTHER, 1},
	[19] = {DT_OTHER, 1},
	[20] = {DT_OTHER, 1},
	[21] = {DT_OTHER, 1},
	[22] = {DT_OTHER, 2},
	[23] = {DT_FLOAT8_E5M2, 1},
	[24] = {DT_FLOAT8_E4M3FN, 1},
	[25] = {DT_FLOAT8_E5M2FNUZ, 1},
	[26] = {DT_FLOAT8_E4M3FNUZ, 1},
	[27] = {DT_UINT16, 2},
	[28] = {DT_UINT32, 4},
	[29] = {DT_UINT64, 8},
	/* 30 to 43: integers of 1 to 7 bits. Before 2.8, 44 means "no type". */
	[44] = {DT_FLOAT8_E8M0FNU, 1},
	[45] = {DT_FLOAT4_E2M1FN_X2, 1},
};
#define NTYPES (sizeof(scalar_types) / sizeof(*scalar_types))

/*
 * caffe2::TypeMeta::typeMetaDatas() returns an array with a record for each type, which begins
 * with the size of an element (c10/util/typeid.h).
 */
#define META_BYTES 72
#define META_CHECKED 12 /* uint8 to bool: their sizes confirm the known layout of the records */

/* The size of an element as PyTorch returns it; 0 if not available. */
static unsigned read_element_size(unsigned type)
{
	const char *(*records)(void);
	const uint16_t *next = elfsym_find_data("_ZN6caffe28TypeMeta13nextTypeIndexE");
	const char *first;
	uint64_t size;

	*(void **)&records = torch_find_function("_ZN6caffe28TypeMeta13typeMetaDatasEv");
	if (!records || !next || type >= *next)
		return 0;
	first = records();
	for (unsigned i = 0; i < META_CHECKED; i++) {
		memcpy(&size, first + META_BYTES * i, sizeof(size));
		if (size != scalar_types[i].size)
			return 0;
	}
	memcpy(&size, first + META_BYTES * type, sizeof(size));
	return size <= UINT16_MAX ? (unsigned)size : 0;
}

/* Bytes of an element; 0 if not known. */
static unsigned get_element_size(unsigned type)
{
	enum { ASKED = 256 };
	static _Atomic uint32_t asked[ASKED]; /* size + 1; 0: not queried yet */
	uint32_t known;

	if (type < NTYPES && scalar_types[type].size)
		return scalar_types[type].size;
	if (type >= ASKED)
		return read_element_size(type);
	known = atomic_load_explicit(&asked[type], memory_order_relaxed);
	if (!known) {
		known = read_element_size(type) + 1;
		atomic_store_explicit(&asked[type], known, memory_order_relaxed);
	}
	return known - 1;
}

/*
 * TensorImpl relative to its key_set_ (K): the same distances in 1.13, 2.6, 2.13, 2.14 on x86-64 and aarch64.
 * Sources: c10/core/TensorImpl.h, SizesAndStrides.h, StorageImpl.h, compiled with offsetof.
 */
#define AT_OBJECT (-120) /* its PyObject; the low bits are flags */
#define AT_NDIM (-112) /* size_t */
/* int64_t[5]; with more dimensions a pointer to sizes followed by strides */
#define AT_SIZES (-104)
#define AT_STRIDES (-64)
#define AT_OFFSET (-24) /* int64_t, elements */
#define AT_NUMEL (-16)
#define AT_TYPE (-8) /* uint16_t */
#define AT_DEVICE (-6) /* int8_t type, index; bool: there is one. In 1.13 the bool comes first */
#define AT_FLAGS0 (-3) /* bit 1: storage access throws */
#define AT_FLAGS1 (-2) /* bits 2-3: policy for sizes and strides (0: as stored), bit 4: symbolic */
#define INLINE_DIMS 5
#define OLD_K 184 /* 1.13 */
#define NDIM_MAX 64
#define CPU 0
#define CUDA 1
#define NO_DEVICE (-1)
#define STORAGE_BYTES 32 /* StorageImpl: from its data pointer to its size */

static struct {
	int64_t key_set; /* offset of K */
	/*
	 * Size in bytes of the header of each reference-counted object (pointer to its virtual
	 * functions, reference counts): 24 in 1.13, then 16.
	 */
	int64_t header;
	/* engaged: flag after AT_DEVICE which says that the device's type is set */
	int device, engaged;
} layout;

enum { UNKNOWN, KNOWN, REFUSED };
static _Atomic int state;
static const void *undefined; /* the single TensorImpl of all undefined tensors */
/* a leaf; only ever tried, never waited for; a forked child initialises it again */
static pthread_mutex_t learning = PTHREAD_MUTEX_INITIALIZER;

#define FIELD(impl, type, at) (*(const type *)((const char *)(impl) + layout.key_set + (at)))

static inline const int64_t *get_sizes(const void *impl, uint64_t ndim)
{
	const int64_t *in = &FIELD(impl, int64_t, AT_SIZES);

	return ndim <= INLINE_DIMS ? in : *(const int64_t *const *)in;
}

static inline const int64_t *get_strides(const void *impl, uint64_t ndim)
{
	return ndim <= INLINE_DIMS ? &FIELD(impl, int64_t, AT_STRIDES)
				   : get_sizes(impl, ndim) + ndim;
}

static inline const void *get_storage(const void *impl)
{
	return *(const void *const *)((const char *)impl + layout.header);
}

static inline const char *get_storage_data(const void *storage)
{
	return *(const char *const *)((const char *)storage + layout.header);
}

static inline uint64_t get_storage_bytes(const void *storage)
{
	return *(const uint64_t *)((const char *)storage + layout.header + STORAGE_BYTES);
}

/* ---- finding the layout ---- */

void *torch_find_function(const char *name)
{
	struct provider p;

	return elfsym_find_all(name, &p, 1) > 0 && !p.ifunc ? p.addr : NULL;
}

/*
 * True if impl, with K at offset k, looks like a plain tensor of 1 to 5 dimensions with elements.
 */
static bool is_plausible_offset(const void *impl, int64_t k)
{
	const char *at = (const char *)impl + k;
	uint64_t ndim;
	int64_t numel = 1, want;
	const int64_t *size = (const int64_t *)(at + AT_SIZES),
		      *stride = (const int64_t *)(at + AT_STRIDES);

	memcpy(&ndim, at + AT_NDIM, 8);
	if (ndim < 1 || ndim > INLINE_DIMS)
		return false;
	for (uint64_t i = 0; i < ndim; i++) {
		if (size[i] < 1 || size[i] > INT32_MAX || stride[i] < 0)
			return false;
		if (__builtin_mul_overflow(numel, size[i], &numel))
			return false;
	}
	memcpy(&want, at + AT_NUMEL, 8);
	if (numel != want || *(const int64_t *)(at + AT_OFFSET) < 0)
		return false;
	if (*(const uint16_t *)(at + AT_TYPE) > 60 || at[AT_DEVICE + (k == OLD_K)] < 0 ||
		at[AT_DEVICE + (k == OLD_K ? 0 : 2)] != 1)
		return false;
	return !(at[AT_FLAGS0] & 2) && !(at[AT_FLAGS1] & 0x1c);
}

/* A tensor's properties as the library's functions return them, for comparison. */
struct tensor_properties {
	const int64_t *sizes, *strides;
	int64_t ndim, offset, storage_bytes;
	int32_t type;
	const void *data;
};

typedef int get_fn(const void *tensor, void *out);

static bool read_tensor_property(const char *name, const void *tensor, void *out)
{
	get_fn *f = (get_fn *)torch_find_function(name);

	return f && f(tensor, out) == 0;
}

static bool read_aoti_properties(const void *tensor, struct tensor_properties *t)
{
	t->ndim = t->type = -1;
	if (!read_tensor_property("torch_get_const_data_ptr", tensor, &t->data) &&
		!read_tensor_property("aoti_torch_get_data_ptr", tensor, &t->data))
		return false;
	read_tensor_property("aoti_torch_get_dim", tensor, &t->ndim); /* 2.4 and later */
	read_tensor_property("aoti_torch_get_dtype", tensor, &t->type);
	return read_tensor_property("aoti_torch_get_sizes", tensor, &t->sizes) &&
	       read_tensor_property("aoti_torch_get_strides", tensor, &t->strides) &&
	       read_tensor_property("aoti_torch_get_storage_offset", tensor, &t->offset) &&
	       read_tensor_property("aoti_torch_get_storage_size", tensor, &t->storage_bytes);
}

/* The part of dlpack.h (0.2 to 0.8) that has never changed. */
struct dl_tensor {
	void *data;
	int32_t device_type, device_id;
	int32_t ndim;
	struct {
		uint8_t code, bits;
		uint16_t lanes;
	} dtype;
	int64_t *shape, *strides;
	uint64_t byte_offset;
	void *manager;
	void (*deleter)(struct dl_tensor *self);
};

static bool has_same_dims(const int64_t *a, const int64_t *b, uint64_t n)
{
	return memcmp(a, b, n * sizeof(*a)) == 0;
}

static bool is_same_as_dlpack(const void *tensor, const void *impl)
{
	struct dl_tensor *(*to)(const void *) = (struct dl_tensor * (*)(const void *))
		torch_find_function("_ZN2at8toDLPackERKNS_6TensorE");
	uint64_t ndim = FIELD(impl, uint64_t, AT_NDIM);
	struct dl_tensor *d = to ? to(tensor) : NULL;
	int64_t size = get_element_size(FIELD(impl, uint16_t, AT_TYPE));
	bool same;

	if (!d)
		return false;
	/* Newer versions normalise strides of dimensions of length 1; data points past the offset. */
	same = get_storage_bytes(get_storage(impl)) >> 48 == 0 && d->ndim == (int32_t)ndim &&
	       has_same_dims(d->shape, get_sizes(impl, ndim), ndim) && size &&
	       d->dtype.bits == 8 * size &&
	       (const char *)d->data ==
		       get_storage_data(get_storage(impl)) + FIELD(impl, int64_t, AT_OFFSET) * size;
	d->deleter(d);
	return same;
}

static bool is_layout_confirmed(const void *tensor, const void *impl)
{
	uint64_t ndim = FIELD(impl, uint64_t, AT_NDIM);
	unsigned type = FIELD(impl, uint16_t, AT_TYPE);
	int64_t offset = FIELD(impl, int64_t, AT_OFFSET), size = get_element_size(type);
	const void *storage = get_storage(impl);
	struct tensor_properties t;

	if (!is_memory_readable((uintptr_t)storage + (uintptr_t)layout.header) ||
		!is_memory_readable((uintptr_t)storage + (uintptr_t)layout.header + STORAGE_BYTES))
		return false;
	if (!torch_find_function("aoti_torch_get_sizes"))
		return is_same_as_dlpack(tensor, impl);
	return read_aoti_properties(tensor, &t) && t.sizes == get_sizes(impl, ndim) &&
	       t.strides == get_strides(impl, ndim) && t.offset == offset &&
	       (t.ndim < 0 || t.ndim == (int64_t)ndim) && (t.type < 0 || t.type == (int32_t)type) &&
	       size && (uint64_t)t.storage_bytes == get_storage_bytes(storage) &&
	       (const char *)t.data == get_storage_data(storage) + offset * size;
}

static void handle_unknown_layout(void)
{
	atomic_store(&state, REFUSED);
	session_record_layout_fact(LAYOUT_TORCH_TENSOR, false);
	log_loss(LOSS_ENTRY, "PyTorch: the layout of tensors in this version is unknown: calls are "
			     "recorded without their tensors; update libprobe");
}

/* Tries to find the layout from tensor impl; a tensor that is not plain enough decides nothing. */
static void find_layout(const void *impl)
{
	static const int64_t candidates[] = {168, 176, OLD_K};
	static unsigned wrong;
	const void *handle = impl; /* an at::Tensor is a pointer to its TensorImpl */
	int64_t found = 0;

	for (unsigned i = 0; i < sizeof(candidates) / sizeof(*candidates); i++) {
		if (!is_plausible_offset(impl, candidates[i]))
			continue;
		if (found)
			return; /* ambiguous: a later tensor will decide */
		found = candidates[i];
	}
	if (!found)
		return;
	if (pthread_mutex_trylock(&learning))
		return;
	if (atomic_load(&state) == UNKNOWN) {
		undefined = elfsym_find_data("_ZN3c1019UndefinedTensorImpl10_singletonE");
		layout.key_set = found;
		layout.header = found == OLD_K ? 24 : 16;
		layout.device = found == OLD_K;
		layout.engaged = found == OLD_K ? 0 : 2;
		if (undefined && is_layout_confirmed(&handle, impl)) {
			atomic_store_explicit(&state, KNOWN, memory_order_release);
			session_record_layout_fact(LAYOUT_TORCH_TENSOR, true);
		} else if (!undefined || ++wrong == 16) {
			handle_unknown_layout();
		}
	}
	pthread_mutex_unlock(&learning);
}

bool torch_tensor_decided(void)
{
	return atomic_load_explicit(&state, memory_order_relaxed) != UNKNOWN;
}

int torch_get_header_bytes(void)
{
	return atomic_load_explicit(&state, memory_order_acquire) == KNOWN ? (int)layout.header : 0;
}

void torch_tensor_forked(void)
{
	pthread_mutex_init(&learning, NULL);
}

/* ---- views ---- */

/* True if all elements are within the storage. */
static bool is_inside_storage(const struct buffer *v, int64_t offset, uint64_t size, uint64_t bytes)
{
	const int64_t *sizes = v->counts, *strides = v->displs;
	int64_t last = offset, end;

	if (offset < 0)
		return false;
	for (uint32_t i = 0; i < v->n; i++) {
		int64_t far;

		if (strides[i] < 0 || __builtin_mul_overflow(sizes[i] - 1, strides[i], &far) ||
			__builtin_add_overflow(last, far, &last))
			return false;
	}
	return !__builtin_mul_overflow(last + 1, (int64_t)size, &end) && (uint64_t)end <= bytes;
}

/* c10::DeviceType; NO_DEVICE if the tensor has none. */
static int get_device_type(const void *impl)
{
	if (!FIELD(impl, uint8_t, AT_DEVICE + layout.engaged))
		return NO_DEVICE;
	return FIELD(impl, int8_t, AT_DEVICE + layout.device);
}

/* Address of the tensor's elements, in any memory; NULL if it has none that could be read. */
static const void *find_elements(const void *impl, const struct buffer *v, unsigned size)
{
	if (FIELD(impl, uint8_t, AT_FLAGS1) & 0x0c || FIELD(impl, uint8_t, AT_FLAGS0) & 2 ||
		!v->count)
		return NULL;

	const void *storage = get_storage(impl);
	int64_t offset = FIELD(impl, int64_t, AT_OFFSET);
	const char *data = storage ? get_storage_data(storage) : NULL;

	/* Fake tensors and wrappers around others have a storage without content. */
	if (!data || !is_inside_storage(v, offset, size, get_storage_bytes(storage)))
		return NULL;
	return data + offset * (int64_t)size;
}

bool torch_read_tensor(const void *impl, struct buffer *v)
{
	uint64_t ndim;
	unsigned type;

	if (!impl)
		return false;
	if (__builtin_expect(atomic_load_explicit(&state, memory_order_acquire) != KNOWN, 0)) {
		if (atomic_load(&state) == UNKNOWN)
			find_layout(impl);
		if (atomic_load(&state) != KNOWN)
			return false;
	}
	if (impl == undefined)
		return false;

	uint8_t flags1 = FIELD(impl, uint8_t, AT_FLAGS1);

	ndim = FIELD(impl, uint64_t, AT_NDIM);
	type = FIELD(impl, uint16_t, AT_TYPE);
	if (flags1 & 0x10 || (flags1 & 0x0c) == 0x08 || ndim > NDIM_MAX)
		return false;

	unsigned size = get_element_size(type);
	int64_t count = FIELD(impl, int64_t, AT_NUMEL);

	*v = (struct buffer){
		.count = count > 0 ? (uint64_t)count : 0,
		.bytes = count > 0 ? (uint64_t)count * size : 0,
		.dtype = type < NTYPES ? scalar_types[type].dtype : DT_OTHER,
		.layout = BUFFER_STRIDED,
		.nostats = 1,
		.ndim = (uint8_t)ndim,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.comm_seq = JOURNAL_NONE64,
		.n = (uint32_t)ndim,
		.counts = get_sizes(impl, ndim),
		.displs = get_strides(impl, ndim),
	};
	if (size && get_device_type(impl) == CPU && (v->base = find_elements(impl, v, size)))
		v->nostats = v->dtype == DT_OTHER;
	return true;
}

bool torch_set_device_address(const void *impl, struct buffer *v)
{
	unsigned size = get_dtype_info(v->dtype)->size;
	int8_t device;

	if (!v->nostats || v->base || !size || get_device_type(impl) != CUDA)
		return false;
	device = FIELD(impl, int8_t, AT_DEVICE + layout.device + 1);
	v->base = device < 0 ? NULL : find_elements(impl, v, size);
	if (!v->base)
		return false;
	v->device = (uint8_t)(device + 1);
	v->nostats = 0;
	return true;
}

struct torch_list torch_read_vector(const void *vector)
{
	void *const *const *p = vector;

	return (struct torch_list){p[0], (uint64_t)(p[1] - p[0])};
}

uint64_t torch_get_vector_count(const void *vectors)
{
	const char *const *p = vectors;

	return (uint64_t)(p[1] - p[0]) / 24;
}

struct torch_list torch_get_vector(const void *vectors, uint64_t i)
{
	return torch_read_vector(*(const char *const *)vectors + 24 * i);
}

/* ---- as objects of Python ---- */

#define OBJECT_FLAGS ((uintptr_t)7)

static bool is_object_of_tensor(const void *impl, int64_t k, const void *object)
{
	uintptr_t at = (uintptr_t)impl + (uintptr_t)(k + AT_OBJECT);

	return is_memory_readable(at) &&
	       (*(const uintptr_t *)at & ~OBJECT_FLAGS) == (uintptr_t)object;
}

const void *torch_get_tensor_of_object(const void *object)
{
	/* THPVariable: the tensor, with a flag in front of it before 2.9. */
	static const uint8_t places[] = {16, 24};
	static const int64_t candidates[] = {168, 176, OLD_K};
	bool known = atomic_load_explicit(&state, memory_order_acquire) == KNOWN;

	for (unsigned i = 0; i < sizeof(places); i++) {
		const void *impl = *(const void *const *)((const char *)object + places[i]);

		if (!impl || (uintptr_t)impl & 7 || !is_memory_readable((uintptr_t)impl))
			continue;
		if (known && is_object_of_tensor(impl, layout.key_set, object))
			return impl;
		for (unsigned k = 0; !known && k < 3; k++)
			if (is_object_of_tensor(impl, candidates[k], object))
				return impl;
	}
	return NULL;
}

const void *torch_get_python_object(const void *impl)
{
	if (atomic_load_explicit(&state, memory_order_acquire) != KNOWN)
		return NULL;
	return (const void *)(FIELD(impl, uintptr_t, AT_OBJECT) & ~OBJECT_FLAGS);
}

bool torch_is_grad_required(const void *impl)
{
	static _Atomic(bool (*)(const void *)) found;
	bool (*get)(const void *) = atomic_load_explicit(&found, memory_order_relaxed);

	if (!get) {
		*(void **)&get = torch_find_function("_ZNK3c1010TensorImpl13requires_gradEv");
		if (!get)
			return true;
		atomic_store_explicit(&found, get, memory_order_relaxed);
	}
	return get(impl);
}

void torch_set_grad_flag(const void *impl, struct buffer *v)
{
	if (__builtin_expect(tensor_watch.grad, 0))
		v->arg = torch_is_grad_required(impl) ? TENSOR_GRAD : TENSOR_NO_GRAD;
}

const void *torch_get_result(const struct call *c)
{
	void *const *r = c->result;

	if (!r)
		return NULL;
	return torch_get_function(c)->op.result == OP_REFERENCE ? *(void *const *)r[0] : r[0];
}
