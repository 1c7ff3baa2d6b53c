/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/complete.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "config/config.h"
#include "config/rooms/files.h"
#include "journal/ending.h"
#include "journal/inspect.h"
#include "folder/opened.h"
#include "folder/owner.h"
#include "folder/recorded_config.h"
#include "sink/sink.h"
#include "writer/drain.h"

static uint64_t get_journal_row_count(const struct journal *j)
{
	return journal_get_commit(j, atomic_load(&j->head->commit_seq))->rows;
}

/*
 * Writes the reason why records are missing. The process does this itself when it drains; a killed one may not have reached
 * that point.
 */
static void write_loss_reason(struct journal *j)
{
	char *why = j->head->loss[LOSS_FULL];
	uint64_t dropped = 0;

	for (uint32_t i = 0, n = journal_get_nthread(j); i < n; i++)
		dropped += journal_get_thread(j, i)->count[JC_DROP_FULL];
	if (dropped && !why[0])
		snprintf(why, LOSS_TEXT_MAX,
			"the journal was full: records were dropped; journal_mib enlarges it");
}

struct innermost {
	char inside[256];
	uint64_t start;
};

static void record_innermost(void *arg, const struct inspect_call *c)
{
	struct innermost *in = arg;

	if (c->async || c->start_ns < in->start)
		return;
	in->start = c->start_ns;
	snprintf(in->inside, sizeof(in->inside), "%s", c->api);
}

/* Finds the innermost call that was open, before it is moved into the files. */
static void find_innermost(const struct journal *j, struct innermost *in)
{
	*in = (struct innermost){0};
	inspect_open(j, record_innermost, in);
}

/*
 * Writes the ending of a process that left none: exit(), _exit(), abort() and MPI_Abort() would
 * have left one. The remaining causes are a signal that cannot be caught, or was not, or a
 * failure of the whole machine.
 */
static void write_ending(struct journal *j, const struct innermost *in)
{
	struct ending e = {.how = "unknown",
		.code = ENDING_NONE,
		.signal = ENDING_NONE,
		.inside = *in->inside ? in->inside : NULL,
		.text = "how it ended is not known"};
	char json[2048];

	if (journal_has_ending(j))
		return;
	if (owner_is_of_this_boot(&j->head->owner)) {
		e.how = "signal";
		e.text = "the process is gone and did not exit: a signal ended it (SIGKILL, as by "
			 "the kernel when memory runs out or by a launcher, or a crash); which one "
			 "is not known";
		e.at_ns = j->died_ns;
	}
	journal_record_ending(j, &e, json, sizeof(json));
}

/*
 * Writes the current path of the output folder: the rank's folder may have been moved together
 * with it.
 */
static void format_folder_path(int dirfd, char *path, size_t cap)
{
	char self[64], *slash;
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", dirfd);
	n = readlink(self, path, cap - 1);
	path[n > 0 ? n : 0] = 0;
	slash = strrchr(path, '/');
	if (slash)
		slash[slash == path] = 0;
}

/* Writes the records and the open calls of journal j into the files of folder dirfd. */
static int write_rest_of_journal(const struct config *cfg, struct journal *j, int dirfd,
	uint32_t formats, struct completed *done)
{
	/* static, because a process completes folders one after the other */
	static char waits[15000];
	struct sink sink;
	struct drain drain;
	struct innermost in;
	uint64_t before = get_journal_row_count(j);
	int err = sink_open(
		&sink, j, dirfd, cfg, parse_output_formats(get_files_keys(cfg)->format) & formats);

	if (err)
		return err;
	find_innermost(j, &in);
	err = files_reset_to_commit(&sink.files);
	if (!err)
		err = drain_open(&drain, j, &sink);
	if (err) {
		sink_close(&sink);
		return err;
	}
	/* First complete calls, then open ones: two passes, so that the open ones can be counted. */
	err = drain_all(&drain, false);

	uint64_t left = get_journal_row_count(j);

	if (!err)
		err = drain_all(&drain, true);
	done->rows = get_journal_row_count(j) - before;
	done->open = get_journal_row_count(j) - left;
	done->damaged = j->head->damaged;
	if (!err) {
		write_loss_reason(j);
		write_ending(j, &in);
		opened_keep_waits(j, waits, sizeof(waits));
		sink_write_results(&sink);
		atomic_store(&j->head->state, JS_RECOVERED);
		err = sink_write_meta(&sink);
	}
	drain_close(&drain);
	sink_close(&sink);
	return err;
}

int complete_folder(struct journal *j, int dirfd, uint32_t formats, struct completed *done)
{
	char parent[JOURNAL_PATH_MAX];
	struct config cfg;
	int err;

	*done = (struct completed){0};
	format_folder_path(dirfd, parent, sizeof(parent));
	err = recorded_config(&cfg, j, parent);
	if (!err)
		err = write_rest_of_journal(&cfg, j, dirfd, formats, done);
	config_free(&cfg);
	return err;
}
