/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of a recording, from its journal or its meta.json, for code that completes or reads its files. */
#ifndef PROBE_SINK_RECORDED_CONFIG_H
#define PROBE_SINK_RECORDED_CONFIG_H

#include "config/rooms/room.h"
#include "journal/journal.h"

/*
 * Fills *cfg with the values of the recording, and defaults for keys that the recording lacks.
 * output_dir: the current location of the folders, absolute. Returns 0 or -ENOMEM. Free with
 * config_free.
 */
int recorded_config(struct config *cfg, const struct journal *j, const char *output_dir);

/*
 * Like recorded_config(), from the object "config" of a meta.json, as JSON text; NULL: the
 * defaults.
 */
int recorded_config_text(struct config *cfg, const char *json, const char *output_dir);

#endif
