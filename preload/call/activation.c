/* SPDX-License-Identifier: Apache-2.0 */
#include "call/activation.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/hash.h"
#include "call/step.h"
#include "config/marker.h"
#include "config/rooms/steps.h"
#include "session/state.h"
#include "stack/foreign.h"

/* ---- whether a frame is that of the marker function ---- */

/*
 * Cache: whether a code object is the marker function. An entry is a hash of the code object, whose lowest bit is set if it is. It may
 * be overwritten by another object's; the answer is then computed again.
 */
#define PLACES 1024u
static _Atomic uint64_t answers[PLACES];

static bool is_marker_frame(const struct foreign_stack *s, const struct foreign_frame *f)
{
	uint64_t key = hash_u64(hash_u64(1 + get_generation()->number, f->code), f->check) | 1;
	_Atomic uint64_t *place = &answers[(key >> 1) % PLACES];
	uint64_t have = atomic_load_explicit(place, memory_order_relaxed);
	const char *marker = get_steps_keys(get_config())->step_marker;
	struct foreign_name n;
	struct marker m;
	bool yes;

	if ((have | 1) == key && have)
		return have & 1;
	if (marker_parse(marker, strlen(marker), &m) || m.form != MARKER_LANGUAGE ||
		!s->language->describe(f, &n))
		return false;
	yes = marker_is(&m, s->language->name, n.file, n.function);
	atomic_store_explicit(place, yes ? key : key & ~UINT64_C(1), memory_order_relaxed);
	return yes;
}

/* ---- distinguishing activations ---- */

/* threads that run the function, each with its own activation; others are ignored */
#define THREADS 32

static struct running_activation {
	uint64_t owner; /* id of the frames' owner; 0: free entry */
	uintptr_t frame; /* 0: the function was not on the stack */
	uintptr_t caller, place; /* frame of the caller, and the position in its code */
	uintptr_t at;
} running_activation[THREADS];
static bool any; /* an activation has been seen */

/* A leaf lock; a forked child initialises it again. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void activation_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

static struct running_activation *find_running_activation(uint64_t owner, bool make)
{
	struct running_activation *free_one = NULL;

	for (unsigned i = 0; i < THREADS; i++) {
		if (running_activation[i].owner == owner)
			return &running_activation[i];
		if (!running_activation[i].owner && !free_one)
			free_one = &running_activation[i];
	}
	if (make && free_one)
		free_one->owner = owner;
	return make ? free_one : NULL;
}

static bool is_other_activation(const struct foreign_stack *s, int i,
	const struct running_activation *was, const struct running_activation *now)
{
	const struct foreign_frame *f = &s->frame[i];

	if (now->frame != was->frame || now->caller != was->caller || now->place != was->place)
		return true;
	return now->at < was->at && s->language->goes_back && !s->language->goes_back(f, was->at);
}

/*
 * True if frame `at` belongs to another call of its function than the frame that was seen last for this owner. False if
 * none was seen yet.
 */
static bool is_new_activation(const struct foreign_stack *s, int at)
{
	bool is, was_any = any;
	struct running_activation now = {.owner = s->owner},
				  *r = find_running_activation(s->owner, at >= 0);

	if (!r)
		return false;
	if (at >= 0) {
		now.frame = s->frame[at].frame;
		now.at = s->frame[at].at;
		now.caller = at + 1 < s->n ? s->frame[at + 1].frame : 0;
		now.place = at + 1 < s->n ? s->frame[at + 1].at : 0;
	}
	is = at >= 0 && is_other_activation(s, at, r, &now);
	*r = now;
	any |= is;
	return is && was_any;
}

static void find_marker(void *arg)
{
	struct foreign_stack s;
	int at = -1;
	bool new;

	(void)arg;
	foreign_read_stack(&s);
	if (s.n <= 0)
		return;
	for (int i = s.n - 1; i >= 0 && at < 0; i--)
		if (is_marker_frame(&s, &s.frame[i]))
			at = i;
	/*
	 * The function may be among frames beyond the list, or its caller unknown, because it is
	 * the last frame in the list.
	 */
	if (s.n == FOREIGN_FRAMES_MAX && (at < 0 || at + 1 == s.n))
		return;
	if (at >= 0 && !s.frame[at].frame)
		return;
	pthread_mutex_lock(&lock);
	new = is_new_activation(&s, at);
	pthread_mutex_unlock(&lock);
	if (new)
		step_handle_marker();
}

void activation_check(void)
{
	private_stack_call(find_marker, NULL);
}
