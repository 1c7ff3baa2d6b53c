/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the process ends: `end` of meta.json. Nothing here waits, allocates or takes a lock: a process may be about to
 * end from anywhere. If it is the last chance (abort), the last note is kept in the journal at once.
 */
#ifndef PROBE_LIFE_LAST_WORDS_H
#define PROBE_LIFE_LAST_WORDS_H

/* The library of the communication was told that this is the end (MPI_Finalize). */
void note_finalized(void);

/* The argument of exit() or _exit(). */
void note_exit_code(int code);

/* quick_exit(), whose code is not known. */
void note_quick_exit(void);

/* A function that ends the process, or the whole job (MPI_Abort, abort()). signal: that it dies of; 0: none. */
void note_abort(const char *function, int code, int signal);

/* An uncaught exception: its type, message and place. A long text is cut between characters. */
void note_exception(const char *text);

/*
 * A caught exception that was printed, or that the program exits because of. It explains an exit code other than 0 if
 * no step ended in between.
 */
void note_shown_exception(const char *text);

/*
 * The program is about to leave with that code. Where it does so for an exception that was shown this is kept at once: taking down
 * libraries may last until a launcher sends a signal, or end in an abort. Whatever is known later takes its place.
 */
void note_exit_asked(int code);

/* Puts the ending, as far as it is known, into the journal. */
void keep_last_words(void);

/* A forked child begins again. */
void forget_last_words(void);

#endif
