/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a file, plain or gzip-compressed, piece by piece. A source need not keep its file open between two pieces, so that a
 * thousand can be read in turn.
 */
#ifndef PROBE_TOOLS_SOURCE_H
#define PROBE_TOOLS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct source;

/* Decodes files that are not text. state: what open() returned. */
struct source_decoder {
	void *(*open)(void);
	/* Like source_read(); reads its input with source_read_piece(). */
	ssize_t (*read)(void *state, struct source *s, void *buf, size_t cap);
	/* Continues with the text after that byte of the file. Only before anything was read of it. */
	void (*skip)(void *state, struct source *s, uint64_t offset);
	void (*close)(void *state);
};

struct source {
	char *path;
	int fd; /* -1: closed between pieces */
	bool keep_open;
	bool truncated; /* a compressed file ended in the middle, or is damaged */
	uint64_t at; /* bytes taken from the file so far */
	uint64_t limit; /* number of valid bytes of the file */
	uint64_t size; /* bytes of a plain file when it was opened; UINT64_MAX: not known */
	struct source_gz *gz; /* NULL: plain */
	const struct source_decoder *decoder; /* NULL: its bytes are the text */
	void *decoding;
	uint64_t damaged; /* records that could not be decoded */
};

/*
 * How many sources may be kept open at once: the process's limit of files, raised as far as possible, minus other files; 0: keep none open.
 */
unsigned source_count_keepable(void);

/* limit: how much of a plain file is to be read (UINT64_MAX: all). Returns -errno. */
int source_open(struct source *s, const char *path, uint64_t limit, bool keep_open);
void source_close(struct source *s);

/* From now on its text is the decoder's output. */
void source_set_decoder(struct source *s, const struct source_decoder *decoder);
/* Bytes of a plain file, not decoded: up to cap; 0 at the end, -errno. */
ssize_t source_read_piece(struct source *s, void *buf, size_t cap);

/* Up to cap bytes; 0 at the end, -errno. */
ssize_t source_read(struct source *s, void *buf, size_t cap);

#endif
