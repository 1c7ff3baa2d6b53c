/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a rank's alerts.jsonl. */
#ifndef PROBE_TOOLS_PROBE_READ_ALERT_LINES_H
#define PROBE_TOOLS_PROBE_READ_ALERT_LINES_H

#include <stdint.h>

struct alert_line {
	uint64_t first_step, last_step;
	uint64_t count; /* how often the rule fired */
	/* Valid during the call of take(); "" for a member that the line does not have. */
	const char *id, *rule, *text, *action;
	const char *json; /* the whole line, without its newline */
};

/*
 * Calls take() for each line of the folder's alerts.jsonl, from the first to the last. A line that is no JSON object is
 * skipped. Returns how many such lines there are, without one at the end that has no newline: the library may still be
 * writing it. Returns 0 if there is no such file.
 */
uint64_t read_alert_lines(
	const char *folder, void (*take)(void *arg, const struct alert_line *a), void *arg);

#endif
