/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times of a step and what follows from them, by the clock of the thread that trains. An adapter says what begins and
 * ends; when a step ends its numbers go into the journal (training/steps/scalar.h). No framework is named here.
 *
 *	- forward begins when the DataLoader has given a batch, or where none did, when what came before has ended (the step,
 *	  a backward pass, or the begin of an optimizer's step, whose closure it is in then), and ends with the backward pass
 *	- an optimizer's time is that of its step without what is forward, backward or data inside of it
 *	- what lies between the end of a step and the first event of the next one is in iteration-time alone
 *
 * Only the outermost of events that nest are to be given. One thread trains; events of others are counted like its own.
 */
#ifndef PROBE_TRAIN_STEP_TIMES_H
#define PROBE_TRAIN_STEP_TIMES_H

#include <stdbool.h>
#include <stdint.h>

enum step_part { PART_DATA, PART_BACKWARD, PART_OPTIMIZER, STEP_PARTS };

/* An allocator of device memory has given or taken back a piece: so much of it is in use on that device now. Any thread. */
void step_device_memory(uint64_t bytes);

void step_part_begins(enum step_part p);
void step_part_ends(enum step_part p);

/*
 * A batch has come: so many samples; tokens 0: it is not one of tokens. Stands in for the keys global_batch_size and
 * micro_batch_size: samples of the last batch, times the backward passes of the step, times the data-parallel ranks.
 */
void step_saw_batch(uint64_t samples, uint64_t tokens);

/* The same of what the model is called with: it counts where no batch is loaded in a way that is seen. */
void record_input_size(uint64_t samples, uint64_t tokens);

/* Is anybody interested in that? */
bool step_wants_batch(void);

/* The first forward pass behind a step, or behind a backward pass, begins: what came before it was no forward. */
void step_forward_begins(void);

/* The same of one that has ended, by ticks (clock_ticks()): what it was is known only now. */
void step_part_was(enum step_part p, uint64_t began, uint64_t ended);

/* The calling thread stood there for so many ticks, waiting for a communication. */
void step_waited_for_comm(uint64_t ticks);

/*
 * A communication begins, and has ended, on whatever thread: of frameworks whose program's thread never waits for one.
 * comm-time is then the time in which at least one was on its way. step_comm_unknown(): there are some of which nobody sees the
 * end; comm-time is not known from then on.
 */
void step_comm_begins(void);
void step_comm_ends(void);
void step_comm_unknown(void);

/*
 * Who has numbers of its own of each step: called for each step that ends, on the thread that ends it, before its number is
 * counted on, with no lock of ours held. At most STEP_SOURCES_MAX; the same one is kept once. Asked for by an adapter when
 * it sees its first event.
 */
#define STEP_SOURCES_MAX 4
typedef void step_source_fn(uint32_t step);
void step_add_source(step_source_fn *source);

/* A step ends: the number of struct session_hooks. */
void step_times_end(uint32_t step);

/* In a forked child. */
void step_times_forked(void);

#endif
