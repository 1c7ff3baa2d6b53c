/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State shared by the files of writer/: the folder of this process, and what writes into it. Only
 * the holder of the role (role.h) uses folder, sink and drain.
 */
#ifndef PROBE_WRITER_OUTPUT_H
#define PROBE_WRITER_OUTPUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "folder/folder.h"
#include "journal/death.h"
#include "sink/sink.h"
#include "writer/drain.h"
#include "writer/resume.h"

/*
 * LEFT: the thread that ended the program gave up waiting for the role. TRIED: everything that could be written was
 * written.
 */
enum end_state { END_NONE, END_LEFT, END_TRIED };

struct output {
	struct folder folder;
	struct sink sink;
	struct drain drain;
	bool clock_settled;
	bool inline_writer; /* no writer thread could be started */
	uint64_t meta_of_commit, meta_of_count; /* state when meta.json was last written */
	struct resumed resumed; /* for key append_output */
	uint32_t first_step; /* the step when the journal was made */
	_Atomic bool stop;
	_Atomic int writer_tid; /* 0: not running yet */
	struct death_watch death; /* of the writer thread */
	/* number of the job's threads that wait for the role, or have it, to write everything */
	_Atomic int waiting;
	_Atomic int hurry; /* not 0: compression of files is to be postponed */
	_Atomic unsigned helped; /* passes by the job's threads that freed a part of the journal */
	_Atomic bool failed; /* the last drain failed to write */
	_Atomic int end; /* enum end_state */
	/* set by writer_rank_known() for the next holder of the role; 0: none */
	_Atomic uint64_t rank_news;
};

extern struct output output;

/*
 * Takes a folder for this process. On failure the current folder stays as it is. resume: see folder_take(). Returns 0
 * or -errno.
 */
int session_take_folder(struct folder *f, const struct folder_resume *resume);

/* True if the journal is a file in the folder of the rank. */
bool journal_is_inside(void);

/*
 * Fills in the fields that are equal in the head of every journal of this process, and in the
 * first meta.json.
 */
void session_fill_head(struct journal_head *h);

/*
 * Makes the journal, in the best available location (docs/explanation/journal-format.md). Returns
 * 0 or -errno.
 */
int session_make_journal(void);

/* Writes the journal's path into meta.json before the journal is used, so that a reader of the folder finds it. */
void session_name_journal(void);

/* Renames journal and folder by the rank, if the rank has changed. Caller has the role. */
void follow_rank(void);

/* Releases the role. */
void output_release(void);

/*
 * If the thread that ended the program gave up (END_LEFT), writes what it did not write. Returns
 * false if the program has not ended yet.
 */
bool end_left_over(void);

/* Moves complete records into the files. Caller has the role. */
int drain_now(bool last);

#endif
