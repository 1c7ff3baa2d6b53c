/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Purposes: values of keys, and a list of functions, that serve one question. `probe run --preset NAME` sets them in the
 * environment; key `preset` (PROBE_PRESET) when the configuration is read. What is set by the user holds.
 */
#ifndef PROBE_CONFIG_PRESET_H
#define PROBE_CONFIG_PRESET_H

#include "config/key.h"

#define PRESET_KEYS_MAX 8

/* Texts within the row: what has no pointers the loader does not touch. "": the end, or none. */
struct preset {
	char name[12]; /* of preset_names in keys.c */
	char list[24]; /* of functions, beside probe.yaml; "": the default list */
	struct {
		char key[16], value[96];
	} set[PRESET_KEYS_MAX];
};

/* By enum config_preset; the first sets nothing. */
extern const struct preset config_presets[];
extern const unsigned config_npresets;

#endif
