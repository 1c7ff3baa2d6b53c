/* SPDX-License-Identifier: Apache-2.0 */
/* The part that a communicator plays, by what it carried: each row is a training's traffic of some steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "journal/layout.h"
#include "formats/csv_training/parallel_json.h"

/*
 * A step's calls, one letter each: lower case in the forward pass, upper case in the backward pass, after a ' elsewhere:
 * r all_reduce, s reduce_scatter, g all_gather, x all_to_all, m send, b barrier, n all_reduce of one number; * before a letter: of gradients by name.
 */
static void play_step(struct carried *c, const char *calls, uint32_t step)
{
	static const char *const ops[128] = {['r'] = "all_reduce",
		['n'] = "all_reduce",
		['s'] = "reduce_scatter",
		['g'] = "all_gather",
		['x'] = "all_to_all",
		['m'] = "send",
		['b'] = "barrier"};
	bool gradients = false, elsewhere = false;

	for (; *calls; calls++) {
		unsigned phase = *calls & 0x20 ? PHASE_FORWARD : PHASE_BACKWARD;

		if (*calls == '*') {
			gradients = true;
		} else if (*calls == '\'') {
			elsewhere = true;
		} else {
			parallel_add_call(c, ops[*calls | 0x20], elsewhere ? PHASE_NONE : phase,
				step, (*calls | 0x20) == 'n' ? 1 : 4096, gradients);
			gradients = elsewhere = false;
		}
	}
}

static enum comm_role part_of(const char *calls, double *sure)
{
	struct carried c;
	const char *why;

	memset(&c, 0, sizeof(c));
	for (uint32_t step = 3; step < 8; step++)
		play_step(&c, calls, step);
	return parallel_find_role(&c, sure, &why);
}

static void parts(void **state)
{
	static const struct {
		const char *calls;
		enum comm_role role;
	} table[] = {
		{"RRR", ROLE_DATA}, /* DDP */
		{"*R*R", ROLE_DATA},
		{"r*r*r*r*r",
			ROLE_DATA}, /* gradients reduced by the program, after its backward pass */
		{"ggGGSS", ROLE_DATA}, /* FSDP */
		{"RRr", ROLE_DATA}, /* a loss that is averaged */
		{"RRnnn", ROLE_DATA}, /* several numbers, after the optimizer's step */
		{"nRNN", ROLE_DATA},
		{"rrrrRRRR", ROLE_TENSOR},
		{"gsgsGSGS", ROLE_TENSOR}, /* sequence parallel */
		{"xxXXr", ROLE_EXCHANGE}, /* sequence parallel, or a table of embeddings in parts */
		{"mmMM", ROLE_PIPELINE},
		{"mM'b", ROLE_PIPELINE},
		{"'b", ROLE_NONE},
		{"r", ROLE_NONE},
		{"'r'r'r", ROLE_NONE},
		{"", ROLE_NONE},
	};
	double sure;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		enum comm_role have = part_of(table[i].calls, &sure);

		if (have != table[i].role)
			fail_msg("%s: %d, want %d", table[i].calls, have, table[i].role);
		assert_true(have == ROLE_NONE ? sure == 0 : sure >= 0.6 && sure < 1);
	}
}

/* A training shows its phases from its first backward pass on: one reduction in each layer, of two. */
static void begin_without_phases(void **state)
{
	struct carried c;
	const char *why;
	double sure;

	(void)state;
	memset(&c, 0, sizeof(c));
	play_step(&c, "'r'rRR", 0);
	for (uint32_t step = 1; step < 4; step++)
		play_step(&c, "rrRR", step);
	assert_int_equal(parallel_find_role(&c, &sure, &why), ROLE_TENSOR);
}

/* A router, or experts, among the names of parameters. */
static void experts_by_names(void **state)
{
	struct carried c;
	const char *why;
	double sure;

	(void)state;
	memset(&c, 0, sizeof(c));
	play_step(&c, "xxXXr", 3);
	assert_int_equal(parallel_find_role(&c, &sure, &why), ROLE_EXCHANGE);
	c.experts = true;
	assert_int_equal(parallel_find_role(&c, &sure, &why), ROLE_EXPERT);
}

/* Names are more reliable than phases. */
static void surer_by_names(void **state)
{
	double named, guessed;

	(void)state;
	assert_int_equal(part_of("*RR", &named), ROLE_DATA);
	assert_int_equal(part_of("RR", &guessed), ROLE_DATA);
	assert_true(named > guessed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts),
		cmocka_unit_test(begin_without_phases),
		cmocka_unit_test(experts_by_names),
		cmocka_unit_test(surer_by_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
