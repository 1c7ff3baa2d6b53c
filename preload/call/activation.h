/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step for each activation of a function of a language that runs in the process (step_marker: language:file:function),
 * as far as calls show it: at each recorded call it is looked whether the function is on the stack, and whether that is
 * still the activation of the last call. It is a new one if
 *
 *	- at a call in between the function was not there,
 *	- or its frame lies elsewhere,
 *	- or what called it has changed: another caller, or another place in it,
 *	- or it is at an earlier place than at the last call, and no loop of it leads back there.
 *
 * What none of these shows goes on as the same activation: fewer steps rather than guessed ones. Frames that can be left
 * and come back to (generators) are not distinguished at all. Of a recursion the outermost activation counts.
 */
#ifndef PROBE_CALL_ACTIVATION_H
#define PROBE_CALL_ACTIVATION_H

/*
 * At a call that is in no recorded one: ends the step if a new activation has begun, so that the call belongs to the
 * next step. The first activation of all ends none: what came before it is part of step 0.
 */
void activation_look(void);

#endif
