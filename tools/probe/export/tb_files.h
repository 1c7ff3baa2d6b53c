/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes event files for TensorBoard from CSV files of parameter statistics: from libprobe's rank folders, and from those that
 * msprobe's monitor writes ({time}-rank{r}-{id}). Layouts: csv2tb, like msprobe's csv2tensorboard_by_step, a folder for each
 * rank and statistic; live, like the monitor's format tensorboard (for its folders), or as the job would have written them (for
 * libprobe's).
 */
#ifndef PROBE_TOOLS_PROBE_EXPORT_TB_FILES_H
#define PROBE_TOOLS_PROBE_EXPORT_TB_FILES_H

#include "tools/probe/export/feed.h"

enum tb_layout { TB_LAYOUT_AUTO, TB_LAYOUT_LIVE, TB_LAYOUT_CSV2TB };

struct tb_export {
	struct feed_options feed;
	enum tb_layout layout;
	uint64_t from, to; /* time_of_day_text() of the folders; inclusive; 0: no limit */
	const char *kinds; /* separated by commas; NULL: all */
};

/* "Nov22_18-03-59" as a number that grows with time, without the year. 0: it is no such text. */
uint64_t parse_folder_time(const char *text, size_t n);

/* Returns 0 or STATUS_USAGE (reported). */
int export_tensorboard(struct tb_export *o);

#endif
