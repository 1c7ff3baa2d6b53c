/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots of a device's memory (copy, poll and drop of struct device_backend), for any runtime
 * that copies on streams and has events.
 *
 * They are in one region of page-locked host memory (copies to other memory would wait), allocated by snapshots_init() when a
 * communicator is made, or at the first snapshot if no collective has begun before: allocating may wait for the device. It is
 * divided into pages; the pages of a snapshot that is no longer needed are freed when its event has passed. A larger snapshot
 * is not taken in parts: the next part could only be copied when the host has read the one before, and by then the job may
 * have changed the tensor. Only one runtime of a process can use them.
 *
 * Lock: `lock` guards the table of snapshots; a leaf except for the runtime's own locks. A forked
 * child initialises it again, though devices do not work in a forked child.
 */
#ifndef PROBE_DEVICE_SNAPSHOTS_H
#define PROBE_DEVICE_SNAPSHOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct snapshot_runtime {
	bool (*allocate)(void **region, size_t bytes);
	bool (*create_event)(void **event);
	void (*destroy_event)(void *event);
	bool (*copy)(void *to, const void *from, size_t bytes, void *stream);
	bool (*record)(void *event, void *stream);
	/* 1: the stream has passed the event; 0: not yet; -1: it never will */
	int (*query)(void *event);
};

/*
 * Sets the region's size in bytes, a multiple of 1 MiB, at most SNAPSHOT_REGION_MAX. No effect once it is allocated. Without
 * this call it has SNAPSHOT_REGION bytes.
 */
#define SNAPSHOT_REGION ((size_t)64 << 20)
#define SNAPSHOT_REGION_MAX ((size_t)16 << 30)
void snapshots_set_size(size_t bytes);

/* Allocates the region, in the current context. Call it while device_can_wait() (measure.h). */
void snapshots_init(const struct snapshot_runtime *r);

/* Call in the stream's context, which is `context`. Returns 0, -ENOBUFS or -EIO, like device_backend.copy. */
int snapshot_copy(const struct snapshot_runtime *r, void *context, void *stream, const void *from,
	size_t bytes, uint32_t *snapshot);

/* Like device_backend.poll and .drop. */
int snapshot_poll(const struct snapshot_runtime *r, uint32_t snapshot, const void **at);
void snapshot_drop(const struct snapshot_runtime *r, uint32_t snapshot);

/* Call in a forked child. */
void snapshots_forked(void);

#endif
