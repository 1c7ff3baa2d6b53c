/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the process ends: `end` of meta.json. Nothing here waits, allocates or takes a lock,
 * because a process may be about to end anywhere. If there is no later chance (abort), the record
 * is written to the journal immediately.
 */
#ifndef PROBE_LIFE_LAST_WORDS_H
#define PROBE_LIFE_LAST_WORDS_H

/* Records that the communication library was finalized (MPI_Finalize). */
void record_finalized(void);

/* Records the argument of exit() or _exit(). */
void record_exit_code(int code);

/* Records a call of quick_exit(), whose code is not known. */
void record_quick_exit(void);

/*
 * Records a call of a function that ends the process, or the whole job (MPI_Abort, abort()).
 * signal: the signal that ends the process; 0: none.
 */
void record_abort(const char *function, int code, int signal);

/*
 * Records an uncaught exception: its type, message and source line. A long text is cut between
 * characters.
 */
void record_exception(const char *text);

/*
 * Records a caught exception that was printed, or that makes the program exit. It is used to
 * explain an exit code other than 0 if no step ended in between.
 */
void record_shown_exception(const char *text);

/*
 * The program is about to exit with this code. If it does so because of a printed exception, this
 * is written to the journal immediately, because tearing down libraries may last until a launcher
 * sends a signal, or end in an abort. Later information replaces it.
 */
void record_exit_requested(int code);

/* Writes the ending, as far as known, to the journal. */
void write_last_words(void);

/* For a forked child: forgets the parent's ending. */
void reset_last_words(void);

#endif
