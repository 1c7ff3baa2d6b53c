/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device's driver is asked for where values are measured on the device (measure.h): struct device_driver, which
 * adapters provide (wrappers/gpu/). Every function is called between enter() and leave(), on a thread of the job, waits for
 * nothing, and ends or starts nothing of the job's. Those that may wait for the device where one of its kernels cannot end
 * (load, allocate, warm) are called before there is any collective.
 */
#ifndef PROBE_DEVICE_DRIVER_H
#define PROBE_DEVICE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What enter() changed, for leave(). */
struct device_guard {
	void *context; /* the stream's, or the thread's */
	uint64_t
		id; /* of the context, where the driver numbers them: another one may come to lie at the same address */
	uint64_t device; /* its device */
	void *before; /* private to the driver */
	int mode;
	bool relaxed, pushed;
};

struct device_driver {
	/*
	 * Makes the stream's context the thread's, and says that what we do is no matter of a capture. memory: of what the
	 * stream 0 is meant by, for each context has one. False: it cannot be had; leave() is called all the same.
	 */
	bool (*enter)(struct device_guard *g, uint64_t stream, const void *memory);
	/* The same for the context that the thread is at. False: it is at none. */
	bool (*enter_current)(struct device_guard *g);
	void (*leave)(struct device_guard *g);
	/*
	 * Is all of [lo, hi) memory that kernels of the current context may read: allocated, not given back, and of its own
	 * device or of the host? A kernel that reads anything else ends the job.
	 */
	bool (*covers)(const struct device_guard *g, uint64_t lo, uint64_t hi);
	/* Loads the kernel; *ns: what that took. False: none of ours runs there. */
	bool (*load)(void **function, uint64_t *ns);
	/* Lets the device write to [host, host + bytes), page-aligned memory of ours; *device: its address there. */
	bool (*share)(void *host, size_t bytes, uint64_t *device);
	bool (*allocate)(uint64_t *device, size_t bytes);
	/* Clears memory and runs the kernel for the first time, on a stream of ours that no other waits for. */
	bool (*warm)(
		void *function, uint64_t clear, size_t bytes, const void *arguments, size_t size);
	/* False: the driver refuses. */
	bool (*launch)(void *function, uint32_t blocks, const void *arguments, size_t size,
		uint64_t stream);
};

#endif
