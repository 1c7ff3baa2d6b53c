/* SPDX-License-Identifier: Apache-2.0 */
/* Key `alerts`: a list of rules, each a mapping (terms/alert_rule.h), kept as lines of JSON. */
#ifndef PROBE_CONFIG_ALERT_LIST_H
#define PROBE_CONFIG_ALERT_LIST_H

#include <stdbool.h>

#include "config/key.h"
#include "config/reader.h"

/*
 * The rules that the current event begins, a list or one mapping, as lines in *out (malloc'd, NULL: none). A rule that is wrong
 * is reported, with its place, and left out. *wrong: the first thing that was, or NULL. Returns 0 or as reader_next().
 */
int alert_list_read(struct reader *r, char **out, const char **wrong);

/* The same of a text such as [{rule: spike, threshold: 3}]. NULL or what is wrong; *out as above, "" of none. */
const char *alert_list_parse(const char *text, size_t len, char **out);

/* What the rules look at by name is recorded: adds it to keys `scalars` and `kinds`. NULL, or config_oom. */
const char *alert_list_imply(struct config *cfg);

#endif
