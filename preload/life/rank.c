/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank this process is, once a library says so. */
#include <pthread.h>

#include "base/log.h"
#include "session/identity.h"
#include "life/life.h"
#include "session/state.h"
#include "writer/writer.h"

/* With session.lock held. */
static void set_rank(int rank, int size, bool guessed)
{
	bool named = session.world_rank >= 0 && !session.rank_guessed;
	bool on = atomic_load(&session.phase) == SESSION_ON;

	if (!guessed)
		session.rank_told = true;

	if (!on || !named) {
		session.world_rank = rank;
		session.world_size = size;
		session.rank_guessed = guessed;
	}
	if (on && !named)
		writer_rank_known(rank, size, guessed);
	log_rank_set(session.world_rank);
}

/* Files are opened under the lock: a thread that is cancelled there would keep it. */
static void lock_whole(int *cancel)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
	pthread_mutex_lock(&session.lock);
}

static void unlock_whole(int cancel)
{
	pthread_mutex_unlock(&session.lock);
	pthread_setcancelstate(cancel, NULL);
}

void session_rank(int rank, int size)
{
	int cancel;

	lock_whole(&cancel);
	set_rank(rank, size, false);
	unlock_whole(cancel);
}

void session_rank_guess(int rank, int size)
{
	struct identity id;
	int cancel;

	lock_whole(&cancel);
	if (session.world_rank < 0) {
		identity_read(&id);
		if (id.rank < 0)
			set_rank(rank, size, true);
	}
	unlock_whole(cancel);
}
