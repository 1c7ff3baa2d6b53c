/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of the diagnosis keep while all calls go by: gather.c gives it each call and each meeting. */
#ifndef PROBE_TOOLS_DIAGNOSE_H
#define PROBE_TOOLS_DIAGNOSE_H

#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/model/messages.h"
#include "tools/probe/model/places/sites.h"
#include "tools/probe/model/step_order.h"
#include "tools/probe/model/times/pace.h"
#include "tools/probe/model/values/habits.h"
#include "tools/probe/model/values/reductions.h"
#include "tools/probe/model/values/replicas.h"
#include "tools/probe/model/values/results.h"
#include "tools/probe/model/values/given_up.h"

struct diagnose {
	struct sites sites;
	struct habits habits;
	struct replicas replicas;
	struct reductions reductions;
	struct results results;
	struct messages messages;
	struct pace pace;
	struct pace longer; /* the same by longer rounds of the calls, where these are the steps */
	struct step_orders orders;
	struct given_up given_up;
	const struct clock_fix *skew;
};

void diagnose_init(struct diagnose *d, unsigned nrank, const struct clock_fix *skew);
void diagnose_free(struct diagnose *d);
/* Something marks the steps: places are told by their number in the step, and steps are compared. */
void diagnose_steps(struct diagnose *d);
/* There are longer rounds of the calls than those that are the steps. */
void diagnose_longer_rounds(struct diagnose *d);
/* That call, with the number of the longer round in place of the step. */
void diagnose_longer_round(struct diagnose *d, const struct call *c);
/*
 * First, and in the order in which the rank made its calls: what concerns that rank alone. Fills in the call's site too. Threads may do
 * so for different ranks.
 */
void diagnose_rank_call(struct diagnose *d, struct call *c);
/* Then, one after the other for all ranks: its values, before it is joined with those of other ranks, by the same thread as that. */
void diagnose_values(struct diagnose *d, const struct call *c);
/* And its message, if it is one. */
void diagnose_message(struct diagnose *d, const struct call *c);
void diagnose_meeting(struct diagnose *d, const struct meeting *m, bool complete);
/* All calls were read: what broke a habit is weighed by the habits of the whole run. */
void diagnose_end(struct diagnose *d);

#endif
