/* SPDX-License-Identifier: Apache-2.0 */
#include "training/alerts/alert_values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "terms/scalar.h"
#include "sink/column.h"
#include "sink/statistic.h"

#define TEXT_MAX 1000 /* bytes of each text of a value */

/* Appends a copy of `v` and its four texts. */
static int copy_alert_value(struct alert_values *all, const struct alert_seen *v)
{
	const char *const text[] = {v->word, v->name, v->api, v->operation};
	size_t n[4], bytes = sizeof(*v);
	struct alert_seen *to;
	char *p;

	for (unsigned i = 0; i < 4; i++) {
		n[i] = strnlen(text[i], TEXT_MAX);
		bytes += n[i] + 1;
	}
	bytes = (bytes + 7) & ~(size_t)7;
	if (!all->buf && !(all->buf = malloc(ALERT_PASS_BYTES)))
		return -ENOBUFS;
	if (ALERT_PASS_BYTES - all->len < bytes)
		return -ENOBUFS;
	to = (struct alert_seen *)(all->buf + all->len);
	*to = *v;
	to->bytes = (uint32_t)bytes;
	p = (char *)(to + 1);
	for (unsigned i = 0; i < 4; i++) {
		memcpy(p, text[i], n[i]);
		p[n[i]] = 0;
		*(const char **)((char *)to + (size_t[]){offsetof(struct alert_seen, word),
						      offsetof(struct alert_seen, name),
						      offsetof(struct alert_seen, api),
						      offsetof(struct alert_seen, operation)}[i]) =
			p;
		p += n[i] + 1;
	}
	all->len += bytes;
	return 0;
}

struct alert_seen *alert_values_get_next(struct alert_values *v, size_t *at)
{
	struct alert_seen *s = (struct alert_seen *)(v->buf + *at);

	if (*at >= v->len)
		return NULL;
	*at += s->bytes;
	return s;
}

static void set_seen_statistics(struct alert_seen *v, const struct stats *s, unsigned dtype)
{
	v->measured = s->n != 0;
	if (!s->n)
		return;
	v->nan = s->nans != 0;
	v->inf = s->infs != 0;
	for (unsigned op = TO_NONE + 1; op < TRAIN_OPS_END; op++)
		find_statistic(s, dtype, s->n, (enum train_op)op, &v->x[op]);
	v->zero = !s->nans && v->x[TO_MIN] == 0 && v->x[TO_MAX] == 0;
}

static void set_seen_number(struct alert_seen *v, double x)
{
	v->measured = true;
	v->nan = isnan(x);
	v->inf = isinf(x);
	v->zero = x == 0;
	v->x[TO_NORM] = x;
}

int alert_values_add_kind(struct alert_values *all, const struct record_kind *r)
{
	const struct journal_kind_row *k = r->kind;
	struct alert_seen v = {.source = ALERT_OF_KIND,
		.kind = k->kind,
		.vpp_stage = k->vpp_stage,
		.step = k->step,
		.micro_step = k->micro_step,
		.word = r->word,
		.name = r->name,
		.api = "",
		.operation = ""};

	all->before = all->len;
	if (train_kinds[k->kind].form == KIND_OPS)
		set_seen_statistics(&v, &k->stats, k->dtype);
	else if (is_number_kind(k->kind) && k->e.n)
		set_seen_number(&v, r->value[0]);
	if (!v.measured)
		return 0;
	/*
	 * Each micro step has a series of its own, as msprobe's name:0, name:1, because
	 * accumulated gradients grow from one micro step to the next.
	 */
	v.key = hash_u64(hash_str(hash_str(hash_u64(ALERT_OF_KIND, v.vpp_stage), v.word), v.name),
		v.micro_step);
	return copy_alert_value(all, &v);
}

int alert_values_add_scalar(struct alert_values *all, const struct record_scalar *r)
{
	char name[96];
	struct text t = text_init(name, sizeof(name));
	struct alert_seen v = {.source = ALERT_OF_SCALAR,
		.which = r->which,
		.step = r->step,
		.micro_step = UINT32_MAX,
		.word = scalar_names[r->which],
		.name = name,
		.api = "",
		.operation = ""};

	all->before = all->len;
	write_scalar_name(&t, r);
	set_seen_number(&v, r->value);
	v.key = hash_str(ALERT_OF_SCALAR + 1, name);
	return copy_alert_value(all, &v);
}

int alert_values_add_call(struct alert_values *all, const struct record *r)
{
	const struct journal_call *c = r->call;
	size_t len = all->len;
	int err = 0;

	all->before = len;
	for (unsigned i = 0; i < r->n && !err; i++) {
		const struct journal_tensor *t = r->tensor[i];
		struct alert_seen v = {.source = ALERT_OF_CALL,
			.io = t->io,
			.index = t->index,
			.step = c->step,
			.micro_step = c->micro_step,
			.stack = c->stack,
			.seq = c->seq,
			.comm = c->comm,
			.word = "calls",
			.name = r->name[i],
			.api = r->api.symbol,
			.operation = r->api.op};

		set_seen_statistics(&v, &t->stats, t->dtype);
		if (!v.measured)
			continue;
		v.key = hash_u64(hash_u64(hash_str(hash_str(ALERT_OF_CALL + 2, v.api), v.name),
					 c->comm ^ (uint64_t)c->stack << 32),
			(uint64_t)v.index << 1 | v.io);
		err = copy_alert_value(all, &v);
	}
	if (err)
		all->len = len;
	return err;
}
