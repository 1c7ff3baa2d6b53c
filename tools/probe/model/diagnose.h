/* SPDX-License-Identifier: Apache-2.0 */
/* The data that the rules of the diagnosis collect while all calls are read: gather.c passes it each call and each meeting. */
#ifndef PROBE_TOOLS_DIAGNOSE_H
#define PROBE_TOOLS_DIAGNOSE_H

#include "tools/probe/model/contacts.h"
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
	struct contacts contacts;
	struct pace pace;
	struct pace longer; /* the same for longer rounds of the calls, if the steps are rounds */
	struct step_orders orders;
	struct given_up given_up;
	const struct clock_fix *skew;
};

void diagnose_init(struct diagnose *d, unsigned nrank, const struct clock_fix *skew);
void diagnose_free(struct diagnose *d);
/* Call this if the steps are marked: places are then distinguished by their number in the step, and steps are compared. */
void diagnose_steps(struct diagnose *d);
/* True if the calls have longer rounds than those that are the steps. */
void diagnose_longer_rounds(struct diagnose *d);
/* Handles call c with the number of the longer round as its step. */
void diagnose_longer_round(struct diagnose *d, const struct call *c);
/*
 * Called first, in the order in which the rank made its calls: handles what concerns this rank alone. Also fills in the call's
 * site. Threads may call it for different ranks.
 */
void diagnose_rank_call(struct diagnose *d, struct call *c);
/* Called second, for all ranks by the same thread: handles the call's values before it is joined with those of other ranks. */
void diagnose_values(struct diagnose *d, const struct call *c);
/* Called third, if the call is a message. */
void diagnose_message(struct diagnose *d, const struct call *c);
void diagnose_meeting(struct diagnose *d, const struct meeting *m, bool complete);
/* Called when all calls were read: weighs broken habits by the habits of the whole run. */
void diagnose_end(struct diagnose *d);

#endif
