/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of pipelines: between which stages each goes, in which direction, and of which micro-batch it is. The direction is
 * told by the function of the schedule that the stack has (Megatron's send_forward, DeepSpeed's _exec_send_grads ...), else by
 * the order of messages: in a step the first message of the first stage is a send, that of every other one a receive from the
 * stage before it. The micro-batch is counted: the messages of one step, ends, direction, type and length are those of
 * micro-batch 0, 1, 2 ... What neither tells is left out.
 */
#ifndef PROBE_TOOLS_PIPELINE_H
#define PROBE_TOOLS_PIPELINE_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/comms.h"

enum pipe_way { PIPE_UNKNOWN, PIPE_FORWARD, PIPE_BACKWARD, PIPE_SETUP /* of no micro-batch */ };
enum pipe_told { PIPE_NOT_TOLD, PIPE_BY_FRAMES, PIPE_BY_ORDER };

/* One side of a message. */
struct pipe_message {
	uint64_t step, seq, comm, count, bytes, start;
	uint32_t op, dtype, stack; /* op, dtype: interned */
	int rank, from, to; /* world ranks; rank is one of the two */
	bool send;
	enum pipe_way way;
	enum pipe_told told;
	int from_stage, to_stage; /* -1: not told */
	int64_t micro_batch; /* -1: not told */
};

/* What a rank is in the pipeline of a communicator. */
struct pipe_stage {
	struct table_key key; /* a: communicator; b: world rank */
	int before; /* the stage before it, a world rank; -1: it is the first; INT_MIN: not told */
	int first; /* world rank of the pipeline's first stage; -1: it stands in none that is told */
	int at; /* stage, from 0 */
	enum pipe_told told;
	uint64_t step; /* in which the first message was seen */
	bool seen;
	/* Of a first stage. wraps: the last one sends forward to it: several parts of the model a rank. */
	bool wraps, doubtful;
};

struct pipelines {
	struct pipe_message *message; /* by rank, step, seq */
	size_t n, cap;
	struct table stage; /* struct pipe_stage */
	uint64_t left_out; /* messages beyond the bound */
	uint64_t step_lo, step_hi; /* looked at */
};

/*
 * Reads the messages of communicators that carry a pipeline (role in parallel.json). step_lo > step_hi: the first three steps
 * that have any. Free with pipelines_free.
 */
void pipelines_read(struct pipelines *p, const struct folders *f, const struct comms *comms,
	uint64_t step_lo, uint64_t step_hi);
void pipelines_free(struct pipelines *p);

/* Where that rank's messages begin; n: it has none, nor has a higher one. */
size_t first_message_of(const struct pipelines *p, int rank);

/* NULL: not told. */
const struct pipe_stage *pipe_stage_of(const struct pipelines *p, uint64_t comm, int rank);

/* The way of messages that functions with these names send or receive; frames as in stack_info.csv. */
enum pipe_way pipe_way_of_frames(const char *frames, size_t n, bool send);

#endif
