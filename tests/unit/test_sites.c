/* SPDX-License-Identifier: Apache-2.0 */
/* Which stacks are one call site. */
#include "run_helper.h"

#include "tools/probe/model/places/sites.h"

#define LIBRARY "/x/site-packages/torch/"
#define REDUCE LIBRARY "c10d.py:9 all_reduce <- "
#define HOOK                                                                    \
	REDUCE "/home/train.py:5 hook <- " LIBRARY "graph.py:4 run <- " LIBRARY \
	       "graph.py:2 backward"

static struct sites sites;

/* The stacks get the ids 1, 2 ... */
static void put_stacks(const char *const *python, unsigned n)
{
	FILE *f = create("rank0", "stack_info.csv");

	fprintf(f, "stack_id,api,first_step,python_stack,native_stack\n");
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%u,reduce,0,%s,\n", i + 1, python[i]);
	fclose(f);
}

static uint64_t get_site(uint32_t stack)
{
	static char path[128];
	struct call c = {.stack = stack};
	uint64_t site;

	snprintf(path, sizeof(path), "%s/rank0", top);
	sites_init(&sites, 1);
	name_site_folders(&sites, 0, path, NULL);
	find_site(&sites, &c);
	site = c.site;
	sites_free(&sites);
	return site;
}

static void a_hook_is_another_site_in_each_backward_pass(void **state)
{
	static const char *const stacks[] = {
		HOOK " <- /home/train.py:20 judge <- /home/train.py:90 main",
		HOOK " <- /home/train.py:30 draw <- /home/train.py:90 main",
		HOOK " <- /home/train.py:20 judge <- /home/train.py:95 main",
	};

	(void)state;
	put_stacks(stacks, 3);
	assert_true(get_site(1) != 0);
	assert_true(get_site(1) != get_site(2));
	assert_true(get_site(1) == get_site(3));
}

static void what_calls_the_library_frames_of_no_hook_does_not_matter(void **state)
{
	static const char *const stacks[] = {
		REDUCE "/home/train.py:7 count <- /home/train.py:20 judge <- " LIBRARY
		       "run.py:1 spawn <- /home/train.py:90 main",
		REDUCE "/home/train.py:7 count <- /home/train.py:20 judge <- " LIBRARY
		       "run.py:1 spawn <- /home/train.py:95 other",
		REDUCE "/home/train.py:7 count",
	};

	(void)state;
	put_stacks(stacks, 3);
	assert_true(get_site(1) == get_site(2));
	assert_true(get_site(3) != 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_top, remove_top)
	const struct CMUnitTest tests[] = {
		T(a_hook_is_another_site_in_each_backward_pass),
		T(what_calls_the_library_frames_of_no_hook_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
