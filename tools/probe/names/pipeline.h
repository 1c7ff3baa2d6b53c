/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of pipelines: stages, direction and micro-batch of each message. The direction comes
 * from the schedule's function on the stack (Megatron's send_forward, DeepSpeed's _exec_send_grads
 * ...). If none is found, it comes from the order of messages: in a step, the first message of the
 * first stage is a send, and the first message of every other stage is a receive from the previous stage. If
 * neither is possible, the direction is unknown. The micro-batch is counted: messages of one step
 * with equal ranks, direction, type and length belong to micro-batches 0, 1, 2 ...
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
	int rank, from, to; /* world ranks; `rank` is `from` or `to` */
	bool send;
	enum pipe_way way;
	enum pipe_told told;
	int from_stage, to_stage; /* -1: not known */
	int64_t micro_batch; /* -1: not known */
};

/* The position of a rank in the pipeline of a communicator. */
struct pipe_stage {
	struct table_key key; /* a: communicator; b: world rank */
	/* World rank of the previous stage; -1: this is the first stage; INT_MIN: not known. */
	int before;
	int first; /* world rank of the first stage; -1: the rank is in no known pipeline */
	int at; /* number of the stage, from 0 */
	enum pipe_told told;
	uint64_t step; /* step of the rank's first message */
	bool seen;
	/*
	 * Only for a first stage. wraps: the last stage sends forward to it, so that each rank has
	 * several parts of the model.
	 */
	bool wraps, doubtful;
};

struct pipelines {
	struct pipe_message *message; /* sorted by rank, step and seq */
	size_t n, cap;
	struct table stage; /* struct pipe_stage */
	uint64_t left_out; /* messages that exceeded the maximum number */
	uint64_t step_lo, step_hi; /* selected steps */
};

/*
 * Reads the messages of the communicators that carry a pipeline (role in parallel.json), in steps
 * step_lo to step_hi. step_lo > step_hi: the first three steps with such messages. Call
 * pipelines_free() in any case.
 */
void pipelines_read(struct pipelines *p, const struct folders *f, const struct comms *comms,
	uint64_t step_lo, uint64_t step_hi);
void pipelines_free(struct pipelines *p);

/*
 * Returns the index of the first message of `rank`, or of the next higher rank that has one; p->n
 * if none has.
 */
size_t pipelines_find_message(const struct pipelines *p, int rank);

/* Returns NULL if the stage is not known. */
const struct pipe_stage *pipelines_find_stage(const struct pipelines *p, uint64_t comm, int rank);

/*
 * Returns the direction of messages that these functions send or receive. frames: n bytes, as in
 * stack_info.csv.
 */
enum pipe_way find_pipe_way(const char *frames, size_t n, bool send);

#endif
