/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording of one process, from the first wrapped call to its end.
 *
 *	NEW -> READY (configuration is known) -> ON (folder, journal and writer exist) -> ENDED
 *	                                    \-> OFF (disabled, a forked child, or nothing can be written)
 *
 * The constructor only copies the environment and the working directory. The configuration is read at the first call of
 * any wrapper. Everything else is made at the first call that is to be recorded; until then there is no file, thread or
 * memory of ours.
 *
 * This file has only the state. Its transitions are in life/; the folder and its files are in writer/. Both are higher
 * rooms, and are called through session_hooks.
 *
 * Locks: session.lock (for a transition). Only the holder of the writer's role (writer/role.h) uses drain, sink and
 * files. No lock is held while the real function runs. A forked child uses none of them unless it records; then it
 * initialises them again.
 */
#ifndef PROBE_SESSION_STATE_H
#define PROBE_SESSION_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/rooms/room.h"
#include "config/list/wraplist.h"
#include "journal/journal.h"
#include "session/generation.h"

enum session_phase { SESSION_NEW, SESSION_READY, SESSION_ON, SESSION_ENDED, SESSION_OFF };

struct session {
	_Atomic uint32_t phase;
	/*
	 * Points into a page that the kernel clears in a forked child (MADV_WIPEONFORK): the
	 * value is 0 there, even if the child was made without fork() and pthread_atfork. Before
	 * ON, and if the kernel does not support this, points to a constant 1.
	 */
	const volatile uint32_t *alive;
	bool wiped; /* `alive` points into such a page */
	pid_t pid; /* of the recorded process */
	struct journal journal;
	struct journal_owner owner;
	pthread_mutex_t lock;
	int world_rank, world_size; /* -1: unknown */
	/*
	 * the rank was set by session_set_rank(), not guessed from the environment; inherited by a
	 * forked child
	 */
	bool rank_told;
	bool rank_guessed;
	char run[128];
	struct clock_base
		clock; /* at the start of the recording; for the current one see the journal's head */
	/* The process whose calls the settings excluded before any was recorded; 0: none. */
	_Atomic pid_t left_out;
	/*
	 * Next block of call numbers. All threads write it, so it has a cache line of its own,
	 * apart from `phase`, which they read in each call.
	 */
	_Alignas(64) _Atomic uint64_t seq;
};

extern struct session session __attribute__((visibility("hidden")));

/*
 * Functions of higher layers that are called from lower ones. Defined in life/hooks.c, constant:
 * a wrapper may be called before any of libprobe's constructors has run.
 */
enum writer_help {
	HELP_WRITTEN, /* the journal has more free space now */
	HELP_TAKEN, /* another thread is writing */
	HELP_USELESS, /* nothing could be written, or nothing was freed */
};

struct session_hooks {
	bool (*configure)(void); /* NEW: reads the configuration. Calls session_configure(). */
	bool (*start)(void); /* READY: makes folder, journal and writer. Calls session_start(). */
	void (*wake_writer)(void); /* asks the writer to drain soon; cheap if it is awake already */
	/* lets a thread of the job make one small pass itself */
	enum writer_help (*help_writer)(void);
	/* Another configuration is in use: decisions made with the previous one are made again. */
	void (*config_changed)(uint32_t step); /* from `step` on */
	void (*step_ending)(
		/* with key scalars: `step` is ending, but is still the current step */
		uint32_t step);
	void (*step_ended)(void); /* a step ended: the writer drains, but not too often */
	/*
	 * Called when the last step was recorded and the current one is not, or the reverse.
	 * Takes no lock.
	 */
	void (*window_changed)(void);
	void (*step_unrecorded)(void); /* a step ended, and nothing has been recorded so far */
	/*
	 * Called by the writer thread, without any lock, at most once a second: checks for
	 * another configuration.
	 */
	void (*look_at_config)(void);
	/*
	 * Finds details of this process for meta.json that take long. Runs once, on the first
	 * thread that needs them: the writer without any lock, or a thread that writes the files
	 * earlier. Other threads wait for it, for a limited time.
	 */
	void (*describe_late)(void);
	void (*end)(void); /* session_end() of life/life.h */
	void (*exiting)(int code); /* session_end() for _exit() */
	void (*aborting)(void); /* abort() was called: records this as the ending, ends nothing */
};

extern const struct session_hooks session_hooks;

/*
 * Reads configuration and list unless that has been done. Returns false if recording is switched
 * off.
 */
bool session_configure(void);

/* Makes folder, journal and writer unless they exist. Returns false if nothing can be recorded. */
bool session_start(void);

/* Sets a final phase, SESSION_OFF or SESSION_ENDED, in which nothing (more) is recorded. */
void session_set_final_phase(enum session_phase p);

extern _Atomic int session_rank_wanted
	__attribute__((visibility("hidden"))); /* 0: not checked, 1: wanted, 2: not wanted */
bool session_check_rank(void);

/* True if this process' rank is to be recorded (key rank). */
static inline bool session_rank_selected(void)
{
	int k = atomic_load_explicit(&session_rank_wanted, memory_order_relaxed);

	return k ? k == 1 : session_check_rank();
}

static inline bool session_is_on(void)
{
	return atomic_load_explicit(&session.phase, memory_order_acquire) == SESSION_ON &&
	       *session.alive;
}

/* True once the phase is final: nothing (more) is recorded. */
static inline bool session_is_settled(void)
{
	uint32_t p = atomic_load_explicit(&session.phase, memory_order_acquire);

	return p == SESSION_OFF || p == SESSION_ENDED;
}

/*
 * Notes that the settings exclude a call before any was recorded. listed: it is excluded
 * by its rank, its step or a pause, else by the keys only and skip, if they are set.
 */
void session_record_exclusion(bool listed);

/*
 * True if this process made calls, the settings excluded all of them, and it should leave a folder
 * that says so: its rank is selected, or it is rank 0 of a job of which no rank is selected.
 */
bool session_has_excluded_all(void);

/*
 * For `probe check`: check_folder() returns the folder of PROBE_CHECK, NULL if not set.
 * check_wanted(): this process records nothing and only counts calls.
 */
const char *check_folder(void);
bool check_wanted(void);

#endif
