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
 * Here is the state only. What makes the transitions lies in life/, and in writer/ what has the folder and its files; both
 * stand above, and are reached through session_hooks.
 *
 * Locks: session.lock (making a transition). Who uses drain, sink and files has the writer's role (writer/role.h). No
 * lock is held while the real function runs. A forked child uses none of them unless it records,
 * and then it makes new ones.
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
	 * In a page that the kernel empties in a forked child (MADV_WIPEONFORK): 0 there even when the child was made
	 * without fork(), past pthread_atfork. Points to a constant 1 before ON and where the kernel has no such thing.
	 */
	const volatile uint32_t *alive;
	bool wiped; /* it points to such a page */
	pid_t pid; /* of the recorded process */
	struct journal journal;
	struct journal_owner owner;
	pthread_mutex_t lock;
	int world_rank, world_size; /* -1: unknown */
	bool rank_told; /* by session_rank(): no guess from the environment, and a forked child's too */
	bool rank_guessed;
	char run[128];
	struct clock_base clock; /* as it was at the start; the journal's head has the one in use */
	/*
	 * Next block of call numbers: all threads write it, so it has a separate cache line. What they read in each
	 * call (phase) is not to be taken from them by that.
	 */
	_Alignas(64) _Atomic uint64_t seq;
};

extern struct session session __attribute__((visibility("hidden")));

/*
 * What stands above and is called from below. Defined in life/hooks.c, constant: a wrapper may be called before any
 * constructor of ours has run.
 */
enum writer_help {
	HELP_WRITTEN, /* there is more room than before */
	HELP_TAKEN, /* somebody else writes */
	HELP_USELESS, /* nothing could be written, or none of it gave room */
};

struct session_hooks {
	bool (*configure)(void); /* NEW: reads the configuration. As session_configure(). */
	bool (*start)(void); /* READY: makes folder, journal and writer. As session_start(). */
	void (*wake_writer)(
		void); /* asks the writer to drain soon; cheap when it is awake already */
	enum writer_help (*help_writer)(void); /* a thread of the job writes a little itself */
	/* Another configuration is in use: what was decided by the last one is decided again. */
	void (*config_changed)(uint32_t step); /* from that step on */
	void (*step_ending)(
		uint32_t step); /* with key scalars: it ends, and is still the current one */
	void (*step_ended)(void); /* a step ended: the writer drains, but not too often */
	/* Calls of the current step are recorded and those of the last one were not, or the other way round. Takes no lock. */
	void (*window_changed)(void);
	void (*step_unrecorded)(void); /* a step ended, and nothing has been recorded so far */
	/* The writer, when it holds nothing: is there another configuration? At most once a second. */
	void (*look_at_config)(void);
	/*
	 * What of this process takes long to be found out, for meta.json; once, by who comes first: the writer, when it
	 * holds nothing, or who writes the files before that. Who comes meanwhile waits for a moment, and not for ever.
	 */
	void (*describe_late)(void);
	void (*end)(void); /* session_end() of life/life.h */
	void (*exiting)(int code); /* the same by _exit() */
	void (*aborting)(void); /* abort() was called: how it ends is noted, nothing is ended */
};

extern const struct session_hooks session_hooks;

/* Reads configuration and list if that has not been done. False: switched off. */
bool session_configure(void);

/* Makes folder, journal and writer if they are not there. False: nothing can be recorded. */
bool session_start(void);

/* Nothing (more) is recorded in this process: SESSION_OFF, SESSION_ENDED. */
void session_settle(enum session_phase p);

extern _Atomic int session_rank_wanted
	__attribute__((visibility("hidden"))); /* 0: not looked, 1: wanted, 2: not */
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

/*
 * `probe check`: the folder of PROBE_CHECK, NULL: none. check_wanted(): nothing is recorded in this process, calls are
 * counted.
 */
const char *check_folder(void);
bool check_wanted(void);

#endif
