/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines the release of MindSpore, and checks that its objects match the release's headers: a
 * tensor and an operator are made by MindSpore's own constructors from known values, which must
 * be at the offsets in the table. These objects are never freed, because libprobe must not
 * destroy MindSpore's objects.
 */
#include "wrappers/mindspore/layout/kernel_layout.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "elf/loaded/elfsym.h"
#include "elf/memory.h"
#include "journal/layout.h"
#include "life/life.h"
#include "wrappers/cxx/cxx_version.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/layout_facts.h"
#include "wrappers/mindspore/layout/kernel.h"
#include "wrappers/mindspore/layout/kernel_members.h"

static const struct kernel_layout layouts[] = {
#include "wrappers/mindspore/layout/kernel_layouts.def"
};
#define LAYOUTS (sizeof(layouts) / sizeof(*layouts))

#define NEW_ADDRESS "_ZN9mindspore6device13DeviceAddressC1EPvmNS0_10DeviceTypeEj"
/* DeviceAddress's constructor up to 2.7, with arguments for shape, format and type. */
#define NEW_ADDRESS_2_7                                                                \
	"_ZN9mindspore6device13DeviceAddressC1EPvmRKSt6vectorIlSaIlEERKNS_6FormatENS_" \
	"6TypeIdERKSsj"
#define NEW_TENSOR                                                                          \
	"_ZN9mindspore6kernel12KernelTensorC1ERKSt10shared_ptrINS_6device13DeviceAddressEE" \
	"RKS2_INS_17TensorStorageInfoEENS_6TypeIdERKSt6vectorIlSaIlEERKS2_INS_8UserDataEE"
/*
 * The tensor's constructor up to 2.8, without the layout of a view, which the device address
 * holds.
 */
#define NEW_TENSOR_2_8                                                                      \
	"_ZN9mindspore6kernel12KernelTensorC1ERKSt10shared_ptrINS_6device13DeviceAddressEE" \
	"NS_6TypeIdERKSt6vectorIlSaIlEERKS2_INS_8UserDataEE"
#define NEW_PRIMITIVE "_ZN9mindspore9PrimitiveC1ERKSsbNS_8PrimTypeEb"

#define OBJECT_BYTES 1024

enum { UNKNOWN, LOOKING, KNOWN, REFUSED };
static _Atomic int state;
static const struct kernel_layout *layout;

/* ---- an object with known content ---- */

/*
 * A std::shared_ptr without an owner, a std::vector<int64_t>, and an old std::string, whose
 * header precedes the text.
 */
struct shared {
	void *object, *owner;
};
struct longs {
	const int64_t *begin, *end, *space;
};
_Static_assert(offsetof(struct old_string, text) == 24, "");

#define PROBE_NAME "ProbeLayout"

static struct old_string device_name = {3, sizeof(device_name.text) - 1, 1, "CPU"};

/* Makes a DeviceAddress of `bytes` bytes at `data`. Returns false if that is not possible. */
static bool init_device_address(
	const struct kernel_layout *l, void *address, void *data, uint64_t bytes)
{
	static const int format = 0;
	void (*new_address)(void *, void *, uint64_t, int, uint32_t);
	void (*new_address_2_7)(void *, void *, uint64_t, const struct longs *, const int *, int,
		const char *const *, uint32_t);
	struct longs none = {NULL, NULL, NULL};
	const char *device = device_name.text;

	if (l->address_bytes > OBJECT_BYTES)
		return false;
	if (ms_find_function(NEW_ADDRESS, (void **)&new_address))
		new_address(address, data, bytes, 1, 0);
	else if (ms_find_function(NEW_ADDRESS_2_7, (void **)&new_address_2_7))
		new_address_2_7(address, data, bytes, &none, &format, 0, &device, 0);
	else
		return false;
	return true;
}

/*
 * Follows a path of a table that may be wrong. Returns NULL if it leads to memory that cannot be
 * read.
 */
static const void *read_path(const void *object, const struct layout_path *w)
{
	const char *p = (const char *)object + w->at[0];

	for (unsigned i = 1; i < LAYOUT_STEPS && w->at[i] != LAYOUT_END; i++) {
		p = *(const char *const *)p;
		if (!p || !is_memory_readable((uintptr_t)(p += w->at[i])))
			return NULL;
	}
	return is_memory_readable((uintptr_t)p) ? p : NULL;
}

static bool has_dims_values(const struct longs *made, const int64_t *dims, ptrdiff_t n)
{
	return made && made->end - made->begin == n && made->begin != dims &&
	       is_memory_readable((uintptr_t)made->begin) &&
	       memcmp(made->begin, dims, (size_t)n * sizeof(*dims)) == 0;
}

/* True if no pointer of a possibly wrong table leads to unreadable memory. */
static bool has_valid_path(
	const struct kernel_layout *l, const void *tensor, const int64_t *shape, ptrdiff_t n)
{
	const void *const *data = read_path(tensor, &l->data);
	const void *const *view = read_path(tensor, &l->view);

	return data && view && !*view && read_path(tensor, &l->bytes) &&
	       read_path(tensor, &l->dtype) &&
	       has_dims_values(read_path(tensor, &l->shape), shape, n);
}

static bool has_kernel_tensor(const struct kernel_layout *l)
{
	static const int64_t shape[3] = {5, 7, 3};
	static uint64_t address[OBJECT_BYTES / 8], tensor[OBJECT_BYTES / 8];
	static char data[5 * 7 * 3 * 2];
	void (*new_tensor)(void *, const struct shared *, const struct shared *, int,
		const struct longs *, const struct shared *);
	void (*new_tensor_2_8)(
		void *, const struct shared *, int, const struct longs *, const struct shared *);
	struct shared of = {address, NULL}, none = {NULL, NULL};
	struct longs dims = {shape, shape + 3, shape + 3};
	int64_t strides[CXX_DIMS_MAX];
	struct buffer v;

	if (l->tensor_bytes > sizeof(tensor) ||
		!init_device_address(l, address, data, sizeof(data)))
		return false;
	if (ms_find_function(NEW_TENSOR, (void **)&new_tensor))
		new_tensor(tensor, &of, &none, l->type[DT_INT16], &dims, &none);
	else if (ms_find_function(NEW_TENSOR_2_8, (void **)&new_tensor_2_8))
		new_tensor_2_8(tensor, &of, l->type[DT_INT16], &dims, &none);
	else
		return false;
	return has_valid_path(l, tensor, shape, 3) && ms_read_tensor(l, tensor, &v, strides) &&
	       v.base == data && v.dtype == DT_INT16 && v.count == 105 && v.bytes == sizeof(data) &&
	       v.ndim == 3 && !v.nostats &&
	       *(const uint64_t *)ms_get_member(tensor, &l->bytes) == sizeof(data);
}

#define NEW_HOST_TENSOR                                                \
	"_ZN9mindspore6tensor6TensorC1ENS_6TypeIdERKSt6vectorIlSaIlEE" \
	"St10shared_ptrINS_6device13DeviceAddressEE"

/*
 * True if a tensor of the program, made on a DeviceAddress, matches the table. Arguments by value
 * are passed by pointer.
 */
static bool has_host_tensor(const struct kernel_layout *l)
{
	static const int64_t shape[2] = {3, 11};
	static uint64_t address[OBJECT_BYTES / 8], tensor[2 * OBJECT_BYTES / 8];
	static char data[3 * 11 * 8];
	void (*new_tensor)(void *, int, const struct longs *, struct shared *);
	struct shared of = {address, NULL};
	struct longs dims = {shape, shape + 2, shape + 2};
	const struct longs *made;
	const char *at = (const char *)tensor;

	if (l->host_bytes > sizeof(tensor) ||
		!ms_find_function(NEW_HOST_TENSOR, (void **)&new_tensor) ||
		!init_device_address(l, address, data, sizeof(data)))
		return false;
	new_tensor(tensor, l->type[DT_INT64], &dims, &of);
	made = (const struct longs *)(at + l->host_shape);
	return *(const int32_t *)(at + l->host_dtype) == l->type[DT_INT64] &&
	       *(const void *const *)(at + l->host_address) == address &&
	       !*(const void *const *)(at + l->host_info) && has_dims_values(made, shape, 2);
}

bool ms_is_host_layout_valid(void)
{
	return get_layout_state(LAYOUT_MS_TENSORS) == LAYOUT_VERIFIED;
}

static bool has_primitive(const struct kernel_layout *l)
{
	static struct old_string name = {
		sizeof(PROBE_NAME) - 1, sizeof(name.text) - 1, 1, PROBE_NAME};
	static uint64_t primitive[OBJECT_BYTES / 8];
	void (*new_primitive)(void *, const char *const *, bool, int, bool);
	const char *text = name.text, *read;
	const void *const *at;

	if (l->primitive_bytes > sizeof(primitive) ||
		!ms_find_function(NEW_PRIMITIVE, (void **)&new_primitive))
		return false;
	new_primitive(primitive, &text, true, 1, false);
	at = (const void *const *)((const char *)primitive + l->primitive_name);
	read = is_memory_readable((uintptr_t)*at) ? ms_read_primitive_name(l, primitive) : NULL;
	return read && strcmp(read, PROBE_NAME) == 0;
}

/* ---- which release ---- */

static const struct kernel_layout *find_release(char *version, size_t cap)
{
	struct provider p;

	if (elfsym_find_all(NEW_PRIMITIVE, &p, 1) <= 0 &&
		elfsym_find_all("_ZN9mindspore9PrimitiveC1ERKS0_", &p, 1) <= 0)
		return NULL;
	if (!cxx_read_package_version(p.path, version, cap))
		return NULL;
	for (size_t i = 0; i < LAYOUTS; i++)
		if (strcmp(layouts[i].version, version) == 0)
			return &layouts[i];
	return NULL;
}

static void find_layout_of_release(void)
{
	char version[LIBRARY_TEXT_MAX] = "", why[LIBRARY_TEXT_MAX];
	const struct kernel_layout *l = find_release(version, sizeof(version));
	bool holds = l && has_kernel_tensor(l) && has_primitive(l);

	if (*version)
		session_record_library("mindspore", version);
	if (!holds) {
		snprintf(why, sizeof(why),
			l ? "%s: objects do not match the headers of this release: no kernels, no "
			    "steps by "
			    "optimizers; collectives are recorded"
			  : "%s: the layout of this release is unknown: no kernels, no "
			    "steps by optimizers; collectives are recorded; update libprobe",
			*version ? version : "no version found");
		session_record_invisible("kernels of MindSpore", why);
		if (ms_kernels_listed())
			log_loss(LOSS_ENTRY, "MindSpore %s", why);
	}
	session_record_layout_fact(LAYOUT_MS_KERNELS, holds);
	if (holds)
		session_record_layout_fact(LAYOUT_MS_TENSORS,
			l->host_bytes && has_host_tensor(l) && ms_has_valid_members(l));
	layout = l;
	atomic_store_explicit(&state, holds ? KNOWN : REFUSED, memory_order_release);
}

const struct kernel_layout *ms_get_layout(void)
{
	int now = atomic_load_explicit(&state, memory_order_acquire), unknown = UNKNOWN;

	if (__builtin_expect(now == KNOWN, 1))
		return layout;
	if (now != UNKNOWN || !atomic_compare_exchange_strong(&state, &unknown, LOOKING))
		return NULL;
	find_layout_of_release();
	return atomic_load(&state) == KNOWN ? layout : NULL;
}

/* ---- the executor ---- */

/* In the order of kernel_layout.known[]: functions of the abstract class that most executors do not override. */
static const char known_functions[][112] = {
	"_ZNK9mindspore6device14KernelExecutor19CreateEventForCacheERKSt10shared_ptrINS_"
	"7session11KernelGraphEE",
	"_ZNK9mindspore6device14KernelExecutor13AddMindIRPassERKSt10shared_ptrINS_"
	"7session11KernelGraphEE",
	"_ZNK9mindspore6device14KernelExecutor15CleanTdtChannelEv",
	"_ZNK9mindspore6device14KernelExecutor12StressDetectERKSs",
};
#define KNOWN_FUNCTIONS (sizeof(known_functions) / sizeof(*known_functions))
#define COPIES_MAX 32 /* copies of an inline function: each library may have one */

static bool is_copy_of(const char *name, const void *function)
{
	struct provider p[COPIES_MAX];
	int n = elfsym_find_all(name, p, COPIES_MAX);

	for (int i = 0; i < n; i++)
		if (p[i].addr == function)
			return true;
	return false;
}

int ms_find_launch_slot(const void *executor)
{
	void *const *functions = *(void *const *const *)executor;
	unsigned found = 0;

	for (size_t i = 0; i < KNOWN_FUNCTIONS; i++) {
		void *const *at = &functions[layout->known[i]];

		if (!is_memory_readable((uintptr_t)at))
			return -1;
		found += is_copy_of(known_functions[i], *at);
	}
	return found ? layout->launch : -1;
}
