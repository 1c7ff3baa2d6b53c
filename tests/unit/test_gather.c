/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `probe report` gathers from whole folders: bad values, odd files, parts, who is missing, clocks of other hosts.
 */
#include "run_helper.h"

#include "journal/columns.h"
#include "tools/probe/model/gather.h"
#include "tools/probe/model/stuck.h"
#include "tools/lib/tool.h"

static FILE *begin_calls(const char *folder)
{
	FILE *f = create(folder, "calls_0-99.csv");

	fputs(ROW_HEADER, f);
	return f;
}

static const char *row_comm = "00000000000000aa";

/* step, seq, op, comm_seq, io, nans, infs, start, dur, flags */
static void put_gather_row(FILE *f, int rank, int step, int seq, const char *op, int comm_seq,
	const char *io, int nans, int infs, long start, long dur, const char *flags)
{
	char d[24] = "";

	if (dur >= 0)
		sprintf(d, "%ld", dur);
	fprintf(f,
		"%d,,%d,mpi,MPI_%s,%s,%s,%d,%d,2,sum,,,%s,0,float32,,10,40,-1,2,0,1,0,%d,%d,%ld,%s,"
		"9,,%s,,,,,,,,,,\n",
		step, seq, op, op, row_comm, comm_seq, rank, io, nans, infs, start, d, flags);
}

static FILE *fopen_more(const char *folder)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s/calls_0-99.csv", top, folder);
	return fopen(path, "a");
}

static struct gather g;

static void gather_top(void)
{
	struct gather_options o = {.path = top, .top = 5, .step_hi = UINT64_MAX};

	assert_int_equal(gather_calls(&g, &o), 0);
}

/*
 * The input of rank 1 was bad first, although the results of that operation on rank 0 have the earlier start; and an
 * Inf in a later step with an earlier clock is not first either.
 */
static void first_bad_value(void **state)
{
	const struct bad_row *b;
	FILE *f;

	(void)state;
	put_run_meta("rank0", (struct run_meta){.rank = 0, .world = 2, .first = 100, .last = 900});
	put_run_meta("rank1", (struct run_meta){.rank = 1, .world = 2, .first = 100, .last = 900});
	f = begin_calls("rank0");
	put_gather_row(f, 0, 0, 1, "all_reduce", 0, "in", 0, 0, 100, 100, "");
	put_gather_row(f, 0, 0, 1, "all_reduce", 0, "out", 0, 0, 100, 100, "");
	put_gather_row(f, 0, 1, 2, "all_reduce", 1, "in", 0, 0, 300, 200, "");
	put_gather_row(f, 0, 1, 2, "all_reduce", 1, "out", 3, 0, 300, 200, "");
	put_gather_row(f, 0, 2, 3, "all_reduce", 2, "in", 1, 1, 50, 10, "");
	/* On another communicator: began before, but its result was there only later. */
	row_comm = "00000000000000bb";
	put_gather_row(f, 0, 1, 4, "all_reduce", 0, "out", 1, 0, 310, 900, "");
	row_comm = "00000000000000aa";
	fclose(f);
	f = begin_calls("rank1");
	put_gather_row(f, 1, 0, 1, "all_reduce", 0, "in", 0, 0, 100, 100, "");
	put_gather_row(f, 1, 1, 2, "all_reduce", 1, "in", 1, 0, 450, 50, "");
	put_gather_row(f, 1, 1, 2, "all_reduce", 1, "out", 3, 0, 450, 50, "");
	fclose(f);
	gather_top();
	b = bad_find_first(&g.bad);
	assert_non_null(b);
	assert_int_equal(b->call.rank, 1);
	assert_int_equal(b->call.step, 1);
	assert_false(b->out);
	assert_int_equal(b->nans, 1);
	assert_int_equal(b->nsame, 1);
	assert_string_equal(b->min, "-1");
	assert_int_equal(g.bad.rows, 5);
	assert_int_equal(g.bad.nan_rows, 5);
	assert_int_equal(g.bad.inf_rows, 1);
	assert_int_equal(g.bad.steps, 2);
	assert_int_equal(g.bad.rank[0].rows, 3);
	assert_int_equal(g.calls, 6);
	assert_int_equal(g.rows, 9);
	gather_free(&g);
}

static void odd_files(void **state)
{
	FILE *f;

	(void)state;
	put_run_meta("rank0", (struct run_meta){.rank = 0, .world = 2, .first = 100, .last = 900});
	put_run_meta("rank1", (struct run_meta){.rank = 1, .world = 2, .first = 100, .last = 900});
	put_run_meta("rank2", (struct run_meta){.rank = 2, .world = 2, .first = 100, .last = 900});
	/* Other columns in another order, and a row that is damaged in its numbers. */
	f = create("rank0", "calls_0-99.csv");
	fputs("new,dur_ns,start_ns,op,api,seq,step\nx,5,100,barrier,MPI_Barrier,1,0\nx,5,100,"
	      "barrier,MPI_Barrier,1x,0\n"
	      "x,5,,barrier,MPI_Barrier,2,0\n",
		f);
	fclose(f);
	/* Empty, only a header, a needed column missing, not a calls file, half a line. */
	fclose(create("rank1", "calls_100-199.csv"));
	fclose(begin_calls("rank1"));
	f = create("rank1", "calls_200-299.csv");
	fputs("step,seq,api\n0,1,a\n", f);
	fclose(f);
	fclose(create("rank1", "calls_x-99.csv"));
	f = create("rank2", "calls_0-99.csv");
	fprintf(f, "%s0,,1,mpi,MPI_Barr", ROW_HEADER);
	fclose(f);
	gather_top();
	assert_int_equal(g.calls, 1);
	assert_int_equal(g.rank[0].damaged, 2);
	assert_int_equal(g.rank[1].unreadable, 1);
	assert_non_null(strstr(g.rank[1].files_wrong, "has no column op"));
	assert_int_equal(g.rank[2].truncated, 1);
	assert_int_equal(g.rank[0].rows, 1);
	gather_free(&g);
}

static void flags_of_calls(void **state)
{
	FILE *f;

	(void)state;
	put_run_meta("rank0", (struct run_meta){.rank = 0, .world = 1, .first = 100, .last = 900});
	f = begin_calls("rank0");
	put_gather_row(f, 0, 0, 1, "all_reduce", 0, "in", 0, 0, 100, 100,
		"inplace;async;localcomm;error:-5");
	put_gather_row(f, 0, 0, 2, "all_reduce", 1, "in", 0, 0, 300, 100, "opened;error:x");
	fclose(f);
	/* Being compressed: the same rows once more. */
	f = create("rank0", "calls_0-99.csv.gz");
	fputs(ROW_HEADER, f);
	put_gather_row(f, 0, 0, 9, "all_reduce", 9, "in", 0, 0, 100, 100, "");
	fclose(f);
	gather_top();
	assert_int_equal(g.calls, 2);
	assert_int_equal(g.errors, 2);
	assert_int_equal(g.first_error.error, -5);
	assert_int_equal(g.first_error.bits, CALL_ASYNC | CALL_LOCAL | CALL_ERROR | CALL_IN_PLACE);
	assert_int_equal(g.rank[0].last.bits, CALL_ERROR);
	assert_int_equal(g.opens.n, 0);
	gather_free(&g);
}

/* The rows of a call that stands at the end of a part and goes on in the next one are one call. */
static void parts(void **state)
{
	FILE *f;

	(void)state;
	put_run_meta("rank0", (struct run_meta){.rank = 0, .world = 1, .first = 100, .last = 900});
	f = begin_calls("rank0");
	put_gather_row(f, 0, 0, 1, "all_reduce", 0, "in", 0, 0, 100, 100, "");
	fclose(f);
	f = create("rank0", "calls_0-99.1.csv");
	fputs(ROW_HEADER, f);
	put_gather_row(f, 0, 0, 1, "all_reduce", 0, "out", 0, 0, 100, 100, "");
	put_gather_row(f, 0, 5, 2, "all_reduce", 1, "in", 0, 0, 300, 100, "");
	fclose(f);
	f = create("rank0", "calls_100-199.csv");
	fputs(ROW_HEADER, f);
	put_gather_row(f, 0, 100, 3, "all_reduce", 2, "in", 0, 0, 500, 100, "");
	fclose(f);
	gather_top();
	assert_int_equal(g.calls, 3);
	assert_int_equal(g.rows, 4);
	assert_int_equal(g.first_step, 0);
	assert_int_equal(g.last_step, 100);
	assert_int_equal(g.first_ns, 100);
	assert_int_equal(g.last_ns, 600);
	gather_free(&g);

	struct gather_options o = {.path = top, .top = 5, .step_lo = 1, .step_hi = 99};

	assert_int_equal(gather_calls(&g, &o), 0);
	assert_int_equal(g.calls, 1);
	assert_int_equal(g.first_step, 5);
	assert_int_equal(g.last_step, 5);
	gather_free(&g);
}

static void who_is_missing(void **state)
{
	struct stuck_list l;
	const struct stuck *s;
	FILE *f;

	(void)state;
	for (int r = 0; r < 2; r++) {
		char name[16];

		sprintf(name, "rank%d", r);
		put_run_meta(name, (struct run_meta){.state = "recovered",
					   .rank = r,
					   .world = 3,
					   .first = 100,
					   .last = 1000,
					   .clock_first = 1,
					   .clock_last = 5000});
		f = create(name, "comms.csv");
		fprintf(f,
			"%s00000000000000aa,mpi,3,%"
			"d,world,,W,0-2\n",
			COMM_HEADER, r);
		fclose(f);
		f = begin_calls(name);
		put_gather_row(f, r, 0, 1, "all_reduce", 0, "in", 0, 0, 100, 100, "");
		if (r == 0)
			put_gather_row(f, r, 0, 2, "all_reduce", 1, "in", 0, 0, 1000, -1, "open");
		fclose(f);
	}
	gather_top();
	assert_int_equal(g.opens.n, 1);
	assert_int_equal(g.opens.call[0].age, 4000);
	stuck_find(&l, &g);
	s = stuck_cause(&l, &g);
	assert_non_null(s);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->rank[0], 0);
	assert_int_equal(s->nabsent, 2);
	assert_int_equal(s->absent[0].why, ABSENT_NEVER);
	assert_int_equal(s->absent[0].rank[0], 1);
	assert_int_equal(s->absent[0].last->comm_seq, 0);
	assert_int_equal(s->absent[0].since, 4800);
	assert_int_equal(s->absent[1].why, ABSENT_NO_DATA);
	assert_int_equal(s->absent[1].rank[0], 2);
	stuck_free(&l);
	gather_free(&g);

	/* Rank 1 has left it already: it holds no rank up. */
	f = fopen_more("rank1");
	put_gather_row(f, 1, 0, 2, "all_reduce", 1, "in", 0, 0, 300, 100, "");
	fclose(f);
	gather_top();
	stuck_find(&l, &g);
	assert_int_equal(l.stuck[0].absent[0].why, ABSENT_PAST);
	stuck_free(&l);
	gather_free(&g);
}

/* An asynchronous operation does not block its rank. */
static void started_only(void **state)
{
	struct stuck_list l;
	FILE *f;

	(void)state;
	for (int r = 0; r < 2; r++) {
		char name[16];

		sprintf(name, "rank%d", r);
		put_run_meta(name, (struct run_meta){.state = "recovered",
					   .rank = r,
					   .world = 2,
					   .first = 100,
					   .last = 1000,
					   .clock_first = 1,
					   .clock_last = 5000});
		f = create(name, "comms.csv");
		fprintf(f,
			"%s00000000000000aa,mpi,2,%"
			"d,world,,W,0;1\n",
			COMM_HEADER, r);
		fclose(f);
		f = begin_calls(name);
		put_gather_row(f, r, 0, 1, "all_reduce", 0, "in", 0, 0, 100, 100, "");
		if (r == 0)
			put_gather_row(f, r, 0, 2, "all_reduce", 1, "in", 0, 0, 1000, -1, "open");
		row_comm = "00000000000000bb";
		if (r == 1)
			put_gather_row(
				f, r, 0, 2, "all_gather", 0, "in", 0, 0, 1000, -1, "async;open");
		row_comm = "00000000000000aa";
		fclose(f);
	}
	gather_top();
	stuck_find(&l, &g);
	assert_int_equal(l.n, 2);
	assert_null(l.blocked_in[1]);
	assert_false(l.stuck[0].async);
	assert_int_equal(l.stuck[0].absent[0].why, ABSENT_NEVER);
	assert_ptr_equal(stuck_cause(&l, &g), &l.stuck[0]);
	stuck_free(&l);
	gather_free(&g);
}

/* Two hosts, one clock 3 s ahead, seen through operations that both took part in. */
static void clocks_of_hosts(void **state)
{
	FILE *f;

	(void)state;
	for (int r = 0; r < 2; r++) {
		char name[16];
		long ahead = r ? 3000000000 : 0;

		sprintf(name, "rank%d", r);
		put_run_meta(name, (struct run_meta){.rank = r,
					   .world = 2,
					   .first = 100,
					   .last = 9000000000,
					   .host = r ? "b" : "a"});
		f = begin_calls(name);
		for (int i = 0; i < 40; i++)
			put_gather_row(f, r, 0, i + 1, "all_reduce", i, "in", 0, 0,
				1000000 * i + 1000 * r + ahead,
				/* One operation in the middle took strangely long on this host. */
				50000 - 1000 * r + i % 7 + (r && i == 20 ? 700000000 : 0), "");
		fclose(f);
	}
	gather_top();
	assert_int_equal(g.hosts.nhost, 2);
	assert_int_equal(g.hosts.corrected, 1);
	assert_int_equal(g.hosts.unknown, 0);
	assert_string_equal(g.hosts.host, "b");
	assert_true(g.skew[0].ahead == 0 && g.skew[0].drift == 0);
	assert_true(g.skew[1].ahead > 2999999900 && g.skew[1].ahead < 3000000100);
	assert_int_equal(((struct late_comm *)table_at(&g.late.comms, 0))->most->key.b, 1);
	gather_free(&g);
}

int main(void)
{
#define F(f) cmocka_unit_test_setup_teardown(f, make_top, remove_top)
	const struct CMUnitTest tests[] = {
		F(first_bad_value),
		F(odd_files),
		F(flags_of_calls),
		F(parts),
		F(who_is_missing),
		F(started_only),
		F(clocks_of_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
