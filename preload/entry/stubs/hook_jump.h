/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result of a hook's C part for hook_jump.inc: jump to target, or, if target is NULL, return
 * value.
 */
#ifndef PROBE_ENTRY_HOOK_JUMP_H
#define PROBE_ENTRY_HOOK_JUMP_H

struct tail {
	void *target;
	void *value;
};

#endif
