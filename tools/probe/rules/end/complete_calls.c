/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/end/complete_calls.h"

bool are_all_calls_complete(const struct report *r)
{
	if (r->g.errors || r->g.mismatch.any || r->g.meet.given_up)
		return false;
	for (unsigned i = 0; i < r->g.opens.n; i++)
		if (!r->g.opens.call[i].ended_ok)
			return false;
	for (uint32_t i = 0; i < r->g.late.comms.n; i++)
		if (((const struct late_comm *)table_at(&r->g.late.comms, i))->incomplete)
			return false;
	for (uint32_t i = 0; i < r->g.folders.n; i++)
		if (!r->g.rank[i].last.rows ||
			r->g.rank[i].last.bits & (CALL_OPEN | CALL_ERROR | CALL_UNWOUND))
			return false;
	return true;
}

bool has_never_entered(const struct report *r, uint32_t i, const struct call *operation)
{
	const struct comm_info *k = comms_find(&r->g.comms, operation->comm);
	bool entered = false;
	struct calls s;
	struct call c;

	if (!k || !k->member || !comm_has(k, r->g.folders.dir[i].rank))
		return false;
	calls_open(&s, &r->g.folders.dir[i], i, &r->g.rank[i].overlay);
	s.step_lo = operation->step ? operation->step - 1 : 0;
	while (!entered && calls_read_next(&s, &c))
		entered = c.comm == operation->comm && !(c.bits & (CALL_P2P | CALL_LOCAL)) &&
			  c.comm_seq >= operation->comm_seq && c.comm_seq != NO_NUMBER;
	calls_close(&s);
	return !entered;
}
