/* SPDX-License-Identifier: Apache-2.0 */
#include "config/preset.h"

#include "config/rooms/process.h"

/*
 * MiB of the journal: it must hold the records of thousands of operators in a step from one drain
 * to the next.
 */
#define ROOM "64"

const struct preset config_presets[] = {
	[PRESET_NONE] = {"none", "", {{"", ""}}},
	[PRESET_COMM] = {"comm", "", {{"statistics", "true"}, {"stack", "true"}}},
	[PRESET_NAN] = {"nan", "presets/nan.yaml",
		{{"statistics", "true"}, {"stack", "true"}, {"journal_mib", ROOM}}},
	[PRESET_OPS] = {"ops", "presets/ops.yaml",
		{{"statistics", "true"}, {"stack", "true"}, {"journal_mib", ROOM}}},
	[PRESET_DUMP] = {"dump", "presets/ops.yaml",
		{{"statistics", "true"}, {"checksum", "crc32"}, {"stack", "true"},
			{"nested", "true"}, {"device", "copy"}, {"journal_mib", ROOM}}},
	[PRESET_STATE] = {"state", "",
		{{"statistics", "true"}, {"names", "true"}, {"scalars", "true"},
			{"kinds", "param_origin,param_updated,grad_unreduced,grad_reduced,exp_avg,"
				  "exp_avg_sq"},
			{"journal_mib", ROOM}}},
};
const unsigned config_npresets = sizeof(config_presets) / sizeof(*config_presets);
