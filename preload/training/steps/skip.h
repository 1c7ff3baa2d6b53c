/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key use_skip_data_by_global_norm: an optimizer's step whose gradients have a norm at or above global_norm_spike_threshold, or
 * one that is not finite, is withheld. Here is what is decided; how a step is withheld is the adapter's matter, and no
 * framework is named.
 *
 * It is the one feature that changes a run, so all ranks must do alike, without a word between them. What is decided depends
 * on the norm, the keys as they were at the start, and the steps that came before alone: never on what is recorded. Each rank
 * says in <output_dir>/skip/rank<R> at its first step that it withholds (on), or that it does not (off), and with several
 * ranks a step is withheld only where all have said the first: the files are looked at when a norm is too large. Once all
 * have been seen, one file is read: <output_dir>/skip/off, to which each rank that changes its mind appends a line.
 *
 * The first step needs a promise from before it: a rank whose optimizers can be looked at when the first backward pass begins
 * writes `on` then, with their number. The gradients are reduced over all ranks after that and before the step, so in the
 * step each rank sees what all have promised. Where one has not, no rank withholds its first step.
 *
 * All of it is called with one lock of the adapter's held.
 */
#ifndef PROBE_TRAIN_SKIP_H
#define PROBE_TRAIN_SKIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/rooms/alerts.h"
#include "session/generation.h"

#define SKIP_OPTIMIZERS 64 /* of one process; steps of further ones are not withheld */
#define SKIP_WHY_MAX 200

/* Is it asked for? Any thread. */
static inline bool skip_is_wanted(void)
{
	return get_alerts_keys(config_now())->use_skip_data_by_global_norm;
}

/* A training is seen: what meta.json says of it is `waiting` until the first step. Once. */
void skip_begin(void);

/* Is a promise for the first step still to be made? Few times true, with several ranks only. */
bool is_skip_promise_due(void);

/* Before the first step: `count` optimizers were looked at, and their steps can be withheld; 0: that is not known. */
void record_skip_promise(unsigned count);

/*
 * A step that is not sure to be withheld well, and why: none is from here on, in this process. Said in a line and in meta.json; the
 * rule `spike` still speaks.
 */
void skip_refuse(const char *why);
bool skip_is_refused(void); /* any thread */

/*
 * A step of that optimizer (0: the first that stepped) begins, with gradients of that norm. promised: it is one of those of
 * record_skip_promise(). True: it is to be withheld, and is counted; false: it is made.
 */
bool skip_judge(unsigned optimizer, double norm, bool promised);

/*
 * The step that was withheld has ended. True: it is the global_norm_spike_count_threshold-th, one behind the other, and the job is
 * to be ended with that text.
 */
bool skip_reached_limit(char *text, size_t cap);

/* In a forked child: nothing was decided yet. */
void skip_forked(void);

#endif
