/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the rank of this process, when a library reports it. */
#include <pthread.h>

#include "base/log.h"
#include "config/rooms/steps.h"
#include "text/text.h"
#include "session/identity.h"
#include "life/life.h"
#include "session/state.h"
#include "writer/writer.h"

/* Reports ranks in key rank that this job does not have. The lowest rank reports this, once. */
static void check_selected_ranks(int rank, int size)
{
	static bool reported;
	const struct ranges *r = &get_steps_keys(get_config())->rank;
	char all[160];
	struct text t = text_init(all, sizeof(all));
	bool some = false;

	if (reported || rank || size <= 0 || !r->n || r->item[r->n - 1].hi < (uint64_t)size)
		return;
	reported = true;
	for (uint32_t i = 0; i < r->n; i++) {
		uint64_t lo = r->item[i].lo, hi = r->item[i].hi;

		some |= lo < (uint64_t)size;
		if (hi < (uint64_t)size)
			continue;
		lo = lo < (uint64_t)size ? (uint64_t)size : lo;
		text_add_format(&t, "%s%llu", t.len ? ", " : "", (unsigned long long)lo);
		if (lo < hi)
			text_add_format(&t, "-%llu", (unsigned long long)hi);
	}
	log_loss(LOSS_CONFIG, "rank: this job has no rank %s, only 0 to %d%s", all, size - 1,
		some ? "" : ": nothing is recorded");
	log_config_now();
}

/* Caller has session.lock. */
static void set_rank(int rank, int size, bool guessed)
{
	bool named = session.world_rank >= 0 && !session.rank_guessed;
	bool on = atomic_load(&session.phase) == SESSION_ON;

	if (!guessed) {
		session.rank_told = true;
		check_selected_ranks(rank, size);
	}

	if (!on || !named) {
		session.world_rank = rank;
		session.world_size = size;
		session.rank_guessed = guessed;
	}
	if (on && !named)
		writer_rank_known(rank, size, guessed);
	log_rank_set(session.world_rank);
}

/*
 * Takes session.lock with cancellation off: files are opened under the lock, and a cancelled
 * thread would keep it.
 */
static void lock_without_cancel(int *cancel)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
	pthread_mutex_lock(&session.lock);
}

static void unlock_and_set_cancel(int cancel)
{
	pthread_mutex_unlock(&session.lock);
	pthread_setcancelstate(cancel, NULL);
}

void session_set_rank(int rank, int size)
{
	int cancel;

	lock_without_cancel(&cancel);
	set_rank(rank, size, false);
	unlock_and_set_cancel(cancel);
}

void session_set_guessed_rank(int rank, int size)
{
	struct identity id;
	int cancel;

	lock_without_cancel(&cancel);
	if (session.world_rank < 0) {
		identity_read(&id);
		if (id.rank < 0)
			set_rank(rank, size, true);
	}
	unlock_and_set_cancel(cancel);
}
