/* SPDX-License-Identifier: Apache-2.0 */
/* Keys about the content of a recorded call: statistics, stacks, which buffers. */
#ifndef PROBE_CONFIG_ROOMS_CALLS_H
#define PROBE_CONFIG_ROOMS_CALLS_H

#include "base/isa.h"
#include "config/rooms/room.h"

/*
 * AUTO, KERNEL: a kernel on the device measures. The values that allow the use of streams come
 * first.
 */
enum config_device {
	CONFIG_DEVICE_AUTO,
	CONFIG_DEVICE_KERNEL,
	CONFIG_DEVICE_COPY,
	CONFIG_DEVICE_OFF
};

struct calls_keys {
	bool statistics;
	enum stats_checksum checksum; /* computed for each tensor with statistics */
	double eps; /* |x| < eps counts as zero */
	enum stats_isa stats_isa; /* instruction set of the kernels that measure */
	int64_t stats_threads; /* number of helper threads that measure */
	/* helper threads are used for tensors of at least this many contiguous bytes */
	int64_t stats_threads_min_bytes;
	int64_t min_bytes; /* calls whose largest buffer is smaller are not recorded */
	int64_t max_bytes; /* larger buffers get no statistics (nostats); 0: no limit */
	enum config_device device; /* how to measure buffers in device memory */
	int64_t device_copy_mib; /* page-locked host memory for copies of buffers on a device */
	bool nested;
	bool backward; /* also record graph nodes that compute the gradients of listed operators */
	bool stack;
	int64_t stack_depth; /* maximum number of native frames, innermost first */
	char *stack_blacklist; /* extended regular expression of Python frames to omit, "": none */
	/*
	 * regular expression that a frame of a call's stack must match; "": all calls are
	 * recorded
	 */
	char *codeline;
};

CONFIG_ROOM(calls)

#endif
