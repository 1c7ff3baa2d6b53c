/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/times/ops.h"

#include "tools/probe/model/read/bus_factor.h"

#define OPS_MAX 16384u /* each about 2 KiB */

void ops_init(struct ops *o)
{
	*o = (struct ops){0};
	table_init(&o->table, sizeof(struct op_stat), OPS_MAX);
}

void ops_free(struct ops *o)
{
	for (uint32_t i = 0; i < o->table.n; i++)
		hist_free(&((struct op_stat *)table_at(&o->table, i))->dur);
	hist_free(&o->rest.dur);
	table_free(&o->table);
}

void ops_add(struct ops *o, const struct call *c)
{
	uint64_t names = (uint64_t)c->lib << 32 | (uint64_t)c->api << 16 | c->op;
	struct op_stat *s = table_get(&o->table, c->comm, names);

	if (!s)
		s = &o->rest;
	if (!s->calls) {
		s->lib = c->lib;
		s->api = c->api;
		s->op = c->op;
		s->comm = c->comm;
		s->first_step = s->last_step = c->step;
	}
	s->calls++;
	s->rows += c->rows;
	s->bytes += call_get_bytes(c);
	if (c->step < s->first_step)
		s->first_step = c->step;
	if (c->step > s->last_step)
		s->last_step = c->step;
	if (c->bits & CALL_ERROR)
		s->errors++;
	if (c->bits & CALL_OPEN) {
		s->open++;
		return;
	}
	hist_add(&s->dur, c->dur);
	if (c->device) {
		s->on_device++;
		s->device_ns += (double)c->device;
		s->device_bytes += (double)call_get_bytes(c);
		s->bus_bytes += (double)call_get_bytes(c) * call_get_bus_factor(c);
	}
	if (c->bits & CALL_ASYNC) {
		s->async++;
		s->waited += (c->bits & CALL_WAITED) != 0;
		s->async_ns += (double)c->dur;
		s->wait_ns += (double)c->wait;
		s->blocked_ns += c->bits & (CALL_NESTED | CALL_WAIT_SHARED) ? 0 : (double)c->wait;
	} else if (!(c->bits & CALL_NESTED)) {
		s->blocked_ns += (double)c->dur;
	}
}

void ops_merge(struct op_stat *to, const struct op_stat *from)
{
	if (!from->calls)
		return;
	if (!to->calls || from->first_step < to->first_step)
		to->first_step = from->first_step;
	if (!to->calls || from->last_step > to->last_step)
		to->last_step = from->last_step;
	to->calls += from->calls;
	to->rows += from->rows;
	to->bytes += from->bytes;
	to->open += from->open;
	to->errors += from->errors;
	to->async += from->async;
	to->waited += from->waited;
	to->async_ns += from->async_ns;
	to->wait_ns += from->wait_ns;
	to->blocked_ns += from->blocked_ns;
	to->on_device += from->on_device;
	to->device_ns += from->device_ns;
	to->device_bytes += from->device_bytes;
	to->bus_bytes += from->bus_bytes;
	hist_merge(&to->dur, &from->dur);
}
