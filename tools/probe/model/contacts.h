/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the ranks that an event can have affected. Effects spread through operations in which ranks met, and
 * through messages. The full graph of events (a rank's calls in their order, each send to its
 * receive, all arrivals to the end of an operation) is not kept: only the steps in which the
 * members of a communicator met. So memory does not grow with the number of calls, and no row is
 * read a second time.
 */
#ifndef PROBE_TOOLS_CONTACTS_H
#define PROBE_TOOLS_CONTACTS_H

#include "tools/lib/table.h"
#include "tools/probe/model/join/meet.h"

struct contacts {
	struct table comms; /* struct contact */
};

void init_contacts(struct contacts *c);
void free_contacts(struct contacts *c);

/* Records an operation that all members entered. */
void record_contact(struct contacts *c, const struct meeting *m);

/*
 * Returns true if an event on rank `from` in step `step` can have affected rank `to` by step
 * `until`. links: the message statistics (struct link_stat). from, to: indices of the run's n
 * folders.
 */
bool can_reach(const struct contacts *c, const struct table *links, unsigned n, uint32_t from,
	uint64_t step, uint32_t to, uint64_t until);

#endif
