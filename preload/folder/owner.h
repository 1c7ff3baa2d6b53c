/* SPDX-License-Identifier: Apache-2.0 */
/* The owner of a rank's folder: a process, distinguished by its start time from a later one with the same pid. */
#ifndef PROBE_SINK_OWNER_H
#define PROBE_SINK_OWNER_H

#include "text/text.h"
#include "journal/layout.h"

/* Sets *o to the calling process. */
void owner_self(struct journal_owner *o);
bool owner_same(const struct journal_owner *a, const struct journal_owner *b);

/*
 * Returns when process *o started, ns of the Unix epoch, accurate to one clock tick (10 ms); 0:
 * not known. Only for the current boot of this host.
 */
uint64_t owner_start_ns(const struct journal_owner *o);

/*
 * True if this machine has not been restarted since process *o was started. False on another
 * machine.
 */
bool owner_is_of_this_boot(const struct journal_owner *o);

enum owner_life {
	OWNER_DEAD,
	OWNER_LIVES,
	OWNER_UNKNOWN /* on another host or in another pid namespace */
};

/*
 * Returns whether process *o is alive. journal_path: absolute path of its journal, or that of a
 * segment, "": unknown. A process that has called exec no longer maps the journal and counts as
 * dead.
 */
enum owner_life owner_life(const struct journal_owner *o, const char *journal_path);

/*
 * Write and read `"owner": {...}` of meta.json. owner_parse() returns 0, or -EINVAL if the text
 * has none.
 */
void owner_format(struct text *t, const struct journal_owner *o);
int owner_parse(const char *meta, struct journal_owner *o);

/*
 * Copies the value of a string key at the top level of a meta.json written by libprobe; "" if
 * there is no such key.
 */
void meta_string(const char *meta, const char *key, char *buf, size_t cap);

#endif
