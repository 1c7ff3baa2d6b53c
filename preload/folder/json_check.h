/* SPDX-License-Identifier: Apache-2.0 */
/* Checks text that is copied into meta.json, because a damaged journal may contain anything. */
#ifndef PROBE_SINK_JSON_CHECK_H
#define PROBE_SINK_JSON_CHECK_H

#include <stdbool.h>

/* True if the text is one JSON value (RFC 8259), nested at most 16 deep, and valid UTF-8. */
bool json_is_value(const char *s);

#endif
