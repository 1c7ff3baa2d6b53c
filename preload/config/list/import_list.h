/* SPDX-License-Identifier: Apache-2.0 */
/*
 * msprobe's own support_wrap_ops.yaml as a list of functions. Its sections name Python functions, which represent the
 * collectives of every library and the operators that they call.
 */
#ifndef PROBE_CONFIG_IMPORT_LIST_H
#define PROBE_CONFIG_IMPORT_LIST_H

#include <stdbool.h>

#include "config/list/wraplist.h"

/* True if it is one, judged by its sections. */
bool import_list_is(const struct wraplist *w);

/* As wraplist_match(). */
bool import_list_match(const struct wraplist *w, const char *section, const char *name);

#endif
