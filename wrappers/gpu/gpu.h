/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the device backends: functions of a loaded driver, and the kernels in libprobe.so. */
#ifndef PROBE_WRAPPERS_GPU_GPU_H
#define PROBE_WRAPPERS_GPU_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "device/device.h"
#include "device/driver.h"

struct gpu_function {
	const char *name;
	void *at; /* where to store the pointer to the function */
};

/*
 * Returns function `name` of the library whose file name begins with `library`: other libraries
 * may define one with the same name.
 */
void *gpu_find_function(const char *name, const char *library);

/* Finds n functions. Returns n, or the number found before the first one that is missing. */
size_t gpu_find_functions(const struct gpu_function *f, size_t n, const char *library);

/* Ascend: copies only. Never run on an NPU. */
extern const struct device_backend ascend_device;

/* AMD's GPUs. Never run on one. */
extern const struct device_backend hip_device;

/* images.S: the kernel as text for NVIDIA's driver, which ends with a NUL, and as code objects of AMD. */
extern const char gpu_stats_ptx[], gpu_stats_gfx90a[], gpu_stats_gfx942[], gpu_stats_gfx1100[];

/* Looks up the functions that cuda_driver needs. */
bool cuda_kernel_load_functions(void);
extern const struct device_driver cuda_driver;

#endif
