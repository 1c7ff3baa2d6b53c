/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msprobe's own support_wrap_ops.yaml as a list of functions: its sections name Python functions, which stand for the collectives
 * of every library and for the operators that they reach.
 */
#ifndef PROBE_CONFIG_IMPORT_LIST_H
#define PROBE_CONFIG_IMPORT_LIST_H

#include <stdbool.h>

#include "config/list/wraplist.h"

/* Is it one? By its sections. */
bool import_list_is(const struct wraplist *w);

/* As wraplist_match(). */
bool import_list_match(const struct wraplist *w, const char *section, const char *name);

#endif
