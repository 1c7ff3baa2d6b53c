/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of pipelines: the stages, the direction and the micro-batch of each. The direction comes from the schedule's
 * function on the stack (Megatron's send_forward, DeepSpeed's _exec_send_grads ...), otherwise from the order of messages: in a
 * step the first message of the first stage is a send, and that of every other stage is a receive from the previous stage. The
 * micro-batch is counted: messages of one step with equal ends, direction, type and length belong to micro-batches 0, 1, 2 ...
 * If neither works, a message has no direction.
 */
#ifndef PROBE_TOOLS_PIPELINE_H
#define PROBE_TOOLS_PIPELINE_H

#include "tools/probe/model/read/calls.h"
#include "tools/probe/model/read/comms.h"

enum pipe_way {
	PIPE_UNKNOWN,
	PIPE_FORWARD,
	PIPE_BACKWARD,
	PIPE_SETUP /* not part of a micro-batch */
};
enum pipe_told { PIPE_NOT_TOLD, PIPE_BY_FRAMES, PIPE_BY_ORDER };

/* One side of a message. */
struct pipe_message {
	uint64_t step, seq, comm, count, bytes, start;
	uint32_t op, dtype, stack; /* op, dtype: interned */
	int rank, from, to; /* world ranks; rank is one of the two */
	bool send;
	enum pipe_way way;
	enum pipe_told told;
	int from_stage, to_stage; /* -1: not known */
	int64_t micro_batch; /* -1: not known */
};

/* The position of a rank in the pipeline of a communicator. */
struct pipe_stage {
	struct table_key key; /* a: communicator; b: world rank */
	int before; /* the previous stage, a world rank; -1: it is the first; INT_MIN: not known */
	int first; /* world rank of the pipeline's first stage; -1: it is in no known pipeline */
	int at; /* stage, from 0 */
	enum pipe_told told;
	uint64_t step; /* step of the first message */
	bool seen;
	/* For a first stage. wraps: the last stage sends forward to it, so each rank has several parts of the model. */
	bool wraps, doubtful;
};

struct pipelines {
	struct pipe_message *message; /* by rank, step, seq */
	size_t n, cap;
	struct table stage; /* struct pipe_stage */
	uint64_t left_out; /* messages beyond the bound */
	uint64_t step_lo, step_hi; /* selected steps */
};

/*
 * Reads the messages of communicators that carry a pipeline (role in parallel.json). step_lo > step_hi: the first three steps that have
 * any. Free with pipelines_free.
 */
void pipelines_read(struct pipelines *p, const struct folders *f, const struct comms *comms,
	uint64_t step_lo, uint64_t step_hi);
void pipelines_free(struct pipelines *p);

/* Index of the first message of that rank; n: neither it nor any higher rank has one. */
size_t first_message_of(const struct pipelines *p, int rank);

/* NULL: not known. */
const struct pipe_stage *pipe_stage_of(const struct pipelines *p, uint64_t comm, int rank);

/* The direction of messages that functions with these names send or receive; frames as in stack_info.csv. */
enum pipe_way pipe_way_of_frames(const char *frames, size_t n, bool send);

#endif
