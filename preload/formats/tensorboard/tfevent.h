/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as TensorBoard reads them: protocol buffers (tensorflow/core/util/event.proto,
 * tensorflow/core/framework/summary.proto) in TFRecord frames. Events are appended to memory; the
 * caller writes them to a file with "tfevents" in its name.
 *
 *	length (8 bytes, little endian)   CRC of the length   the event   CRC of the event
 *
 * Each CRC is a CRC-32C, rotated by 15 bits, plus 0xa282ead8 (tensorflow/core/lib/hash/crc32c.h).
 */
#ifndef PROBE_SINK_TFEVENT_H
#define PROBE_SINK_TFEVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tfevents {
	unsigned char *at;
	size_t len, cap;
	size_t max; /* maximum of len; an event that exceeds it fails. 0: no limit */
	bool failed; /* an event did not fit, and is missing; the reader clears this */
};

#define TFEVENT_BUCKETS_MAX 128

/* bucket_limit[i] is the right edge of bucket i. */
struct tfevent_histogram {
	double min, max, num, sum, sum_squares;
	unsigned n;
	const double *limit, *bucket;
};

/* The first event of each file. wall, here and below: seconds of the Unix epoch. */
void tfevent_write_version(struct tfevents *e, double wall);
/* Events of older files from this step on belong to an earlier run: TensorBoard drops them. */
void tfevent_session_start(struct tfevents *e, double wall, int64_t step);
void tfevent_write_scalar(
	struct tfevents *e, double wall, int64_t step, const char *tag, float value);
/* A text, shown by the plug-in `text` (Markdown). */
void tfevent_write_text(
	struct tfevents *e, double wall, int64_t step, const char *tag, const char *text, size_t n);
void tfevent_write_histogram(struct tfevents *e, double wall, int64_t step, const char *tag,
	const struct tfevent_histogram *h);

/*
 * A chart of page `custom scalars`: category, title, and a regular expression for the tags in it.
 * The charts of a category must be adjacent.
 */
struct tfevent_chart {
	const char *category, *title, *tags;
};
void tfevent_write_layout(
	struct tfevents *e, double wall, const struct tfevent_chart *chart, unsigned n);

void tfevents_free(struct tfevents *e);

/*
 * Returns how many of the n bytes complete frames fill. The rest, if any, is a frame that was cut
 * off.
 */
size_t tfevents_measure_whole(const unsigned char *p, size_t n);

/*
 * Returns the size of the frame at p, of which n bytes are available; 0: incomplete, or not a
 * frame. *mark: a value that differs between frames.
 */
size_t tfevent_measure_frame(const unsigned char *p, size_t n, uint64_t *mark);

#endif
