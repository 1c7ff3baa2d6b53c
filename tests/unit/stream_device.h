/* SPDX-License-Identifier: Apache-2.0 */
/* A device for tests of preload/call/stream.c: every request to it is noted down in `events`. */
#ifndef TESTS_UNIT_STREAM_DEVICE_H
#define TESTS_UNIT_STREAM_DEVICE_H

#include "core_helper.h"

#include "journal/columns.h"
#include "device/device.h"

#define SNAPSHOTS 3000
static char events[65536];
static enum device_memory memory_is = DEVICE_IDLE;
static bool loaded, capture;
static int copy_gives, poll_gives = 1;
static _Atomic unsigned nsnapshots, held;
static bool quiet; /* many threads: nothing is noted down */
static bool real; /* a snapshot holds what was copied */
static const char *host_from, *host_to; /* memory that is of another sort */
static enum device_memory host_is = DEVICE_HOST;
static float staged[SNAPSHOTS][4];

static void event(const char *fmt, ...)
{
	size_t n = quiet ? 0 : strlen(events);
	va_list ap;

	if (quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(events + n, sizeof(events) - n, fmt, ap);
	va_end(ap);
}

static bool attach(void)
{
	return loaded;
}

static enum device_memory memory(const void *p)
{
	if ((const char *)p >= host_from && (const char *)p < host_to)
		return host_is;
	return memory_is;
}

static bool capturing(uint64_t stream)
{
	event("capture? %u; ", (unsigned)stream);
	return capture;
}

static int copy(uint64_t stream, const void *from, size_t bytes, uint32_t *snapshot)
{
	event("copy %c on %u; ", ((const char *)from)[0], (unsigned)stream);
	if (copy_gives || nsnapshots == SNAPSHOTS - 1)
		return copy_gives ? copy_gives : -ENOBUFS;
	*snapshot = ++nsnapshots;
	held++;
	/* What it holds shows where a figure comes from. */
	for (size_t i = 0; i < bytes / 4 && i < 4; i++)
		staged[*snapshot][i] = (float)(100 * *snapshot + i);
	if (real) {
		assert_true(bytes <= sizeof(staged[0]));
		memcpy(staged[*snapshot], from, bytes);
	}
	return 0;
}

static int poll(uint32_t snapshot, const void **at)
{
	*at = staged[snapshot];
	return poll_gives;
}

static void drop(uint32_t snapshot)
{
	assert_true(snapshot && held);
	held--;
	event("drop %u; ", snapshot);
}

static const struct device_backend fake = {
	"fake", "libcmocka", attach, memory, capturing, NULL, copy, poll, drop, NULL};
const struct device_backend *const device_backends[] = {&fake, NULL};

/* "in MAX FLAGS; out MAX FLAGS" of a call; numbered: the index after in and out. */
static bool numbered;

static const char *rows(const struct table *t, uint64_t seq)
{
	static char text[512];
	size_t n = 0;

	text[0] = 0;
	for (size_t i = 0; i < t->n; i++) {
		char *const *f = t->row[i].field;

		if (strtoull(f[COL_seq], NULL, 10) == seq)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %s%s%s %s",
				n ? "; " : "", f[COL_io], numbered ? f[COL_index] : "",
				numbered ? " " : "", f[COL_max], f[COL_flags]);
	}
	return text;
}

#define assert_rows(seq, text)                              \
	do {                                                \
		uint64_t seq_ = (seq);                      \
		struct table t_ = session_rows(false);      \
		assert_sound(&t_);                          \
		assert_string_equal(rows(&t_, seq_), text); \
		free_test_table(&t_);                       \
	} while (0)

#endif
