/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes event files for TensorBoard from CSV files of parameter statistics. The files are
 * libprobe's (rank folders) or those of msprobe's monitor ({time}-rank{r}-{id}). Layout csv2tb: a
 * folder for each rank and statistic, like msprobe's csv2tensorboard_by_step. Layout live: for
 * folders of the monitor, like its format tensorboard; for rank folders, as the job would have
 * written them.
 */
#ifndef PROBE_TOOLS_PROBE_EXPORT_TB_FILES_H
#define PROBE_TOOLS_PROBE_EXPORT_TB_FILES_H

#include "tools/probe/export/feed.h"

enum tb_layout { TB_LAYOUT_AUTO, TB_LAYOUT_LIVE, TB_LAYOUT_CSV2TB };

struct tb_export {
	struct feed_options feed;
	enum tb_layout layout;
	uint64_t from, to; /* first and last time_of_day_text() of the folders; 0: no limit */
	const char *kinds; /* separated by commas; NULL: all */
};

/*
 * Converts "Nov22_18-03-59" to a number that grows with time, but ignores the year. Returns 0 if
 * text has another form.
 */
uint64_t parse_folder_time(const char *text, size_t n);

/* Returns 0 or STATUS_USAGE (reported). */
int export_write_tensorboard(struct tb_export *o);

/* Returns true if the list of kinds (separated by commas; NULL: all) has this one. */
bool is_kind_in_list(const char *list, const char *word);

#endif
