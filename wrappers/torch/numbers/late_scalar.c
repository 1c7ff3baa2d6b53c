/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/numbers/late_scalar.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "terms/dtype.h"
#include "wrappers/torch/numbers/scalars.h"
#include "wrappers/torch/tensors/on_device.h"
#include "wrappers/torch/tensors/tensor.h"
#include "wrappers/torch/tensors/torch.h"

/* The types of torch_read_number(). */
static bool is_number_type(uint8_t dtype)
{
	return dtype == DT_FLOAT64 || dtype == DT_FLOAT32 || dtype == DT_FLOAT16 ||
	       dtype == DT_BFLOAT16 || dtype == DT_INT64 || dtype == DT_INT32;
}

/* Describes a one-element tensor of real type in memory that is read now, or by its device. */
static bool find_scalar_buffer(const void *impl, struct buffer *b)
{
	return torch_read_tensor(impl, b) && b->count == 1 && is_number_type(b->dtype) &&
	       (!b->nostats || (torch_find_buffer(impl, b) && b->device));
}

bool scalar_is_readable(const void *impl)
{
	struct buffer b;

	return find_scalar_buffer(impl, &b);
}

bool scalar_read(const void *impl, struct scalar_source *out)
{
	struct buffer b;

	*out = (struct scalar_source){.value = NAN};
	if (!find_scalar_buffer(impl, &b))
		return false;
	if (b.device)
		out->late = late_measure(&b, torch_get_stream(&b));
	else
		out->known = torch_read_number(impl, &out->value);
	return b.device || out->known;
}

/* A number on a device was seen: from then on all events are queued, for they are one series. */
static _Atomic bool queues;

void scalar_set_queueing(void)
{
	atomic_store_explicit(&queues, true, memory_order_relaxed);
}

void torch_late_scalars_forked(void)
{
	atomic_store(&queues, false);
}

struct queued_event {
	scalar_event_fn *fn;
	double value[LATE_NUMBERS];
	/* late[i]: 1 + index of the number's statistics; 0: value[i] */
	uint8_t n, late[LATE_NUMBERS];
	bool known[LATE_NUMBERS];
	uint8_t dtype[LATE_NUMBERS];
	uint32_t bytes;
	char data[SCALAR_EVENT_MAX] __attribute__((aligned(8)));
};

/* Returns the one element of a tensor. */
static double get_element(const struct stats *s, enum dtype dtype)
{
	return s->nans ? (double)NAN : stats_value_as_double(get_dtype_info(dtype)->cls, s->min);
}

static void handle_queued_event(const void *data, const struct stats *stats)
{
	const struct queued_event *e = data;
	double value[LATE_NUMBERS];
	bool known[LATE_NUMBERS];

	for (unsigned i = 0; i < e->n; i++) {
		const struct stats *s = e->late[i] ? &stats[e->late[i] - 1] : NULL;

		known[i] = s ? s->n != 0 : e->known[i];
		value[i] = !s	      ? e->value[i]
			   : known[i] ? get_element(s, (enum dtype)e->dtype[i])
				      : (double)NAN;
	}
	e->fn(e->data, value, known);
}

void handle_scalar_event(scalar_event_fn *fn, const void *data, uint32_t bytes,
	const struct scalar_source *number, unsigned n)
{
	struct queued_event e = {.fn = fn, .n = (uint8_t)n, .bytes = bytes};
	struct late_number late[LATE_NUMBERS];
	unsigned nlate = 0;
	bool late_event = false;

	for (unsigned i = 0; i < n; i++) {
		e.value[i] = number[i].value;
		e.known[i] = number[i].known;
		late_event |= !number[i].known;
		e.dtype[i] = number[i].late.dtype;
		if (number[i].late.snapshot) {
			late[nlate++] = number[i].late;
			e.late[i] = (uint8_t)nlate;
		}
	}
	if (!late_event && !atomic_load_explicit(&queues, memory_order_relaxed)) {
		fn(data, e.value, e.known);
		return;
	}
	scalar_set_queueing();
	if (bytes)
		memcpy(e.data, data, bytes);
	late_add(handle_queued_event, &e,
		(uint32_t)((char *)&e.data - (char *)&e) + ((bytes + 7) & ~7u), late, nlate);
}
