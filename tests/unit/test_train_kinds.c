/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds that are computed of two tensors, by their definitions in long double; names in files, and which are wanted. */
#include "buffer_helper.h"
#include "session_helper.h"

#include <math.h>

#include "journal/meta_part.h"
#include "session/generation_pair.h"
#include "training/params/derive.h"
#include "training/params/health.h"
#include "training/params/kind.h"

bool session_configure(void)
{
	return true;
}

#define N 1013 /* no multiple of a block */

static float g[N], m[N], v[N];
static int64_t size[2] = {N, 1}, stride[2] = {1, 7};

static void fill_tensors(void)
{
	srand(7);
	for (int i = 0; i < N; i++) {
		m[i] = (float)(rand() % 2001 - 1000) / 4e5f;
		g[i] = i % 9 ? (float)(rand() % 2001 - 1000) / 1e3f : 0;
		v[i] = (float)(rand() % 1000) / 1e8f;
	}
	v[3] = 0;
	m[3] = 0;
}

static void agreement(void **state)
{
	struct buffer a = make_tensor(g, DT_FLOAT32, 2, size, stride),
		      b = make_tensor(m, DT_FLOAT32, 2, size, stride), other = b, half;
	int64_t turned[2] = {2, 7}, sum = 0;
	static uint16_t bf16[N];
	double got = -1;

	(void)state;
	fill_tensors();
	for (int i = 0; i < N; i++) {
		uint32_t bits;

		memcpy(&bits, &g[i], 4);
		bf16[i] = (uint16_t)(bits >> 16);
		sum += ((g[i] > 0) - (g[i] < 0)) * ((m[i] > 0) - (m[i] < 0));
	}
	assert_true(derive_compute_sign_agreement(&a, &b, &got));
	assert_true(fabs(got - (double)(((long double)sum / N + 1) / 2)) < 1e-15);
	assert_true(derive_compute_sign_agreement(&a, &a, &got) && got < 1 &&
		    got > 0.9); /* zeros have no sign */
	half = make_tensor(bf16, DT_BFLOAT16, 2, size, stride);
	assert_true(derive_compute_sign_agreement(&half, &b, &got));
	assert_true(fabs(got - (double)(((long double)sum / N + 1) / 2)) < 1e-15);
	/* In another order in memory, of integers, not to be read. */
	other.displs = turned;
	assert_false(derive_compute_sign_agreement(&a, &other, &got));
	other = make_tensor(m, DT_INT32, 2, size, stride);
	assert_false(derive_compute_sign_agreement(&a, &other, &got));
	other = b;
	other.nostats = 1;
	assert_false(derive_compute_sign_agreement(&a, &other, &got));
}

/* Equal to the last bit wherever it runs, and near the true sum. */
static void sum_of_squares(void **state)
{
	struct buffer a = make_tensor(g, DT_FLOAT32, 2, size, stride), bad = a;
	double got = -1, lane[8] = {0};
	long double sum = 0;

	(void)state;
	fill_tensors();
	for (int i = 0; i < N; i++) {
		sum += (long double)g[i] * (long double)g[i];
		lane[i % 256 % 8] += (double)g[i] * (double)g[i];
	}
	assert_true(derive_compute_squares(&a, &got));
	assert_true(fabs(got - (double)sum) <= 1e-13 * (double)sum);
	/* The order is part of it: blocks of 256, eight sums. */
	assert_true(got >= ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
				    ((lane[4] + lane[5]) + (lane[6] + lane[7])) &&
		    got <= ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
				    ((lane[4] + lane[5]) + (lane[6] + lane[7])));
	g[3] = (float)NAN;
	assert_true(derive_compute_squares(&a, &got) && isnan(got));
	g[3] = (float)INFINITY;
	assert_true(derive_compute_squares(&a, &got) && isinf(got));
	bad.nostats = 1;
	assert_false(derive_compute_squares(&bad, &got));
	bad = make_tensor(g, DT_INT32, 2, size, stride);
	assert_false(derive_compute_squares(&bad, &got));
	fill_tensors();
}

static void update(void **state)
{
	const struct adam a = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .step = 17};
	struct adam none = a;
	struct buffer bm = make_tensor(m, DT_FLOAT32, 2, size, stride),
		      bv = make_tensor(v, DT_FLOAT32, 2, size, stride);
	double bins[KIND_VALUES_MAX], norm;
	long double want = 0, m1 = 1 - powl(0.9L, 17), v1 = 1 - powl(0.999L, 17);
	int of[KIND_VALUES_MAX] = {0}, different = 0, inside = 0;

	(void)state;
	fill_tensors();
	for (int i = 0; i < N; i++) {
		long double root = sqrtl((long double)v[i] / v1),
			    u = (long double)m[i] / m1 / (root + 1e-8L),
			    r = (long double)m[i] / m1 / root;

		want += u * u;
		if (u >= -1 && u <= 1)
			of[u == 1 ? 29 : (int)floorl((u + 1) * 15)]++;
		if (r >= -1 && r <= 1)
			of[30 + (r == 1 ? 29 : (int)floorl((r + 1) * 15))]++;
	}
	assert_true(derive_adam_update(&a, &bm, &bv, bins, &norm));
	assert_true(fabsl((long double)norm - sqrtl(want)) <= 1e-12L * sqrtl(want));
	for (unsigned i = 0; i < KIND_VALUES_MAX; i++) {
		different += bins[i] != of[i];
		inside += of[i];
	}
	assert_int_equal(different, 0);
	assert_true(inside > N / 4);
	assert_true(derive_adam_update(&a, &bm, &bv, NULL, &norm));
	none.step = 0;
	assert_false(derive_adam_update(&none, &bm, &bv, bins, &norm));
	none.step = NAN;
	assert_false(derive_adam_update(&none, &bm, &bv, bins, &norm));
}

static void squashed(void **state)
{
	static const char *const pairs[][2] = {
		{"module.decoder.layers.3.mlp.weight", "layers.3.mlp.weight"},
		{"a.layer.0.layers.1.w", "layers.1.w"},
		{"a.layers.0.b.layer.1.w", "layer.1.w"},
		{"layers.0.w", "layers.0.w"},
		{"a.embeddings.word.weight", "embeddings.word.weight"},
		{"a.final_norm.weight", "final_norm.weight"},
		{"a.output_layer.bias", "output_layer.bias"},
		{"a.norm1.weight", "norm1.weight"},
		{"a.layerspecial.w", "a.layerspecial.w"},
		{"a.b.c", "a.b.c"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		assert_string_equal(train_get_short_name(pairs[i][0]), pairs[i][1]);
}

static void wanted(void **state)
{
	const char *const names[] = {
		"a.layers.0.w", "b.layers.0.w", "a.norm.w", "a.fc.w", "norm.w"};
	struct train_param at[5] = {{0}};
	struct train_params all = {.n = 5, .generation = 1, .at = at};
	struct config *c = &generation_first.cfg;

	(void)state;
	session_on(1 << 20);
	c->targets = (char *)"layers.0\nnorm$|^x\n[ab].fc\nnowhere";
	c->kinds = (char *)"param_origin";
	c->squash_name = true;
	for (uint32_t i = 0; i < 5; i++) {
		at[i].id = i + 1;
		at[i].name = names[i];
	}
	for (int again = 0; again < 2; again++) {
		assert_true(train_param_is_target(&all, &at[0]));
		assert_false(train_param_is_target(&all, &at[2]));
		assert_true(train_param_is_target(&all, &at[3]));
	}
	assert_true(train_is_target("module.layers.0.weight"));
	assert_true(train_is_target("layers.0"));
	assert_false(train_is_target("module.layers.01.weight"));
	assert_false(train_is_target("mylayers.0.weight"));
	assert_true(train_is_target("final.norm"));
	assert_false(train_is_target("norm.weight"));
	/* As in msprobe the first of two gets the short name; not if it is the whole name of another one. */
	assert_string_equal(train_get_kind_name(&all, &at[0]), "layers.0.w");
	assert_string_equal(train_get_kind_name(&all, &at[1]), "b.layers.0.w");
	assert_string_equal(train_get_kind_name(&all, &at[2]), "a.norm.w");
	assert_string_equal(train_get_kind_name(&all, &at[4]), "norm.w");
	all.n = 1;
	all.generation = 2;
	assert_string_equal(train_get_kind_name(&all, &at[0]), "layers.0.w");
	c->squash_name = false;
	assert_string_equal(train_get_kind_name(&all, &at[0]), "a.layers.0.w");
	assert_string_equal(
		journal_dict_get(&rank_of_test.j, DICT_META, META_TARGETS) + sizeof("targets"),
		"[{\"entry\": \"layers.0\", \"names\": [\"a.layers.0.w\", \"b.layers.0.w\"], "
		"\"parameters\": 2}, "
		"{\"entry\": \"norm$|^x\", \"names\": [], \"parameters\": 0}, "
		"{\"entry\": \"[ab].fc\", \"names\": [\"a.fc.w\"], \"parameters\": 1}, "
		"{\"entry\": \"nowhere\", \"names\": [], \"parameters\": 0}]");
	session_over();
	c->targets = c->kinds = NULL;
}

/* msprobe's targets: of modules that one alone, of parameters what begins so; by the whole name or the short one. */
static void exact_target_is_no_other_module(void **state)
{
	struct config *c = &generation_first.cfg;

	(void)state;
	session_on(1 << 20);
	c->targets = (char *)"=a.layers.0\n=norm";
	assert_true(is_target_module("a.layers.0"));
	assert_false(is_target_module("a.layers.0.fc"));
	assert_false(is_target_module("a.layers.01"));
	assert_true(is_target_module("b.norm"));
	assert_true(train_is_target("a.layers.0.fc.weight"));
	assert_false(train_is_target("b.layers.0.fc.weight"));
	session_over();
	c->targets = NULL;
}

/* A table of words may stand before or after the bias that is called as it is. */
static void embedding_is_a_table(void **state)
{
	static const uint8_t ndim[][3] = {{1, 2, 2}, {2, 1, 2}, {1, 1, 2}};
	static const uint32_t id[] = {2, 1, 3};
	struct config *c = &generation_first.cfg;

	(void)state;
	session_on(1 << 20);
	c->health_checkpoint = true;
	for (uint32_t k = 0; k < 3; k++) {
		struct train_param at[3] = {{0}};
		struct train_params all = {.n = 3, .generation = 10 + k, .at = at};

		for (uint32_t i = 0; i < 3; i++) {
			at[i].id = i + 1;
			at[i].name = i < 2 ? "embedding.part" : "decoder.embed_tokens.weight";
			at[i].ndim = ndim[k][i];
		}
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(health_is_embedding(&all, &at[i]), i + 1 == id[k]);
	}
	c->health_checkpoint = false;
	session_over();
}

/* A reader of the journal finds the values and the name by the numbers of both. */
static void a_rows_name_follows_its_values(void **state)
{
	static const double values[] = {0.5, -3};
	static const uint64_t dims[] = {7, 11};
	static const char name[] = "layers.0.weight";
	const struct train_value row = {.kind = TK_LOCAL_NORM,
		.name = name,
		.ndim = 2,
		.dims = dims,
		.nvalue = 2,
		.value = values};
	const char *at;

	(void)state;
	session_on(1 << 20);
	generation_first.cfg.kinds = generation_first.cfg.ops = (char *)"";
	assert_true(train_kind_write(&row));
	at = memmem(session.journal.head, session.journal.head->bytes, name, sizeof(name));
	assert_non_null(at);
	assert_memory_equal(at - sizeof(values), values, sizeof(values));
	assert_memory_equal(at - sizeof(values) - sizeof(dims), dims, sizeof(dims));
	session_over();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(agreement),
		cmocka_unit_test(sum_of_squares), cmocka_unit_test(update),
		cmocka_unit_test(squashed), cmocka_unit_test(wanted),
		cmocka_unit_test(exact_target_is_no_other_module),
		cmocka_unit_test(embedding_is_a_table),
		cmocka_unit_test(a_rows_name_follows_its_values)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
