/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the dump sink, staged until their step is over: a dump numbers calls in the order in
 * which they were entered, but an asynchronous call comes when it is complete. In the rank's
 * folder, dump_<step>.part contains the calls of a step in the journal's form, dump_stacks.part
 * and dump_comms.part the stacks and communicators that they refer to. Their lengths are
 * committed like those of all files, so that after kill -9 the dump is made from the same calls,
 * once each.
 */
#ifndef PROBE_SINK_DUMP_STAGE_H
#define PROBE_SINK_DUMP_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "sink/files.h"
#include "sink/record.h"

#define DUMP_STACKS_PART "dump_stacks.part"
#define DUMP_COMMS_PART "dump_comms.part"
#define DUMP_TENSORS_MAX 320 /* for a staged call: more than an entry and its completion can have */

enum staged_what { STAGED_CALL = 1, STAGED_MADE, STAGED_STACK, STAGED_COMM };

/*
 * Head of each item in these files. STAGED_MADE: the step's files have been made from all items
 * before this one.
 */
struct staged_head {
	uint32_t bytes; /* a multiple of 8 */
	uint16_t what, n; /* n: number of tensors */
	uint32_t id; /* number of the stack */
	uint32_t open;
};

/* A staged call that was read; all pointers point into the item. */
struct staged_call {
	const struct journal_call *call;
	uint32_t flags; /* of the call and its completion */
	bool open;
	unsigned n;
	const struct journal_tensor *tensor[DUMP_TENSORS_MAX];
	const char *lib, *symbol, *op, *name;
};

struct staged_comm {
	uint64_t id;
	int32_t size, rank;
	const char *kind, *name, *world_ranks;
};

void dump_format_part_path(uint32_t step, char *out, size_t cap);
/* True if `path` is dump_<step>.part; sets *step. */
bool dump_parse_part_path(const char *path, uint32_t *step);

/* Each returns 0 or -ENOBUFS, like a sink's methods. */
int write_staged_call(struct files *f, const struct record *r);
int write_staged_step(struct files *f, uint32_t step);
int write_staged_stack(struct files *f, const struct record_stack *e);
int write_staged_comm(struct files *f, const struct record_comm *e);

/*
 * Returns false if h is not a valid item. `bytes` bytes from p on are readable; all texts end
 * with NUL.
 */
bool staged_head_valid(const struct staged_head *h, uint64_t bytes);
bool staged_call_read(const struct staged_head *h, struct staged_call *c);
bool staged_comm_read(const struct staged_head *h, struct staged_comm *c);

#endif
