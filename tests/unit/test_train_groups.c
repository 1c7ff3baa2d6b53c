/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank of a group writes kinds: by the keys' lists, and by what communicators carry. */
#include "session_helper.h"

#include "base/hash.h"
#include "config/config_value.h"
#include "journal/layout.h"
#include "session/generation_pair.h"
#include "training/params/kind.h"
#include "training/params/place.h"

bool session_configure(void)
{
	return true;
}

enum { DATA = 0xd, TENSOR = 0x7, PIPE = 0x9, WORLD = 0x1 };

static void set_ranks(struct ranges *r, const char *text)
{
	assert_null(ranges_add(r, text, strlen(text)));
	ranges_merge(r);
}

static struct config *begin_run(int rank, int size, const char *dp, const char *tp, const char *pp)
{
	struct config *c = &generation_first.cfg;

	session_on(1 << 20);
	session.world_rank = rank;
	session.world_size = size;
	train_places_forked();
	set_ranks(&c->dp_ranks, dp);
	if (*tp)
		set_ranks(&c->tp_ranks, tp);
	if (*pp)
		set_ranks(&c->pp_ranks, pp);
	return c;
}

static void end_group_run(void)
{
	struct config *c = &generation_first.cfg;

	session_over();
	ranges_free(&c->dp_ranks);
	ranges_free(&c->tp_ranks);
	ranges_free(&c->pp_ranks);
	ranges_free(&c->dp_group);
}

/* A step of a training of 2 x 2 x 2 ranks, tensor-parallel ones side by side, then data, then the pipeline. */
static void run_grid_step(int rank)
{
	for (int layer = 0; layer < 3; layer++) {
		train_record_group_use(CARRIES_REDUCTION, TENSOR, rank & 1, 2, 0, PHASE_FORWARD);
		train_record_group_use(CARRIES_REDUCTION, TENSOR, rank & 1, 2, 0, PHASE_BACKWARD);
	}
	train_record_group_use(CARRIES_MESSAGE, PIPE, rank >> 2 & 1, 2, 0, PHASE_FORWARD);
	train_record_group_use(CARRIES_GRADIENTS, DATA, rank >> 1 & 1, 2, 1000, PHASE_BACKWARD);
	/* Few gradients of the layers between tensor-parallel ones, and a loss over all. */
	train_record_group_use(CARRIES_REDUCTION, WORLD, rank, 8, 0, PHASE_FORWARD);
}

static void grid(void **state)
{
	(void)state;
	for (int rank = 0; rank < 8; rank++) {
		begin_run(rank, 8, "0", "", "");
		assert_true(train_are_kinds_due()); /* not known yet */
		run_grid_step(rank);
		assert_int_equal(train_are_kinds_due(), !(rank >> 1 & 1));
		end_group_run();
		begin_run(rank, 8, "1", "0", "1");
		run_grid_step(rank);
		assert_int_equal(train_are_kinds_due(),
			(rank & 1) == 0 && (rank >> 1 & 1) == 1 && (rank >> 2 & 1) == 1);
		end_group_run();
	}
}

static void one_group(void **state)
{
	struct config *c;

	(void)state;
	/* Nothing but data parallelism: place and rank are the same, known or not. */
	begin_run(3, 4, "0-1", "", "");
	assert_true(train_are_kinds_due());
	train_record_group_use(CARRIES_OTHER, WORLD, 3, 4, 0, PHASE_NONE);
	assert_false(train_are_kinds_due());
	train_record_group_use(CARRIES_GRADIENTS, WORLD, 3, 4, 10, PHASE_BACKWARD);
	assert_false(train_are_kinds_due());
	end_group_run();
	/* Tensor-parallel over all ranks: no two have the same parameters. */
	begin_run(3, 4, "0", "", "");
	train_record_group_use(CARRIES_REDUCTION, WORLD, 3, 4, 0, PHASE_FORWARD);
	train_record_group_use(CARRIES_REDUCTION, WORLD, 3, 4, 0, PHASE_BACKWARD);
	assert_true(train_are_kinds_due());
	end_group_run();
	/* Groups of some ranks with an unknown role: it is not known which ranks have the same parameters. */
	begin_run(3, 4, "0", "", "");
	train_record_group_use(CARRIES_OTHER, TENSOR, 1, 2, 0, PHASE_NONE);
	assert_true(train_are_kinds_due());
	end_group_run();
	/* The key takes precedence over the observed roles. */
	c = begin_run(5, 8, "0", "", "");
	set_ranks(&c->dp_group, "1");
	set_ranks(&c->dp_group, "5");
	assert_false(train_places_wanted());
	run_grid_step(4);
	assert_false(train_are_kinds_due());
	end_group_run();
}

/* The table of communicators has 32 places. */
static void communicators_of_the_same_place_are_two_groups(void **state)
{
	uint64_t other = TENSOR + 1;

	(void)state;
	while ((uint32_t)hash_mix(other) % 32 != (uint32_t)hash_mix(TENSOR) % 32)
		other++;
	begin_run(5, 8, "0", "", "");
	for (int layer = 0; layer < 3; layer++) {
		train_record_group_use(CARRIES_REDUCTION, TENSOR, 1, 2, 0, PHASE_FORWARD);
		train_record_group_use(CARRIES_REDUCTION, TENSOR, 1, 2, 0, PHASE_BACKWARD);
		train_record_group_use(CARRIES_GRADIENTS, other, 3, 4, 1000, PHASE_BACKWARD);
	}
	assert_int_equal(train_get_place(AXIS_TENSOR), 1);
	assert_int_equal(train_get_place(AXIS_DATA), 3);
	end_group_run();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(grid), cmocka_unit_test(one_group),
		cmocka_unit_test(communicators_of_the_same_place_are_two_groups)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
