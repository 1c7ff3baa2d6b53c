/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the files: where they are, which functions they are about, how large they get. */
#ifndef PROBE_CONFIG_ROOMS_FILES_H
#define PROBE_CONFIG_ROOMS_FILES_H

#include "config/rooms/room.h"

struct files_keys {
	char *output_dir; /* absolute */
	char *format; /* config/output_format.h */
	char *journal_dir; /* absolute, or "" = the rank's folder */
	char *wrap_ops; /* list file, absolute, or "" = search */
	char *only, *skip; /* words of functions and operations, config/list/chosen.h */
	char *custom_apis; /* specs of the user's own functions, absolute, or "" = search */
	int64_t journal_mib; /* 0: by the memory that is free */
	int64_t part_mib;
	int64_t output_limit_mib;
	int64_t step_count_per_record; /* steps in one calls_<a>-<b>.csv */
	bool gzip; /* finished calls files are compressed */
	bool append_output; /* goes on in the folders of an earlier run */
	char *append_between; /* two times, a line each: that one's folder of format monitor; "": the newest */
};

CONFIG_ROOM(files)

#endif
