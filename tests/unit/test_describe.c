/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From arguments to buffers, with a library made up for the purpose: every form of extent, who takes part, in-place,
 * intercommunicators, and the two sides of point-to-point calls.
 */
#include "describe_helper.h"

static int begin(void **state)
{
	(void)state;
	the_comm = make_test_comm(&lib, 1, 2, 4);
	return 0;
}

static int end(void **state)
{
	(void)state;
	comm_remove_user(the_comm);
	return 0;
}

#define PRODUCT(b, d, ...)                                                                      \
	{                                                                                       \
		.form = EXT_PRODUCT, .buf = ROLE_##b, .dtype = ROLE_##d, .term = {__VA_ARGS__}, \
		.nterm = sizeof((uint8_t[]){__VA_ARGS__})                                       \
	}

static float a[64], b[64];

static void test_products(void **state)
{
	static const struct kind allgather = {.name = "allgather",
		.op = "all_gather",
		.collective = true,
		.nin = 1,
		.nout = 1,
		.in = {PRODUCT(SEND, SDTYPE, ROLE_SCOUNT)},
		.out = {PRODUCT(RECV, RDTYPE, ROLE_RCOUNT, TERM_SIZE)},
		.alt_buf = ROLE_SEND,
		.alt_nin = 1,
		.alt_in = {{.form = EXT_PRODUCT,
			.buf = ROLE_RECV,
			.dtype = ROLE_RDTYPE,
			.term = {ROLE_RCOUNT},
			.nterm = 1,
			.offset = {TERM_RANK, ROLE_RCOUNT},
			.noffset = 2}}};
	struct operation *w = DESCRIBE(&lib, &allgather, V(SEND, a), V(SCOUNT, 3), V(SDTYPE, 8),
		V(RECV, b), V(RCOUNT, 6), V(RDTYPE, 4), V(COMM, 1));

	(void)state;
	assert_true(w->nin == 1 && w->nout == 1 && w->comm == the_comm && !w->flags);
	check_view(&w->in[0], a, 3, 24, DT_FLOAT64);
	check_view(&w->out[0], b, 24, 96, DT_FLOAT32);
	assert_true(w->in[0].io == IO_IN && w->out[0].io == IO_OUT && w->in[0].index == 0 &&
		    w->out[0].index == 0);
	assert_true(w->root == JOURNAL_NONE && w->peer == JOURNAL_NONE && w->tag == JOURNAL_NONE &&
		    w->redop == REDOP_NONE);
	/* One count and one dtype for both sides. */
	w = DESCRIBE(
		&lib, &allgather, V(SEND, a), V(RECV, b), V(COUNT, 5), V(DTYPE, 4), V(COMM, 1));
	check_view(&w->in[0], a, 5, 20, DT_FLOAT32);
	check_view(&w->out[0], b, 20, 80, DT_FLOAT32);
	/* In place: this rank's part of the output is the input. */
	w = DESCRIBE(&lib, &allgather, V(SEND, IN_PLACE), V(RECV, b), V(COUNT, 5), V(DTYPE, 4),
		V(COMM, 1));
	assert_int_equal(w->flags, CF_INPLACE);
	check_view(&w->in[0], b + 10, 5, 20, DT_FLOAT32);
	check_view(&w->out[0], b, 20, 80, DT_FLOAT32);
	/* A library without a sentinel passes the same memory. */
	w = DESCRIBE(&plain, &allgather, V(SEND, b + 3), V(RECV, b), V(COUNT, 5), V(DTYPE, 4),
		V(COMM, 1));
	assert_int_equal(w->flags, CF_INPLACE);
	w = DESCRIBE(
		&plain, &allgather, V(SEND, a), V(RECV, b), V(COUNT, 5), V(DTYPE, 4), V(COMM, 1));
	assert_int_equal(w->flags, 0);
	/* Negative and absurd counts are the library's business. */
	w = DESCRIBE(
		&lib, &allgather, V(SEND, a), V(RECV, b), V(COUNT, -1), V(DTYPE, 4), V(COMM, 1));
	assert_int_equal(w->out[0].count, 0);
	w = DESCRIBE(&lib, &allgather, V(SEND, a), V(RECV, b), V(COUNT, INT64_MAX), V(DTYPE, 4),
		V(COMM, 1));
	assert_int_equal(w->out[0].count, 0);
	/* Derived types: bytes only. */
	w = DESCRIBE(
		&lib, &allgather, V(SEND, a), V(RECV, b), V(COUNT, 2), V(DTYPE, 12), V(COMM, 1));
	assert_int_equal(w->flags, CF_DERIVED);
	check_view(&w->in[0], a, 2, 24, DT_OTHER);
	assert_int_equal(w->in[0].nostats, 1);
	/* A dtype that the library does not know, after one that it does: nothing of that one. */
	w = DESCRIBE(&lib, &allgather, V(SEND, a), V(SCOUNT, 3), V(SDTYPE, 8), V(RECV, b),
		V(RCOUNT, 6), V(RDTYPE, 99), V(COMM, 1));
	check_view(&w->out[0], b, 24, 0, DT_OTHER);
	assert_int_equal(w->out[0].nostats, 1);
	/* An unknown communicator: no guesses. */
	w = DESCRIBE(
		&lib, &allgather, V(SEND, a), V(RECV, b), V(COUNT, 2), V(DTYPE, 4), V(COMM, 77));
	assert_true(!w->comm && !w->nin && !w->nout);
}

static const struct kind reduce = {.name = "reduce",
	.op = "reduce",
	.collective = true,
	.rooted = true,
	.nin = 1,
	.nout = 1,
	.in = {PRODUCT(SEND, DTYPE, ROLE_COUNT)},
	.out = {{.form = EXT_PRODUCT,
		.where = ON_ROOT,
		.buf = ROLE_RECV,
		.dtype = ROLE_DTYPE,
		.term = {ROLE_COUNT},
		.nterm = 1}},
	.alt_buf = ROLE_SEND,
	.alt_nin = 1,
	.alt_in = {PRODUCT(RECV, DTYPE, ROLE_COUNT)}};

static struct operation *reduce_to(int64_t r, const void *send)
{
	return DESCRIBE(&lib, &reduce, V(SEND, send), V(RECV, b), V(COUNT, 5), V(DTYPE, 4),
		V(OP, 3), V(ROOT, r), V(COMM, 1));
}

static void test_rooted(void **state)
{
	struct operation *w = reduce_to(2, a);

	(void)state;
	assert_true(w->nin == 1 && w->nout == 1 && w->root == 2 && w->redop == REDOP_MAX);
	w = reduce_to(1, a);
	assert_true(w->nin == 1 && w->nout == 0 && w->root == 1);
	w = reduce_to(2, IN_PLACE);
	assert_true(w->nin == 1 && w->nout == 1 && w->in[0].base == b && w->flags == CF_INPLACE);
	/* Between groups: only the root of the one and all of the other take part. */
	the_comm->remote = 7;
	w = reduce_to(-3, a);
	assert_true(w->nin == 0 && w->nout == 1 && w->root == JOURNAL_NONE);
	w = reduce_to(-4, a);
	assert_true(w->nin == 0 && w->nout == 0);
	w = reduce_to(3, a);
	assert_true(w->nin == 1 && w->nout == 0 && w->root == 3);
	/* A library whose roots are plain ranks. */
	the_comm->remote = 0;
	w = DESCRIBE(&plain, &reduce, V(SEND, a), V(RECV, b), V(COUNT, 5), V(DTYPE, 4), V(ROOT, 2),
		V(COMM, 1));
	assert_true(w->nout == 1 && w->root == 2);
	w = DESCRIBE(&plain, &reduce, V(SEND, a), V(RECV, b), V(COUNT, 5), V(DTYPE, 4), V(ROOT, 0),
		V(COMM, 1));
	assert_true(w->nout == 0 && w->root == 0);
}

static void test_arrays(void **state)
{
	static const struct kind k = {.name = "v",
		.op = "v",
		.collective = true,
		.nin = 2,
		.nout = 2,
		.in = {{.form = EXT_SEGMENTS,
			       .buf = ROLE_SEND,
			       .dtype = ROLE_SDTYPE,
			       .counts = ROLE_SCOUNTS,
			       .displs = ROLE_SDISPLS},
			{.form = EXT_SUM,
				.buf = ROLE_SEND,
				.dtype = ROLE_SDTYPE,
				.counts = ROLE_SCOUNTS,
				.length = TERM_LSIZE}},
		.out = {{.form = EXT_AT_RANK,
				.buf = ROLE_RECV,
				.dtype = ROLE_RDTYPE,
				.counts = ROLE_RCOUNTS},
			{.form = EXT_SEGMENT_AT_RANK,
				.buf = ROLE_RECV,
				.dtype = ROLE_RDTYPE,
				.counts = ROLE_RCOUNTS,
				.displs = ROLE_RDISPLS}}};
	const int32_t scounts[] = {1, 2, -3, 4}, sdispls[] = {0, 5, 9, 20};
	const int64_t rcounts[] = {7, 8, 9, 10}, rdispls[] = {1, 2, -3, 4};
	struct operation *w = DESCRIBE(&lib, &k, V(SEND, a), A4(SCOUNTS, scounts),
		A4(SDISPLS, sdispls), V(SDTYPE, 4), V(RECV, b), A8(RCOUNTS, rcounts),
		A8(RDISPLS, rdispls), V(RDTYPE, 8), V(COMM, 1));

	(void)state;
	assert_true(w->nin == 2 && w->nout == 2 && w->in[1].index == 1 && w->out[1].index == 1);
	check_view(&w->in[0], a, 7, 28, DT_FLOAT32);
	assert_true(w->in[0].layout == BUFFER_SEGMENTS && w->in[0].n == 4 && w->in[0].width == 4 &&
		    w->in[0].unit == 4);
	assert_ptr_equal(w->in[0].displs, sdispls);
	check_view(&w->in[1], a, 7, 28, DT_FLOAT32);
	assert_int_equal(w->in[1].layout, BUFFER_CONTIG);
	check_view(&w->out[0], b, 9, 72, DT_FLOAT64);
	check_view(&w->out[1], (void *)((uintptr_t)b - 24), 9, 72, DT_FLOAT64);
	assert_int_equal(w->out[1].width, 8);
	/* No array, where the library takes NULL for a communicator without members. */
	w = DESCRIBE(&lib, &k, V(SEND, a), A4(SCOUNTS, NULL), A4(SDISPLS, NULL), V(SDTYPE, 4),
		V(RECV, b), A8(RCOUNTS, NULL), A8(RDISPLS, NULL), V(RDTYPE, 8), V(COMM, 1));
	assert_true(w->in[0].count == 0 && w->out[0].count == 0 && w->out[1].count == 0);
}

static void test_typed_segments(void **state)
{
	static const struct kind k = {.name = "w",
		.op = "w",
		.collective = true,
		.nin = 1,
		.in = {{.form = EXT_TYPED_SEGMENTS,
			.buf = ROLE_SEND,
			.dtype = ROLE_SDTYPES,
			.counts = ROLE_SCOUNTS,
			.displs = ROLE_SDISPLS}}};
	const int32_t counts[] = {2, 0, 3, 1}, displs[] = {0, 8, 16, 40};
	const uint64_t same[] = {4, 8, 4, 4}, mixed[] = {4, 8, 8, 4}, derived[] = {12, 12, 12, 12};
	struct operation *w = DESCRIBE(&lib, &k, V(SEND, a), A4(SCOUNTS, counts),
		A4(SDISPLS, displs), V(SDTYPES, same), V(COMM, 1));

	(void)state;
	/* The second holds nothing, so its type does not matter. */
	check_view(&w->in[0], a, 6, 24, DT_FLOAT32);
	assert_true(!w->flags && !w->in[0].nostats && w->in[0].unit == 1);
	w = DESCRIBE(&lib, &k, V(SEND, a), A4(SCOUNTS, counts), A4(SDISPLS, displs),
		V(SDTYPES, mixed), V(COMM, 1));
	check_view(&w->in[0], a, 6, 36, DT_OTHER);
	assert_true(w->flags == CF_DERIVED && w->in[0].nostats);
	w = DESCRIBE(&lib, &k, V(SEND, a), A4(SCOUNTS, counts), A4(SDISPLS, displs),
		V(SDTYPES, derived), V(COMM, 1));
	assert_true(w->flags == CF_DERIVED && w->in[0].bytes == 72);
}

static void test_who_takes_part(void **state)
{
	static const struct kind exscan = {.name = "exscan",
					 .op = "exscan",
					 .collective = true,
					 .nout = 1,
					 .out = {{.form = EXT_PRODUCT,
						 .where = ON_NOT_FIRST,
						 .buf = ROLE_RECV,
						 .dtype = ROLE_DTYPE,
						 .term = {ROLE_COUNT},
						 .nterm = 1}}},
				 neighbor = {.name = "n",
					 .op = "n",
					 .collective = true,
					 .nin = 1,
					 .nout = 1,
					 .in = {{.form = EXT_PRODUCT,
						 .where = ON_SENDER,
						 .buf = ROLE_SEND,
						 .dtype = ROLE_DTYPE,
						 .term = {ROLE_COUNT, TERM_OUTDEGREE},
						 .nterm = 2}},
					 .out = {PRODUCT(RECV, DTYPE, ROLE_COUNT, TERM_INDEGREE)}};
	struct operation *w;

	(void)state;
	w = DESCRIBE(&lib, &exscan, V(RECV, b), V(COUNT, 5), V(DTYPE, 4), V(COMM, 1));
	assert_int_equal(w->nout, 1);
	the_comm->rank = 0;
	w = DESCRIBE(&lib, &exscan, V(RECV, b), V(COUNT, 5), V(DTYPE, 4), V(COMM, 1));
	assert_int_equal(w->nout, 0);
	the_comm->indegree = 3;
	the_comm->outdegree = 2;
	w = DESCRIBE(&lib, &neighbor, V(SEND, a), V(RECV, b), V(COUNT, 5), V(DTYPE, 4), V(COMM, 1));
	assert_true(w->in[0].count == 10 && w->out[0].count == 15);
	the_comm->outdegree = 0;
	w = DESCRIBE(&lib, &neighbor, V(SEND, (void *)0x99), V(RECV, b), V(COUNT, 5), V(DTYPE, 4),
		V(COMM, 1));
	assert_true(w->nin == 0 && w->nout == 1);
}

static const struct kind
	send = {.name = "send", .op = "send", .nin = 1, .in = {PRODUCT(BUF, DTYPE, ROLE_COUNT)}},
	recv = {.name = "recv", .op = "recv", .nout = 1, .out = {PRODUCT(BUF, DTYPE, ROLE_COUNT)}},
	sendrecv = {.name = "sendrecv",
		.op = "send_recv",
		.nin = 1,
		.nout = 1,
		.in = {PRODUCT(SEND, SDTYPE, ROLE_SCOUNT)},
		.out = {PRODUCT(RECV, RDTYPE, ROLE_RCOUNT)}};

static struct operation *p2p(const struct kind *k, int64_t to, int64_t tag, uint8_t completion)
{
	const struct value v[] = {
		V(BUF, a), V(COUNT, 5), V(DTYPE, 4), V(PEER, to), V(TAG, tag), V(COMM, 1)};

	return describe_it(&lib, k, completion, v, 6);
}

static void test_point_to_point(void **state)
{
	struct operation *w;

	(void)state;
	for (int i = 0; i < 3; i++) {
		w = p2p(&send, 3, 9, DONE_RETURN);
		assert_true(w->nin == 1 && w->peer == 3 && w->tag == 9 && w->in[0].peer == 3 &&
			    w->in[0].comm_seq == i);
		w = p2p(&recv, 3, 9, DONE_REQUEST);
		assert_true(w->nout == 1 && w->peer == 3 && w->out[0].comm_seq == i);
		/* Making a persistent request sends nothing. */
		w = p2p(&send, 3, 9, DONE_START);
		assert_true(w->nin == 1 && w->peer == 3 && w->in[0].comm_seq != JOURNAL_NONE64);
	}
	w = p2p(&send, -5, 9, DONE_RETURN);
	assert_true(w->nin == 0 && w->peer == JOURNAL_NONE);
	/* Wildcards: known when the message is there. */
	w = p2p(&recv, -9, 9, DONE_RETURN);
	assert_true(w->nout == 1 && w->peer == JOURNAL_NONE && w->tag == 9 &&
		    w->out[0].comm_seq == JOURNAL_NONE64);
	w = p2p(&recv, 3, -1, DONE_RETURN);
	assert_true(w->peer == 3 && w->tag == JOURNAL_NONE && w->out[0].comm_seq == JOURNAL_NONE64);
	w = DESCRIBE(&lib, &sendrecv, V(SEND, a), V(SCOUNT, 1), V(SDTYPE, 4), V(PEER, 0), V(TAG, 4),
		V(RECV, b), V(RCOUNT, 2), V(RDTYPE, 8), V(RPEER, 1), V(RTAG, 5), V(COMM, 1));
	assert_true(w->nin == 1 && w->nout == 1 && w->peer == JOURNAL_NONE && w->in[0].peer == 0 &&
		    w->in[0].tag == 4 && w->out[0].peer == 1 && w->out[0].tag == 5);
	w = DESCRIBE(&lib, &sendrecv, V(SEND, a), V(SCOUNT, 1), V(SDTYPE, 4), V(PEER, -5),
		V(TAG, 4), V(RECV, b), V(RCOUNT, 2), V(RDTYPE, 8), V(RPEER, 1), V(RTAG, 5),
		V(COMM, 1));
	assert_true(w->nin == 0 && w->nout == 1 && w->out[0].peer == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_products, begin, end),
		cmocka_unit_test_setup_teardown(test_rooted, begin, end),
		cmocka_unit_test_setup_teardown(test_arrays, begin, end),
		cmocka_unit_test_setup_teardown(test_typed_segments, begin, end),
		cmocka_unit_test_setup_teardown(test_who_takes_part, begin, end),
		cmocka_unit_test_setup_teardown(test_point_to_point, begin, end),
	};

	return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
