/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that no rank received, and receives that no rank sends to: which of the two sides is wrong, and in what. */
#include "tools/probe/model/messages.h"

#define TAGS_MIN 3
#define PEER_STEPS 3 /* minimum number of steps after which the peers are known */
#define PEER_LOOKS (1u << 20)
#define NEAR_MAX 256u /* messages between two ranks that are searched for the nearest tag */

bool find_stray_tag(const struct messages *m, struct call *send, int64_t *usual)
{
	for (const struct message *k = m->oldest; k; k = k->newer) {
		const struct line_tag *t =
			k->send && k->call.site
				? table_find(&m->line_tags, k->call.rank, hash_send_line(&k->call))
				: NULL;

		if (!t || t->varies || t->n < TAGS_MIN || t->tag == k->tag || was_way_used(m, k))
			continue;
		*send = k->call;
		*usual = t->tag;
		return true;
	}
	return false;
}

/* The messages between two ranks that were sent and not received. */
struct left_over {
	struct table_key key; /* a: communicator; b: hash of from and to */
	struct message *first, *last;
};

static uint64_t tag_distance(const struct message *a, const struct message *b)
{
	return a->tag > b->tag ? (uint64_t)a->tag - (uint64_t)b->tag
			       : (uint64_t)b->tag - (uint64_t)a->tag;
}

/* Returns the unreceived send with the nearest tag, or NULL. Skips tags that both sides always used: they are no mistake. */
static const struct message *nearest_send(const struct messages *m, const struct left_over *l,
	const struct message *r, uint64_t *looks)
{
	const struct message *best = NULL;
	bool used = was_way_used(m, r);
	unsigned n = 0;

	for (const struct message *s = l ? l->first : NULL; s && n < NEAR_MAX; s = s->more, n++) {
		++*looks;
		if (s->from != r->from || s->to != r->to || s->tag == r->tag ||
			(used && was_way_used(m, s)))
			continue;
		if (!best || tag_distance(s, r) < tag_distance(best, r))
			best = s;
	}
	return best;
}

bool find_crossed_tag(const struct messages *m, struct call *recv, struct call *send, bool *sender,
	uint64_t *looks)
{
	const struct message *s = NULL;
	uint64_t n = 0;
	struct table sent;

	table_init(&sent, sizeof(struct left_over), UNDER_WAY_MAX);
	for (struct message *k = m->oldest; k; k = k->newer, n++) {
		struct left_over *l =
			k->send ? table_get(&sent, k->comm, hash_ends(k->from, k->to)) : NULL;

		k->more = NULL;
		if (!l)
			continue;
		*(l->first ? &l->last->more : &l->first) = k;
		l->last = k;
	}
	for (const struct message *r = m->oldest; r && !s; r = r->newer, n++) {
		if (r->send || !(r->call.bits & CALL_OPEN))
			continue;
		s = nearest_send(m, table_find(&sent, r->comm, hash_ends(r->from, r->to)), r, &n);
		if (!s)
			continue;
		*recv = r->call;
		*send = s->call;
		*sender = !was_way_used(m, s);
	}
	table_free(&sent);
	if (looks)
		*looks = n;
	return s != NULL;
}

bool find_crossed_peer(const struct messages *m, struct call *recv, struct call *send, bool *sender)
{
	unsigned looks = 0;

	for (const struct message *r = m->oldest; r; r = r->newer) {
		if (r->send || !(r->call.bits & CALL_OPEN) || r->call.step < PEER_STEPS)
			continue;
		for (const struct message *s = m->oldest; s && looks < PEER_LOOKS;
			s = s->newer, looks++) {
			bool same_from = s->from == r->from, same_to = s->to == r->to;

			if (!s->send || s->comm != r->comm || s->tag != r->tag ||
				s->call.step != r->call.step || same_from == same_to ||
				was_way_used(m, same_from ? r : s) ==
					was_way_used(m, same_from ? s : r) ||
				was_way_used(m, same_from ? s : r))
				continue;
			*recv = r->call;
			*send = s->call;
			*sender = same_from;
			return true;
		}
	}
	return false;
}
