/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/times/site_waits.h"

void init_site_waits(struct table *t)
{
	table_init_small(t, sizeof(struct site_wait), SITE_WAITS_MAX);
}

static uint64_t hash_wait_place(const struct call *c)
{
	return c->api;
}

void add_site_wait(struct table *t, const struct call *c)
{
	bool async = c->bits & CALL_ASYNC;
	uint64_t ns = async ? c->wait : c->dur;
	struct site_wait *w;

	if (!c->comm || c->bits & CALL_OPEN || (async && !(c->bits & CALL_WAITED)))
		return;
	w = async ? table_get(t, 0, 0) : table_get(t, c->comm, hash_wait_place(c));
	if (!w)
		return;
	w->n++;
	if (ns > w->longest_ns)
		w->longest_ns = ns;
}

const struct site_wait *find_site_wait(const struct table *t, const struct open_call *c)
{
	if (c->waiting || c->call.bits & CALL_ASYNC)
		return table_find(t, 0, 0);
	return table_find(t, c->call.comm, hash_wait_place(&c->call));
}
