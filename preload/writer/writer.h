/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What moves records from the journal into files: the folder, the journal and the files in it, the writer thread. Only the
 * holder of the role (role.h) uses them.
 */
#ifndef PROBE_WRITER_WRITER_H
#define PROBE_WRITER_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "session/state.h"

/* Takes a folder, makes journal and files. step: the current one. False: nothing can be recorded (reported). */
bool writer_open(uint32_t step);

int writer_start(void);

/* Asks the writer to drain soon. Cheap when it is awake already. */
void writer_wake(void);

/* A step ended: the writer drains, but not more than 20 times a second, whatever a step takes. */
void writer_step(void);

/*
 * A thread of the job that finds the journal crowded writes a little of it: one small pass, if nobody else is at it. Returns
 * at once.
 */
enum writer_help writer_help(void);

/* The rank became known, or known better: journal and folder are named by it, now or by who writes just now. */
void writer_rank_known(int rank, int size, bool guessed);

/* Writes what is complete now, on the calling thread if the writer does not hold the files. */
void session_flush(void);

/* The program is about to exec: writes what is there. If exec fails, recording goes on. */
void session_exec(void);

/* The recording has ended: stops the writer thread and writes all. */
void writer_end(void);

/* In a forked child: the role again, which a thread of the parent may have. */
void writer_forked(void);

/* In a forked child that records nothing: what tells that the journal's process lives is let go. */
void writer_leave_journal(void);

/* In a forked child that is to record again: lets go of the parent's journal, folder and files. */
void writer_forget(void);

#endif
