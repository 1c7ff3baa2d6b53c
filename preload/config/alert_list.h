/* SPDX-License-Identifier: Apache-2.0 */
/* Key `alerts`: a list of rules, each a mapping (terms/alert_rule.h), stored as lines of JSON. */
#ifndef PROBE_CONFIG_ALERT_LIST_H
#define PROBE_CONFIG_ALERT_LIST_H

#include <stdbool.h>

#include "config/key.h"
#include "config/reader.h"

/*
 * Reads the list of rules, or the single mapping, that begins at the current event, as lines into
 * *out (malloc'd, NULL: no rules). A wrong rule is reported with its position, and skipped.
 * *wrong: the first error, or NULL. Returns 0 or an error of reader_read_event().
 */
int alert_list_read(struct reader *r, char **out, const char **wrong);

/*
 * Like alert_list_read(), for a text such as [{rule: spike, threshold: 3}]. Returns NULL, and
 * *out ("" if there are no rules), or a text about the first error.
 */
const char *alert_list_parse(const char *text, size_t len, char **out);

/* Reports what is wrong in a text that alert_list_parse() has refused: a line for each value. */
void alert_list_check(const char *text, size_t len, struct report *report);

/*
 * Adds the values that the rules check by name to keys `scalars` and `kinds`, so that they are recorded. Returns NULL,
 * or config_oom.
 */
const char *alert_list_add_implied(struct config *cfg);

#endif
