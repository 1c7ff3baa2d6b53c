/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a JSON file from beginning to end; it replaces the old file when it is complete. */
#ifndef PROBE_SINK_DUMP_JSON_H
#define PROBE_SINK_DUMP_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DUMP_JSON_BUFFER 65536

struct dump_json {
	int dirfd, fd;
	char name[64];
	int err; /* the first error; nothing is written after an error */
	/*
	 * write values in MindSpore's style; else in PyTorch's. Set by the caller of
	 * dump_json_open().
	 */
	bool mindspore;
	size_t len;
	char buf[DUMP_JSON_BUFFER];
};

/* Opens NAME.tmp in the folder. Returns 0 or -errno, also in ->err. */
int dump_json_open(struct dump_json *j, int dirfd, const char *name);
void dump_write_json_raw(struct dump_json *j, const char *s);
void dump_write_json_text(struct dump_json *j, const char *s); /* in quotes */
void dump_write_json_u64(struct dump_json *j, uint64_t v);
void dump_write_json_i64(struct dump_json *j, int64_t v);
/*
 * Writes a float as Python's json module does: 1.0, 1e-05, NaN, -Infinity. digits: number of
 * significant digits.
 */
void dump_write_json_float(struct dump_json *j, double v, int digits);
/*
 * Renames the file to its final name, or removes it after an error. Returns the first error, or
 * 0.
 */
int dump_json_close(struct dump_json *j);

#endif
