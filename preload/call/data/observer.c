/* SPDX-License-Identifier: Apache-2.0 */
#include "call/data/observer.h"

#include "call/data/slice.h"
#include "config/output_format.h"
#include "config/rooms/files.h"
#include "session/state.h"

struct tensor_watch tensor_watch;

void tensor_watch_update(const struct config *cfg)
{
	struct tensor_watch now = {0};

	for (unsigned i = 0; i < TENSOR_OBSERVERS_MAX && tensor_observers[i]; i++) {
		uint64_t reach = tensor_observers[i]->reach(cfg);

		now.wanting |= (uint32_t)(reach != 0) << i;
		now.reach = reach > now.reach ? reach : now.reach;
		now.bytes |= reach && tensor_observers[i]->needs_bytes &&
			     tensor_observers[i]->needs_bytes(cfg);
	}
	now.few = now.wanting == 1 && tensor_observers[0] == &statistics_observer;
	now.grad = output_has_format(get_files_keys(cfg)->format, FORMAT_DUMP);
	tensor_watch = now;
	slice_load(cfg);
}

/* If several observers are active: passes each piece to all of them while it is in the cache. */
struct several {
	unsigned n;
	struct {
		buffer_piece_fn *piece;
		void *state;
	} to[TENSOR_OBSERVERS_MAX];
};

static void handle_piece(void *arg, const void *p, uint64_t count, enum dtype dt, const void *next)
{
	const struct several *s = arg;

	for (unsigned i = 0; i < s->n; i++)
		s->to[i].piece(s->to[i].state, p, count, dt, next);
}

void tensor_measure(const struct operation *w, uint64_t seq, const struct buffer *v,
	struct journal_tensor *record)
{
	_Alignas(16) unsigned char state[TENSOR_OBSERVERS_MAX][TENSOR_STATE_BYTES];
	struct tensor_look look = {.row = w->row,
		.step = w->step,
		.seq = seq,
		.cfg = w->config ? w->config : get_config(),
		.buffer = v,
		.record = record};
	uint32_t taken = 0;
	bool in_order = false, whole;
	struct several s;

	s.n = 0;
	for (uint32_t left = tensor_watch.wanting; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		const struct tensor_observer *o = tensor_observers[i];

		if (!o->start(state[i], &look))
			continue;
		taken |= 1u << i;
		in_order |= o->in_order;
		if (o->piece) {
			s.to[s.n].piece = o->piece;
			s.to[s.n++].state = state[i];
		}
	}
	if (!taken)
		return;
	whole = s.n == 1 ? buffer_read_pieces(v, in_order, s.to[0].piece, s.to[0].state)
			 : buffer_read_pieces(v, in_order, handle_piece, &s);
	for (; taken; taken &= taken - 1) {
		unsigned i = (unsigned)__builtin_ctz(taken);

		tensor_observers[i]->end(state[i], record, whole);
	}
}
