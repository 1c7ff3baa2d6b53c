/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the calls of a step that were put aside (dump_stage.h) to the files of its dump: dump.json, stack.json,
 * construct.json in step<N>/rank<R>/. The calls are numbered in the order in which they were entered; those that came after
 * the files had been made once are numbered behind them, so that no name ever becomes another call's.
 */
#ifndef PROBE_SINK_DUMP_COMPOSE_H
#define PROBE_SINK_DUMP_COMPOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/dump/kept/dump_book.h"
#include "sink/files.h"

#define DUMP_JSON "dump.json"
#define DUMP_DEBUG_JSON "debug.json" /* what the program saved itself */
#define DUMP_STACK_JSON "stack.json"
#define DUMP_CONSTRUCT_JSON "construct.json"

/*
 * own: the step's folder is this process's. *left: calls that tasks overflow_check and diff_check may still keep, below 0: any
 * number; becomes less. 0 or -errno; what was there before stays as it is then.
 */
int dump_compose(struct files *f, struct dump_book *book, uint32_t step, bool own, int64_t *left);

#endif
