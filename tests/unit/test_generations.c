/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=io_read_file -Wl,--wrap=pthread_create */
/*
 * The configuration changes at the end of a step while threads call, and recording is switched off and on under load:
 * by rows of the table and rows made at run time, through what a generated wrapper is made of.
 */
#include "call_child.h"

#include "api/enabled.h"
#include "call/wrapper.h"

static const struct api_spec recv_spec = {
	.symbol = "MPI_Recv", .list_name = "MPI_Recv", .lib = &lib, .kind = &kind_send};
static struct api f_recv = {.spec = &recv_spec};
static struct made_row made_recv = {.api = &f_recv};

static int add_one(int x)
{
	return x + 1;
}

static _Atomic uint64_t recorded,
	taken; /* calls with a record; that did not pass straight through */
static void (*inside)(void); /* what happens while the real function of the main thread runs */

/* As genwrap writes it. */
__attribute__((noinline)) static int wrapped(struct api *f, int x)
{
	typedef int fn(int);

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(x);
	union arg v[] = {{.i = x}};
	WRAPPER_ENTER(f, v, int);
	recorded += c.mode == CALL_RECORD;
	taken += c.mode != CALL_PASS;
	if (inside)
		inside();
	return (int)call_leave(&c, real((int)v[0].i));
}

static void begin(void)
{
	session_set_rank(0, 1);
	/* Bound rows: no object of this process defines these names. */
	api_table[0].word = f_recv.word = API_BOUND;
	api_table[0].real = f_recv.real = (void *)add_one;
	rows_add(&made_recv);
	CHECK(session_configure() && session_start());
}

static char list_of[2][128];

/* Two lists: one with MPI_Send, one with MPI_Recv. */
static const char *list_text(int i, const char *more)
{
	static char text[2][256];
	FILE *f;

	snprintf(list_of[i], sizeof(list_of[i]), "%s/list%d", out, i);
	f = fopen(list_of[i], "w");
	CHECK(f);
	fprintf(f, "mpi:\n  - %s\n", i ? "MPI_Recv" : "MPI_Send");
	fclose(f);
	snprintf(text[i], sizeof(text[i]), "wrap_ops: %s\n%s", list_of[i], more);
	return text[i];
}

static int change(const char *text)
{
	return session_reconfigure("new.yaml", text, strlen(text));
}

/* Is the call recorded? */
static bool is_recorded(struct api *f)
{
	uint64_t was = recorded;

	CHECK(wrapped(f, 5) == 6);
	return recorded != was;
}

static void end_step_here(void)
{
	inside = NULL;
	step_end(STEP_API);
}

static void takes_effect_at_a_steps_end(void)
{
	char from_step[40];
	uint32_t number;

	begin();
	CHECK(is_recorded(&api_table[0]) && is_recorded(&f_recv));
	CHECK(change(list_text(1, "")) == 0);
	CHECK(is_recorded(&api_table[0]) && is_recorded(&f_recv));
	/* It is inside when the step ends: it leaves by what it entered by. */
	inside = end_step_here;
	CHECK(is_recorded(&api_table[0]));
	CHECK(thread_state.depth == 0 && thread_state.recorder->nopen == 0);
	number = get_generation()->number;
	CHECK(number == 1);
	CHECK(!is_recorded(&api_table[0]) && is_recorded(&f_recv));
	CHECK(get_api_word(&api_table[0]) >> API_GENERATION == number);
	CHECK(get_api_word(&f_recv) >> API_GENERATION == number);

	/* One that is wrong changes nothing, whatever is wrong. */
	CHECK(change("step_interval: never\n") == -EINVAL);
	CHECK(change("no_such_key: 1\n") == -EINVAL);
	CHECK(change("wrap_ops: /nowhere/list\n") == -EINVAL);
	step_end(STEP_API);
	CHECK(get_generation()->number == number);
	CHECK(!is_recorded(&api_table[0]) && is_recorded(&f_recv));

	/* Back, and every second step. What was used up at the start stays. */
	CHECK(change(list_text(0, "step_interval: 2\njournal_mib: 7\n")) == 0);
	step_end(STEP_API);
	CHECK(get_config()->journal_mib == 1 && get_config()->step_interval == 2);
	for (int i = 0; i < 6; i++, step_end(STEP_API)) {
		CHECK(is_recorded(&api_table[0]) == (step_now() % 2 == 0));
		CHECK(!is_recorded(&f_recv));
	}
	CHECK(change(list_text(0, "step_interval: 2\nmin_bytes: 3\n")) == 0);
	CHECK(change(list_text(0, "step_interval: 2\nmin_bytes: 4\nbackward: true\n")) == 0);
	step_end(STEP_API);
	CHECK(!get_config()->backward); /* names of nodes are bound at the start */
	snprintf(from_step, sizeof(from_step), "\"config_from_step\": %u", step_now());
	session_end();
	CHECK(rows("rank0") == recorded && meta_says("rank0", "\"finished\""));
	CHECK(meta_says("rank0", from_step) && meta_says("rank0", "\"min_bytes\": 4"));
	CHECK(meta_says("rank0", "\"step_interval\": 2"));
}

static void pauses_without_deciding_anew(void)
{
	uint32_t word;

	begin();
	CHECK(is_recorded(&api_table[0]));
	word = get_api_word(&api_table[0]);
	for (int i = 0; i < 1000; i++) {
		generation_pause(true);
		CHECK(!is_recorded(&api_table[0]));
		generation_pause(false);
		CHECK(is_recorded(&api_table[0]));
		step_end(STEP_API);
	}
	CHECK(get_api_word(&api_table[0]) == word && get_generation() == &generation_first.running);
	/* A change that comes while it pauses is no reason to go on. */
	generation_pause(true);
	CHECK(change(list_text(0, "")) == 0);
	step_end(STEP_API);
	CHECK(get_generation()->number == 1 && !is_recorded(&api_table[0]));
	generation_pause(false);
	CHECK(get_generation()->number == 1 && is_recorded(&api_table[0]));
}

static void at_most_so_many(void)
{
	begin();
	for (int i = 1; i < GENERATIONS_MAX; i++) {
		CHECK(change(list_text(i % 2, "")) == 0);
		step_end(STEP_API);
		CHECK(is_recorded(&api_table[0]) == !(i % 2) && is_recorded(&f_recv) == i % 2);
	}
	CHECK(change(list_text(0, "")) == -ENOSPC);
	step_end(STEP_API);
	CHECK(get_generation()->number == GENERATIONS_MAX - 1);
	CHECK(!is_recorded(&api_table[0]) && is_recorded(&f_recv));
}

/* ---- under load ---- */

#define CALLERS 3

static struct caller {
	_Atomic uint64_t calls;
	_Alignas(64) pthread_t thread;
} callers[CALLERS];
static _Atomic bool over;
static _Atomic unsigned wrong;

static void *call_until_over(void *arg)
{
	struct caller *me = arg;

	for (int i = 0; !over; i++) {
		wrong += wrapped(i % 2 ? &api_table[0] : &f_recv, i) != i + 1;
		me->calls++;
	}
	return NULL;
}

static void start_callers(void)
{
	for (int i = 0; i < CALLERS; i++)
		CHECK(pthread_create(&callers[i].thread, NULL, call_until_over, &callers[i]) == 0);
}

static void end_callers(void)
{
	over = true;
	for (int i = 0; i < CALLERS; i++)
		pthread_join(callers[i].thread, NULL);
	CHECK(wrong == 0);
}

/* Until each thread has made n more calls. */
static void wait_for_calls(uint64_t n)
{
	for (int i = 0; i < CALLERS; i++) {
		uint64_t was = callers[i].calls;

		while (callers[i].calls < was + n)
			poll(NULL, 0, 1);
	}
}

static void off_within_one_call(void)
{
	uint64_t was;

	begin();
	start_callers();
	for (int i = 0; i < 30; i++) {
		wait_for_calls(2);
		set_off_reason(OFF_SWITCHED, true);
		wait_for_calls(2); /* the one that was on its way, and one more */
		was = taken;
		wait_for_calls(50);
		CHECK(taken == was);
		set_off_reason(OFF_SWITCHED, false);
		wait_for_calls(3);
		CHECK(taken > was);
	}
	session_end();
	wait_for_calls(2);
	was = taken;
	wait_for_calls(50);
	CHECK(taken == was && !recording_enabled());
	/* It ended: no other reason brings it back. */
	set_off_reason(OFF_SWITCHED, true);
	set_off_reason(OFF_SWITCHED, false);
	CHECK(!recording_enabled());
	end_callers();
}

/* Both rows are listed in turn: after each step just the one is recorded, by all threads. */
static void changes_under_load(void)
{
	begin();
	start_callers();
	for (int i = 1; i < 64; i++) {
		CHECK(change(list_text(i % 2, "")) == 0);
		step_end(STEP_API);
		wait_for_calls(2);
		CHECK(get_api_word(&api_table[0]) & (i % 2 ? API_SKIP : API_ON));
		CHECK(get_api_word(&f_recv) & (i % 2 ? API_ON : API_SKIP));
	}
	end_callers();
}

static void child_that_is_off(void)
{
	int status;
	pid_t pid;

	begin();
	CHECK(is_recorded(&api_table[0]));
	pid = fork();
	if (pid == 0) {
		CHECK(!recording_enabled() && WRAPPER_OFF(&api_table[0]));
		CHECK(!is_recorded(&api_table[0]));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(is_recorded(&api_table[0]));
}

#define IN_CHILD(fn)                        \
	static void test_##fn(void **state) \
	{                                   \
		(void)state;                \
		in_child(fn);               \
	}

IN_CHILD(takes_effect_at_a_steps_end)
IN_CHILD(pauses_without_deciding_anew)
IN_CHILD(at_most_so_many)
IN_CHILD(off_within_one_call)
IN_CHILD(changes_under_load)
IN_CHILD(child_that_is_off)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_effect_at_a_steps_end),
		cmocka_unit_test(test_pauses_without_deciding_anew),
		cmocka_unit_test(test_at_most_so_many),
		cmocka_unit_test(test_off_within_one_call),
		cmocka_unit_test(test_changes_under_load),
		cmocka_unit_test(test_child_that_is_off),
	};

	return cmocka_run_group_tests_name("generations", tests, NULL, NULL);
}
