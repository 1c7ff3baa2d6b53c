/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/tensorboard/tfevent.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_HEAD 12 /* length and its CRC */
#define FRAME_TAIL 4
#define EVENT_MAX (64u << 20) /* maximum size of an event; libprobe writes no larger ones */

/* ---- CRC-32C ---- */

/* Adds four bits at once. Reflected polynomial 0x82f63b78. */
static uint32_t add_nibble(uint32_t crc, uint32_t bits)
{
	static const uint32_t of[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc,
		0x5125dad3, 0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

	return crc >> 4 ^ of[(crc ^ bits) & 15];
}

static uint32_t masked_crc32c(const unsigned char *p, size_t n)
{
	uint32_t crc = UINT32_MAX;

	for (; n; n--, p++)
		crc = add_nibble(add_nibble(crc, *p), *p >> 4);
	crc = ~crc;
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void write_little_endian(unsigned char *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (unsigned char)(v >> 8 * i);
}

static uint64_t load_le(const unsigned char *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

/* ---- protocol buffers: whether there is enough space is checked at the end of the event ---- */

static unsigned char *get_event_space(struct tfevents *e, size_t n)
{
	size_t want = e->cap ? e->cap : 4096;
	unsigned char *more;

	if (e->failed || (e->max && e->len + n > e->max)) {
		e->failed = true;
		return NULL;
	}
	while (want < e->len + n)
		want *= 2;
	if (want != e->cap) {
		more = realloc(e->at, want);
		if (!more) {
			e->failed = true;
			return NULL;
		}
		e->at = more;
		e->cap = want;
	}
	e->len += n;
	return e->at + e->len - n;
}

static void write_proto_bytes(struct tfevents *e, const void *p, size_t n)
{
	unsigned char *to = n ? get_event_space(e, n) : NULL;

	if (to)
		memcpy(to, p, n);
}

static unsigned format_varint(unsigned char out[10], uint64_t v)
{
	unsigned n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (unsigned char)(v | 0x80);
	out[n++] = (unsigned char)v;
	return n;
}

static void write_varint(struct tfevents *e, uint64_t v)
{
	unsigned char b[10];

	write_proto_bytes(e, b, format_varint(b, v));
}

enum wire { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

static void write_proto_key(struct tfevents *e, unsigned field, enum wire wire)
{
	write_varint(e, field << 3 | wire);
}

static void write_number_field(struct tfevents *e, unsigned field, uint64_t v)
{
	write_proto_key(e, field, WIRE_VARINT);
	write_varint(e, v);
}

static void write_double_field(struct tfevents *e, unsigned field, double v)
{
	uint64_t bits;
	unsigned char *to;

	memcpy(&bits, &v, 8);
	write_proto_key(e, field, WIRE_64);
	to = get_event_space(e, 8);
	if (to)
		write_little_endian(to, bits, 8);
}

static void write_bytes_field(struct tfevents *e, unsigned field, const void *p, size_t n)
{
	write_proto_key(e, field, WIRE_BYTES);
	write_varint(e, n);
	write_proto_bytes(e, p, n);
}

static void write_text_field(struct tfevents *e, unsigned field, const char *s)
{
	write_bytes_field(e, field, s, strlen(s));
}

/*
 * The content of a field is written between open_field() and close_field(), which inserts the
 * length before it.
 */
static size_t open_field(struct tfevents *e, unsigned field)
{
	write_proto_key(e, field, WIRE_BYTES);
	return e->len;
}

static void close_field(struct tfevents *e, size_t from)
{
	unsigned char b[10];
	size_t len = e->len - from;
	unsigned n = format_varint(b, len);

	if (!get_event_space(e, n))
		return;
	memmove(e->at + from + n, e->at + from, len);
	memcpy(e->at + from, b, n);
}

/* ---- events ---- */

enum { EVENT_WALL = 1, EVENT_STEP, EVENT_VERSION, EVENT_SUMMARY = 5, EVENT_SESSION = 7 };
enum { VALUE_TAG = 1, VALUE_SIMPLE, VALUE_HISTOGRAM = 5, VALUE_TENSOR = 8, VALUE_METADATA };

struct open_event {
	size_t frame; /* position of the event's frame */
	size_t summary, value; /* positions of open fields; 0: none */
};

static struct open_event start_tf_event(struct tfevents *e, double wall, int64_t step)
{
	struct open_event o = {.frame = e->len};

	get_event_space(e, FRAME_HEAD);
	write_double_field(e, EVENT_WALL, wall);
	if (step)
		write_number_field(e, EVENT_STEP, (uint64_t)step);
	return o;
}

static void close_tf_event(struct tfevents *e, const struct open_event *o)
{
	size_t from = o->frame + FRAME_HEAD;
	unsigned char *head;

	if (o->value)
		close_field(e, o->value);
	if (o->summary)
		close_field(e, o->summary);
	get_event_space(e, FRAME_TAIL);
	if (e->failed) {
		e->len = o->frame;
		return;
	}
	head = e->at + o->frame;
	write_little_endian(head, e->len - FRAME_TAIL - from, 8);
	write_little_endian(head + 8, masked_crc32c(head, 8), 4);
	write_little_endian(e->at + e->len - FRAME_TAIL,
		masked_crc32c(e->at + from, e->len - FRAME_TAIL - from), 4);
}

static struct open_event open_tf_value(
	struct tfevents *e, double wall, int64_t step, const char *tag)
{
	struct open_event o = start_tf_event(e, wall, step);

	o.summary = open_field(e, EVENT_SUMMARY);
	o.value = open_field(e, 1);
	write_text_field(e, VALUE_TAG, tag);
	return o;
}

void tfevent_write_version(struct tfevents *e, double wall)
{
	struct open_event o = start_tf_event(e, wall, 0);

	write_text_field(e, EVENT_VERSION, "brain.Event:2");
	close_tf_event(e, &o);
}

void tfevent_session_start(struct tfevents *e, double wall, int64_t step)
{
	struct open_event o = start_tf_event(e, wall, step);
	size_t log = open_field(e, EVENT_SESSION);

	write_number_field(e, 1, 1); /* status: START */
	close_field(e, log);
	close_tf_event(e, &o);
}

void tfevent_write_scalar(
	struct tfevents *e, double wall, int64_t step, const char *tag, float value)
{
	struct open_event o = open_tf_value(e, wall, step, tag);
	unsigned char *to;
	uint32_t bits;

	memcpy(&bits, &value, 4);
	write_proto_key(e, VALUE_SIMPLE, WIRE_32);
	to = get_event_space(e, 4);
	if (to)
		write_little_endian(to, bits, 4);
	close_tf_event(e, &o);
}

/* Writes a tensor of one string, for plug-in `plugin`. */
static void write_string_tensor(
	struct tfevents *e, const char *plugin, const void *p, size_t n, bool vector)
{
	size_t tensor = open_field(e, VALUE_TENSOR), shape, dim, metadata;

	write_number_field(e, 1, 7); /* DT_STRING */
	shape = open_field(e, 2);
	if (vector) {
		dim = open_field(e, 2);
		write_number_field(e, 1, 1);
		close_field(e, dim);
	}
	close_field(e, shape);
	write_bytes_field(e, 8, p, n);
	close_field(e, tensor);
	metadata = open_field(e, VALUE_METADATA);
	dim = open_field(e, 1);
	write_text_field(e, 1, plugin);
	close_field(e, dim);
	close_field(e, metadata);
}

void tfevent_write_text(
	struct tfevents *e, double wall, int64_t step, const char *tag, const char *text, size_t n)
{
	struct open_event o = open_tf_value(e, wall, step, tag);

	write_string_tensor(e, "text", text, n, true);
	close_tf_event(e, &o);
}

static void put_packed_doubles(struct tfevents *e, unsigned field, const double *v, unsigned n)
{
	unsigned char *to;

	write_proto_key(e, field, WIRE_BYTES);
	write_varint(e, 8 * (uint64_t)n);
	to = get_event_space(e, 8 * (size_t)n);
	for (unsigned i = 0; to && i < n; i++) {
		uint64_t bits;

		memcpy(&bits, &v[i], 8);
		write_little_endian(to + 8 * (size_t)i, bits, 8);
	}
}

void tfevent_write_histogram(struct tfevents *e, double wall, int64_t step, const char *tag,
	const struct tfevent_histogram *h)
{
	struct open_event o = open_tf_value(e, wall, step, tag);
	const double v[] = {h->min, h->max, h->num, h->sum, h->sum_squares};
	size_t histogram = open_field(e, VALUE_HISTOGRAM);

	for (unsigned i = 0; i < 5; i++)
		write_double_field(e, i + 1, v[i]);
	put_packed_doubles(e, 6, h->limit, h->n);
	put_packed_doubles(e, 7, h->bucket, h->n);
	close_field(e, histogram);
	close_tf_event(e, &o);
}

/* Writes the message of tensorboard/plugins/custom_scalar/layout.proto. */
static void write_layout(struct tfevents *e, const struct tfevent_chart *chart, unsigned n)
{
	for (unsigned i = 0; i < n;) {
		const char *category = chart[i].category;
		size_t at = open_field(e, 2), one, lines;

		write_text_field(e, 1, category);
		for (; i < n && strcmp(chart[i].category, category) == 0; i++) {
			one = open_field(e, 2);
			write_text_field(e, 1, chart[i].title);
			lines = open_field(e, 2);
			write_text_field(e, 1, chart[i].tags);
			close_field(e, lines);
			close_field(e, one);
		}
		close_field(e, at);
	}
}

void tfevent_write_layout(
	struct tfevents *e, double wall, const struct tfevent_chart *chart, unsigned n)
{
	struct tfevents layout = {0};
	struct open_event o;

	write_layout(&layout, chart, n);
	o = open_tf_value(e, wall, 0, "custom_scalars__config__");
	write_string_tensor(e, "custom_scalars", layout.at, layout.len, false);
	e->failed |= layout.failed;
	close_tf_event(e, &o);
	tfevents_free(&layout);
}

void tfevents_free(struct tfevents *e)
{
	free(e->at);
	*e = (struct tfevents){.max = e->max};
}

/* ---- reading a file ---- */

size_t tfevent_measure_frame(const unsigned char *p, size_t n, uint64_t *mark)
{
	uint64_t len;
	uint32_t crc;

	if (n < FRAME_HEAD + FRAME_TAIL)
		return 0;
	len = load_le(p, 8);
	if (len > EVENT_MAX || len > n - FRAME_HEAD - FRAME_TAIL ||
		load_le(p + 8, 4) != masked_crc32c(p, 8))
		return 0;
	crc = masked_crc32c(p + FRAME_HEAD, len);
	if (load_le(p + FRAME_HEAD + len, 4) != crc)
		return 0;
	*mark = len << 32 | crc;
	return FRAME_HEAD + (size_t)len + FRAME_TAIL;
}

size_t tfevents_measure_whole(const unsigned char *p, size_t n)
{
	size_t at = 0, frame;
	uint64_t mark;

	while ((frame = tfevent_measure_frame(p + at, n - at, &mark)))
		at += frame;
	return at;
}
