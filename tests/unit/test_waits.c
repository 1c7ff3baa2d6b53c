/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait graph, from folders of ranks that were killed in their calls: circles, ranks that hold the others up, the message
 * that was sent with another tag. At 4,096 ranks the work is counted, not timed.
 */
#include "run_helper.h"

#include "journal/columns.h"
#include "tools/lib/intern.h"
#include "tools/probe/rules/waits.h"

#define WAIT_WORLD "00000000000000aa"
#define WAIT_ONE "00000000000000bb"
#define WAIT_TWO "00000000000000cc"

static struct report report;

/* Its communicators: all ranks; twice the ranks from `half` on (-1: none). Returns the file for its rows. */
static FILE *begin_wait_rank(int rank, int world, int half)
{
	char name[24];
	FILE *f;

	snprintf(name, sizeof(name), "rank%d", rank);
	put_run_meta(name, (struct run_meta){.state = "recovered",
				   .rank = rank,
				   .world = world,
				   .first = 100,
				   .last = 1000,
				   .clock_first = 1,
				   .clock_last = 20000000000});
	f = create(name, "comms.csv");
	fprintf(f, "%s" WAIT_WORLD ",mpi,%d,%d,world,,W,0-%d\n", COMM_HEADER, world, rank,
		world - 1);
	if (half >= 0 && rank >= half)
		fprintf(f,
			WAIT_ONE ",mpi,%d,%d,split,,,%d-%d\n" WAIT_TWO ",mpi,%d,%d,split,,,%d-%d\n",
			world - half, rank - half, half, world - 1, world - half, rank - half, half,
			world - 1);
	fclose(f);
	f = create(name, "calls_0-99.csv");
	fputs(ROW_HEADER, f);
	return f;
}

/* A message of that number of its tag; dur -1: the rank is blocked in it. */
static void put_wait_message(FILE *f, int rank, int step, int seq, const char *op, int peer,
	int tag, int number, int dur)
{
	char d[24] = "";

	if (dur >= 0)
		snprintf(d, sizeof(d), "%d", dur);
	fprintf(f,
		"%d,,%d,mpi,MPI_%s,%s," WAIT_WORLD
		",%d,%d,,,,%d,%s,0,float32,,10,40,-1,2,0,1,0,0,0,"
		"%d,%s,9,,%s,,,,%d,,,,,,\n",
		step, seq, op, op, number, rank, peer, *op == 's' ? "in" : "out", 100 * seq, d,
		dur < 0 ? "open" : "", tag);
}

static void put_wait_collective(FILE *f, int seq, const char *comm, int comm_rank)
{
	fprintf(f,
		"0,,%d,mpi,MPI_all_reduce,all_reduce,%s,0,%d,,sum,,,in,0,float32,,10,40,-1,2,0,1,0,"
		"0,0,%d,,9,,open,,,,,,,,,,\n",
		seq, comm, comm_rank, 100 * seq);
}

static void read_waits(void)
{
	struct gather_options o = {.path = top, .top = 5, .step_hi = UINT64_MAX};

	memset(&report, 0, sizeof(report));
	assert_int_equal(report_gather(&report, &o), 0);
}

static void check_ranks(const struct waiting_ranks *w, unsigned n, const uint32_t *rank)
{
	assert_int_equal(w->n, n);
	for (unsigned i = 0; i < n && i < WAITS_NAMED; i++)
		assert_int_equal(w->rank[i], rank[i]);
}

/* 0 and 1 wait for each other; 2 waits for 0, 3 for 2, and 4 to 6 are in a larger circle with 2. */
static void small_circle(void **state)
{
	static const int peer[] = {1, 0, 0, 2, 5, 6, 4};
	struct waiting_ranks w;

	(void)state;
	for (int r = 0; r < 7; r++) {
		FILE *f = begin_wait_rank(r, 7, -1);

		put_wait_message(f, r, 0, 1, "send", peer[r], 7, 0, -1);
		fclose(f);
	}
	read_waits();
	assert_true(find_wait_circle(&report, &w));
	check_ranks(&w, 2, (const uint32_t[]){0, 1});
	assert_false(find_holding_ranks(&report, &w));
	assert_string_equal(report.finding[0].kind, "deadlock");
	report_free(&report);
}

/* A circle of three, and then one of four. */
static void smaller_circle_first(void **state)
{
	static const int peer[] = {1, 2, 0, 4, 5, 6, 3};
	struct waiting_ranks w;

	(void)state;
	for (int r = 0; r < 7; r++) {
		FILE *f = begin_wait_rank(r, 7, -1);

		put_wait_message(f, r, 0, 1, "recv", peer[r], 7, 0, -1);
		fclose(f);
	}
	read_waits();
	assert_true(find_wait_circle(&report, &w));
	check_ranks(&w, 3, (const uint32_t[]){0, 1, 2});
	report_free(&report);
}

/* The same when it is the circle that is seen last, and one that goes through collective operations. */
static void circle_through_operations(void **state)
{
	struct waiting_ranks w;

	(void)state;
	for (int r = 0; r < 8; r++) {
		FILE *f = begin_wait_rank(r, 8, 4);

		if (r < 3)
			put_wait_message(f, r, 0, 1, "recv", (r + 1) % 3, 7, 0, -1);
		else if (r == 3)
			put_wait_message(f, r, 0, 1, "recv", 4, 7, 0, -1);
		else
			put_wait_collective(f, 1, r < 6 ? WAIT_ONE : WAIT_TWO, r - 4);
		fclose(f);
	}
	read_waits();
	assert_true(find_wait_circle(&report, &w));
	check_ranks(&w, 2, (const uint32_t[]){4, 6});
	report_free(&report);
}

/* Ranks 1 and 2 wait for messages that rank 0 does not send; it is blocked in nothing. */
static void nobody_sends(void **state)
{
	struct waiting_ranks w;
	bool *awaited;

	(void)state;
	for (int r = 0; r < 3; r++) {
		FILE *f = begin_wait_rank(r, 3, -1);

		if (r == 0)
			put_wait_message(f, r, 0, 1, "send", 1, 7, 0, 10);
		if (r == 1)
			put_wait_message(f, r, 0, 1, "recv", 0, 7, 0, 10);
		if (r > 0)
			put_wait_message(f, r, 0, 2, "recv", r - 1, 7, r == 1, -1);
		fclose(f);
	}
	read_waits();
	assert_false(find_wait_circle(&report, &w));
	assert_true(find_holding_ranks(&report, &w));
	check_ranks(&w, 1, (const uint32_t[]){0});
	awaited = list_awaited_ranks(&report);
	assert_non_null(awaited);
	assert_true(awaited[0] && awaited[1] && !awaited[2]);
	free(awaited);
	assert_int_equal(report.finding[0].nrank, 1);
	assert_int_equal(report.finding[0].rank[0], 0);
	report_free(&report);
}

/* Tag 8 is awaited; of the messages that the other rank has sent and no rank has received, 9 is nearest. */
static void nearest_tag(void **state)
{
	struct call recv, send;
	uint64_t looks;
	bool sender;
	FILE *f;

	(void)state;
	f = begin_wait_rank(0, 2, -1);
	for (int i = 0; i < 4; i++)
		put_wait_message(f, 0, i, i + 1, "send", 1, 8, i, 10);
	put_wait_message(f, 0, 4, 5, "send", 1, 58, 0, 10);
	put_wait_message(f, 0, 4, 6, "send", 1, 9, 0, 10);
	put_wait_message(f, 0, 4, 7, "send", 1, 11, 0, 10);
	fclose(f);
	f = begin_wait_rank(1, 2, -1);
	for (int i = 0; i < 4; i++)
		put_wait_message(f, 1, i, i + 1, "recv", 0, 8, i, 10);
	put_wait_message(f, 1, 4, 5, "recv", 0, 8, 4, -1);
	fclose(f);
	read_waits();
	assert_true(find_crossed_tag(&report.g.diagnose.messages, &recv, &send, &sender, &looks));
	assert_int_equal(recv.tag, 8);
	assert_int_equal(send.tag, 9);
	assert_true(sender);
	assert_string_equal(report.finding[0].kind, "tag");
	assert_int_equal(report.finding[0].nrank, 1);
	assert_int_equal(report.finding[0].rank[0], 0);
	report_free(&report);
}

#define MANY 4096

/*
 * A quarter in a ring, a quarter in a chain that ends at a rank that is blocked in nothing, and of the rest half in one operation and half
 * in another one of the same members. A search from each rank along all its edges takes millions of steps.
 */
static void many_ranks(void **state)
{
	struct call recv, send;
	struct waiting_ranks w;
	uint64_t edges, looks;
	bool sender;

	(void)state;
	for (int r = 0; r < MANY; r++) {
		FILE *f = begin_wait_rank(r, MANY, MANY / 2);

		if (r < MANY / 4)
			put_wait_message(f, r, 0, 1, "recv", (r + 1) % (MANY / 4), 7, 0, -1);
		else if (r < MANY / 2 - 1)
			put_wait_message(f, r, 0, 1, "recv", r + 1, 7, 0, -1);
		else if (r >= MANY / 2)
			put_wait_collective(f, 1, r % 2 ? WAIT_ONE : WAIT_TWO, r - MANY / 2);
		fclose(f);
	}
	read_waits();
	assert_true(find_wait_circle(&report, &w));
	check_ranks(&w, 2, (const uint32_t[]){MANY / 2, MANY / 2 + 1});
	assert_true(find_holding_ranks(&report, &w));
	check_ranks(&w, 1, (const uint32_t[]){MANY / 2 - 1});
	looks = count_wait_looks(&report, &edges);
	assert_in_range(edges, MANY, 4 * MANY);
	assert_in_range(looks, edges, 40 * edges);
	/* One open receive a rank, and nothing that was sent. */
	assert_false(find_crossed_tag(&report.g.diagnose.messages, &recv, &send, &sender, &looks));
	assert_in_range(looks, MANY / 2, 4 * MANY);
	report_free(&report);
}

/* Only a ring: the one circle there is has all ranks in it. */
static void large_ring(void **state)
{
	struct waiting_ranks w;
	uint64_t edges, looks;

	(void)state;
	for (int r = 0; r < 512; r++) {
		FILE *f = begin_wait_rank(r, 512, -1);

		put_wait_message(f, r, 0, 1, "send", (r + 511) % 512, 7, 0, -1);
		fclose(f);
	}
	read_waits();
	assert_true(find_wait_circle(&report, &w));
	assert_int_equal(w.n, 512);
	assert_int_equal(w.rank[0], 0);
	assert_int_equal(w.rank[1], 511);
	looks = count_wait_looks(&report, &edges);
	assert_in_range(looks, edges, 40 * edges);
	report_free(&report);
}

int main(void)
{
#define F(f) cmocka_unit_test_setup_teardown(f, make_top, remove_top)
	const struct CMUnitTest tests[] = {
		F(small_circle),
		F(smaller_circle_first),
		F(circle_through_operations),
		F(nobody_sends),
		F(nearest_tag),
		F(large_ring),
		F(many_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
