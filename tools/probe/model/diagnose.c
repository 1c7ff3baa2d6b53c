/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/diagnose.h"

void diagnose_init(
	struct diagnose *d, unsigned nrank, const struct clock_fix *skew, const struct comms *comms)
{
	d->given_up = (struct given_up){0};
	d->skew = skew;
	sites_init(&d->sites, nrank);
	invariants_init(&d->invariants, nrank, skew);
	replicas_init(&d->replicas, skew);
	reductions_init(&d->reductions);
	results_init(&d->results, skew, &d->sites, comms);
	messages_init(&d->messages, skew);
	init_contacts(&d->contacts);
	pace_init(&d->pace, nrank);
	pace_init(&d->longer, nrank);
	step_orders_init(&d->orders, nrank);
}

void diagnose_free(struct diagnose *d)
{
	sites_free(&d->sites);
	invariants_free(&d->invariants);
	replicas_free(&d->replicas);
	reductions_free(&d->reductions);
	results_free(&d->results);
	messages_free(&d->messages);
	free_contacts(&d->contacts);
	pace_free(&d->pace);
	pace_free(&d->longer);
	step_orders_free(&d->orders);
}

void diagnose_steps(struct diagnose *d)
{
	d->sites.steps = d->pace.steps = d->invariants.steps = true;
}

void diagnose_longer_rounds(struct diagnose *d)
{
	d->longer.steps = true;
}

void diagnose_longer_round(struct diagnose *d, const struct call *c)
{
	note_pace(&d->longer, c);
}

void diagnose_rank_call(struct diagnose *d, struct call *c)
{
	find_site(&d->sites, c);
	note_pace(&d->pace, c);
	if (d->pace.steps)
		note_step_order(&d->orders, c);
}

void diagnose_values(struct diagnose *d, const struct call *c)
{
	note_values(&d->invariants, c);
}

void diagnose_message(struct diagnose *d, const struct call *c)
{
	if (c->bits & CALL_P2P)
		match_message(&d->messages, c);
}

void diagnose_meeting(struct diagnose *d, const struct meeting *m, bool complete)
{
	judge_results(&d->results, m, complete);
	note_given_up(&d->given_up, m, d->skew);
	if (complete)
		record_contact(&d->contacts, m);
	if (complete && !m->open && !m->mismatch) {
		note_values_beside_others(&d->invariants, m);
		judge_replicas(&d->replicas, m);
		note_reduction(&d->reductions, m);
	}
}

void diagnose_end(struct diagnose *d)
{
	weigh_invariants(&d->invariants);
	weigh_replicas(&d->replicas);
}

uint64_t find_first_step_apart(
	const struct diagnose *d, const struct rank_dir *dir, const uint32_t *rank, unsigned n)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < d->results.lags.n; i++) {
		const struct step_lag *k = table_at(&d->results.lags, i);
		const struct comm_info *c =
			k->apart ? comms_find(d->results.comms, k->key.a) : NULL;
		unsigned members = 0;

		for (unsigned j = 0; c && k->apart_from < first && j < n; j++)
			members += comm_has(c, dir[rank[j]].rank);
		if (members > 1)
			first = k->apart_from;
	}
	return first;
}
