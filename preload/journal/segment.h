/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journals in System V shared memory. They have no name in a file system, so nothing can truncate
 * them, and their pages need no disk or server. Like a file they survive kill -9. In meta.json
 * the path of such a journal is "shm:<id>:0x<key>".
 */
#ifndef PROBE_JOURNAL_SEGMENT_H
#define PROBE_JOURNAL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_PATH_MAX 40
#define SEGMENT_KEY 0x50b00000u /* the upper 12 bits of all keys of libprobe */
#define SEGMENT_KEY_MASK 0xfff00000u

struct segment {
	int id;
	uint32_t key;
};

/* Returns true and fills in *s if `path` is the path of a segment, whether it exists or not. */
bool segment_parse(const char *path, struct segment *s);
void segment_format_path(const struct segment *s, char path[SEGMENT_PATH_MAX]);

/*
 * Makes and maps a segment, mode 0600, with an unused key. seed: selects the keys to try. Returns
 * NULL and *err on failure.
 */
void *segment_make(struct segment *s, uint64_t seed, size_t bytes, int *err);

/*
 * Maps segment *s. Returns NULL and *err on failure: -ENOENT if there is no segment with this id
 * and key.
 */
void *segment_map(const struct segment *s, size_t *bytes, bool rdonly, int *err);

struct segment_state {
	size_t bytes;
	uint32_t attached; /* number of mappings, in all processes */
	uint32_t uid; /* user id of the owner */
	int64_t made; /* time of creation, seconds since the epoch */
};

/* Returns 0 or -errno; -ENOENT as in segment_map(). */
int segment_read_state(const struct segment *s, struct segment_state *state);

/* Marks the segment for removal together with its last mapping. Returns 0 or -errno. */
int segment_remove(const struct segment *s);

#endif
