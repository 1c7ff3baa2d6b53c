/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is written from start to end. It has a temporary name until it is complete. It is
 * gzip-compressed if its name ends in .gz. The name "-" is stdout.
 */
#ifndef PROBE_TOOLS_LIB_TARGET_H
#define PROBE_TOOLS_LIB_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct target {
	char *path, *part; /* part: the temporary name */
	void *gz; /* gzFile */
	FILE *file;
	char *buf;
	size_t n;
	uint64_t bytes; /* bytes written so far, before compression */
	int err; /* errno of the first failed write */
};

/* Opens the file and creates the folders of its path. Returns 0 or STATUS_USAGE (reported). */
int target_open(struct target *t, const char *path);
/*
 * Like target_open(), for a file that the user named: a missing folder is reported instead of
 * created, because it is probably a typing error.
 */
int target_open_file(struct target *t, const char *path);
/*
 * Closes the file. keep: gives the file its name; otherwise removes it. Returns 0 or STATUS_USAGE
 * (reported).
 */
int target_close(struct target *t, bool keep);

void target_write(struct target *t, const void *bytes, size_t n);
void target_write_text(struct target *t, const char *s);
void target_print(struct target *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes s quoted and escaped. */
void target_write_json(struct target *t, const char *s);
/* Writes nanoseconds as microseconds with three decimals. */
void target_write_us(struct target *t, int64_t ns);
/* Writes a number, or null if it is not finite. */
void target_write_double(struct target *t, double v);

#endif
