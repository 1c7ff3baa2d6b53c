/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The alerts of all ranks (rank<R>/alerts.jsonl). Each is reported once, and a command is run for
 * those whose rule has action exec.
 */
#ifndef PROBE_TOOLS_WATCH_ALERTS_H
#define PROBE_TOOLS_WATCH_ALERTS_H

#include <stdbool.h>

struct watch_alerts;

struct watch_alerts *watch_alerts_init(const char *dir, const char *command);
void watch_alerts_free(struct watch_alerts *w);

/* Reports new alerts, at most one if `once`. Returns true if any was reported. */
bool watch_alerts_read(struct watch_alerts *w, bool once);

/*
 * Marks in the output folder that a watcher handles the ranks' alerts. Call it at least every 30 s.
 * watch_alerts_remove_mark() removes the mark.
 */
void watch_alerts_write_mark(const struct watch_alerts *w);
void watch_alerts_remove_mark(const struct watch_alerts *w);

#endif
