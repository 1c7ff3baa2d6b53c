/* SPDX-License-Identifier: Apache-2.0 */
/* What a hook of hook_jump.inc is told by its C part: jump to target, or, if that is NULL, return value. */
#ifndef PROBE_ENTRY_HOOK_JUMP_H
#define PROBE_ENTRY_HOOK_JUMP_H

struct tail {
	void *target;
	void *value;
};

#endif
