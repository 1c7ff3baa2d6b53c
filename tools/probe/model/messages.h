/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: each send joined with its receive. What is left over shows who waits for a message that nobody sends, and which
 * one nobody receives; the time from both sides being there to the end of the receive belongs to the link between two
 * ranks. Memory by what is under way (bounded) and by pairs that talk to each other.
 */
#ifndef PROBE_TOOLS_MESSAGES_H
#define PROBE_TOOLS_MESSAGES_H

#include "tools/lib/table.h"
#include "tools/probe/model/times/hist.h"
#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/join/clock_fix.h"

struct message {
	struct message *next, *older, *newer;
	struct message *more; /* find_crossed_tag(): the next send between the same two */
	struct call call; /* of the side that came first */
	uint64_t comm;
	int64_t from, to, tag, number;
	bool send;
};

/* One direction between two ranks. */
struct link_stat {
	struct table_key key; /* a: communicator; b: from and to there */
	uint32_t from, to; /* indices of folders */
	struct hist time; /* of messages */
	struct call slowest;
	uint64_t slowest_ns;
	/* Messages one after the other that took long: the present ones, and the most there were. */
	struct link_streak {
		uint64_t step, least; /* since; the shortest of them */
		unsigned n;
	} now, best;
	/* Steps between send and receive: of every message the same in that many steps, of which the last is lag_step. */
	int64_t lag;
	uint64_t lags, lag_step;
};

/* A receive that took the message of another step than all before at its link: one was left out. */
struct lagging {
	bool any;
	struct call call;
};

#define VALUES_KEPT 256u

struct messages {
	struct message **bucket, *oldest, *newest;
	uint64_t n, given_up;
	struct table links; /* struct link_stat */
	struct table tags; /* struct tag_stat */
	struct table partners; /* struct partner */
	const struct clock_fix *skew;
	struct lagging lagging;
	struct table types; /* struct type_pair */
	/* The first message whose two sides do not agree on the type, where they always had: the side that has a new one. */
	struct unlike_message {
		bool any;
		struct call call, other;
		uint32_t usual; /* its type so far */
		uint64_t agreed; /* messages before it */
	} unlike;
	/*
	 * A receive that has less room than what was sent to it: its library ends it, or gives it an error. Or more than ever, and more
	 * than was sent.
	 */
	struct truncated {
		bool any, sender; /* sender: it is the one that has another count than ever */
		bool left_out; /* ... or that has left out the message before */
		bool either; /* lengths change: which of the two is wrong cannot be told */
		struct call recv, send;
		uint64_t usual; /* count of that side so far; 0: not known */
	} truncated;
	/* The first message that has fewer elements than all before it at both places, and was received as it is. */
	struct shorter {
		bool any;
		struct call send, recv;
		uint64_t usual, times; /* elements so far, messages of the sender */
	} shorter;
	struct table counts; /* struct usual_count */
	bool any_damaged;
	struct call damaged,
		damaged_by; /* the first message that arrived as something else, and its send */
	/*
	 * Of the messages that went the same way from that one on: the values of each send, and of each receive that had others. Of a cancelled message the other side has no number, and all behind it are joined with the wrong one.
	 */
	struct message_values {
		uint64_t count;
		double least, most, sum, squares;
		bool bad;
	} sent[VALUES_KEPT], astray[VALUES_KEPT];
	unsigned nsent, nastray;
};

void messages_init(struct messages *m, const struct clock_fix *skew);
void messages_free(struct messages *m);
void match_message(struct messages *m, const struct call *c);

/*
 * The receive that is a part of a send_recv: of one that is open as the last one from the same place was, for its record says only what
 * it sends. false: it is none, or not known. *half has it as a call of its own.
 */
bool find_receive_half(const struct messages *m, const struct call *c, struct call *half);

/* A message arrived as something else than what was sent, and what so arrived was not sent with a later one either. */
bool is_any_damaged(const struct messages *m);

/* The other side of that message, which is open, has not been begun. */
bool is_message_alone(const struct messages *m, const struct call *c);

/*
 * All that was sent to the rank of that receive from where it received has been received, so that it has left none out. false: not so,
 * or what was sent there is not known.
 */
bool is_all_received(const struct messages *m, const struct call *recv);

/*
 * The receive that is open and the message that was sent to that rank by the same one and is not received: another tag, of several
 * the nearest. false: there is none. *sender: the tag of the send is the one that was never used before. looks: NULL or how many
 * messages were looked at.
 */
bool find_crossed_tag(const struct messages *m, struct call *recv, struct call *send, bool *sender,
	uint64_t *looks);

/*
 * A message that goes to one rank where another one waits for it, or is awaited from another one than who sent it: of the two ways
 * one was never used before, by the send (*sender) or by the receive. false: there is none.
 */
bool find_crossed_peer(
	const struct messages *m, struct call *recv, struct call *send, bool *sender);

#endif
