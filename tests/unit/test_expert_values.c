/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=write_expert_row,--wrap=compute_router_similarity,--wrap=compute_expert_entropy,--wrap=compute_index_counts */
/* Routers of MindSpore: their kernels run on several threads, and none waits for another one's measurement. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "buffer_helper.h"

#include "wrappers/mindspore/expert_values.c"
#include "wrappers/mindspore/routers.c"

#define EXPERTS 4
#define WIDTH 8
#define TOKENS 6
#define TOP 2
#define ROUTERS 2

static float weights[2 * ROUTERS][EXPERTS][WIDTH], activations[TOKENS][WIDTH];
static float logits[ROUTERS][TOKENS][EXPERTS], chosen_logits[TOKENS][TOP];
static int32_t choices[TOKENS][TOP];
static const int64_t weight_dims[] = {EXPERTS, WIDTH}, activation_dims[] = {TOKENS, WIDTH},
		     logits_dims[] = {TOKENS, EXPERTS}, choice_dims[] = {TOKENS, TOP};

static struct row {
	char name[64];
	enum train_kind kind;
	uint32_t step;
	int part;
	double value;
} rows[256];
static unsigned nrow;
static pthread_mutex_t rows_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct train_params *params;
static struct train_params named_params;
static struct train_param named_at[ROUTERS];

/* ---- doubles ---- */

struct step_state step_state;

bool ms_read_kernel_tensor(const struct kernel_tensors *t, unsigned i, struct ms_tensor_view *s)
{
	s->v = *(const struct buffer *)t->begin[i];
	return true;
}

bool ms_is_graph_running(void)
{
	return false;
}

bool ms_copy_argument_name(const void *data, char *name, size_t size)
{
	(void)data, (void)name, (void)size;
	return false;
}

void ms_set_kind_written(enum train_kind kind)
{
	(void)kind;
}

uint32_t train_get_kinds(void)
{
	return KIND_BIT(TOKENS) | KIND_BIT(ROUTER_SIMILARITY) | KIND_BIT(EXPERT_ENTROPY);
}

bool train_are_kinds_due(void)
{
	return true;
}

bool train_kind_write(const struct train_value *v)
{
	(void)v;
	return false;
}

const struct train_params *train_get_params(void)
{
	return params;
}

const char *train_get_short_name(const char *name)
{
	return name;
}

bool is_router_name(const char *name)
{
	return strstr(name, "gate") != NULL;
}

double get_expert_capacity_factor(void)
{
	return 0;
}

bool __wrap_write_expert_row(
	struct train_value v, enum train_kind kind, const char *router, int part, double value);
bool __wrap_write_expert_row(
	struct train_value v, enum train_kind kind, const char *router, int part, double value)
{
	struct row r = {.kind = kind, .step = v.step, .part = part, .value = value};

	snprintf(r.name, sizeof(r.name), "%s", router);
	pthread_mutex_lock(&rows_lock);
	if (nrow < sizeof(rows) / sizeof(*rows))
		rows[nrow++] = r;
	pthread_mutex_unlock(&rows_lock);
	return true;
}

/* ---- a kernel of another thread while one is being measured ---- */

enum measurement { MEASURE_NONE, MEASURE_WEIGHT, MEASURE_LOGITS, MEASURE_CHOICES };
static enum measurement interrupted;
static void *(*meanwhile)(void *);
static bool has_run_meanwhile;

/* Runs `meanwhile` on another thread, during the first measurement of this form. */
static void let_another_run(enum measurement m)
{
	struct timespec limit;
	pthread_t t;

	if (m != interrupted)
		return;
	interrupted = MEASURE_NONE;
	assert_int_equal(pthread_create(&t, NULL, meanwhile, NULL), 0);
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 5;
	has_run_meanwhile = pthread_timedjoin_np(t, NULL, &limit) == 0;
	if (!has_run_meanwhile)
		pthread_detach(t);
}

bool __real_compute_router_similarity(const struct buffer *w, double *similarity);
bool __wrap_compute_router_similarity(const struct buffer *w, double *similarity);
bool __wrap_compute_router_similarity(const struct buffer *w, double *similarity)
{
	let_another_run(MEASURE_WEIGHT);
	return __real_compute_router_similarity(w, similarity);
}

bool __real_compute_expert_entropy(const struct buffer *b, double *entropy);
bool __wrap_compute_expert_entropy(const struct buffer *b, double *entropy);
bool __wrap_compute_expert_entropy(const struct buffer *b, double *entropy)
{
	let_another_run(MEASURE_LOGITS);
	return __real_compute_expert_entropy(b, entropy);
}

bool __real_compute_index_counts(const struct buffer *b, struct expert_counts *c);
bool __wrap_compute_index_counts(const struct buffer *b, struct expert_counts *c);
bool __wrap_compute_index_counts(const struct buffer *b, struct expert_counts *c)
{
	let_another_run(MEASURE_CHOICES);
	return __real_compute_index_counts(b, c);
}

/* ---- kernels ---- */

static struct buffer make_matrix(const void *base, enum dtype dt, const int64_t *dims)
{
	struct buffer b = make_tensor(base, dt, 2, dims, NULL);

	b.layout = BUFFER_CONTIG;
	b.width = sizeof(int64_t);
	b.n = 0;
	return b;
}

static void run_kernel(struct ms_kernel k, const struct buffer *in, unsigned nin,
	const struct buffer *out, unsigned nout)
{
	const void *inputs[4], *outputs[4];

	for (unsigned i = 0; i < nin; i++)
		inputs[i] = &in[i];
	for (unsigned i = 0; i < nout; i++)
		outputs[i] = &out[i];
	ms_record_experts(&k, &(struct kernel_tensors){inputs, inputs + nin},
		&(struct kernel_tensors){outputs, outputs + nout});
}

/* A kernel computes logits[i] with weights[w]. */
static void run_router(unsigned w, unsigned i)
{
	struct buffer in[] = {make_matrix(activations, DT_FLOAT32, activation_dims),
		make_matrix(weights[w], DT_FLOAT32, weight_dims)};
	struct buffer out = make_matrix(logits[i], DT_FLOAT32, logits_dims);

	run_kernel((struct ms_kernel){.copies = false}, in, 2, &out, 1);
}

static void run_choice(unsigned i)
{
	struct buffer in = make_matrix(logits[i], DT_FLOAT32, logits_dims);
	struct buffer out[] = {make_matrix(chosen_logits, DT_FLOAT32, choice_dims),
		make_matrix(choices, DT_INT32, choice_dims)};

	run_kernel((struct ms_kernel){.chooses = true}, &in, 1, out, 2);
}

static void *run_second_router(void *arg)
{
	run_router(1, 1);
	run_choice(1);
	return arg;
}

static void *end_step_and_run_second_router(void *arg)
{
	atomic_fetch_add(&step_state.now, 1);
	return run_second_router(arg);
}

static unsigned count_rows(const char *name, enum train_kind kind, uint32_t step)
{
	unsigned n = 0;

	for (unsigned i = 0; i < nrow; i++)
		n += strcmp(rows[i].name, name) == 0 && rows[i].kind == kind &&
		     rows[i].step == step;
	return n;
}

/* The parameters gate.0 and gate.1 are weights[first] and weights[first + 1]. */
static void register_names(unsigned first)
{
	static const char *const names[ROUTERS] = {"gate.0.gate.weight", "gate.1.gate.weight"};
	static const uint64_t dims[] = {EXPERTS, WIDTH};

	for (unsigned i = 0; i < ROUTERS; i++)
		named_at[i] = (struct train_param){.id = i + 1,
			.name = names[i],
			.dtype = DT_FLOAT32,
			.ndim = 2,
			.dims = dims,
			.lo = (uintptr_t)weights[first + i]};
	named_params.n = ROUTERS;
	named_params.at = named_at;
	params = &named_params;
}

static int set_up(void **state)
{
	(void)state;
	for (unsigned r = 0; r < ROUTERS; r++)
		for (unsigned e = 0; e < EXPERTS; e++)
			for (unsigned i = 0; i < WIDTH; i++) {
				weights[r][e][i] = (float)((3 * r + e) * i % 5) + (float)(e == i);
				weights[ROUTERS + r][e][i] = weights[r][e][i];
			}
	for (unsigned i = 0; i < TOKENS; i++)
		for (unsigned k = 0; k < TOP; k++)
			choices[i][k] = (int32_t)((i + k) % EXPERTS);
	ms_experts_forked();
	ms_routers_forked();
	nrow = 0;
	params = NULL;
	interrupted = MEASURE_NONE;
	has_run_meanwhile = false;
	atomic_store(&step_state.now, 3);
	return 0;
}

/* ---- tests ---- */

static void expect_both_routers(uint32_t second_step)
{
	assert_int_equal(count_rows("gate.0.gate", TK_ROUTER_SIMILARITY, 3), 1);
	assert_int_equal(count_rows("gate.0.gate", TK_EXPERT_ENTROPY, 3), 1);
	assert_int_equal(count_rows("gate.1.gate", TK_ROUTER_SIMILARITY, second_step), 1);
	assert_int_equal(count_rows("gate.1.gate", TK_EXPERT_ENTROPY, second_step), 1);
	assert_int_equal(count_rows("gate.1.gate", TK_TOKENS, second_step), EXPERTS);
}

static void a_router_has_one_similarity_a_step_and_its_first_choice(void **state)
{
	(void)state;
	register_names(0);
	for (unsigned i = 0; i < 2; i++) {
		run_router(0, 0);
		run_choice(0);
		run_choice(0);
	}
	assert_int_equal(count_rows("gate.0.gate", TK_ROUTER_SIMILARITY, 3), 1);
	assert_int_equal(count_rows("gate.0.gate", TK_EXPERT_ENTROPY, 3), 2);
	assert_int_equal(count_rows("gate.0.gate", TK_TOKENS, 3), 2 * EXPERTS);
	assert_true(rows[2].kind == TK_TOKENS && rows[2].part == 0 && rows[2].value == 3);
}

static void kernels_run_while(enum measurement m)
{
	register_names(0);
	interrupted = m;
	meanwhile = run_second_router;
	run_router(0, 0);
	run_choice(0);
	assert_true(has_run_meanwhile);
	expect_both_routers(3);
	assert_int_equal(count_rows("gate.0.gate", TK_TOKENS, 3), EXPERTS);
}

static void other_kernels_are_recorded_while_a_weight_is_measured(void **state)
{
	(void)state;
	kernels_run_while(MEASURE_WEIGHT);
}

static void other_kernels_are_recorded_while_logits_are_measured(void **state)
{
	(void)state;
	kernels_run_while(MEASURE_LOGITS);
}

static void other_kernels_are_recorded_while_choices_are_counted(void **state)
{
	(void)state;
	kernels_run_while(MEASURE_CHOICES);
}

static void a_step_that_ends_during_a_measurement_keeps_its_rows(void **state)
{
	(void)state;
	register_names(0);
	interrupted = MEASURE_WEIGHT;
	meanwhile = end_step_and_run_second_router;
	run_router(0, 0);
	assert_true(has_run_meanwhile);
	expect_both_routers(4);
	/* Its logits belong to no call of the new step. */
	run_choice(0);
	assert_int_equal(count_rows("gate.0.gate", TK_TOKENS, 4), 0);
}

static void the_similarity_of_a_new_step_replaces_that_of_the_last(void **state)
{
	double before, after;

	(void)state;
	register_names(0);
	run_router(0, 0);
	before = rows[0].value;
	weights[0][0][1] += 1;
	atomic_fetch_add(&step_state.now, 1);
	nrow = 0;
	run_router(0, 0);
	after = rows[0].value;
	assert_int_equal(count_rows("gate.0.gate", TK_ROUTER_SIMILARITY, 4), 1);
	assert_true(before < after || before > after);
}

static void rows_of_a_router_are_written_once_it_has_a_name(void **state)
{
	(void)state;
	run_router(0, 0);
	run_choice(0);
	assert_int_equal(nrow, 0);
	register_names(0);
	ms_write_unnamed_experts();
	assert_int_equal(count_rows("gate.0.gate", TK_ROUTER_SIMILARITY, 3), 1);
	assert_int_equal(count_rows("gate.0.gate", TK_TOKENS, 3), EXPERTS);
	assert_int_equal(nrow, 2 + EXPERTS);
}

/* The named parameters are copies at other addresses: they are found by measuring them. */
static void a_step_that_ends_while_names_are_found_keeps_all_rows(void **state)
{
	(void)state;
	run_router(0, 0);
	run_router(1, 1);
	register_names(ROUTERS);
	interrupted = MEASURE_WEIGHT;
	meanwhile = end_step_and_run_second_router;
	ms_write_unnamed_experts();
	assert_true(has_run_meanwhile);
	assert_int_equal(count_rows("gate.0.gate", TK_EXPERT_ENTROPY, 3), 1);
	assert_int_equal(count_rows("gate.1.gate", TK_EXPERT_ENTROPY, 3), 1);
}

static void a_transposed_copy_without_a_kernel_is_the_routers_weight(void **state)
{
	static const int64_t turned_dims[] = {WIDTH, EXPERTS};
	static float turned[WIDTH][EXPERTS];
	struct buffer in = make_matrix(turned, DT_FLOAT32, turned_dims);
	struct buffer out = make_matrix(logits[0], DT_FLOAT32, logits_dims);

	(void)state;
	register_names(0);
	for (unsigned e = 0; e < EXPERTS; e++)
		for (unsigned i = 0; i < WIDTH; i++)
			turned[i][e] = weights[1][e][i];
	run_kernel((struct ms_kernel){.copies = false}, &in, 1, &out, 1);
	assert_int_equal(count_rows("gate.1.gate", TK_EXPERT_ENTROPY, 3), 1);
	assert_int_equal(nrow, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			a_router_has_one_similarity_a_step_and_its_first_choice, set_up),
		cmocka_unit_test_setup(
			other_kernels_are_recorded_while_a_weight_is_measured, set_up),
		cmocka_unit_test_setup(
			other_kernels_are_recorded_while_logits_are_measured, set_up),
		cmocka_unit_test_setup(
			other_kernels_are_recorded_while_choices_are_counted, set_up),
		cmocka_unit_test_setup(
			a_step_that_ends_during_a_measurement_keeps_its_rows, set_up),
		cmocka_unit_test_setup(
			the_similarity_of_a_new_step_replaces_that_of_the_last, set_up),
		cmocka_unit_test_setup(rows_of_a_router_are_written_once_it_has_a_name, set_up),
		cmocka_unit_test_setup(
			a_step_that_ends_while_names_are_found_keeps_all_rows, set_up),
		cmocka_unit_test_setup(
			a_transposed_copy_without_a_kernel_is_the_routers_weight, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
