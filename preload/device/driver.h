/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of a device's driver that are needed to measure values on the device (measure.h): struct device_driver,
 * provided by adapters (wrappers/gpu/). Every function is called between enter() and leave(), on a thread of the job,
 * waits for nothing, and ends or starts nothing of the job. Functions that may wait for the device if one of its
 * kernels cannot end (load, share, allocate, warm) are called before there is any collective, and on a stack of
 * PRIVATE_STACK_DEEP_BYTES: the driver compiles the kernel there.
 */
#ifndef PROBE_DEVICE_DRIVER_H
#define PROBE_DEVICE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* State changed by enter(), for leave(). */
struct device_guard {
	void *context; /* the stream's context, or the thread's */
	/*
	 * id of the context, if the driver numbers them: another context may later have the same
	 * address
	 */
	uint64_t id;
	uint64_t device; /* device of the context */
	void *before; /* private to the driver */
	int mode;
	bool relaxed, pushed, retained;
};

struct device_driver {
	/*
	 * Makes the stream's context current on the thread, and excludes libprobe's work from
	 * captures. memory: identifies the context for stream 0, because each context has one.
	 * Returns false if the context is not available; leave() is called nevertheless.
	 */
	bool (*enter)(struct device_guard *g, uint64_t stream, const void *memory);
	/* Like enter(), for the thread's current context. Returns false if the thread has none. */
	bool (*enter_current)(struct device_guard *g);
	/*
	 * Like enter(), for the context of the n-th device that its runtime shares in the process (the primary one).
	 * Returns 1, 0 (the program has not started that device; nothing is started for it), or -1 (there is no n-th
	 * device).
	 */
	int (*enter_device)(struct device_guard *g, unsigned n);
	void (*leave)(struct device_guard *g);
	/*
	 * True if kernels of the current context may read all of [lo, hi): memory that is
	 * allocated, not freed, and belongs to the context's device or to the host. A kernel that
	 * reads anything else ends the job.
	 */
	bool (*covers)(const struct device_guard *g, uint64_t lo, uint64_t hi);
	/*
	 * Loads the kernel. *ns: the time taken. Returns false if libprobe's kernels do not run
	 * on the device.
	 */
	bool (*load)(void **function, uint64_t *ns);
	/*
	 * Lets the device write to [host, host + bytes), page-aligned memory of libprobe.
	 * *device: its address on the device.
	 */
	bool (*share)(void *host, size_t bytes, uint64_t *device);
	bool (*allocate)(uint64_t *device, size_t bytes);
	/* Clears memory and runs the kernel for the first time, on a stream of libprobe that no other stream waits for. */
	bool (*warm)(
		void *function, uint64_t clear, size_t bytes, const void *arguments, size_t size);
	/* Returns false if the driver refuses. */
	bool (*launch)(void *function, uint32_t blocks, const void *arguments, size_t size,
		uint64_t stream);
};

#endif
