/* SPDX-License-Identifier: Apache-2.0 */
/* The trace that `probe export` writes: the steps around a rank's calls begin and end where the calls do. */
#include "run_helper.h"

#include "journal/columns.h"
#include "tools/lib/tool.h"
#include "tools/probe/export/export.h"

#define TRACE_WORLD "00000000000000aa"

static void put_trace_call(FILE *f, int step, int seq, int start, int duration)
{
	fprintf(f,
		"%d,,%d,mpi,MPI_all_reduce,all_reduce," TRACE_WORLD
		",%d,0,,sum,,,in,0,float32,,10,40,-1,2,0,1,0,0,0,%d,%d,9,,,,,,,,,,,,\n",
		step, seq, seq, start, duration);
}

/* The rank's trace, of all steps. */
static void read_trace(char *text, size_t cap)
{
	static struct export e;
	struct gather_options o = {.path = top, .top = 5, .step_hi = UINT64_MAX};
	char path[128];
	size_t n;
	FILE *f;

	e = (struct export){.dir = top, .all = true, .step_hi = UINT64_MAX, .limit = 1000000};
	assert_int_equal(report_gather(&e.report, &o), 0);
	export_set_part(&e);
	snprintf(path, sizeof(path), "%s/trace.json", top);
	assert_int_equal(export_write_rank_trace(&e, path, 0), 0);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, cap - 1, f);
	text[n] = 0;
	fclose(f);
	free(e.want);
	free(e.overlay);
	free(e.chosen.dir);
	report_free(&e.report);
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
	FILE *f;

	(void)state;
	put_run_meta("rank0", (struct run_meta){.rank = 0,
				      .world = 1,
				      .first = 100,
				      .last = 9000,
				      .clock_first = 1,
				      .clock_last = 20000});
	f = create("rank0", "comms.csv");
	fprintf(f, "%s" TRACE_WORLD ",mpi,1,0,world,,W,0-0\n", COMM_HEADER);
	fclose(f);
	f = create("rank0", "calls_0-99.csv");
	fputs(ROW_HEADER, f);
	put_trace_call(f, 0, 1, 1000, 500);
	put_trace_call(f, 1, 2, 3000, 0);
	/* The clock has not advanced since the step before. */
	put_trace_call(f, 2, 3, 3000, 700);
	fclose(f);
	read_trace(trace, sizeof(trace));
	assert_int_equal((int)(find_step_duration(trace, "0") + 0.5), 1999);
	assert_int_equal((int)(find_step_duration(trace, "1") + 0.5), 0);
	/* After the last call, by 1 ns: a viewer drops an inner event that ends after the outer one. */
	assert_int_equal((int)(find_step_duration(trace, "2") + 0.5), 701);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_step_ends_before_the_next_one_begins, make_top, remove_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
