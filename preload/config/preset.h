/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets: values of keys, and a list of functions, for one purpose. `probe run --preset NAME`
 * sets these values in the environment; key `preset` (PROBE_PRESET) sets them when the
 * configuration is read. Values set by the user take precedence.
 */
#ifndef PROBE_CONFIG_PRESET_H
#define PROBE_CONFIG_PRESET_H

#include "config/key.h"

#define PRESET_KEYS_MAX 8

/*
 * Texts are stored in the row, so that the loader need not relocate pointers. "": end of the
 * array, or none.
 */
struct preset {
	char name[12]; /* a word of preset_names in keys.c */
	char list[24]; /* list of functions, next to probe.yaml; "": the default list */
	struct {
		char key[16], value[96];
	} set[PRESET_KEYS_MAX];
};

/* Index: enum config_preset. The first one sets nothing. */
extern const struct preset config_presets[];
extern const unsigned config_npresets;

#endif
