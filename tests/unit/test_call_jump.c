/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=io_read_file -Wl,--wrap=pthread_create */
/*
 * Wrapped functions that are left by longjmp, as error handlers and callbacks do: the wrapper is not notified. What the
 * thread calls next is no nested call. On another stack (coroutines, signal handlers) a wrapper may be on its way still.
 */
#include "call_child.h"

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

static const struct api_spec dup_comm = {
	.symbol = "MPI_Comm_dup", .list_name = "MPI_Comm_dup", .lib = &lib, .task = TASK_COMM_NEW};
static struct api f_dup = {.spec = &dup_comm, .word = API_LISTED};

static jmp_buf back;
static enum call_mode inner;

/* The wrapper of f, whose real function is `real`. Returns how the call was handled. */
__attribute__((noinline)) static enum call_mode wrapper(struct api *f, void (*real)(void))
{
	struct call c;
	enum call_mode mode;

	CHECK(call_enter(&c, f, NULL, (uintptr_t)__builtin_return_address(0),
		(uintptr_t)__builtin_frame_address(0)));
	mode = c.mode;
	if (real)
		real();
	CHECK(call_leave(&c, 0) == 0);
	return mode;
}

static enum call_mode send_one(void)
{
	return wrapper(&api_table[0], NULL);
}

/* Another function's frame between them, so that the next wrapper's frame is lower than that of the one that was left. */
__attribute__((noinline)) static enum call_mode send_from_below(void)
{
	volatile char room[4096];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
	return send_one();
}

/*
 * Its frame lies over that of a wrapper that was left, and touches nothing there: the return address still stands where
 * it stood. Returns how many calls it takes until one is recorded.
 */
__attribute__((noinline)) static int send_over_it(void)
{
	volatile char room[65536];
	int n = 0;

	room[0] = 0;
	while (n < 100 && send_one() != CALL_RECORD)
		n++;
	room[1] = room[0];
	return n;
}

static void jump(void)
{
	longjmp(back, 1);
}

static void jump_from_inside(void)
{
	wrapper(&api_table[0], jump);
}

/* More often than it takes until the stack is looked at. */
static void nested(void)
{
	inner = send_one();
	for (int i = 0; i < 5000; i++)
		CHECK(send_one() == inner);
}

static void begin(void)
{
	session_set_rank(0, 1);
	CHECK(session_configure()); /* as the first call of a row does */
	api_table[0].word |= API_ON;
	f_dup.word |= API_ON;
	api_table[0].real = f_dup.real = jump; /* any address: it is not called */
}

static void leave_by_jump(struct api *f, void (*real)(void))
{
	if (setjmp(back) == 0)
		wrapper(f, real);
	CHECK(thread_state.depth >= 1);
}

/* The first call of the thread is not one that is recorded: nothing is known of the thread yet. */
static void *first_call(void *below)
{
	CHECK(!thread_state.recorder);
	leave_by_jump(&f_dup, jump);
	CHECK((below ? send_from_below() : send_one()) == CALL_RECORD);
	CHECK(thread_state.depth == 0 && send_one() == CALL_RECORD);
	/* Once more, now that it is; and two at once. */
	leave_by_jump(&f_dup, jump);
	CHECK(send_one() == CALL_RECORD && thread_state.depth == 0);
	leave_by_jump(&f_dup, jump_from_inside);
	CHECK(send_one() == CALL_RECORD && thread_state.depth == 0);
	return NULL;
}

static void main_thread(void)
{
	begin();
	first_call(NULL);
	session_end();
	CHECK(rows("rank0") == 4);
}

static void other_threads(void)
{
	pthread_t th;

	begin();
	for (int i = 0; i < 2; i++) {
		CHECK(pthread_create(&th, NULL, first_call, i ? &th : NULL) == 0);
		CHECK(pthread_join(th, NULL) == 0);
	}
	session_end();
	CHECK(rows("rank0") == 8);
}

static void test_left(void **state)
{
	(void)state;
	in_child(main_thread);
	in_child(other_threads);
}

/* Frames of sanitizers are written to all over: then the first call notices. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED false
#endif

static void *first_call_over_it(void *arg)
{
	int n;

	leave_by_jump(&f_dup, jump);
	n = send_over_it();
	CHECK(n < 32 && (n > 0 || SANITIZED));
	CHECK(thread_state.depth == 0 && send_one() == CALL_RECORD);
	leave_by_jump(&f_dup, jump_from_inside);
	n = send_over_it();
	CHECK(n < 32 && (n > 0 || SANITIZED));
	return arg;
}

static void over_it(void)
{
	pthread_t th;

	begin();
	first_call_over_it(NULL);
	CHECK(pthread_create(&th, NULL, first_call_over_it, NULL) == 0);
	CHECK(pthread_join(th, NULL) == 0);
	session_end();
	CHECK(rows("rank0") == 6);
}

static void test_left_and_covered(void **state)
{
	(void)state;
	in_child(over_it);
}

/* A wrapper that is on its way is not taken for one that was left, whether the thread is known or not. */
static void nested_calls(void)
{
	begin();
	for (int i = 0; i < 2; i++) {
		inner = CALL_PASS;
		CHECK(wrapper(&f_dup, nested) == CALL_HOOK);
		CHECK(inner == CALL_PASS && thread_state.depth == 0);
		CHECK(send_one() == CALL_RECORD);
	}
	session_end();
	CHECK(rows("rank0") == 2);
}

static void test_nested(void **state)
{
	(void)state;
	in_child(nested_calls);
}

static ucontext_t main_context, coroutine;
static char *other_stack;
static unsigned ended;

static void yield(void)
{
	CHECK(swapcontext(&coroutine, &main_context) == 0);
}

static void in_coroutine(void)
{
	CHECK(wrapper(&f_dup, yield) == CALL_HOOK);
	ended++;
}

static void nested_in_coroutine(void)
{
	nested();
	ended++;
}

static void enter_coroutine(void (*fn)(void), char *stack)
{
	CHECK(getcontext(&coroutine) == 0);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = 256 << 10;
	coroutine.uc_link = &main_context;
	makecontext(&coroutine, fn, 0);
	CHECK(swapcontext(&main_context, &coroutine) == 0);
}

static void into_coroutine(void)
{
	enter_coroutine(nested_in_coroutine, other_stack);
}

static void coroutines(void)
{
	begin();
	other_stack =
		mmap(NULL, 256 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(other_stack != MAP_FAILED);
	for (int known = 0; known < 2; known++) {
		/* One waits inside a wrapper, the thread calls meanwhile. */
		enter_coroutine(in_coroutine, other_stack);
		CHECK(thread_state.depth == 1);
		CHECK(send_one() == CALL_PASS && thread_state.depth == 1);
		CHECK(swapcontext(&main_context, &coroutine) == 0);
		CHECK(thread_state.depth == 0);
		/* The thread waits inside one, a coroutine calls. */
		inner = CALL_RECORD;
		CHECK(wrapper(&f_dup, into_coroutine) == CALL_HOOK);
		CHECK(inner == CALL_PASS && thread_state.depth == 0);
		CHECK(send_one() == CALL_RECORD);
	}
	CHECK(ended == 4);
	session_end();
	CHECK(rows("rank0") == 2);
}

static void on_signal(int sig)
{
	(void)sig;
	nested();
}

static void interrupt(void)
{
	raise(SIGUSR1);
}

static void signal_stack(void)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	stack_t st = {.ss_size = 256 << 10};

	begin();
	st.ss_sp = malloc(st.ss_size);
	CHECK(st.ss_sp && sigaltstack(&st, NULL) == 0 && sigaction(SIGUSR1, &sa, NULL) == 0);
	for (int known = 0; known < 2; known++) {
		inner = CALL_RECORD;
		CHECK(wrapper(&f_dup, interrupt) == CALL_HOOK);
		CHECK(inner == CALL_PASS && thread_state.depth == 0);
		CHECK(send_one() == CALL_RECORD);
	}
	session_end();
	CHECK(rows("rank0") == 2);
}

static void test_other_stacks(void **state)
{
	(void)state;
	in_child(coroutines);
	in_child(signal_stack);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_left_and_covered),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_other_stacks),
	};

	return cmocka_run_group_tests_name("call_jump", tests, NULL, NULL);
}
