/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journals in System V shared memory: no name in any file system, so nothing can truncate them, and no disk or server
 * after their pages; like a file they are there after kill -9. In meta.json such a journal's path is
 * "shm:<id>:0x<key>".
 */
#ifndef PROBE_JOURNAL_SEGMENT_H
#define PROBE_JOURNAL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_PATH_MAX 40
#define SEGMENT_KEY 0x50b00000u /* of all our keys: the upper 12 bits */
#define SEGMENT_KEY_MASK 0xfff00000u

struct segment {
	int id;
	uint32_t key;
};

/* True if that is the path of a segment, whether there is one or not. */
bool segment_parse(const char *path, struct segment *s);
void segment_path(const struct segment *s, char path[SEGMENT_PATH_MAX]);

/* Makes and maps one, mode 0600, with a key that is not in use. seed: chooses the keys that are tried. NULL and *err. */
void *segment_make(struct segment *s, uint64_t seed, size_t bytes, int *err);

/* Maps it. NULL and *err: -ENOENT if there is none of that id and key. */
void *segment_map(const struct segment *s, size_t *bytes, bool rdonly, int *err);

struct segment_state {
	size_t bytes;
	uint32_t attached; /* mappings of it, in all processes */
	uint32_t uid; /* of its owner */
	int64_t made; /* seconds since the epoch */
};

/* -errno; -ENOENT as above. */
int segment_look(const struct segment *s, struct segment_state *state);

/* It vanishes with its last mapping. -errno. */
int segment_remove(const struct segment *s);

#endif
