/* SPDX-License-Identifier: Apache-2.0 */
/* Checking text that goes into meta.json as it is: a damaged journal may hold anything. */
#ifndef PROBE_SINK_JSON_CHECK_H
#define PROBE_SINK_JSON_CHECK_H

#include <stdbool.h>

/* True if the text is one JSON value (RFC 8259), nested at most 16 deep, and valid UTF-8. */
bool json_is_value(const char *s);

#endif
