/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps. The first is 0. A step ends at its mark, and the call that is the mark belongs to the step that it ends. Marks
 * have several sources. The highest source that has fired is used; lower ones are ignored from then on, and the numbers
 * continue.
 */
#ifndef PROBE_CALL_STEP_H
#define PROBE_CALL_STEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "journal/step_name.h"

extern struct step_state {
	_Atomic uint32_t now;
	_Atomic bool selected, profiled;
	_Atomic uint32_t micro;
} step_state __attribute__((visibility("hidden")));

static inline uint32_t step_now(void)
{
	return atomic_load_explicit(&step_state.now, memory_order_relaxed);
}

/* Number of the current micro step (gradient accumulation); UINT32_MAX: not known. */
static inline uint32_t step_micro(void)
{
	return atomic_load_explicit(&step_state.micro, memory_order_relaxed);
}

static inline void step_micro_set(uint32_t n)
{
	atomic_store_explicit(&step_state.micro, n, memory_order_relaxed);
}

/* Writes the current step, and what ended the last one, into the journal of a recording that begins now. */
void step_write(void);

/*
 * Handles a mark of source s. Returns the step that is now the current one. Any thread may call
 * it.
 */
uint32_t step_end(enum step_source s);

/* Handles a call of a marker function: every cfg.step_marker_count-th is a mark. */
void step_handle_marker(void);

/* Notes that `step` ended without an optimizer step (flag of the step, in meta.json). */
void step_skipped(uint32_t step);

/* True if the current step is to be recorded (keys step, start_step, step_interval, collect_times). */
static inline bool step_selected(void)
{
	return atomic_load_explicit(&step_state.selected, memory_order_relaxed);
}

/*
 * True if calls of the current step are to be recorded: key profile_step may limit calls to fewer
 * steps than step_selected().
 */
static inline bool step_profiled(void)
{
	return atomic_load_explicit(&step_state.profiled, memory_order_relaxed);
}

/* Call after the configuration has been read or has changed. */
void step_update_config(void);

#endif
