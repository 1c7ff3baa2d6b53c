/* SPDX-License-Identifier: Apache-2.0 */
/* Alerts of all ranks (rank<R>/alerts.jsonl), each reported once, and a command for those whose rule has action exec. */
#ifndef PROBE_TOOLS_WATCH_ALERTS_H
#define PROBE_TOOLS_WATCH_ALERTS_H

#include <stdbool.h>

struct watch_alerts;

struct watch_alerts *watch_alerts_new(const char *dir, const char *command);
void watch_alerts_free(struct watch_alerts *w);

/* Reports what is new. once: one alert at most. True if anything was reported. */
bool watch_alerts_look(struct watch_alerts *w, bool once);

/*
 * Tells the ranks that a watcher acts on their alerts: to be called at least every 30 s. watch_alerts_gone() removes that mark.
 */
void watch_alerts_here(const struct watch_alerts *w);
void watch_alerts_gone(const struct watch_alerts *w);

#endif
