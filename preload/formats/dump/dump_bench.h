/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the calls that the tasks overflow_check and diff_check keep. */
#ifndef PROBE_SINK_DUMP_BENCH_H
#define PROBE_SINK_DUMP_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/dump/dump_entry.h"

/* True if all inputs are finite, and an output contains NaN or Inf. */
bool dump_has_overflow(const struct dump_group *g);

/* The dump.json of an earlier run, with the checksums of its tensors. */
struct dump_bench;

/*
 * Opens the dump of `rank` and `step` below `path`. Returns NULL if there is none that can be
 * read.
 */
struct dump_bench *dump_bench_open(const char *path, uint32_t step, int32_t rank);
void dump_bench_free(struct dump_bench *b);

/* True if call `name` of the earlier run had the same inputs, and other outputs. */
bool dump_is_different(const struct dump_bench *b, const char *name, const struct dump_group *g);

#endif
