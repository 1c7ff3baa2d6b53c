/* SPDX-License-Identifier: Apache-2.0 */
/* What an event can have reached: compared with a search through all meetings, in the order in which they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tools/probe/model/contacts.h"
#include "tools/probe/model/messages.h"

#define RANKS 8u
#define STEPS 12u

static struct table links;

static void meet_in_step(
	struct contacts *c, uint64_t comm, uint64_t step, const uint32_t *rank, unsigned n)
{
	struct arrival a[RANKS] = {{0}};
	struct meeting m = {.comm = comm, .step = step, .a = a, .n = n};

	for (unsigned i = 0; i < n; i++)
		a[i].rank = rank[i];
	record_contact(c, &m);
}

/* Pairs that meet in some steps, by a number that has a bit for each. */
static void reached_as_by_all_meetings(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (unsigned run = 0; run < 200; run++) {
		struct contacts c;
		bool met[RANKS][STEPS] = {{false}};
		bool reached[RANKS] = {false};
		uint32_t from, begun;

		init_contacts(&c);
		table_init(&links, sizeof(struct link_stat), 16);
		for (unsigned step = 0; step < STEPS; step++)
			for (uint32_t pair = 0; pair + 1 < RANKS; pair++) {
				random = random * 1664525u + 1013904223u;
				met[pair][step] = random >> 29 == 0;
				if (met[pair][step])
					meet_in_step(&c, 100 + pair, step,
						(uint32_t[]){pair, pair + 1}, 2);
			}
		random = random * 1664525u + 1013904223u;
		from = random >> 29;
		begun = random >> 25 & 3;
		reached[from] = true;
		for (unsigned step = begun; step < STEPS; step++) {
			/* In one step as far as the meetings go, whatever their order. */
			for (unsigned again = 0; again < RANKS; again++)
				for (uint32_t pair = 0; pair + 1 < RANKS; pair++)
					if (met[pair][step] && (reached[pair] || reached[pair + 1]))
						reached[pair] = reached[pair + 1] = true;
			for (uint32_t to = 0; to < RANKS; to++)
				assert_int_equal(
					can_reach(&c, &links, RANKS, from, begun, to, step),
					reached[to]);
		}
		free_contacts(&c);
		table_free(&links);
	}
}

static void messages_go_one_way(void **state)
{
	struct contacts c;
	struct link_stat *l;

	(void)state;
	init_contacts(&c);
	table_init(&links, sizeof(struct link_stat), 16);
	l = table_get(&links, 7, 1);
	l->from = 2;
	l->to = 5;
	hist_add(&l->time, 1000);
	assert_true(can_reach(&c, &links, RANKS, 2, 3, 5, 3));
	assert_false(can_reach(&c, &links, RANKS, 5, 3, 2, 9));
	assert_false(can_reach(&c, &links, RANKS, 2, 3, 6, 9));
	hist_free(&l->time);
	table_free(&links);
	free_contacts(&c);
}

static void steps_may_be_far_apart(void **state)
{
	struct contacts c;
	const uint32_t both[] = {0, 1};

	(void)state;
	init_contacts(&c);
	table_init(&links, sizeof(struct link_stat), 16);
	meet_in_step(&c, 7, 1000000, both, 2);
	meet_in_step(&c, 7, 1000900, both, 2);
	meet_in_step(&c, 7, 9000000, both, 2);
	assert_false(can_reach(&c, &links, 2, 0, 1000001, 1, 1000899));
	assert_true(can_reach(&c, &links, 2, 0, 1000001, 1, 1000900));
	/* If steps are no longer distinguished, the ranks may have met. */
	assert_true(can_reach(&c, &links, 2, 0, 8000000, 1, 8000000));
	assert_false(can_reach(&c, &links, 2, 0, 9000001, 1, 9999999));
	free_contacts(&c);
	table_free(&links);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reached_as_by_all_meetings),
		cmocka_unit_test(messages_go_one_way),
		cmocka_unit_test(steps_may_be_far_apart),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("contacts", tests, NULL, NULL);
}
