/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/messages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/places/sites.h"
#include "tools/probe/model/times/noise.h"

#define BUCKETS 16384u
#define LINKS_MAX (1u << 18)
/* distinguishes the keys of routes between two ranks from those of pairs of call sites */
#define WAY_SALT 1
#define LAGS_MIN 3
#define TYPES_MIN 3
#define COUNTS_MIN 3
#define DIGITS_ERROR 1e-8 /* relative error of nine digits on either side, plus a margin */
/* Relative to the sum of absolute values: doubles that are added in another order. */
#define SUM_ERROR 1e-12

#define SHORT_MIN 8 /* minimum number of messages of one length before a shorter one is reported */
#define LENGTHS 32u /* number of stored lengths of messages between two ranks */
#define ROUND_MAX 12u /* longest cycle of lengths */

/* The messages with one tag on one route. */
struct tag_stat {
	struct table_key key; /* a: communicator; b: hash of from, to, tag */
	uint64_t n;
	/* Elements of the latest messages; begins again if one is missing. */
	uint64_t length[LENGTHS]; /* message number i is at i % LENGTHS */
	int64_t next; /* number after the latest of them */
	unsigned nlength;
	/* Step of the receive minus step of the send. It has been constant for `lags` steps, the last of which is lag_step. */
	int64_t lag;
	uint64_t lags, lag_step;
	bool varies; /* it has changed once and then returned to the usual value */
	/* Number of consecutive messages, up to the latest, with equal lengths on both sides. */
	uint64_t agreed;
};

/* The type of the messages between two call sites. */
struct type_pair {
	struct table_key key; /* a: communicator; b: hash of both call sites */
	uint32_t dtype;
	uint64_t n;
	bool mixed; /* several types, or types that differ between the sides: proves nothing */
};

/* Elements of a rank's messages at a call site. */
struct usual_count {
	struct table_key key; /* a: rank; b: hash of the call site, and whether it sends */
	uint64_t count, n;
	bool changes;
};

/* The source of a rank's last send_recv at a call site. */
struct partner {
	struct table_key key; /* a: rank; b: call site */
	bool any;
	/* So far the source is also the destination, and both messages have the same number. */
	bool pairs, even;
	bool varies; /* the distance to the source changes */
	int64_t distance; /* source minus this rank */
	int64_t tag, next; /* next: number of the source's next message */
};

void messages_init(struct messages *m, const struct clock_fix *skew)
{
	*m = (struct messages){.skew = skew};
	m->bucket = tool_alloc(BUCKETS * sizeof(*m->bucket));
	table_init(&m->links, sizeof(struct link_stat), LINKS_MAX);
	table_init(&m->tags, sizeof(struct tag_stat), LINKS_MAX);
	table_init(&m->counts, sizeof(struct usual_count), LINKS_MAX);
	table_init(&m->types, sizeof(struct type_pair), LINKS_MAX);
	table_init(&m->partners, sizeof(struct partner), LINKS_MAX);
	table_init(&m->line_tags, sizeof(struct line_tag), LINKS_MAX);
}

void messages_free(struct messages *m)
{
	while (m->oldest) {
		struct message *k = m->oldest;

		m->oldest = k->newer;
		free(k);
	}
	for (uint32_t i = 0; i < m->links.n; i++)
		hist_free(&((struct link_stat *)table_at(&m->links, i))->time);
	table_free(&m->links);
	table_free(&m->tags);
	table_free(&m->partners);
	table_free(&m->line_tags);
	table_free(&m->types);
	table_free(&m->counts);
	free(m->bucket);
}

static struct message **message_bucket(const struct messages *m, uint64_t comm, int64_t from,
	int64_t to, int64_t tag, int64_t number)
{
	uint64_t h = hash_u64(
		hash_u64(hash_u64(hash_ends(from, to), comm), (uint64_t)tag), (uint64_t)number);

	return &m->bucket[h % BUCKETS];
}

static void remove_message(struct messages *m, struct message *k)
{
	struct message **at = message_bucket(m, k->comm, k->from, k->to, k->tag, k->number);

	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	*(k->older ? &k->older->newer : &m->oldest) = k->newer;
	*(k->newer ? &k->newer->older : &m->newest) = k->older;
	m->n--;
	free(k);
}

static void keep_message(struct messages *m, const struct message *now)
{
	struct message **at =
		message_bucket(m, now->comm, now->from, now->to, now->tag, now->number);
	struct message *k = tool_alloc(sizeof(*k));

	*k = *now;
	k->next = *at;
	*at = k;
	k->older = m->newest;
	*(m->newest ? &m->newest->newer : &m->oldest) = k;
	m->newest = k;
	if (++m->n > UNDER_WAY_MAX) {
		m->given_up++;
		remove_message(m, m->oldest);
	}
}

static uint64_t corrected_time(const struct messages *m, const struct call *c, bool end)
{
	return clock_set_right(&m->skew[c->rank], c->start + (end ? c->dur : 0));
}

/* The time from which a side was ready; for an asynchronous call, the start of the Wait that completed it. */
static uint64_t moment_of_being_there(const struct messages *m, const struct call *c)
{
	uint64_t start = corrected_time(m, c, false), end = corrected_time(m, c, true);

	return c->bits & CALL_ASYNC && c->bits & CALL_WAITED && end - c->wait > start
		       ? end - c->wait
		       : start;
}

static void record_streak(struct link_stat *l, uint64_t took, uint64_t step)
{
	if ((double)took < MATTERS_NS) {
		l->now.n = 0;
		return;
	}
	l->longs++;
	l->following += l->now.n > 0;
	if (!l->now.n++) {
		l->now.step = step;
		l->now.least = took;
	}
	if (took < l->now.least)
		l->now.least = took;
	if (l->now.n >= l->best.n)
		l->best = l->now;
}

static struct lagging *find_lagging_way(struct messages *m, const struct call *recv)
{
	for (unsigned i = 0; i < m->nlagging; i++) {
		const struct call *c = &m->lagging[i].call;

		if (c->comm == recv->comm && c->comm_rank == recv->comm_rank &&
			c->peer == recv->peer && c->tag == recv->tag)
			return &m->lagging[i];
	}
	return NULL;
}

static void remove_lagging(struct messages *m, struct lagging *g)
{
	size_t after = (size_t)(m->lagging + m->nlagging - g) - 1;

	memmove(g, g + 1, after * sizeof(*g));
	m->nlagging--;
}

static void record_lag(
	struct messages *m, struct tag_stat *t, const struct call *send, const struct call *recv)
{
	int64_t lag = (int64_t)recv->step - (int64_t)send->step;
	struct lagging *g = find_lagging_way(m, recv);

	/* If one rank takes its steps from the other, the two never differ. */
	if ((send->bits | recv->bits) & CALL_PEERS_STEP)
		return;
	if (g && g->lag == lag) {
		g->steps += recv->step != g->step;
		g->step = recv->step;
		return;
	}
	/* Many messages of one step do not form a habit. */
	if (t->lags && t->lag == lag) {
		t->lags += recv->step != t->lag_step;
		t->lag_step = recv->step;
	} else if (!t->varies && !g && t->lags >= LAGS_MIN && m->nlagging < LAGGING_MAX) {
		m->lagging[m->nlagging++] = (struct lagging){
			.call = *recv, .lag = lag, .usual = t->lag, .steps = 1, .step = recv->step};
		return;
	} else {
		t->lag = lag;
		t->lags = 1;
		t->lag_step = recv->step;
	}
	if (g && g->lag > g->usual) {
		g->returned = true;
	} else if (g) {
		t->varies = true;
		remove_lagging(m, g);
	}
}

bool is_any_unreceived(const struct messages *m, const struct call *recv)
{
	if (m->given_up)
		return true;
	for (const struct message *k = m->oldest; k; k = k->newer)
		if (k->send && k->comm == recv->comm && k->from == recv->peer &&
			k->to == recv->comm_rank && k->tag == recv->tag)
			return true;
	return false;
}

const struct call *find_lagging(const struct messages *m, bool whole)
{
	const struct lagging *first = NULL;

	for (unsigned i = 0; i < m->nlagging; i++) {
		const struct lagging *g = &m->lagging[i];

		bool left_over = is_any_unreceived(m, &g->call);

		if ((g->lag > g->usual ? left_over : g->lag < 0) &&
			(g->returned ? whole && !m->given_up : g->steps >= LAGS_MIN) &&
			(!first || g->call.start < first->call.start))
			first = g;
	}
	return first ? &first->call : NULL;
}

static void add_count(struct messages *m, uint32_t rank, uint64_t place, uint64_t count)
{
	struct usual_count *u = table_get(&m->counts, rank, place);

	if (!u)
		return;
	u->changes |= u->n && u->count != count;
	u->count = count;
	u->n++;
}

static void record_count(struct messages *m, const struct call *c, bool send)
{
	uint64_t count = send ? c->in.count : c->out.count;

	add_count(m, c->rank, hash_u64(hash_place(c), send), count);
	add_count(m, c->rank, hash_u64(get_place_of_all_turns(c), send), count);
}

/* Returns the usual count at the call site if this count differs from all earlier ones, else NULL. */
static const struct usual_count *find_new_count(
	const struct messages *m, const struct call *c, bool send, uint64_t count)
{
	const struct usual_count *u =
		table_find(&m->counts, c->rank, hash_u64(hash_place(c), send));

	return u && u->n >= COUNTS_MIN && !u->changes && u->count != count ? u : NULL;
}

/*
 * Returns the count of u if enough messages had it: of the turn of the loop to which u belongs, or, where all turns have
 * one count, of all. Else NULL.
 */
static const struct usual_count *find_proven_count(
	const struct messages *m, const struct usual_count *u, const struct call *c, bool send)
{
	if (u && u->n < SHORT_MIN) {
		u = table_find(&m->counts, c->rank, hash_u64(get_place_of_all_turns(c), send));
		if (u && (u->n < SHORT_MIN || u->changes))
			u = NULL;
	}
	return u;
}

static bool is_new_place(const struct messages *m, const struct call *send)
{
	const struct usual_count *u =
		table_find(&m->counts, send->rank, hash_u64(hash_place(send), true));

	return !u || !u->n;
}

static uint64_t hash_way(const struct call *recv)
{
	return hash_u64(hash_ends(recv->peer, recv->comm_rank), (uint64_t)recv->tag);
}

static void record_length(struct tag_stat *t, const struct call *recv)
{
	if (recv->comm_seq != t->next)
		t->nlength = 0;
	t->length[(uint64_t)recv->comm_seq % LENGTHS] = recv->out.count;
	t->nlength += t->nlength < LENGTHS;
	t->next = recv->comm_seq + 1;
}

/* Returns the length of the cycle in which the lengths of messages repeat, or 0 if they do not repeat. */
static unsigned find_round_of_lengths(const struct tag_stat *t)
{
	for (unsigned round = 2; round <= ROUND_MAX && 2 * round <= t->nlength; round++) {
		bool again = true;

		for (unsigned i = 1; i + round <= t->nlength && again; i++)
			again = t->length[(uint64_t)(t->next - i) % LENGTHS] ==
				t->length[(uint64_t)(t->next - i - round) % LENGTHS];
		if (again)
			return round;
	}
	return 0;
}

/*
 * True if the lengths of messages repeat in a cycle and one side already has the next length, because it skipped a message.
 * False if not, or not known.
 */
static bool is_one_ahead(
	const struct messages *m, const struct call *send, const struct call *recv, bool *sender)
{
	const struct tag_stat *t = table_find(&m->tags, recv->comm, hash_way(recv));
	unsigned round = t && t->next == recv->comm_seq ? find_round_of_lengths(t) : 0;
	uint64_t now, then;

	if (!round)
		return false;
	now = t->length[(uint64_t)(t->next - round) % LENGTHS];
	then = t->length[(uint64_t)(t->next - round + 1) % LENGTHS];
	*sender = recv->count == now && send->in.count == then;
	return now != then && (*sender || (send->in.count == now && recv->count == then));
}

/* Reports a message that does not fit into the buffer of its receive, which is not complete. */
static void compare_room(struct messages *m, const struct call *send, const struct call *recv)
{
	const struct usual_count *s, *t;
	bool ahead, sender = false;

	if (m->truncated.any || !recv->count || recv->dtype != send->dtype ||
		send->in.count <= recv->count)
		return;
	s = find_new_count(m, send, true, send->in.count);
	t = find_new_count(m, recv, false, recv->count);
	ahead = !s && !t && is_one_ahead(m, send, recv, &sender);
	m->truncated = (struct truncated){.any = true,
		.sender = ahead ? sender : s && !t,
		.skipped = ahead,
		.either = !ahead && !s == !t,
		.recv = *recv,
		.send = *send,
		.usual = t   ? t->count
			 : s ? s->count
			     : 0};
}

static void record_tag(struct messages *m, const struct call *send)
{
	struct line_tag *t = table_get(&m->line_tags, send->rank, hash_send_line(send));

	if (!t)
		return;
	t->varies |= t->n && t->tag != send->tag;
	t->tag = send->tag;
	t->n++;
}

/* If both sides of a received message always had more elements, only the program knows if that is correct. */
static void compare_counts(struct messages *m, const struct tag_stat *way, const struct call *send,
	const struct call *recv)
{
	const struct usual_count *s, *t;

	if (!recv->out.count)
		return;
	s = find_new_count(m, send, true, send->in.count);
	t = find_new_count(m, recv, false, recv->out.count);
	/*
	 * If the library does not report how much arrived, out.count is the length of the buffer. So far it was the sender's
	 * length.
	 */
	if (t && !s && !m->truncated.any && recv->out.count > send->in.count &&
		t->count == send->in.count && recv->dtype == send->dtype)
		m->truncated = (struct truncated){
			.any = true, .recv = *recv, .send = *send, .usual = t->count};
	/* The lengths vary from message to message, and were always equal on both sides. */
	else if (!s && !t && !m->truncated.any && recv->out.count > send->in.count &&
		 recv->dtype == send->dtype && way && way->agreed >= SHORT_MIN)
		m->truncated = (struct truncated){
			.any = true, .either = true, .recv = *recv, .send = *send};
	if (m->shorter.any || recv->out.count != send->in.count)
		return;
	/* A line that never sent before is compared with what the receiver has always received at its call site. */
	t = find_proven_count(m, t, recv, false);
	s = !s && is_new_place(m, send) ? t : find_proven_count(m, s, send, true);
	if (!s || !t || s->count != t->count || send->in.count > s->count)
		return;
	m->shorter = (struct shorter){
		.any = true, .send = *send, .recv = *recv, .usual = s->count, .times = s->n};
}

/* Byte types are compatible with every type. */
static bool is_typed(uint32_t dtype)
{
	const char *name = intern_get_name(dtype);

	return *name && strcmp(name, "other") != 0 && strcmp(name, "int8") != 0 &&
	       strcmp(name, "uint8") != 0;
}

/* Compares the types of a message. Returns true for the first message of pair p whose two sides differ. */
static bool record_types(struct type_pair *p, const struct call *send, const struct call *recv)
{
	bool mismatch;

	if (send->dtype == recv->dtype) {
		p->mixed |= p->n && p->dtype != send->dtype;
		p->dtype = send->dtype;
		p->n++;
		return false;
	}
	mismatch = p->n >= TYPES_MIN && !p->mixed &&
		   (send->dtype == p->dtype || recv->dtype == p->dtype);
	p->mixed = true;
	return mismatch;
}

/* Compares types by both call sites; or by the route, for a line that never sent or received before. */
static void compare_types(struct messages *m, const struct call *send, const struct call *recv)
{
	struct type_pair *p, *way;
	bool fresh, mismatch;

	if (!send->site || !recv->site || !is_typed(send->dtype) || !is_typed(recv->dtype) ||
		!(way = table_get(&m->types, recv->comm, hash_u64(hash_way(recv), WAY_SALT))))
		return;
	mismatch = record_types(way, send, recv);
	/* table_get() may have moved the other entry. */
	p = table_get(&m->types, recv->comm, hash_u64(send->site, recv->site));
	if (!p)
		return;
	fresh = !p->n && !p->mixed;
	way = table_find(&m->types, recv->comm, hash_u64(hash_way(recv), WAY_SALT));
	if (record_types(p, send, recv) || (fresh && mismatch)) {
		const struct type_pair *usual = fresh ? way : p;

		if (m->mismatch.any)
			return;
		m->mismatch = (struct mismatched_message){.any = true,
			.call = send->dtype == usual->dtype ? *recv : *send,
			.other = send->dtype == usual->dtype ? *send : *recv,
			.usual = usual->dtype,
			.agreed = usual->n};
	}
}

static bool is_exchange(const struct call *c)
{
	return strcmp(intern_get_name(c->op), "send_recv") == 0;
}

static bool is_same_value(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool goes_same_way(const struct call *a, const struct call *b)
{
	return a->comm == b->comm && a->comm_rank == b->comm_rank && a->peer == b->peer &&
	       a->tag == b->tag;
}

static struct message_values values_of_side(const struct side *s)
{
	return (struct message_values){s->count, s->least, s->most, s->sum, s->squares, s->bad};
}

static bool is_near(double a, double b, double error)
{
	return fabs(a - b) <= error || is_same_value(a, b);
}

/*
 * True if the statistics of both sides can come from equal bytes. The sums come from rows with nine digits, added in the order
 * of the processor's own kernel. If elements cancel out, an error of that size remains.
 */
static bool are_values_same(const struct message_values *a, const struct message_values *b)
{
	double cancelled = SUM_ERROR * sqrt((double)a->count * a->squares);

	if (a->count != b->count || !is_same_value(a->least, b->least) ||
		!is_same_value(a->most, b->most))
		return false;
	return a->bad || b->bad ||
	       (is_near(a->sum, b->sum, DIGITS_ERROR * fabs(a->sum) + cancelled) &&
		       is_near(a->squares, b->squares, 2 * DIGITS_ERROR * a->squares));
}

static void keep_values(
	struct message_values *list, unsigned *n, const struct message_values *values)
{
	if (*n < VALUES_KEPT)
		list[(*n)++] = *values;
}

/* Equal bytes have equal statistics on both sides. */
static void compare_values(struct messages *m, const struct call *send, const struct call *recv)
{
	struct message_values sent = values_of_side(&send->in), got = values_of_side(&recv->out);
	bool differ;

	if (m->any_damaged && !goes_same_way(recv, &m->damaged))
		return;
	if (!send->in.digest || !recv->out.digest || send->in.blind || recv->out.blind)
		return;
	differ = sent.count == got.count && send->dtype == recv->dtype &&
		 !are_values_same(&sent, &got);
	if (differ && !m->any_damaged) {
		m->any_damaged = true;
		m->damaged = *recv;
		m->damaged_by = *send;
	}
	if (!m->any_damaged)
		return;
	keep_values(m->sent, &m->nsent, &sent);
	if (differ)
		keep_values(m->astray, &m->nastray, &got);
}

bool is_any_damaged(const struct messages *m)
{
	for (unsigned i = 0; i < m->nastray; i++)
		for (unsigned k = 0; k < m->nsent; k++)
			if (are_values_same(&m->sent[k], &m->astray[i]))
				return false;
	return m->any_damaged;
}

static void join_message(struct messages *m, const struct call *send, const struct call *recv)
{
	uint64_t a = moment_of_being_there(m, send), b = moment_of_being_there(m, recv);
	uint64_t both = a > b ? a : b, end = corrected_time(m, recv, true);
	struct link_stat *l =
		table_get(&m->links, recv->comm, hash_ends(recv->peer, recv->comm_rank));
	struct tag_stat *t = table_get(&m->tags, recv->comm, hash_way(recv));

	if (t) {
		t->n++;
		record_length(t, recv);
	}
	compare_types(m, send, recv);
	compare_counts(m, t, send, recv);
	if (t)
		t->agreed = send->in.count == recv->out.count ? t->agreed + 1 : 0;
	record_count(m, send, true);
	record_count(m, recv, false);
	record_tag(m, send);
	compare_values(m, send, recv);
	/* The time of a send_recv is that of two messages. */
	if (!l || is_exchange(recv) || is_exchange(send))
		return;
	l->from = send->rank;
	l->to = recv->rank;
	if (t)
		record_lag(m, t, send, recv);
	/* The sender began to wait only after the message was received: the transfer took no known time. */
	if (end < both)
		return;
	hist_add(&l->time, end - both);
	record_streak(l, end - both, recv->step);
	if (end - both >= l->slowest_ns) {
		l->slowest_ns = end - both;
		l->slowest = *recv;
	}
}

static void match_side(struct messages *m, const struct call *c, bool send)
{
	struct message now = {
		.call = *c, .comm = c->comm, .tag = c->tag, .number = c->comm_seq, .send = send};

	if (c->peer == NO_NUMBER || c->comm_rank == NO_NUMBER || c->comm_seq == NO_NUMBER ||
		c->peer < 0)
		return;
	now.from = send ? c->comm_rank : c->peer;
	now.to = send ? c->peer : c->comm_rank;
	for (struct message *k =
			*message_bucket(m, now.comm, now.from, now.to, now.tag, now.number);
		k; k = k->next) {
		if (k->comm != now.comm || k->from != now.from || k->to != now.to ||
			k->tag != now.tag || k->number != now.number)
			continue;
		if (k->send != send && !((k->call.bits | c->bits) & CALL_OPEN)) {
			join_message(m, send ? c : &k->call, send ? &k->call : c);
			remove_message(m, k);
			return;
		}
		if (k->send != send) {
			/* Both sides have begun, and one of them is not complete. */
			if (!is_exchange(c) && !is_exchange(&k->call))
				compare_room(m, send ? c : &k->call, send ? &k->call : c);
			remove_message(m, k);
			return;
		}
		return; /* the same side twice: as a row, and as its copy in the journal */
	}
	keep_message(m, &now);
}

static uint64_t hash_exchange(const struct call *c)
{
	return hash_u64(hash_u64(c->site, c->comm), c->api);
}

static void record_partner(struct messages *m, const struct call *c)
{
	struct partner *p = table_get(&m->partners, c->rank, hash_exchange(c));
	int64_t distance = c->source - c->comm_rank;

	if (p)
		*p = (struct partner){p->key, true, (!p->any || p->pairs) && c->source == c->peer,
			(!p->any || p->even) && c->source_seq == c->comm_seq,
			p->any && (p->varies || p->distance != distance), distance, c->source_tag,
			c->source_seq + 1};
}

bool find_receive_half(const struct messages *m, const struct call *c, struct call *half)
{
	const struct partner *p;

	*half = *c;
	if (!is_exchange(c) || c->comm_rank == NO_NUMBER)
		return false;
	half->peer = c->source;
	half->tag = c->source_tag;
	half->comm_seq = c->source_seq;
	if (!(c->bits & CALL_OPEN))
		return c->source != NO_NUMBER;
	p = table_find(&m->partners, c->rank, hash_exchange(c));
	if (!p || !p->any)
		return false;
	half->tag = p->tag;
	/* The source is the destination, and as many messages have come from it as were sent to it. */
	if (p->pairs && (p->varies || c->peer != c->comm_rank + p->distance)) {
		half->peer = c->peer;
		half->comm_seq = c->comm_seq;
		return p->even && c->peer != NO_NUMBER;
	}
	half->peer = c->comm_rank + p->distance;
	half->comm_seq = p->next;
	return !p->varies;
}

void match_message(struct messages *m, const struct call *c)
{
	const char *op = intern_get_name(c->op);
	struct call half;

	if (!c->comm || c->bits & (CALL_NESTED | CALL_LOCAL))
		return;
	if (strcmp(op, "send") == 0 || strcmp(op, "recv") == 0) {
		match_side(m, c, *op == 's');
		return;
	}
	if (!is_exchange(c))
		return;
	match_side(m, c, true);
	if (!find_receive_half(m, c, &half))
		return;
	match_side(m, &half, false);
	if (!(c->bits & CALL_OPEN))
		record_partner(m, c);
}

bool is_message_alone(const struct messages *m, const struct call *c)
{
	bool send = strcmp(intern_get_name(c->op), "send") == 0;
	int64_t from = send ? c->comm_rank : c->peer, to = send ? c->peer : c->comm_rank;

	for (const struct message *k = *message_bucket(m, c->comm, from, to, c->tag, c->comm_seq);
		k; k = k->next)
		if (k->comm == c->comm && k->from == from && k->to == to && k->tag == c->tag &&
			k->number == c->comm_seq && k->send == send)
			return true;
	return false;
}

bool was_way_used(const struct messages *m, const struct message *k)
{
	const struct tag_stat *t = table_find(
		&m->tags, k->comm, hash_u64(hash_ends(k->from, k->to), (uint64_t)k->tag));

	return t && t->n;
}
