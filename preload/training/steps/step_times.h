/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times of a step and numbers derived from them, by the clock of the thread that trains. An adapter reports the
 * beginning and end of parts; when a step ends its numbers go into the journal (training/steps/scalar.h). Names no
 * framework.
 *
 * - forward begins when the DataLoader has returned a batch; without a DataLoader when the previous part has ended (the
 * step, a backward pass, or the beginning of an optimizer's step, if it is in that step's closure). It ends with the
 * backward pass.
 * - An optimizer's time is that of its step without the forward, backward and data parts inside it.
 * - The time between the end of a step and the first event of the next one is only in iteration-time.
 *
 * If events nest, only the outermost must be reported. One thread trains; events of other threads count as its own.
 */
#ifndef PROBE_TRAIN_STEP_TIMES_H
#define PROBE_TRAIN_STEP_TIMES_H

#include <stdbool.h>
#include <stdint.h>

enum step_part { PART_DATA, PART_BACKWARD, PART_OPTIMIZER, STEP_PARTS };

/*
 * To be called when an allocator of device memory has allocated or freed a block. bytes: now in
 * use on the device. Any thread.
 */
void step_record_device_memory(uint64_t bytes);

void step_part_start(enum step_part p);
void step_part_stop(enum step_part p);

/*
 * A batch with this many samples has arrived; tokens 0: not known. Replaces keys
 * global_batch_size and micro_batch_size: the step's samples are those of the last batch, times
 * the backward passes of the step, times the data-parallel ranks.
 */
void step_record_batch(uint64_t samples, uint64_t tokens);

/* Like step_record_batch(), for the input of the model: it is used if no DataLoader is seen. */
void record_input_size(uint64_t samples, uint64_t tokens);

/* True if a requested number needs batches. */
bool step_is_batch_wanted(void);

/*
 * The first forward pass after a step, or after a backward pass, begins: the time before does not
 * count as forward.
 */
void step_forward_start(void);

/*
 * Reports a part that has already ended, in ticks (clock_ticks()), because its type was not known
 * before.
 */
void step_part_add(enum step_part p, uint64_t began, uint64_t ended);

/* The calling thread waited `ticks` for a communication. */
void step_waited_for_comm(uint64_t ticks);

/*
 * A communication begins, or has ended, on any thread: for frameworks whose main thread never
 * waits for communication. comm-time is then the time in which at least one was pending.
 * step_comm_set_unknown(): the end of some communication is not visible; comm-time is not known from
 * then on.
 */
void step_comm_start(void);
void step_comm_stop(void);
void step_comm_set_unknown(void);

/*
 * Registers a source of other numbers of a step. It is called for each step that ends, on the
 * thread that ends it, before the step's number is increased, with no lock of libprobe held. While
 * work is queued (late.h), it is called in its turn there. At most STEP_SOURCES_MAX; registering a function again has no effect. An adapter registers it at
 * its first event.
 */
#define STEP_SOURCES_MAX 4
typedef void step_source_fn(uint32_t step);
void step_add_source(step_source_fn *source);

/* Ends a step. Called through struct session_hooks. */
void step_times_close(uint32_t step);

/* In a forked child. */
void step_times_forked(void);

#endif
