/* SPDX-License-Identifier: Apache-2.0 */
/* A file written from start to end: under a temporary name until it is complete, gzip-compressed if its name ends in .gz, "-": stdout. */
#ifndef PROBE_TOOLS_LIB_TARGET_H
#define PROBE_TOOLS_LIB_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct target {
	char *path, *part; /* part: its temporary name */
	void *gz; /* gzFile */
	FILE *file;
	char *buf;
	size_t n;
	uint64_t bytes; /* written so far, before compression */
	int err; /* errno of the first write that failed */
};

/* Returns 0 or STATUS_USAGE (reported). Creates the folders of its path. */
int target_open(struct target *t, const char *path);
/* The same for a single file that a user named: a missing folder is reported, because it is probably a typing error. */
int target_open_file(struct target *t, const char *path);
/* keep: it is complete and gets its name; else it is removed. Returns 0 or STATUS_USAGE (reported). */
int target_close(struct target *t, bool keep);

void target_put(struct target *t, const void *bytes, size_t n);
void target_text(struct target *t, const char *s);
void target_print(struct target *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Quoted and escaped. */
void target_json(struct target *t, const char *s);
/* Nanoseconds as microseconds with three decimals. */
void target_us(struct target *t, int64_t ns);
/* A number in JSON; null if it is not finite. */
void target_double(struct target *t, double v);

#endif
