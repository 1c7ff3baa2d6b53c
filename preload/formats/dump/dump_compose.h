/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the files of a step's dump from its staged calls (dump_stage.h): dump.json, stack.json,
 * construct.json in step<N>/rank<R>/. Calls are numbered in the order in which they were entered.
 * If the files are made again with late calls, these are numbered after the others, so that no
 * call's name ever changes.
 */
#ifndef PROBE_SINK_DUMP_COMPOSE_H
#define PROBE_SINK_DUMP_COMPOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/dump/kept/dump_book.h"
#include "sink/files.h"

#define DUMP_JSON "dump.json"
#define DUMP_DEBUG_JSON "debug.json" /* tensors that the program saved by its own call */
#define DUMP_STACK_JSON "stack.json"
#define DUMP_CONSTRUCT_JSON "construct.json"

/*
 * own: the step's folder belongs to this process. *left: number of calls that tasks
 * overflow_check and diff_check may still keep, negative: no limit; it is decreased. Returns 0,
 * or -errno; then existing files are unchanged.
 */
int dump_write_step(
	struct files *f, struct dump_book *book, uint32_t step, bool own, int64_t *left);

#endif
