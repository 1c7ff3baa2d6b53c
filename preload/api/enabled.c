/* SPDX-License-Identifier: Apache-2.0 */
#include "api/enabled.h"

_Atomic uint32_t pass_states = API_SKIP;

static _Atomic uint32_t off_reasons;

void set_off_reason(enum off_reason why, bool off)
{
	uint32_t all;

	if (off)
		atomic_fetch_or(&off_reasons, why);
	else
		atomic_fetch_and(&off_reasons, ~(uint32_t)why);
	/*
	 * If two threads switch at the same time, the later one must not store the earlier one's
	 * result.
	 */
	do {
		all = atomic_load(&off_reasons);
		atomic_store(&pass_states, all ? API_SKIP | API_ON : API_SKIP);
	} while (atomic_load(&off_reasons) != all);
}
