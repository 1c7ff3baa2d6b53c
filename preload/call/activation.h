/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps by activations of an interpreted function (step_marker: language:file:function), as far
 * as recorded calls show them. Each recorded call checks whether the function is on the stack,
 * and whether this is the same activation as at the last call. The activation is new if
 *
 * - the function was not on the stack at a call in between,
 * - or its frame has another address,
 * - or it is called by another function, or from another line of its caller,
 * - or its current instruction precedes the one at the last call, and no loop leads back to it.
 *
 * Otherwise it counts as the same activation: too few steps are better than guessed ones. Frames
 * that are left and re-entered (generators) are not distinguished. In a recursion the outermost
 * activation counts.
 */
#ifndef PROBE_CALL_ACTIVATION_H
#define PROBE_CALL_ACTIVATION_H

/*
 * For a call outside of other recorded calls: ends the step if a new activation has begun, so
 * that this call already belongs to the next step. The first activation ends no step: everything
 * before it belongs to step 0.
 */
void activation_check(void);

/* Call in a forked child: the thread that held the lock may not exist there. */
void activation_forked(void);

#endif
