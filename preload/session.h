/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording of one process, from the first wrapped call to its end.
 *
 *	NEW -> READY (configuration is known) -> ON (folder, journal and writer exist) -> ENDED
 *	                                    \-> OFF (disabled, a forked child, or nothing can be written)
 *
 * The constructor only remembers the environment and the working directory. Configuration is read at the first call
 * of any wrapper, everything else is made at the first call that is to be recorded; until then there is no file, no
 * thread and no memory of ours.
 *
 * Locks: session.lock (making a transition) is taken before session.drain_lock (using drain, sink and files). No lock
 * is held while the real function runs. In a forked child none of them is used again unless recording starts anew,
 * and then they are made anew.
 */
#ifndef PROBE_SESSION_H
#define PROBE_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/config.h"
#include "journal/drain.h"
#include "sink/folder.h"

enum session_phase { SESSION_NEW, SESSION_READY, SESSION_ON, SESSION_ENDED, SESSION_OFF };

struct session {
	_Atomic uint32_t phase;
	/*
	 * In a page that the kernel empties in a forked child (MADV_WIPEONFORK): 0 there even when the child was made
	 * without fork(), past pthread_atfork. Points to a constant 1 before ON and where the kernel has no such thing.
	 */
	const volatile uint32_t *alive;
	_Atomic bool paused;
	pid_t pid; /* of the recorded process */
	struct config cfg;
	struct wraplist *list;
	struct journal journal;
	struct journal_owner owner;
	struct folder folder;
	struct sink sink;
	struct drain drain;
	pthread_mutex_t lock, drain_lock;
	int world_rank, world_size; /* -1: unknown */
	bool rank_told; /* by session_rank(): no guess from the environment, and a forked child's too */
	bool rank_guessed;
	char run[128];
	struct clock_base clock; /* as it was at the start; the journal's head has the one in use */
	bool clock_settled;
	bool inline_writer; /* no writer thread could be started */
	uint64_t meta_of_commit, meta_of_count; /* what the last meta.json said */
	/*
	 * Next block of call numbers: all threads write it, so it has a cache line of its own. What they read in each
	 * call (phase, paused, cfg) is not to be taken from them by that.
	 */
	_Alignas(64) _Atomic uint64_t seq;
};

extern struct session session;

/* Reads configuration and list if that has not been done. False: switched off. */
bool session_configure(void);

/* Makes folder, journal and writer if they are not there. False: nothing can be recorded. */
bool session_start(void);

extern _Atomic int session_rank_wanted; /* 0: not looked, 1: wanted, 2: not */
bool session_rank_look(void);

/* True if this process' rank is one that is to be recorded (key rank). */
static inline bool session_rank_selected(void)
{
	int k = atomic_load_explicit(&session_rank_wanted, memory_order_relaxed);

	return k ? k == 1 : session_rank_look();
}

static inline bool session_is_on(void)
{
	return atomic_load_explicit(&session.phase, memory_order_acquire) == SESSION_ON &&
	       *session.alive;
}

/* True once it is decided that nothing (more) is recorded. */
static inline bool session_is_settled(void)
{
	uint32_t p = atomic_load_explicit(&session.phase, memory_order_acquire);

	return p == SESSION_OFF || p == SESSION_ENDED;
}

/* Writes what is complete now, on the calling thread if the writer does not hold the files. */
void session_flush(void);

/* The program is about to end (or to abort): writes all, marks the folder finished. Later calls pass unrecorded. */
void session_end(void);

/* The program is about to exec: writes what is there. If exec fails, recording goes on. */
void session_exec(void);

/* The job's own rank became known (or known better). size < 0: unknown. */
void session_rank(int rank, int size);

/* The same from a communicator that may not be the whole job's: counts where nothing else says the rank. */
void session_rank_guess(int rank, int size);

/* Adds or replaces a part of meta.json: text is JSON. */
void session_meta(uint16_t part, const char *key, const char *json);

/* A library was found: its own words for its version, for meta.json. Any time after the first call. */
#define LIBRARY_TEXT_MAX 200
void session_library(const char *name, const char *version);

/* Something in this process is out of our sight: what, and why and what to do, for meta.json. Once for each. */
void session_invisible(const char *what, const char *why);

/* The program had done so many steps already when the first one began here: it goes on from a checkpoint. */
void session_steps_before(uint64_t n);

/* Tells meta.json what this process is. With session.lock held. */
void session_about(void);

/* Chooses what measures tensors: instructions, helper threads. Before there is a writer thread. */
void session_statistics(void);

/* Takes a folder for this process; what it was until now stays as it is if there is none. -errno. */
int session_take_folder(struct folder *f);

/* Asks the writer to drain soon. Cheap when it is awake already. */
void writer_wake(void);
int writer_start(void);

/* A step ended: the writer drains, but not more than 20 times a second, whatever a step takes. */
void writer_step(void);

/* Environment as it was at process start: "NAME=value" strings of our own variables, NULL-terminated. */
char *const *startup_env(void);
const char *startup_cwd(void);
/* Path of libprobe.so itself, "" if not known. */
const char *startup_path(void);

#endif
