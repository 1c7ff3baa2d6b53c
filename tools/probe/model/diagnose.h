/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that the rules of the diagnosis need. gather.c passes each call and each meeting to
 * these functions while it reads.
 */
#ifndef PROBE_TOOLS_DIAGNOSE_H
#define PROBE_TOOLS_DIAGNOSE_H

#include "tools/probe/model/contacts.h"
#include "tools/probe/model/join/clock_fix.h"
#include "tools/probe/model/messages.h"
#include "tools/probe/model/places/sites.h"
#include "tools/probe/model/step_order.h"
#include "tools/probe/model/times/pace.h"
#include "tools/probe/model/values/invariants.h"
#include "tools/probe/model/values/reductions.h"
#include "tools/probe/model/values/replicas.h"
#include "tools/probe/model/values/results.h"
#include "tools/probe/model/values/given_up.h"

struct diagnose {
	struct sites sites;
	struct invariants invariants;
	struct replicas replicas;
	struct reductions reductions;
	struct results results;
	struct messages messages;
	struct contacts contacts;
	struct pace pace;
	/* Like `pace`, for rounds that contain several steps; used only if the steps are rounds. */
	struct pace longer;
	struct step_orders orders;
	struct given_up given_up;
	const struct clock_fix *skew;
};

void diagnose_init(struct diagnose *d, unsigned nrank, const struct clock_fix *skew,
	const struct comms *comms);
void diagnose_free(struct diagnose *d);
/*
 * Call this if the program marks its steps. Then a call site's calls are distinguished by their
 * number in the step, and steps are compared.
 */
void diagnose_steps(struct diagnose *d);
/* Call this if the calls also repeat in rounds that are longer than the rounds used as steps. */
void diagnose_longer_rounds(struct diagnose *d);
/* Handles call c, whose `step` is the number of the longer round. */
void diagnose_longer_round(struct diagnose *d, const struct call *c);
/*
 * First function for each call, in the order in which the rank made them: everything that needs no
 * other rank. Also fills in c->site and c->nth. Several threads may call this function at once,
 * each for different ranks.
 */
void diagnose_rank_call(struct diagnose *d, struct call *c);
/*
 * Second function for each call, by one thread for all ranks: handles the call's values before the
 * call is joined with those of other ranks.
 */
void diagnose_values(struct diagnose *d, const struct call *c);
/* Third function, for messages only. */
void diagnose_message(struct diagnose *d, const struct call *c);
void diagnose_meeting(struct diagnose *d, const struct meeting *m, bool complete);
/*
 * Call this after the last call: compares each violated invariant with how often such invariants hold in the
 * whole run.
 */
void diagnose_end(struct diagnose *d);

/*
 * Returns the first step whose number does not mean the same on these ranks, because two of them were in different steps when they met
 * (shards of unequal length, with a join at their end; a step that one skipped); UINT64_MAX: none. rank: n indices of folders.
 */
uint64_t find_first_step_apart(
	const struct diagnose *d, const struct rank_dir *dir, const uint32_t *rank, unsigned n);

#endif
