/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that is described by its row's plan is described as it is without one: kinds and arguments at random, each
 * described both ways, on communicators that have counted alike.
 */
#include "describe_helper.h"

#define CASES 40000

static uint32_t seed = 1;

static unsigned below(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (unsigned)((uint64_t)(seed >> 8) * n >> 24);
}

#define ONE_OF(...) ((const uint8_t[]){__VA_ARGS__}[below(sizeof((const uint8_t[]){__VA_ARGS__}))])

static uint8_t any_term(void)
{
	return ONE_OF(ROLE_COUNT, ROLE_SCOUNT, ROLE_RCOUNT, ROLE_SCOUNT, ROLE_RCOUNT, TERM_SIZE,
		TERM_RANK);
}

/* Most of them plain, or hardly any pair of them would be. */
static struct extent any_extent(bool out)
{
	struct extent e = {.form = EXT_PRODUCT,
		.where = below(8) ? ON_ALL : ONE_OF(ON_ROOT, ON_LEAF, ON_NOT_FIRST, ON_SENDER),
		.buf = out ? ROLE_RECV : ONE_OF(ROLE_SEND, ROLE_SEND, ROLE_BUF),
		.dtype = ONE_OF(ROLE_DTYPE, ROLE_SDTYPE, ROLE_RDTYPE),
		.nterm = below(8) ? 1 : (uint8_t)below(4),
		.noffset = below(8) ? 0 : (uint8_t)below(3)};

	for (unsigned i = 0; i < 3; i++)
		e.term[i] = any_term();
	for (unsigned i = 0; i < 2; i++)
		e.offset[i] = any_term();
	if (below(8) == 0) {
		e.form = ONE_OF(EXT_SUM, EXT_AT_RANK, EXT_SEGMENTS, EXT_SEGMENT_AT_RANK);
		e.counts = out ? ROLE_RCOUNTS : ROLE_SCOUNTS;
		e.displs = out ? ROLE_RDISPLS : ROLE_SDISPLS;
		e.length = TERM_SIZE;
	}
	return e;
}

static struct kind any_kind(void)
{
	struct kind k = {.collective = below(2),
		.rooted = below(8) == 0,
		.nin = (uint8_t)below(3),
		.nout = (uint8_t)below(3),
		.alt_buf = ONE_OF(ROLE_NONE, ROLE_SEND, ROLE_RECV),
		.alt_nin = (uint8_t)below(2),
		.alt_no_out = below(4) == 0};

	for (unsigned i = 0; i < KIND_VIEWS; i++) {
		k.in[i] = any_extent(false);
		k.out[i] = any_extent(true);
	}
	k.alt_in[0] = any_extent(true);
	return k;
}

static char memory[4096];

static unsigned any_arguments(struct value *v)
{
	static const int32_t counts[4] = {3, 0, 2, 5}, displs[4] = {0, 3, 4, 9};
	const struct value all[] = {V(SEND, below(6) ? memory + below(64) : IN_PLACE),
		V(RECV, below(6) ? memory + below(64) : IN_PLACE), V(BUF, memory + below(64)),
		V(COUNT, (int64_t)below(40) - 4), V(SCOUNT, (int64_t)below(40) - 4),
		V(RCOUNT, (int64_t)below(40) - 4), V(DTYPE, ONE_OF(4, 8, 12, 16)),
		V(SDTYPE, ONE_OF(4, 8, 12)), V(RDTYPE, ONE_OF(4, 8, 12)), V(COMM, below(16) != 0),
		V(OP, below(5)), V(ROOT, (int64_t)below(8) - 4), V(PEER, (int64_t)below(8) - 5),
		V(TAG, below(3)), V(RPEER, below(4)), A4(SCOUNTS, counts), A4(RCOUNTS, counts),
		A4(SDISPLS, displs), A4(RDISPLS, displs)};
	unsigned n = 0;

	/* Counts and dtypes of a side are often missing: the common ones stand in. */
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (below(4) && (n || below(2)))
			v[n++] = all[i];
	return n;
}

static void same_views(const struct buffer *a, const struct buffer *b, unsigned n)
{
	for (; n; n--, a++, b++) {
		assert_ptr_equal(a->base, b->base);
		assert_true(a->count == b->count && a->bytes == b->bytes && a->unit == b->unit);
		assert_true(a->dtype == b->dtype && a->layout == b->layout && a->io == b->io);
		assert_true(a->nostats == b->nostats && a->host == b->host && a->ndim == b->ndim);
		assert_true(a->index == b->index && a->snapshot == b->snapshot);
		assert_true(a->peer == b->peer && a->tag == b->tag && a->comm_seq == b->comm_seq);
	}
}

static void same(const struct operation *a, const struct operation *b)
{
	assert_int_equal(a->comm != NULL, b->comm != NULL);
	assert_int_equal(a->flags, b->flags);
	assert_true(a->root == b->root && a->peer == b->peer && a->tag == b->tag);
	assert_true(
		a->redop == b->redop && a->phase == b->phase && a->output_limit == b->output_limit);
	assert_true(!a->all_in && !a->all_out && !b->all_in && !b->all_out);
	assert_int_equal(a->nin, b->nin);
	assert_int_equal(a->nout, b->nout);
	same_views(a->in, b->in, a->nin);
	same_views(a->out, b->out, a->nout);
}

static void test_random(void **state)
{
	unsigned planned = 0, others = 0, buffers = 0;

	(void)state;
	for (int i = 0; i < CASES; i++) {
		struct kind k = any_kind();
		struct value v[API_ARGS_MAX];
		const struct adapter *l = below(4) ? &lib : &plain;
		unsigned n = any_arguments(v);
		struct comm *m[2];
		struct operation w[2];
		bool by_plan, inter = below(4) == 0;

		for (int way = 0; way < 2; way++) {
			the_comm = m[way] = make_test_comm(l, 1, 2, 4);
			m[way]->outdegree = 1;
			m[way]->remote = inter ? 3 : 0;
			w[way] = *describe_as(l, &k, DONE_RETURN, v, n, way == 0, &by_plan);
		}
		same(&w[0], &w[1]);
		planned += by_plan;
		others += !by_plan;
		buffers += by_plan ? w[1].nin + w[1].nout : 0;
		comm_remove_user(m[0]);
		comm_remove_user(m[1]);
	}
	the_comm = NULL;
	assert_true(planned > CASES / 20 && others > CASES / 20 && buffers > CASES / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
