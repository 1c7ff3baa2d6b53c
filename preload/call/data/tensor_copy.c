/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor observer: copies the tensors of a dump, and computes the XOR that a dump may use instead of statistics. */
#include <string.h>

#include "base/log.h"
#include "call/data/observer.h"
#include "config/output_format.h"
#include "config/rooms/dump.h"
#include "config/rooms/files.h"
#include "journal/layout.h"
#include "journal/store/tensor_pool.h"
#include "session/state.h"

#define MIB (UINT64_C(1) << 20)

struct copying {
	struct tensor_copy *to;
	uint64_t at; /* bytes copied */
};

_Static_assert(sizeof(struct copying) <= TENSOR_STATE_BYTES, "the copy needs more state");

static bool are_tensors_wanted(const struct config *cfg)
{
	const struct dump_keys *keys = get_dump_keys(cfg);

	return keys->task == DUMP_TENSOR || keys->task == DUMP_DIFF_CHECK || *keys->tensor_list;
}

/* True for calls by which the program saves tensors itself: these are copied for any task. */
static bool is_saved_by_program(const struct api *row)
{
	return strcmp(row->spec->lib->name, "probe") == 0;
}

static uint64_t open_pool_and_get_limit(const struct config *cfg)
{
	if (!output_has_format(get_files_keys(cfg)->format, FORMAT_DUMP) ||
		tensor_pool_open((uint64_t)get_dump_keys(cfg)->dump_buffer_mib * MIB) < 0)
		return 0;
	return UINT64_MAX;
}

/* True if the list is not empty and each of its lines begins with `prefix`. */
static bool has_prefix_in_each_line(const char *list, const char *prefix)
{
	size_t n = strlen(prefix);

	for (const char *p = list; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (strncmp(p, prefix, n) != 0)
			return false;
	return *list != 0;
}

/* Names are assigned when the dump is written. A tensor that cannot get a wanted name is not copied. */
static bool can_be_named(const struct config *cfg, const struct api *row)
{
	const struct dump_keys *keys = get_dump_keys(cfg);
	const char *list = keys->task == DUMP_TENSOR || keys->task == DUMP_DIFF_CHECK
				   ? keys->list
				   : keys->tensor_list;
	const struct kind *kind = row->spec->kind;

	return !has_prefix_in_each_line(list, "Distributed") || (kind && kind->collective) ||
	       strcmp(row->spec->lib->name, "c10d") == 0;
}

static bool is_direction_wanted(const struct config *cfg, uint8_t io)
{
	const char *m = get_dump_keys(cfg)->data_mode;
	bool in = strstr(m, "input") != NULL, out = strstr(m, "output") != NULL;

	return (!in && !out) || (io == IO_IN ? in : out);
}

/*
 * Stores the sizes, and the strides that the elements get when they are packed in memory order (call/data/view.c).
 * Inner dimensions are those with smaller strides; those of stride 0 are outermost.
 */
static void set_copy_dims(struct tensor_copy *c, const struct buffer *v)
{
	uint64_t *size = tensor_copy_dims(c), *stride = size + c->ndim, next = 1;
	const int64_t *sizes = v->counts, *strides = v->displs;
	uint8_t order[TENSOR_POOL_DIMS];

	if (v->layout != BUFFER_STRIDED) {
		size[0] = v->count;
		stride[0] = 1;
		return;
	}
	for (unsigned i = 0; i < c->ndim; i++) {
		unsigned k = i;

		for (; k && (uint64_t)strides[order[k - 1]] - 1 > (uint64_t)strides[i] - 1; k--)
			order[k] = order[k - 1];
		order[k] = (uint8_t)i;
		size[i] = (uint64_t)sizes[i];
	}
	for (unsigned i = 0; i < c->ndim; i++) {
		stride[order[i]] = next;
		next *= size[order[i]];
	}
}

static bool start_copy(void *state, struct tensor_look *look)
{
	const struct buffer *v = look->buffer;
	const struct config *cfg = look->cfg;
	struct copying *s = state;
	unsigned ndim = v->layout == BUFFER_STRIDED ? v->n : 1;

	if (!get_dtype_info(v->dtype)->size || ndim > TENSOR_POOL_DIMS ||
		(v->layout == BUFFER_STRIDED && TENSOR_IS_VALUE(v->arg)) ||
		(!is_saved_by_program(look->row) &&
			(!are_tensors_wanted(cfg) || !can_be_named(cfg, look->row) ||
				!is_direction_wanted(cfg, v->io))))
		return false;
	s->to = tensor_pool_allows(
			look->step, v->bytes, (uint64_t)get_dump_keys(cfg)->dump_limit_mib * MIB)
			? tensor_pool_reserve(ndim, v->bytes)
			: NULL;
	if (!s->to) {
		look->record->flags |= TF_LEFT_OUT;
		log_loss(LOSS_DUMP,
			"dump: no space for a tensor of %llu bytes: such tensors are skipped, and "
			"named in dump.json; raise dump_buffer_mib or dump_limit_mib, or choose "
			"fewer by list",
			(unsigned long long)v->bytes);
		return false;
	}
	s->at = 0;
	s->to->seq = look->seq;
	s->to->step = look->step;
	s->to->index = v->index;
	s->to->io = v->io;
	s->to->dtype = v->dtype;
	s->to->count = v->count;
	set_copy_dims(s->to, v);
	return true;
}

static void copy_piece(void *state, const void *p, uint64_t count, enum dtype dt, const void *next)
{
	struct copying *s = state;
	uint64_t bytes = count * get_dtype_info(dt)->size;

	(void)next;
	/*
	 * Copies only the bytes that were announced: one byte more would overwrite another
	 * tensor.
	 */
	if (bytes > s->to->bytes - s->at)
		bytes = s->to->bytes - s->at;
	memcpy((char *)tensor_copy_data(s->to) + s->at, p, bytes);
	s->at += bytes;
}

static void handle_copy_end(void *state, struct journal_tensor *record, bool whole)
{
	struct copying *s = state;

	whole = whole && s->at == s->to->bytes;
	record->flags |= whole ? TF_SAVED : TF_LEFT_OUT;
	tensor_pool_close_copy(s->to, whole);
	if (tensor_pool_is_filling())
		session_hooks.wake_writer();
}

const struct tensor_observer copy_observer = {
	.reach = open_pool_and_get_limit,
	.needs_bytes = are_tensors_wanted,
	.in_order = true,
	.start = start_copy,
	.piece = copy_piece,
	.end = handle_copy_end,
};

/* ---- XOR of 64-bit words ---- */

struct wide_xor {
	uint64_t sum, last; /* last: the word that is not complete yet */
	unsigned fill; /* number of bytes in `last` */
};

static uint64_t get_wide_xor_limit(const struct config *cfg)
{
	return output_has_format(get_files_keys(cfg)->format, FORMAT_DUMP) &&
			       get_dump_keys(cfg)->summary_mode == SUMMARY_XOR
		       ? UINT64_MAX
		       : 0;
}

static bool is_whole_tensor_needed(const struct config *cfg)
{
	(void)cfg;
	return true;
}

static bool start_wide_xor(void *state, struct tensor_look *look)
{
	(void)look;
	*(struct wide_xor *)state = (struct wide_xor){0};
	return true;
}

static void update_wide_xor(
	void *state, const void *p, uint64_t count, enum dtype dt, const void *next)
{
	const unsigned char *at = p, *end = at + count * get_dtype_info(dt)->size;
	struct wide_xor *s = state;
	uint64_t word;

	(void)next;
	for (; at < end && s->fill; at++) {
		s->last |= (uint64_t)*at << 8 * s->fill;
		s->fill = (s->fill + 1) % 8;
		if (!s->fill) {
			s->sum ^= s->last;
			s->last = 0;
		}
	}
	for (; end - at >= 8; at += 8) {
		memcpy(&word, at, 8);
		s->sum ^= word;
	}
	for (; at < end; at++)
		s->last |= (uint64_t)*at << 8 * s->fill++;
}

static void handle_wide_xor_end(void *state, struct journal_tensor *record, bool whole)
{
	const struct wide_xor *s = state;

	if (!whole)
		return;
	/* The sum replaces the statistics. */
	record->stats.n = 0;
	record->stats.min.u = s->sum ^ s->last;
	record->flags |= TF_XOR;
}

const struct tensor_observer wide_xor_observer = {
	.reach = get_wide_xor_limit,
	.needs_bytes = is_whole_tensor_needed,
	.in_order = true,
	.start = start_wide_xor,
	.piece = update_wide_xor,
	.end = handle_wide_xor_end,
};
