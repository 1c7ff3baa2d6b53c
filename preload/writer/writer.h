/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves records from the journal into files: the folder, the journal, its files, and the writer
 * thread. Only the holder of the role (role.h) uses folder, journal and files.
 */
#ifndef PROBE_WRITER_WRITER_H
#define PROBE_WRITER_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "session/state.h"

/*
 * Takes a folder, and makes journal and files. step: the current step. Returns false if nothing
 * can be recorded (reported).
 */
bool writer_open(uint32_t step);

int writer_start(void);

/* Asks the writer to drain soon. Cheap if it is awake already. */
void writer_wake(void);

/* Tells the writer that a step ended. It drains, but at most 20 times a second. */
void writer_step(void);

/*
 * For a thread of the job that finds the journal crowded: makes one small pass if no other thread is writing. Never
 * waits.
 */
enum writer_help writer_help(void);

/*
 * The rank became known, or is no longer guessed. Journal and folder are renamed now, or by the
 * thread that is writing.
 */
void writer_rank_known(int rank, int size, bool guessed);

/* Writes complete records now, on the calling thread if the writer does not hold the files. */
void session_flush(void);

/* Writes existing records before the program calls exec. If exec fails, recording continues. */
void session_exec(void);

/* Ends recording: stops the writer thread and writes everything. */
void writer_end(void);

/* Frees the role in a forked child: a thread of the parent may have held it. */
void writer_forked(void);

/*
 * For a forked child that records nothing: releases what marks the process of the parent's
 * journal as alive.
 */
void writer_leave_journal(void);

/* For a forked child that will record: releases the parent's journal, folder and files. */
void writer_forget(void);

#endif
