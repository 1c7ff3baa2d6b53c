/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first two tensor observers: statistics and checksum. The checksum is computed on each block while it is in the
 * cache for the statistics.
 */
#include "call/data/observer.h"
#include "config/rooms/calls.h"
#include "device/device.h"
#include "device/measure.h"
#include "journal/layout.h"
#include "session/state.h"
#include "stats/fenv.h"
#include "stats/stats.h"

_Static_assert(sizeof(struct stats_acc) <= TENSOR_STATE_BYTES, "the statistics need more state");

static uint64_t get_statistics_limit(const struct config *cfg)
{
	const struct calls_keys *keys = get_calls_keys(cfg);

	if (!keys->statistics)
		return 0;
	return keys->max_bytes ? (uint64_t)keys->max_bytes : UINT64_MAX;
}

/* Returns the kind of checksum for the tensor. */
static enum stats_checksum get_checksum_kind(const struct tensor_look *look)
{
	const struct calls_keys *keys = get_calls_keys(look->cfg);
	const struct kind *k;

	if (keys->checksum != CHECKSUM_AUTO)
		return keys->checksum;
	k = look->row && look->record->io == IO_OUT ? look->row->spec->kind : NULL;
	return k && k->same ? CHECKSUM_XOR : CHECKSUM_OFF;
}

/* Computes the checksum of few bytes, which are in the cache already. */
static void compute_few_bytes_checksum(const struct tensor_look *look)
{
	enum stats_checksum kind = get_checksum_kind(look);
	const struct buffer *b = look->buffer;

	if (kind == CHECKSUM_OFF)
		return;
	look->record->crc = stats_checksum_of(
		kind, b->base, (size_t)b->count * get_dtype_info((enum dtype)b->dtype)->size);
	look->record->flags |= TF_CRC;
}

static bool start_statistics(void *state, struct tensor_look *look)
{
	const struct config *cfg = look->cfg;
	const struct calls_keys *keys = get_calls_keys(cfg);

	if (keys->max_bytes && look->buffer->bytes > (uint64_t)keys->max_bytes)
		return false;
	look->record->flags &= (uint8_t)~TF_NOSTATS;
	/* Few elements are measured in one go if no other observer needs the running totals. */
	if (buffer_is_few(look->buffer) &&
		stats_measure_few(look->buffer->base, look->buffer->count,
			(enum dtype)look->buffer->dtype, keys->eps, &look->record->stats)) {
		compute_few_bytes_checksum(look);
		return false;
	}
	if (stats_begin(state, look->buffer->dtype, keys->eps))
		return false;
	look->stats = state;
	return true;
}

static inline __attribute__((always_inline)) bool measure_few(
	const struct calls_keys *keys, const struct buffer *v, struct journal_tensor *record)
{
	/* max_bytes 0: no limit */
	if (v->layout != BUFFER_CONTIG || !v->base ||
		v->bytes - 1 > (uint64_t)keys->max_bytes - 1 ||
		!stats_measure_tiny(
			v->base, v->count, (enum dtype)v->dtype, keys->eps, &record->stats))
		return false;
	record->flags &= (uint8_t)~TF_NOSTATS;
	return true;
}

__attribute__((noinline)) static bool measure_few_of_several(const struct calls_keys *keys,
	const struct buffer *v, unsigned n, bool all, struct journal_tensor *record)
{
	/* A row without dimensions is followed by the next one. */
	for (; n; n--, v++, record++)
		if (v->layout != BUFFER_CONTIG ||
			((all || tensor_is_watched(v)) && !measure_few(keys, v, record)))
			return false;
	return true;
}

bool tensor_measure_few(const struct operation *w, const struct buffer *v, unsigned n, bool all,
	struct journal_tensor *record)
{
	const struct calls_keys *keys = get_calls_keys(w->config ? w->config : get_config());
	struct stats_fenv fenv;
	bool done;

	if (keys->checksum != CHECKSUM_OFF || device_watch())
		return false;
	stats_fenv_set_inline(&fenv);
	done = __builtin_expect(n == 1 && all, 1) ? measure_few(keys, v, record)
						  : measure_few_of_several(keys, v, n, all, record);
	stats_fenv_reset_inline(&fenv);
	return done;
}

bool tensor_set_measured(
	const struct operation *w, const struct buffer *v, struct journal_tensor *record)
{
	const struct tensor_look look = {.row = w->row,
		.cfg = w->config ? w->config : get_config(),
		.buffer = v,
		.record = record};
	uint32_t word_xor;

	if (device_measured(v->snapshot, &record->stats, &word_xor) != 1)
		return false;
	record->flags &= (uint8_t)~TF_NOSTATS;
	if (get_checksum_kind(&look) == CHECKSUM_XOR) {
		record->crc = word_xor;
		record->flags |= TF_CRC;
	}
	return true;
}

static void update_statistics(
	void *state, const void *p, uint64_t count, enum dtype dt, const void *next)
{
	(void)dt;
	stats_add_piece(state, p, count, next);
}

static void handle_statistics_end(void *state, struct journal_tensor *record, bool whole)
{
	if (whole)
		stats_end(state, &record->stats);
}

const struct tensor_observer statistics_observer = {
	.reach = get_statistics_limit,
	.start = start_statistics,
	.piece = update_statistics,
	.end = handle_statistics_end,
};

/* Only buffers with statistics have a checksum. */
static uint64_t get_checksum_limit(const struct config *cfg)
{
	return get_calls_keys(cfg)->checksum == CHECKSUM_OFF ? 0 : get_statistics_limit(cfg);
}

/* Devices compute the XOR of words, but no CRC. */
static bool is_crc_wanted(const struct config *cfg)
{
	return get_calls_keys(cfg)->checksum == CHECKSUM_CRC32;
}

static bool start_checksum(void *state, struct tensor_look *look)
{
	const struct stats_acc **joined = state;

	enum stats_checksum kind = look->stats ? get_checksum_kind(look) : CHECKSUM_OFF;

	if (kind == CHECKSUM_OFF)
		return false;
	stats_with_checksum(look->stats, kind);
	*joined = look->stats;
	return true;
}

static void handle_checksum_end(void *state, struct journal_tensor *record, bool whole)
{
	const struct stats_acc *const *joined = state;

	if (!whole || !record->stats.n)
		return;
	record->crc = (*joined)->checksum;
	record->flags |= TF_CRC;
}

const struct tensor_observer checksum_observer = {
	.reach = get_checksum_limit,
	.needs_bytes = is_crc_wanted,
	.in_order = true,
	.start = start_checksum,
	.end = handle_checksum_end,
};
