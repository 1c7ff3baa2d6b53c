/* SPDX-License-Identifier: Apache-2.0 */
/* The staged calls of a step in the order of their numbers. */
#ifndef PROBE_SINK_DUMP_ORDER_H
#define PROBE_SINK_DUMP_ORDER_H

#include <stdint.h>

#include "formats/dump/kept/dump_stage.h"

#define DUMP_CALLS_MAX (1u << 22) /* per step; calls above this number are not in the dump */

struct dump_ref {
	uint64_t seq, at; /* at: position in the file */
	uint64_t parent; /* number of the record to which this one adds details; UINT64_MAX: none */
	uint32_t bytes;
	uint32_t batch; /* how often the files had been made before this call came */
};

/* A record that adds details to another one (flag `part`). */
struct dump_part {
	uint64_t parent;
	uint32_t ref;
};

struct dump_order {
	int fd;
	struct dump_ref *ref;
	uint32_t n, cap;
	struct dump_part *part; /* sorted by parent, then by call */
	uint32_t nparts, cap_part;
	uint64_t lost;
};

/* Reads the staged calls of `step`. Returns 0, -ENOENT (no such step), or -errno. */
int dump_order_read(struct dump_order *o, int dirfd, uint32_t step);
void dump_order_free(struct dump_order *o);

/*
 * Returns the i-th call, read into the caller's memory *buf (grown by realloc). Returns NULL if
 * it cannot be read.
 */
const struct staged_head *dump_order_read_item(
	const struct dump_order *o, uint32_t i, void **buf, size_t *cap);

/* Returns the first part of call `parent`, and the number of its parts in *n. */
const struct dump_part *dump_order_find_parts(
	const struct dump_order *o, uint64_t parent, uint32_t *n);

/* True if the step has a call with number seq. */
bool dump_order_has(const struct dump_order *o, uint64_t seq);

#endif
