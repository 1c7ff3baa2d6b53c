/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins each send with its receive. The unmatched ones show which rank waits for a message that no
 * rank sends, and which message no rank receives. The time from when both sides are ready until the
 * end of the receive counts for the link between the two ranks. Memory depends on the messages in
 * flight (bounded) and on the pairs of ranks that communicate.
 */
#ifndef PROBE_TOOLS_MESSAGES_H
#define PROBE_TOOLS_MESSAGES_H

#include "base/hash.h"
#include "tools/lib/table.h"
#include "tools/probe/model/times/hist.h"
#include "tools/probe/model/join/meet.h"
#include "tools/probe/model/join/clock_fix.h"

struct message {
	struct message *next, *older, *newer;
	struct message *more; /* find_crossed_tag(): the next send between the same two ranks */
	struct call call; /* the call of the side that was read first */
	uint64_t comm;
	int64_t from, to, tag, number;
	bool send;
};

/* Messages in one direction between two ranks. */
struct link_stat {
	struct table_key key; /* a: communicator; b: from and to there */
	uint32_t from, to; /* indices of folders */
	struct hist time; /* durations of messages */
	struct call slowest;
	uint64_t slowest_ns;
	/* Consecutive long messages: the current streak, and the longest one. */
	struct link_streak {
		/* Step in which the streak began; the shortest of its messages, ns. */
		uint64_t step, least;
		unsigned n;
	} now, best;
	/* Number of long messages; number of messages that follow a long one. */
	uint64_t longs, following;
};

/*
 * A receive that got the message of another step than all earlier receives on its route. If the
 * program skipped a receive, all later receives get their messages late: the first ones of each
 * step get those of the previous step, and at the end one message remains. If it skipped a send,
 * they get messages of later steps. A rank that takes whatever has arrived can be late by one
 * message and catch up. Then no message remains.
 */
struct lagging {
	struct call call;
	int64_t lag; /* step of the receive minus step of the send */
	int64_t usual; /* this difference in the earlier receives */
	uint64_t steps, step; /* number of steps with this lag; the last of these steps */
	bool returned; /* later receives got the messages of the usual step again */
};

/* The tag of a rank's received messages from a line. */
struct line_tag {
	struct table_key key; /* a: rank; b: line */
	int64_t tag;
	uint64_t n;
	bool varies;
};

#define UNDER_WAY_MAX (1u << 18) /* messages that are kept until their other side is read */
#define LAGGING_MAX 16u

#define VALUES_KEPT 256u

struct messages {
	struct message **bucket, *oldest, *newest;
	uint64_t n, given_up;
	struct table links; /* struct link_stat */
	struct table tags; /* struct tag_stat */
	struct table partners; /* struct partner */
	struct table line_tags; /* struct line_tag */
	const struct clock_fix *skew;
	struct lagging lagging[LAGGING_MAX]; /* at most one per route, the earliest first */
	unsigned nlagging;
	struct table types; /* struct type_pair */
	/*
	 * The first message whose two sides have different types, after the types were always
	 * equal.
	 * call: the side whose type is new.
	 */
	struct mismatched_message {
		bool any;
		struct call call, other;
		uint32_t usual; /* earlier type of the side `call` */
		uint64_t agreed; /* earlier messages with equal types */
	} mismatch;
	/*
	 * A receive whose buffer is smaller than the message sent to it: its library ends the job
	 * or returns an error. Or a receive whose buffer is larger than in all earlier receives and
	 * larger than the message.
	 */
	struct truncated {
		bool any, sender; /* sender: the sender is the side with an unusual count */
		/* True if the side with the unusual count has skipped its previous message. */
		bool skipped;
		bool either; /* both counts are new, or none, so it is unknown which side is wrong */
		struct call recv, send;
		uint64_t usual; /* earlier count of the side with the unusual one; 0: not known */
	} truncated;
	/*
	 * The first message that has fewer elements than all earlier ones at both call sites, and
	 * was received with that length.
	 */
	struct shorter {
		bool any;
		struct call send, recv;
		/* Elements of the earlier messages; number of messages of the sender. */
		uint64_t usual, times;
	} shorter;
	struct table counts; /* struct usual_count */
	bool any_damaged;
	/*
	 * The first message that arrived with other values than were sent: its receive and its
	 * send.
	 */
	struct call damaged, damaged_by;
	/*
	 * From the message `damaged` on, for messages on the same route: the values of each send,
	 * and of each receive whose values differ. The other side of a cancelled message has no
	 * number, so all later messages would be joined with the wrong one.
	 */
	struct message_values {
		uint64_t count;
		double least, most, sum, squares;
		bool bad;
	} sent[VALUES_KEPT], astray[VALUES_KEPT];
	unsigned nsent, nastray;
};

static inline uint64_t hash_ends(int64_t from, int64_t to)
{
	return hash_u64(hash_u64(0, (uint64_t)from), (uint64_t)to);
}

/* Key b of a line_tag. */
static inline uint64_t hash_send_line(const struct call *send)
{
	return hash_u64(send->site, send->api);
}

void messages_init(struct messages *m, const struct clock_fix *skew);
void messages_free(struct messages *m);
void match_message(struct messages *m, const struct call *c);

/*
 * Finds the receive that is part of send_recv c and copies it to *half as a call of its own. An
 * open send_recv has a record of its send only. Then the peer and tag of the last send_recv of the
 * same call site are used. Returns false if there is no receive, or it is not known.
 */
bool find_receive_half(const struct messages *m, const struct call *c, struct call *half);

/*
 * Returns true if a message arrived with other values than were sent, and no later send has these
 * values either.
 */
bool is_any_damaged(const struct messages *m);

/*
 * Returns the first receive after which a message is missing, or NULL. whole: all ranks ended
 * normally, so that no message is in flight.
 */
const struct call *find_lagging(const struct messages *m, bool whole);

/*
 * Returns true if a message with the sender, communicator and tag of receive recv was not received,
 * or it is not known, because too many messages waited for their other side.
 */
bool is_any_unreceived(const struct messages *m, const struct call *recv);

/* Returns true if a message from and to these ranks, with this communicator and tag, was received. */
bool was_way_used(const struct messages *m, const struct message *k);

/* Returns true if message c is open and its other side has not begun. */
bool is_message_alone(const struct messages *m, const struct call *c);

/*
 * Finds an open receive and a message that was sent between the same two ranks, with another tag,
 * and not received. If there are several such messages: the one with the nearest tag. *sender: the
 * tag of the send was never used before. looks: NULL, or the number of messages examined. Returns
 * false if there is no such pair.
 */
bool find_crossed_tag(const struct messages *m, struct call *recv, struct call *send, bool *sender,
	uint64_t *looks);

/*
 * Finds the first message that was not received and has another tag than all earlier messages of its line, on a
 * route on which that tag was never used. *usual: the tag of the earlier ones. Returns false if there is none.
 */
bool find_stray_tag(const struct messages *m, struct call *send, int64_t *usual);

/*
 * Finds a message that was sent to one rank while another rank waits for it, or that a rank expects
 * from another rank than its sender. One of the two routes was never used before: *sender is true
 * for the send's, false for the receive's. Returns false if there is no such message.
 */
bool find_crossed_peer(
	const struct messages *m, struct call *recv, struct call *send, bool *sender);

#endif
