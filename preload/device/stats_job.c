/* SPDX-License-Identifier: Apache-2.0 */
#include "device/stats_job.h"

#include <string.h>

/*
 * Table of the kernel's formats by dtype. 0: the kernel does not support the type, because it
 * would need a table; the CPU code supports all types.
 */
#define FORMAT(f) ((f) + 1)
static const uint8_t formats[DT_COUNT] = {
	[DT_BOOL] = FORMAT(STATS_BOOL),
	[DT_INT8] = FORMAT(STATS_I8),
	[DT_INT16] = FORMAT(STATS_I16),
	[DT_INT32] = FORMAT(STATS_I32),
	[DT_INT64] = FORMAT(STATS_I64),
	[DT_UINT8] = FORMAT(STATS_U8),
	[DT_UINT16] = FORMAT(STATS_U16),
	[DT_UINT32] = FORMAT(STATS_U32),
	[DT_UINT64] = FORMAT(STATS_U64),
	[DT_FLOAT8_E4M3FN] = FORMAT(STATS_E4M3),
	[DT_FLOAT8_E5M2] = FORMAT(STATS_E5M2),
	[DT_BFLOAT16] = FORMAT(STATS_BF16),
	[DT_FLOAT16] = FORMAT(STATS_F16),
	[DT_FLOAT32] = FORMAT(STATS_F32),
	[DT_FLOAT64] = FORMAT(STATS_F64),
};

_Static_assert(sizeof(struct stats_launch) <= 4096, "CUDA takes no more arguments");

/* Writes the tensor's dimensions, with the parts of complex numbers as the innermost one. */
static void write_dims(
	struct stats_job *job, const struct device_tensor *t, uint64_t parts, uint64_t component)
{
	unsigned n = 0;

	if (parts > 1) {
		job->size[n] = parts;
		job->step[n++] = (int64_t)component;
	}
	for (unsigned i = 0; i < t->ndim; i++) {
		job->size[n] = t->size[i];
		job->step[n++] = t->step[i];
	}
	job->ndim = n;
}

bool stats_job_make(struct stats_job *job, const struct device_tensor *t)
{
	const struct dtype_info *info = get_dtype_info(t->dtype);
	uint64_t component = get_dtype_info(info->component)->size, all = t->address;
	uint64_t blocks, parts;
	struct stats_acc acc;

	if (t->ndim > STATS_DIMS - 1 || !t->count || !formats[info->component] ||
		stats_begin(&acc, t->dtype, t->eps))
		return false;
	for (unsigned i = 0; i < t->ndim; i++)
		all |= (uint64_t)t->step[i];
	if (all & (component - 1))
		return false;
	parts = info->size / component;
	memset(job, 0, sizeof(*job));
	job->address = t->address;
	job->count = t->count * parts;
	job->format = formats[info->component] - 1u;
	memcpy(&job->eps, &acc.eps.f, sizeof(job->eps));
	job->eps_whole = acc.eps.u;
	if (t->ndim)
		write_dims(job, t, parts, component);
	blocks = (job->count * component + STATS_STRETCH - 1) / STATS_STRETCH;
	job->blocks = blocks < STATS_PARTS ? (uint32_t)blocks : STATS_PARTS;
	return true;
}

void stats_job_end(const struct device_measured *m, const struct stats_part *part,
	struct stats *out, uint32_t *crc)
{
	struct stats_acc acc;

	stats_begin(&acc, m->dtype, m->eps);
	acc.n = m->count * acc.parts;
	acc.zeros = m->eps > 0 ? part->zeros : 0;
	acc.nans = part->nans;
	acc.pinfs = part->pinfs;
	acc.ninfs = part->ninfs;
	memcpy(&acc.min, &part->min, sizeof(acc.min));
	memcpy(&acc.max, &part->max, sizeof(acc.max));
	acc.sum.hi = part->sum;
	acc.sum_big.hi = part->sum_big;
	acc.sq.hi = part->sq;
	acc.sq_big.hi = part->sq_big;
	acc.sq_small.hi = part->sq_small;
	stats_end(&acc, out);
	*crc = part->word_xor;
}
