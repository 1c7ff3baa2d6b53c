/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the bytes of a file, plain or gzip-compressed, piece by piece. A source can close its file
 * between two pieces, so that a thousand files can be read in turn.
 */
#ifndef PROBE_TOOLS_SOURCE_H
#define PROBE_TOOLS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct source;

/* Converts a file that is not text. state: the result of open(). */
struct source_decoder {
	void *(*open)(void);
	/* Like source_read(). Gets its input with source_read_piece(). */
	ssize_t (*read)(void *state, struct source *s, void *buf, size_t cap);
	/*
	 * Skips to the text that comes after byte `offset` of the file. Called only before the
	 * first read().
	 */
	void (*skip)(void *state, struct source *s, uint64_t offset);
	void (*close)(void *state);
};

struct source {
	char *path;
	int fd; /* -1: closed until the next piece is read */
	bool keep_open;
	bool truncated; /* the compressed data ends early or is damaged */
	uint64_t at; /* bytes read from the file so far */
	uint64_t limit; /* number of valid bytes in the file */
	uint64_t size; /* size of a plain file when it was opened; UINT64_MAX: not known */
	struct source_gz *gz; /* NULL: not compressed */
	const struct source_decoder *decoder; /* NULL: the bytes of the file are the text */
	void *decoding;
	uint64_t damaged; /* number of records that could not be decoded */
};

/*
 * Returns how many sources may keep their files open at once: the process's limit of open files,
 * raised as far as possible, minus a reserve for other files. 0: no source may.
 */
unsigned source_get_open_limit(void);

/*
 * Opens a file. limit: number of bytes to read of a plain file (UINT64_MAX: all). Returns 0 or
 * -errno.
 */
int source_open(struct source *s, const char *path, uint64_t limit, bool keep_open);
void source_close(struct source *s);

/* From now on source_read() returns the output of the decoder. */
void source_set_decoder(struct source *s, const struct source_decoder *decoder);
/*
 * Reads up to cap bytes of a plain file, not decoded. Returns the number of bytes, 0 at the end, or
 * -errno.
 */
ssize_t source_read_piece(struct source *s, void *buf, size_t cap);

/* Reads up to cap bytes of the text. Returns the number of bytes, 0 at the end, or -errno. */
ssize_t source_read(struct source *s, void *buf, size_t cap);

#endif
