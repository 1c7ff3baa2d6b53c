/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the process ends: `end` of meta.json. Nothing here waits, allocates or takes a lock: a process may be about to end
 * anywhere. If it is the last chance (abort), the last note is written to the journal immediately.
 */
#ifndef PROBE_LIFE_LAST_WORDS_H
#define PROBE_LIFE_LAST_WORDS_H

/* The communication library was told that this is the end (MPI_Finalize). */
void note_finalized(void);

/* The argument of exit() or _exit(). */
void note_exit_code(int code);

/* quick_exit(), whose code is not known. */
void note_quick_exit(void);

/*
 * A function that ends the process, or the whole job (MPI_Abort, abort()). signal: the signal that ends the process; 0: none.
 */
void note_abort(const char *function, int code, int signal);

/* An uncaught exception: its type, message and place. A long text is cut between characters. */
void note_exception(const char *text);

/*
 * A caught exception that was printed, or that makes the program exit. It explains an exit code other than 0 if no step ended
 * in between.
 */
void note_shown_exception(const char *text);

/*
 * The program is about to exit with that code. If it does so because of a printed exception, this is written to the journal
 * immediately: tearing down libraries may last until a launcher sends a signal, or end in an abort. Later information replaces
 * it.
 */
void note_exit_asked(int code);

/* Writes the ending, as known so far, to the journal. */
void keep_last_words(void);

/* Called in a forked child, which starts again without an ending. */
void forget_last_words(void);

#endif
