/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key use_skip_data_by_global_norm: an optimizer's step is withheld if its gradients have a norm at or above
 * global_norm_spike_threshold, or one that is not finite. The decision is made here; the adapter withholds the step. No
 * framework is named.  This feature changes a run, so all ranks must take the same decision without communicating. The decision
 * depends only on the norm, the keys at the start, and the earlier steps; never on what is recorded. At its first step each
 * rank writes to <output_dir>/skip/rank<R> whether it withholds (on) or not (off). With several ranks, a step is withheld only
 * if all have written `on`. The files are read when a norm is too large. Once all have been seen, only one file is read:
 * <output_dir>/skip/off, to which each rank that changes its mind appends a line.  The first step needs a promise before it: a
 * rank writes `on` and the number of its optimizers when the first backward pass begins, if it can examine them then. Gradients
 * are reduced over all ranks after that and before the step, so in the step each rank sees what all have promised. If one rank
 * has not, no rank withholds its first step.  All functions are called with one lock of the adapter held.
 */
#ifndef PROBE_TRAIN_SKIP_H
#define PROBE_TRAIN_SKIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKIP_OPTIMIZERS 64 /* of one process; steps of additional ones are not withheld */
#define SKIP_WHY_MAX 200

/* True if the key is set. Any thread. */
bool skip_is_wanted(void);

/*
 * Called once, when a training was detected: meta.json then shows `waiting` until the first step.
 */
void skip_start(void);

/*
 * True if the promise for the first step must still be made. True only a few times, and only with
 * several ranks.
 */
bool is_skip_promise_due(void);

/*
 * Before the first step: `count` optimizers were examined, and their steps can be withheld; 0:
 * that is not known.
 */
void record_skip_promise(unsigned count);

/*
 * To be called if a step might not be withheld correctly, for the reason `why`: from now on no
 * step of this process is withheld. Reported in a message and in meta.json; the rule `spike`
 * still fires.
 */
void skip_stop(const char *why);
bool skip_is_refused(void); /* any thread */

/*
 * A step of `optimizer` (0: the first that stepped) begins, with gradients of norm `norm`.
 * promised: the optimizer is one of those of record_skip_promise(). Returns true if the step must
 * be withheld (it is counted), false if it is to be made.
 */
bool skip_check_step(unsigned optimizer, double norm, bool promised);

/*
 * To be called when the withheld step has ended. Returns true if it was the
 * global_norm_spike_count_threshold-th in a row: the job is to be ended with `text`.
 */
bool skip_reached_limit(char *text, size_t cap);

/* Resets the state in a forked child. */
void skip_forked(void);

#endif
