/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/contacts.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/tool.h"
#include "tools/probe/model/messages.h"

#define COMMS_MAX 65536u
/* maximum number of steps that are tracked; in later ones the ranks are assumed to have met */
#define STEPS_MAX 65536u

/* The steps in which the ranks of one communicator met. */
struct contact {
	struct table_key key; /* a: communicator */
	uint32_t *rank; /* indices of folders */
	unsigned n;
	uint64_t first, last; /* first and last step */
	uint64_t *met; /* one bit for each step, from `first` on */
	unsigned words;
};

void init_contacts(struct contacts *c)
{
	table_init(&c->comms, sizeof(struct contact), COMMS_MAX);
}

void free_contacts(struct contacts *c)
{
	for (uint32_t i = 0; i < c->comms.n; i++) {
		struct contact *k = table_at(&c->comms, i);

		free(k->rank);
		free(k->met);
	}
	table_free(&c->comms);
}

void record_contact(struct contacts *c, const struct meeting *m)
{
	struct contact *k = table_get(&c->comms, m->comm, 0);
	uint64_t at;

	if (!k)
		return;
	if (!k->rank) {
		k->rank = tool_alloc(m->n * sizeof(*k->rank));
		k->first = m->step;
		for (; k->n < m->n; k->n++)
			k->rank[k->n] = m->a[k->n].rank;
	}
	k->last = m->step > k->last ? m->step : k->last;
	/* A step before `first` counts as `first`. */
	at = m->step > k->first ? m->step - k->first : 0;
	if (at >= STEPS_MAX)
		return;
	if (at / 64 >= k->words) {
		unsigned words = (unsigned)(at / 64 + 1) * 2;

		k->met = tool_realloc(k->met, words * sizeof(*k->met));
		memset(k->met + k->words, 0, (words - k->words) * sizeof(*k->met));
		k->words = words;
	}
	k->met[at / 64] |= UINT64_C(1) << at % 64;
}

/* Returns the first step from `step` on in which the ranks met, or UINT64_MAX. */
static uint64_t find_contact(const struct contact *k, uint64_t step)
{
	if (step > k->last)
		return UINT64_MAX;
	for (uint64_t at = step > k->first ? step - k->first : 0; at < k->words * 64; at++)
		if (k->met[at / 64] >> at % 64 & 1)
			return k->first + at;
	return step;
}

static bool update_reached(const struct contact *k, uint64_t *reached)
{
	uint64_t from = UINT64_MAX;
	bool changed = false;

	for (unsigned i = 0; i < k->n; i++)
		from = reached[k->rank[i]] < from ? reached[k->rank[i]] : from;
	if (from == UINT64_MAX || (from = find_contact(k, from)) == UINT64_MAX)
		return false;
	for (unsigned i = 0; i < k->n; i++)
		if (reached[k->rank[i]] > from) {
			reached[k->rank[i]] = from;
			changed = true;
		}
	return changed;
}

bool can_reach(const struct contacts *c, const struct table *links, unsigned n, uint32_t from,
	uint64_t step, uint32_t to, uint64_t until)
{
	uint64_t *reached = tool_alloc((n + 1) * sizeof(*reached));
	bool changed = true, found;

	memset(reached, 0xff, n * sizeof(*reached));
	reached[from] = step;
	while (changed && reached[to] > until) {
		changed = false;
		for (uint32_t i = 0; i < c->comms.n; i++)
			changed |= update_reached(table_at(&c->comms, i), reached);
		for (uint32_t i = 0; i < links->n; i++) {
			const struct link_stat *l = table_at(links, i);

			if (l->from < n && l->to < n && l->time.n &&
				reached[l->from] < reached[l->to]) {
				reached[l->to] = reached[l->from];
				changed = true;
			}
		}
	}
	found = reached[to] <= until;
	free(reached);
	return found;
}
