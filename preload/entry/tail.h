/* SPDX-License-Identifier: Apache-2.0 */
/* What a hook of tail.inc is told by its C part: jump to target, or, if that is NULL, return value. */
#ifndef PROBE_ENTRY_TAIL_H
#define PROBE_ENTRY_TAIL_H

struct tail {
	void *target;
	void *value;
};

#endif
