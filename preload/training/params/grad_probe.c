/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/grad_probe.h"

#include <string.h>
#include <zlib.h>

#include "base/log.h"
#include "config/rooms/dump.h"
#include "config/rooms/files.h"
#include "terms/train_kind.h"
#include "config/output_format.h"
#include "journal/layout.h"
#include "journal/store/tensor_pool.h"
#include "session/state.h"
#include "stats/stats.h"
#include "training/params/derive.h"

#define MIB (UINT64_C(1) << 20)
#define BLOCK 256 /* elements converted at once */

uint32_t grad_probe_get_kinds(const struct config *cfg)
{
	return get_dump_keys(cfg)->task == DUMP_GRAD_PROBE &&
			       output_has_format(get_files_keys(cfg)->format, FORMAT_DUMP)
		       ? KIND_BIT(GRAD_SUMMARY)
		       : 0;
}

static const char *get_name_without_wrapper(const char *name, const char *end)
{
	static const char wrapper[] = "module.";
	size_t n = sizeof(wrapper) - 1;

	return (size_t)(end - name) > n && strncmp(name, wrapper, n) == 0 ? name + n : name;
}

bool grad_probe_has_param(const char *name)
{
	const char *list = get_dump_keys(get_config())->param_list;
	size_t n;

	name = get_name_without_wrapper(name, name + strlen(name));
	n = strlen(name);
	for (const char *line = list; *line;) {
		const char *end = line + strcspn(line, "\n"),
			   *at = get_name_without_wrapper(line, end);

		if ((size_t)(end - at) == n && memcmp(at, name, n) == 0)
			return true;
		line = end + (*end == '\n');
	}
	return !*list;
}

/* ---- elements ---- */

struct grad_scan {
	enum config_grad_level level;
	uint32_t crc; /* CRC-32 of the elements as float32 */
	unsigned nbound;
	float bound[CONFIG_NUMBERS_MAX]; /* as float, as in msprobe */
	uint64_t in[CONFIG_NUMBERS_MAX + 1], zeros;
	unsigned char *signs; /* one bit for each element; NULL: not wanted, or the pool is full */
	uint64_t at; /* number of elements so far */
};

static void read_bounds(struct grad_scan *g, const char *lines)
{
	double v;

	while (*lines && g->nbound < CONFIG_NUMBERS_MAX) {
		size_t n = strcspn(lines, "\n");

		if (number_parse(lines, n, &v))
			g->bound[g->nbound++] = (float)v;
		lines += n + (lines[n] == '\n');
	}
}

/*
 * Returns i for v in (bound[i - 1], bound[i]]; NaN belongs to the last interval, as in
 * torch.bucketize.
 */
static unsigned find_interval(const struct grad_scan *g, double v)
{
	unsigned i = 0;

	while (i < g->nbound && !((double)g->bound[i] >= v))
		i++;
	return i;
}

static void measure_scan_block(
	struct grad_scan *g, const unsigned char *p, unsigned n, uint8_t dtype)
{
	double v[BLOCK];
	float narrow[BLOCK];

	derive_load(v, p, n, dtype);
	if (g->level == GRAD_L0) {
		for (unsigned i = 0; i < n; i++)
			narrow[i] = (float)v[i];
		g->crc = (uint32_t)crc32_z(
			g->crc, (const unsigned char *)narrow, n * sizeof(*narrow));
	}
	for (unsigned i = 0; g->level == GRAD_L2 && i < n; i++) {
		g->in[find_interval(g, v[i])]++;
		g->zeros += v[i] == 0;
	}
	for (unsigned i = 0; g->signs && i < n; i++)
		if (v[i] > 0)
			g->signs[(g->at + i) / 8] |= (unsigned char)(1u << (g->at + i) % 8);
	g->at += n;
}

/* Passes the elements of a strided tensor in the order of its dimensions. */
static void scan_strided(struct grad_scan *g, const struct buffer *b, size_t size)
{
	const int64_t *sizes = b->counts, *strides = b->displs;
	uint64_t index[TENSOR_POOL_DIMS] = {0};
	uintptr_t at = (uintptr_t)b->base;
	unsigned char block[BLOCK * 8];
	unsigned n = 0;

	for (uint64_t left = b->count; left; left--) {
		memcpy(block + n * size, (const void *)at, size);
		if (++n == BLOCK || left == 1) {
			measure_scan_block(g, block, n, b->dtype);
			n = 0;
		}
		for (unsigned d = b->n; d-- > 0;) {
			at += (uint64_t)strides[d] * size;
			if (++index[d] < (uint64_t)sizes[d])
				break;
			at -= index[d] * (uint64_t)strides[d] * size;
			index[d] = 0;
		}
	}
}

static void measure_dense(struct grad_scan *g, const struct buffer *b, size_t size)
{
	const unsigned char *p = b->base;

	for (uint64_t left = b->count; left;) {
		unsigned n = left < BLOCK ? (unsigned)left : BLOCK;

		measure_scan_block(g, p, n, b->dtype);
		p += n * size;
		left -= n;
	}
}

/* ---- signs ---- */

static struct tensor_copy *find_or_add_signs(const struct buffer *b, uint32_t id, uint32_t step)
{
	const struct config *cfg = get_config();
	const struct dump_keys *keys = get_dump_keys(cfg);
	unsigned ndim = b->ndim <= TENSOR_POOL_DIMS ? b->ndim : 1;
	uint64_t bytes = (b->count + 7) / 8, *size, next = 1;
	struct tensor_copy *c = tensor_pool_open((uint64_t)keys->dump_buffer_mib * MIB) >= 0 &&
						tensor_pool_allows(step, bytes,
							(uint64_t)keys->dump_limit_mib * MIB)
					? tensor_pool_reserve(ndim, bytes)
					: NULL;

	if (!c) {
		log_loss(LOSS_DUMP,
			"grad_probe: no room for the signs of %llu elements: such signs are "
			"skipped; raise dump_buffer_mib or dump_limit_mib, or choose fewer by "
			"param_list",
			(unsigned long long)b->count);
		return NULL;
	}
	c->seq = id;
	c->step = step;
	c->io = IO_OUT;
	c->dtype = DT_BOOL;
	c->bits = 1;
	c->count = b->count;
	size = tensor_copy_dims(c);
	for (unsigned i = 0; i < ndim; i++)
		size[i] = ndim == b->ndim ? ((const uint64_t *)b->counts)[i] : b->count;
	for (unsigned i = ndim; i-- > 0; next *= size[i])
		size[ndim + i] = next;
	memset(tensor_copy_data(c), 0, bytes);
	return c;
}

unsigned grad_probe_measure(
	const struct buffer *grad, uint32_t id, uint32_t step, double numbers[GRAD_PROBE_NUMBERS])
{
	const struct dtype_info *d = get_dtype_info(grad->dtype);
	const struct config *cfg = get_config();
	const struct dump_keys *keys = get_dump_keys(cfg);
	struct grad_scan g = {.level = keys->grad_level};
	struct tensor_copy *copy = NULL;
	struct stats_fenv fenv;
	unsigned n = 2;

	if (grad->nostats || !grad->base || !grad->count || d->cls != DTC_FLOAT ||
		d->component != grad->dtype ||
		(grad->layout == BUFFER_STRIDED ? grad->n > TENSOR_POOL_DIMS
						: grad->layout != BUFFER_CONTIG))
		return 0;
	if (g.level != GRAD_L0)
		copy = find_or_add_signs(grad, id, step);
	g.signs = copy ? tensor_copy_data(copy) : NULL;
	stats_fenv_set(&fenv);
	if (g.level == GRAD_L2)
		read_bounds(&g, keys->bounds);
	(grad->layout == BUFFER_STRIDED ? scan_strided : measure_dense)(&g, grad, d->size);
	numbers[0] = copy ? id : 0;
	numbers[1] = g.crc;
	for (unsigned i = 0; g.level == GRAD_L2 && i <= g.nbound; i++)
		numbers[n++] = (double)g.in[i] / (double)grad->count;
	if (g.level == GRAD_L2)
		numbers[n++] = (double)g.zeros / (double)grad->count;
	stats_fenv_reset(&fenv);
	if (copy)
		tensor_pool_close_copy(copy, true);
	if (tensor_pool_is_filling())
		session_hooks.wake_writer();
	return n;
}
