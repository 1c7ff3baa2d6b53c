/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this room share: the folder of this process and what writes into it. Only who has the role (role.h)
 * uses folder, sink and drain.
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

/* LEFT: the thread that ended the program gave up waiting for the role. TRIED: all that can be written is. */
enum end_state { END_NONE, END_LEFT, END_TRIED };

struct output {
	struct folder folder;
	struct sink sink;
	struct drain drain;
	bool clock_settled;
	bool inline_writer; /* no writer thread could be started */
	uint64_t meta_of_commit, meta_of_count; /* what the last meta.json said */
	struct resumed resumed; /* with key append_output */
	uint32_t first_step; /* as it was when the journal was made */
	_Atomic bool stop;
	_Atomic int writer_tid; /* 0: not running yet */
	struct death_watch death; /* the writer thread's */
	_Atomic int
		waiting; /* threads of the job that wait for the role, or have it, to write all */
	_Atomic int hurry; /* not 0: who compresses a file is to leave it for later */
	_Atomic unsigned helped; /* passes of the job's threads that freed a part of the journal */
	_Atomic bool failed; /* the last drain could not write */
	_Atomic int end; /* enum end_state */
	_Atomic uint64_t
		rank_news; /* of writer_rank_known(), for the next who has the role; 0: none */
};

extern struct output output;

/* Takes a folder for this process; what it was until now stays as it is if there is none. resume: see folder_take(). -errno. */
int session_take_folder(struct folder *f, const struct folder_resume *resume);

/* The journal is a file in the rank's folder, and not elsewhere. */
bool journal_is_inside(void);

/* What is the same in the head of every journal of this process, and in the first meta.json. */
void session_fill_head(struct journal_head *h);

/* Makes the journal, where it can be had (docs/explanation/journal-format.md). -errno. */
int session_make_journal(void);

/* Writes into meta.json where the journal is, before anything is in it: who finds the folder finds the journal. */
void session_name_journal(void);

/* With the role: names journal and folder by the rank, if there is news of it. */
void follow_rank(void);

/* Lets go of the role. */
void output_release(void);

/* What the end of the program had to leave to the writer thread. False: it may still come. */
bool end_left_over(void);

/* Moves what is complete into the files. With the role. */
int drain_now(bool last);

#endif
