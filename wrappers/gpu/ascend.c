/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ascend as a device backend: `device: copy`, by the functions of the loaded libascendcl.so (CANN 8.1 and later, acl_rt.h). No
 * NPU was available: it was only tested with a stand-in.
 *
 * A thread works in the context that it has set; a stream belongs to that context. A thread without one has no tensors on a
 * device.
 */
#include <errno.h>
#include <string.h>

#include "device/snapshots.h"
#include "wrappers/gpu/gpu.h"

enum {
	SUCCESS = 0,
	LOCATION_HOST = 0, /* aclrtMemLocationType: page-locked */
	LOCATION_DEVICE = 1,
	LOCATION_UNREGISTERED = 2,
	TO_HOST = 2, /* ACL_MEMCPY_DEVICE_TO_HOST */
	COMPLETE = 1, /* ACL_EVENT_RECORDED_STATUS_COMPLETE */
};

/* aclrtPtrAttributes, with padding for fields that later releases add. */
struct pointer_attributes {
	uint32_t device, type;
	uint32_t page_size;
	uint32_t reserved[61];
};

static struct {
	int (*pointer_get_attributes)(const void *p, struct pointer_attributes *out);
	int (*get_current_context)(void **context);
	int (*malloc_host)(void **p, size_t bytes);
	int (*memcpy_async)(
		void *to, size_t most, const void *from, size_t bytes, int kind, void *stream);
	int (*create_event)(void **event);
	int (*destroy_event)(void *event);
	int (*record_event)(void *event, void *stream);
	int (*query_event_status)(void *event, int *status);
	/* Since CANN 8.1; NULL if streams cannot be captured. */
	int (*capture_get_info)(void *stream, int *status, void **model);
} acl;

static bool load_ascend_functions(void)
{
	static const struct gpu_function want[] = {
		{"aclrtPointerGetAttributes", &acl.pointer_get_attributes},
		{"aclrtGetCurrentContext", &acl.get_current_context},
		{"aclrtMallocHost", &acl.malloc_host},
		{"aclrtMemcpyAsync", &acl.memcpy_async},
		{"aclrtCreateEvent", &acl.create_event},
		{"aclrtDestroyEvent", &acl.destroy_event},
		{"aclrtRecordEvent", &acl.record_event},
		{"aclrtQueryEventStatus", &acl.query_event_status},
	};
	const size_t n = sizeof(want) / sizeof(*want);
	void *capture = gpu_find_function("aclmdlRICaptureGetInfo", "libascendcl.so");

	memcpy(&acl.capture_get_info, &capture, sizeof(capture));
	return gpu_find_functions(want, n, "libascendcl.so") == n;
}

static void *get_ascend_context(void)
{
	void *context = NULL;

	return acl.get_current_context(&context) == SUCCESS ? context : NULL;
}

static enum device_memory ascend_get_memory_kind(const void *p)
{
	struct pointer_attributes a = {.type = UINT32_MAX};

	if (!get_ascend_context())
		return DEVICE_IDLE;
	if (acl.pointer_get_attributes(p, &a) != SUCCESS)
		return DEVICE_MEMORY;
	switch (a.type) {
	case LOCATION_HOST:
		return DEVICE_PINNED;
	case LOCATION_UNREGISTERED:
		return DEVICE_HOST;
	default:
		return DEVICE_MEMORY;
	}
}

static bool is_ascend_capturing(uint64_t stream)
{
	int status = 0;
	void *model;

	if (!acl.capture_get_info || !get_ascend_context())
		return false;
	return acl.capture_get_info((void *)(uintptr_t)stream, &status, &model) != SUCCESS ||
	       status != 0;
}

static bool init_region(void **region, size_t bytes)
{
	return acl.malloc_host(region, bytes) == SUCCESS;
}

static bool init_mark(void **event)
{
	return acl.create_event(event) == SUCCESS;
}

static void free_mark(void *event)
{
	acl.destroy_event(event);
}

static bool copy_to_region(void *to, const void *from, size_t bytes, void *stream)
{
	return acl.memcpy_async(to, bytes, from, bytes, TO_HOST, stream) == SUCCESS;
}

static bool record_mark(void *event, void *stream)
{
	return acl.record_event(event, stream) == SUCCESS;
}

static int check_mark(void *event)
{
	int status = 0;

	if (acl.query_event_status(event, &status) != SUCCESS)
		return -1;
	return status == COMPLETE;
}

static const struct snapshot_runtime snapshots = {
	.allocate = init_region,
	.create_event = init_mark,
	.destroy_event = free_mark,
	.copy = copy_to_region,
	.record = record_mark,
	.query = check_mark,
};

static void init_ascend_copies(void)
{
	if (get_ascend_context())
		snapshots_init(&snapshots);
}

static int copy_ascend(uint64_t stream, const void *from, size_t bytes, uint32_t *snapshot)
{
	void *context = get_ascend_context();

	return context ? snapshot_copy(&snapshots, context, (void *)(uintptr_t)stream, from, bytes,
				 snapshot)
		       : -EIO;
}

static int check_ascend_snapshot(uint32_t snapshot, const void **at)
{
	return snapshot_poll(&snapshots, snapshot, at);
}

static void remove_ascend(uint32_t snapshot)
{
	snapshot_drop(&snapshots, snapshot);
}

const struct device_backend ascend_device = {
	.name = "ascend",
	.library = "libascendcl.so",
	.attach = load_ascend_functions,
	.memory = ascend_get_memory_kind,
	.capturing = is_ascend_capturing,
	.init_copies = init_ascend_copies,
	.copy = copy_ascend,
	.poll = check_ascend_snapshot,
	.drop = remove_ascend,
};
