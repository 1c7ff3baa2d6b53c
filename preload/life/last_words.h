/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the process ends: `end` of meta.json. Nothing here waits, allocates or takes a lock: a process may be about to end
 * from anywhere. What was noted last is kept in the journal at once where that is the last chance (abort).
 */
#ifndef PROBE_LIFE_LAST_WORDS_H
#define PROBE_LIFE_LAST_WORDS_H

/* The library of the communication was told that this is the end (MPI_Finalize). */
void note_finalized(void);

/* What exit() or _exit() was given. */
void note_exit_code(int code);

/* quick_exit(): nobody says with what code. */
void note_quick_exit(void);

/* A function that ends the process, or the whole job (MPI_Abort, abort()). signal: that it dies of; 0: none. */
void note_abort(const char *function, int code, int signal);

/* An exception that nobody caught: its type, message and place. Cut at a character where it is too long. */
void note_exception(const char *text);

/*
 * One that was caught, and printed or left because of: what an exit with a code other than 0 is told by, if nobody ended a step
 * in between.
 */
void note_shown_exception(const char *text);

/*
 * The program is about to leave with that code. Where it does so for an exception that was shown this is kept at once: taking down
 * libraries may last until a launcher sends a signal, or end in an abort. Whatever is known later takes its place.
 */
void note_exit_asked(int code);

/* Puts what is known into the journal. */
void keep_last_words(void);

/* A forked child begins again. */
void forget_last_words(void);

#endif
