/* SPDX-License-Identifier: Apache-2.0 */
/* Key `alerts`: a list of rules, each a mapping (terms/alert_rule.h), stored as lines of JSON. */
#ifndef PROBE_CONFIG_ALERT_LIST_H
#define PROBE_CONFIG_ALERT_LIST_H

#include <stdbool.h>

#include "config/key.h"
#include "config/reader.h"

/*
 * Reads the rules that the current event begins, a list or one mapping, as lines into *out (malloc'd, NULL: none). A wrong rule
 * is reported with its place, and skipped. *wrong: the first error, or NULL. Returns 0 or the same as reader_next().
 */
int alert_list_read(struct reader *r, char **out, const char **wrong);

/*
 * The same from a text such as [{rule: spike, threshold: 3}]. Returns NULL, or a text about the error; *out as above, "" if
 * there are no rules.
 */
const char *alert_list_parse(const char *text, size_t len, char **out);

/*
 * Adds the values that the rules check by name to keys `scalars` and `kinds`, so that they are recorded. Returns NULL,
 * or config_oom.
 */
const char *alert_list_imply(struct config *cfg);

#endif
