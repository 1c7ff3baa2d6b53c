/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins each send with its receive. The remaining ones show which rank waits for a message that no rank sends, and which
 * message no rank receives. The time from both sides being ready to the end of the receive belongs to the link between two
 * ranks. Memory depends on the messages in flight (bounded) and on the pairs that communicate.
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
	struct call call; /* of the side that was read first */
	uint64_t comm;
	int64_t from, to, tag, number;
	bool send;
};

/* One direction between two ranks. */
struct link_stat {
	struct table_key key; /* a: communicator; b: from and to there */
	uint32_t from, to; /* indices of folders */
	struct hist time; /* durations of messages */
	struct call slowest;
	uint64_t slowest_ns;
	/* Consecutive messages that took long: the current streak, and the longest one. */
	struct link_streak {
		uint64_t step, least; /* step of its start; the shortest of its messages */
		unsigned n;
	} now, best;
	uint64_t longs, following; /* long messages; messages that follow a long one */
};

/*
 * A receive that got the message of another step than all earlier ones on its route. If a receive was skipped, all later
 * receives get their messages late: the first ones of each step get those of the previous step, and at the end one message
 * remains. If a send was skipped, they get those of later steps. A rank that takes whatever has arrived is sometimes late by a
 * message and catches up: then no message remains.
 */
struct lagging {
	struct call call;
	int64_t lag; /* step of the receive minus step of the send */
	int64_t usual; /* ... before it */
	uint64_t steps, step; /* number of steps it has lasted, the last of which is step */
	bool returned; /* later receives got the messages of the usual step again */
};

#define LAGGING_MAX 16u

#define VALUES_KEPT 256u

struct messages {
	struct message **bucket, *oldest, *newest;
	uint64_t n, given_up;
	struct table links; /* struct link_stat */
	struct table tags; /* struct tag_stat */
	struct table partners; /* struct partner */
	const struct clock_fix *skew;
	struct lagging lagging[LAGGING_MAX]; /* at most one per route, the earliest first */
	unsigned nlagging;
	struct table types; /* struct type_pair */
	/*
	 * The first message whose two sides have different types, after they were always the same: the side with the new type.
	 */
	struct unlike_message {
		bool any;
		struct call call, other;
		uint32_t usual; /* its type so far */
		uint64_t agreed; /* messages before it with equal types */
	} unlike;
	/*
	 * A receive whose buffer is smaller than the message sent to it: its library ends it, or returns an error. Or a receive
	 * with a larger buffer than ever, and larger than the message.
	 */
	struct truncated {
		bool any, sender; /* sender: the sender is the side with an unusual count */
		bool skipped; /* ... or the side that has skipped the previous message */
		bool either; /* lengths change: it is unknown which of the two is wrong */
		struct call recv, send;
		uint64_t usual; /* count of that side so far; 0: not known */
	} truncated;
	/* The first message that has fewer elements than all earlier ones at both places, and was received with that length. */
	struct shorter {
		bool any;
		struct call send, recv;
		uint64_t usual, times; /* elements so far, messages of the sender */
	} shorter;
	struct table counts; /* struct usual_count */
	bool any_damaged;
	struct call damaged,
		damaged_by; /* the first message that arrived with other values, and its send */
	/*
	 * From that message on, for messages on the same route: the values of each send, and of each receive with different
	 * ones. The other side of a cancelled message has no number, so all later messages are joined with the wrong one.
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
 * The receive that is part of a send_recv. If it is open, its peer and tag are those of the last one from the same place,
 * because its record has only the send. False: there is none, or it is not known. *half: the receive as a separate call.
 */
bool find_receive_half(const struct messages *m, const struct call *c, struct call *half);

/* A message arrived with other values than were sent, and no later send has those values either. */
bool is_any_damaged(const struct messages *m);

/*
 * The first receive after which a message is missing; NULL: none. whole: all ranks ended normally, so that no message is in
 * flight.
 */
const struct call *find_lagging(const struct messages *m, bool whole);

/* True if that message is open and its other side has not begun. */
bool is_message_alone(const struct messages *m, const struct call *c);

/*
 * True if all messages sent on the route of that receive have been received, so that its rank has skipped none. False: they
 * have not, or it is not known what was sent there.
 */
bool is_all_received(const struct messages *m, const struct call *recv);

/*
 * The open receive, and the message that the same rank sent to its rank and that was not received: it has another tag, the
 * nearest one if there are several. False: there is none. *sender: the send's tag is the one that was never used before. looks:
 * NULL, or the number of messages examined.
 */
bool find_crossed_tag(const struct messages *m, struct call *recv, struct call *send, bool *sender,
	uint64_t *looks);

/*
 * A message that was sent to one rank while another one waits for it, or that is expected from another rank than its sender.
 * One of the two routes was never used before: the send's (*sender) or the receive's. False: there is none.
 */
bool find_crossed_peer(
	const struct messages *m, struct call *recv, struct call *send, bool *sender);

#endif
