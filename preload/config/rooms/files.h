/* SPDX-License-Identifier: Apache-2.0 */
/* Keys about files: where they are, which functions they cover, how large they get. */
#ifndef PROBE_CONFIG_ROOMS_FILES_H
#define PROBE_CONFIG_ROOMS_FILES_H

#include "config/rooms/room.h"

struct files_keys {
	/* location and format of the output */
	char *output_dir; /* absolute */
	char *format; /* config/output_format.h */
	char *journal_dir; /* absolute, or "": the rank's folder */
	char *wrap_ops; /* list file, absolute, or "": search for it */
	char *only, *skip; /* names of functions and operations (config/list/chosen.h) */
	/* spec files of the user's own functions, absolute; "": search for them */
	char *custom_apis;
	int64_t journal_mib; /* 0: chosen according to the free memory */
	int64_t part_mib;
	int64_t output_limit_mib;
	double max_overhead; /* percent of the time that recording calls may cost; 0: no limit */
	int64_t overhead_window_ms;
	int64_t step_count_per_record; /* steps in one calls_<a>-<b>.csv */
	bool gzip; /* finished calls files are compressed */
	bool append_output; /* continue in the folders of an earlier run */
	/*
	 * two times, one per line, between which the earlier run's folder of format monitor was
	 * made; "": the newest folder
	 */
	char *append_between;
};

CONFIG_ROOM(files)

#endif
