/* SPDX-License-Identifier: Apache-2.0 */
/* A library made up for the purpose, and calls of it with arguments given as (role, value). */
#ifndef TESTS_UNIT_DESCRIBE_HELPER_H
#define TESTS_UNIT_DESCRIBE_HELPER_H

#include "session_helper.h"

#include "call/describe.h"
#include "call/plan.h"

#define IN_PLACE ((void *)0x1)

/* Handles of dtypes: 4 float32, 8 float64, 12 a derived one of 12 bytes that lie 16 apart, 99 one that the library does not know. */
static inline void dtype(uint64_t h, struct dtype_desc *d)
{
	if (h == 99)
		return;
	*d = (struct dtype_desc){.size = h,
		.extent = h == 12 ? 16 : (int64_t)h,
		.dtype = h == 4	  ? DT_FLOAT32
			 : h == 8 ? DT_FLOAT64
				  : DT_OTHER,
		.derived = h == 12};
}

static struct comm *the_comm;

static inline struct comm *comm(uint64_t h)
{
	return h == 1 ? the_comm : NULL;
}

static const int64_t in_place = (int64_t)IN_PLACE;

static inline int peer(int64_t v)
{
	return v == -5 ? PEER_NULL : v == -9 ? PEER_ANY : (int)v;
}

static inline enum root_is root(const struct comm *c, int64_t v, int *rank)
{
	if (v == -3 || v == -4) {
		*rank = JOURNAL_NONE;
		return v == -3 ? ROOT_ME : ROOT_IDLE;
	}
	*rank = (int)v;
	return c && !c->remote && c->rank == v ? ROOT_ME : ROOT_OTHER;
}

static inline enum redop redop(uint64_t h)
{
	return h == 3 ? REDOP_MAX : REDOP_SUM;
}

static inline uint64_t handle_at(const void *array, uint64_t i)
{
	return ((const uint64_t *)array)[i];
}

static const struct adapter lib = {.name = "mpi",
	.comm = comm,
	.dtype = dtype,
	.redop = redop,
	.in_place = &in_place,
	.peer = peer,
	.root = root,
	.handle_at = handle_at};
static const struct adapter plain = {.name = "nccl", .comm = comm, .dtype = dtype};

/* ---- a call, its arguments given as (role, value) ---- */

struct value {
	uint8_t role, elem_bytes;
	uint64_t v;
};

#define V(role, v)                                       \
	{                                                \
		ROLE_##role, 0, (uint64_t)(uintptr_t)(v) \
	}
#define A4(role, v)                                      \
	{                                                \
		ROLE_##role, 4, (uint64_t)(uintptr_t)(v) \
	}
#define A8(role, v)                                      \
	{                                                \
		ROLE_##role, 8, (uint64_t)(uintptr_t)(v) \
	}

/* no_plan: extent by extent. *by_plan: the row has a plan, whether this call could use it or not. */
static inline struct operation *describe_as(const struct adapter *l, const struct kind *k,
	uint8_t completion, const struct value *v, unsigned n, bool no_plan, bool *by_plan)
{
	static struct api_spec spec;
	static struct api api;
	static struct call c;
	static union arg arg[API_ARGS_MAX];

	spec = (struct api_spec){
		.symbol = "f", .lib = l, .kind = k, .completion = completion, .nargs = (uint8_t)n};
	for (unsigned i = 0; i < n; i++) {
		spec.args[i] = (struct api_arg){.role = v[i].role, .elem_bytes = v[i].elem_bytes};
		spec.at[v[i].role] = (uint8_t)(i + 1);
		arg[i].u = v[i].v;
	}
	memset(&api, 0, sizeof(api));
	api.spec = &spec;
	atomic_store(&api.plan.state, no_plan ? PLAN_NONE : PLAN_NEW);
	memset(&c, 0x5a, sizeof(c)); /* struct call is never cleared as a whole */
	c.api = &api;
	c.word = API_NUMBERED;
	c.v = arg;
	describe_call(&c);
	*by_plan = atomic_load(&api.plan.state) == PLAN_READY;
	return &c.op;
}

static inline struct operation *describe_it(const struct adapter *l, const struct kind *k,
	uint8_t completion, const struct value *v, unsigned n)
{
	bool by_plan;

	return describe_as(l, k, completion, v, n, false, &by_plan);
}

#define DESCRIBE(l, k, ...)                                                 \
	describe_it(l, k, DONE_RETURN, (const struct value[]){__VA_ARGS__}, \
		sizeof((const struct value[]){__VA_ARGS__}) / sizeof(struct value))

static inline void check_view(
	const struct buffer *v, const void *base, uint64_t count, uint64_t bytes, unsigned dt)
{
	assert_ptr_equal(v->base, base);
	assert_int_equal(v->count, count);
	assert_int_equal(v->bytes, bytes);
	assert_int_equal(v->dtype, dt);
}

#endif
