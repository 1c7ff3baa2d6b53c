/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots of a device's memory (copy, poll and drop of struct device_backend), for any runtime
 * that copies on streams and has events.
 *
 * Copies are in one region of page-locked host memory, allocated at the first snapshot (copies to
 * other memory would wait). The region is divided into pages; the pages of a dropped snapshot are
 * freed when its event has passed. Only one runtime of a process can use this.
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
 * Call while `context`, the stream's context, is current. Returns 0, -ENOBUFS or -EIO, like
 * device_backend.copy.
 */
int snapshot_copy(const struct snapshot_runtime *r, void *context, void *stream, const void *from,
	size_t bytes, uint32_t *shot);

/* Like device_backend.poll and .drop. */
int snapshot_poll(const struct snapshot_runtime *r, uint32_t shot, const void **at);
void snapshot_drop(const struct snapshot_runtime *r, uint32_t shot);

/* Call in a forked child. */
void snapshots_forked(void);

#endif
