/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks an event can have affected: through operations in which ranks met, and through messages. Of the graph of all
 * events (the order of a rank's calls, from a send to its receive, from all arrivals to the end of an operation) only the steps
 * are kept in which the members of a communicator met, so that memory does not grow with the calls, and no row is read again.
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
 * links: struct link_stat, of messages. True if an event on rank `from` in step `step` can have affected rank `to` by step
 * `until`. Both are indices of folders, of n.
 */
bool can_reach(const struct contacts *c, const struct table *links, unsigned n, uint32_t from,
	uint64_t step, uint32_t to, uint64_t until);

#endif
