/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A support_wrap_ops.yaml of msprobe, used as the list of functions. Its sections name Python
 * functions; they stand for the collectives of every library and the operators that these
 * functions call.
 */
#ifndef PROBE_CONFIG_IMPORT_LIST_H
#define PROBE_CONFIG_IMPORT_LIST_H

#include <stdbool.h>

#include "config/list/wraplist.h"

/* True if w is a list of msprobe, judged by its sections. */
bool import_list_is(const struct wraplist *w);

/* Like wraplist_match(), for a list of msprobe. */
bool import_list_match(const struct wraplist *w, const char *section, const char *name);

#endif
