/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's part of the statistics kernel: describes a tensor to the kernel, and computes the
 * final results from the kernel's. Independent of the device.
 */
#ifndef PROBE_DEVICE_STATS_JOB_H
#define PROBE_DEVICE_STATS_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/dtype.h"
#include "device/stats_launch.h"
#include "stats/stats.h"

/* A tensor on a device. */
struct device_tensor {
	uint64_t address; /* address of the first element */
	uint64_t lo, hi; /* range that contains all elements */
	uint64_t count; /* elements; a complex one counts as one */
	enum dtype dtype;
	double eps; /* threshold of zeros: struct stats */
	bool checksum; /* compute the XOR of the 32-bit words */
	unsigned ndim; /* 0: elements are contiguous */
	uint64_t size[STATS_DIMS - 1]; /* innermost dimension first */
	int64_t step[STATS_DIMS - 1]; /* bytes */
};

/* Data needed to compute the final results. */
struct device_measured {
	double eps;
	uint64_t count; /* elements; a complex one counts as one */
	uint8_t dtype;
	bool checksum;
};

/*
 * Describes the tensor to the kernel, except the job's first block. Returns false if the kernel
 * cannot measure it, because of its type, its dimensions, or elements that are not aligned to
 * their size.
 */
bool stats_job_make(struct stats_job *job, const struct device_tensor *t);

/* Computes the tensor's statistics from its parts. *crc: the checksum, if requested. */
void stats_job_end(const struct device_measured *m, const struct stats_part *part,
	struct stats *out, uint32_t *crc);

#endif
