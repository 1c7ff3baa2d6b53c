/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON file that is written from its beginning to its end, and takes its place when it is whole. */
#ifndef PROBE_SINK_DUMP_JSON_H
#define PROBE_SINK_DUMP_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DUMP_JSON_BUFFER 65536

struct dump_json {
	int dirfd, fd;
	char name[64];
	int err; /* of the first failure; what comes after it is not written */
	bool mindspore; /* values are written as of that framework; else as of PyTorch. Set by who has opened it. */
	size_t len;
	char buf[DUMP_JSON_BUFFER];
};

/* As NAME.tmp in the folder. -errno, also in ->err. */
int dump_json_open(struct dump_json *j, int dirfd, const char *name);
void dump_json_raw(struct dump_json *j, const char *s);
void dump_json_text(struct dump_json *j, const char *s); /* quoted */
void dump_json_u64(struct dump_json *j, uint64_t v);
void dump_json_i64(struct dump_json *j, int64_t v);
/* As Python's json writes a float: 1.0, 1e-05, NaN, -Infinity. digits: significant ones. */
void dump_json_float(struct dump_json *j, double v, int digits);
/* Puts it in its place, or removes it. The first error, 0. */
int dump_json_close(struct dump_json *j);

#endif
