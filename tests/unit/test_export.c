/* SPDX-License-Identifier: Apache-2.0 */
/* Files that `probe export` writes: the steps around a rank's calls in a trace, and the ranks of a communicator in a profile. */
#include "run_helper.h"

#include "journal/columns.h"
#include "tools/lib/tool.h"
#include "tools/probe/export/export.h"

#define EXPORT_WORLD "00000000000000aa"

/* Returns the file for the rank's calls. */
static FILE *start_rank(int rank, int world)
{
	char name[24];
	FILE *f;

	snprintf(name, sizeof(name), "rank%d", rank);
	put_run_meta(name, (struct run_meta){.rank = rank,
				   .world = world,
				   .first = 100,
				   .last = 9000,
				   .clock_first = 1,
				   .clock_last = 20000});
	f = create(name, "comms.csv");
	fprintf(f, "%s" EXPORT_WORLD ",mpi,%d,%d,world,,W,0-%d\n", COMM_HEADER, world, rank,
		world - 1);
	fclose(f);
	f = create(name, "calls_0-99.csv");
	fputs(ROW_HEADER, f);
	return f;
}

static void put_export_call(FILE *f, int step, int seq, int start, int duration)
{
	fprintf(f,
		"%d,,%d,mpi,MPI_all_reduce,all_reduce," EXPORT_WORLD
		",%d,0,,sum,,,in,0,float32,,10,40,-1,2,0,1,0,0,0,%d,%d,9,,,,,,,,,,,,\n",
		step, seq, seq, start, duration);
}

/* All steps of all ranks. */
static void open_export(struct export *e)
{
	struct gather_options o = {.path = top, .top = 5, .step_hi = UINT64_MAX};

	*e = (struct export){.dir = top, .all = true, .step_hi = UINT64_MAX, .limit = 1000000};
	assert_int_equal(report_gather(&e->report, &o), 0);
	export_set_part(e);
}

static void close_export(struct export *e)
{
	free(e->want);
	free(e->overlay);
	free(e->chosen.dir);
	report_free(&e->report);
}

static void read_export(const char *file, char *text, size_t cap)
{
	char path[256];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top, file);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, cap - 1, f);
	text[n] = 0;
	fclose(f);
}

/* In ns; -1: the trace does not have the step. */
static double find_step_duration(const char *trace, const char *step)
{
	char name[64];
	const char *at;
	double us;

	snprintf(name, sizeof(name), "\"name\":\"ProfilerStep#%s\"", step);
	at = strstr(trace, name);
	at = at ? strstr(at, "\"dur\":") : NULL;
	return at && sscanf(at + 6, "%lf", &us) == 1 ? us * 1000 : -1;
}

static void a_step_ends_before_the_next_one_begins(void **state)
{
	static char trace[1 << 16];
	static struct export e;
	char path[128];
	FILE *f;

	(void)state;
	f = start_rank(0, 1);
	put_export_call(f, 0, 1, 1000, 500);
	put_export_call(f, 1, 2, 3000, 0);
	/* The clock has not advanced since the step before. */
	put_export_call(f, 2, 3, 3000, 700);
	fclose(f);
	snprintf(path, sizeof(path), "%s/trace.json", top);
	open_export(&e);
	assert_int_equal(export_write_rank_trace(&e, path, 0), 0);
	close_export(&e);
	read_export("trace.json", trace, sizeof(trace));
	assert_int_equal((int)(find_step_duration(trace, "0") + 0.5), 1999);
	assert_int_equal((int)(find_step_duration(trace, "1") + 0.5), 0);
	/* After the last call, by 1 ns: a viewer drops an inner event that ends after the outer one. */
	assert_int_equal((int)(find_step_duration(trace, "2") + 0.5), 701);
}

static void a_profile_has_each_ranks_place_in_its_communicator(void **state)
{
	static char text[1 << 16];
	static struct export e;
	char file[128], want[64];

	(void)state;
	for (int rank = 0; rank < 2; rank++) {
		FILE *f = start_rank(rank, 2);

		fprintf(f,
			"0,,1,mpi,MPI_all_reduce,all_reduce," EXPORT_WORLD
			",1,%d,,sum,,,in,0,float32,,10,40,-1,2,0,1,0,0,0,1000,500,9,,,,,,,,,,,,\n",
			rank);
		fclose(f);
	}
	snprintf(file, sizeof(file), "%s/profile", top);
	open_export(&e);
	e.output = file;
	assert_int_equal(export_write_insight(&e), 0);
	close_export(&e);
	for (int rank = 0; rank < 2; rank++) {
		snprintf(file, sizeof(file), "profile/rank%d_ascend_pt/profiler_metadata.json",
			rank);
		read_export(file, text, sizeof(text));
		snprintf(want, sizeof(want), "\"group_rank\": %d, \"global_ranks\": [0, 1]", rank);
		assert_non_null(strstr(text, want));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_step_ends_before_the_next_one_begins, make_top, remove_top),
		cmocka_unit_test_setup_teardown(
			a_profile_has_each_ranks_place_in_its_communicator, make_top, remove_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
