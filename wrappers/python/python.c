/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python as a language of stacks: found in the process by its exported symbols, read by the layout of its version, and used
 * only after a walk in which everything matched the layout. Otherwise there are no Python stacks, and meta.json gives the
 * reason: a wrong stack is worse than none.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "elf/loaded/elfsym.h"
#include "life/life.h"
#include "wrappers/languages.h"
#include "wrappers/layout_facts.h"
#include "wrappers/python/python_walk.h"
#include "wrappers/python/uncaught.h"
#include "session/state.h"

static struct py py;
static char version[96];

/* Verification waits for a thread that has frames; as long as it never held the GIL, it is repeated occasionally. */
enum { UNVERIFIED, BY_STRUCTURE, BY_INTERPRETER, REFUSED };
static _Atomic uint8_t trust;
static _Atomic uint32_t tries;
#define TRIES_MAX 1000

static void *find_exported_function(const char *name)
{
	struct provider p[2];

	return elfsym_find_all(name, p, 2) > 0 && !p[0].ifunc ? p[0].addr : NULL;
}

static void stop_python_stacks(const char *why)
{
	char text[200];

	atomic_store(&trust, REFUSED);
	session_record_layout_fact(LAYOUT_PYTHON_FRAMES, false);
	snprintf(text, sizeof(text), "%.60s; no Python stacks: %s", version, why);
	session_record_library("python", text);
	log_info(2, "Python %.40s: stacks are not read: %s", version, why);
}

static bool find_python(void)
{
	const char *(*get_version)(void) =
		(const char *(*)(void))find_exported_function("Py_GetVersion");
	struct py_api *a = &py.api;
	size_t n = 0;

	if (!get_version)
		return false;
	for (const char *v = get_version(); v[n] && v[n] != '(' && n < sizeof(version) - 1; n++)
		version[n] = v[n];
	while (n && version[n - 1] == ' ')
		n--;
	version[n] = 0;
	py.l = py_find_layout(get_version());
	a->this_thread = (void *(*)(void))find_exported_function("PyGILState_GetThisThreadState");
	a->globals = (void *(*)(void))find_exported_function("PyEval_GetGlobals");
	a->line = (int (*)(void *, int))find_exported_function("PyCode_Addr2Line");
	a->is_initialized = (int (*)(void))find_exported_function("Py_IsInitialized");
	a->code_type = (uintptr_t)elfsym_find_data("PyCode_Type");
	a->str_type = (uintptr_t)elfsym_find_data("PyUnicode_Type");
	a->holder = (void *(*)(void))find_exported_function("PyThreadState_GetUnchecked");
	if (!a->holder)
		a->holder = (void *(*)(void))find_exported_function("_PyThreadState_UncheckedGet");
	if (!py.l)
		stop_python_stacks(strstr(get_version(), "free-threading") ? "a free-threaded build"
									   : "unknown version");
	else if (!a->this_thread || !a->globals || !a->line || !a->is_initialized ||
		 !a->code_type || !a->str_type)
		stop_python_stacks("it does not export the required functions");
	else
		return true;
	/* Python exists, but its layout was refused: do not search again. */
	return true;
}

/* True if the thread's frames may be read. */
static bool has_valid_frames(uintptr_t tstate, uint8_t now)
{
	int frames;
	bool held;
	const char *wrong;

	if (now == BY_STRUCTURE &&
		(atomic_fetch_add_explicit(&tries, 1, memory_order_relaxed) >= TRIES_MAX ||
			!py.api.holder || py.api.holder() != (void *)tstate))
		return true;
	wrong = py_check_layout(&py, tstate, &frames, &held);
	if (wrong) {
		stop_python_stacks(wrong);
		return false;
	}
	if (!frames)
		return now != UNVERIFIED;
	if (now == UNVERIFIED && atomic_compare_exchange_strong(&trust, &now, BY_STRUCTURE))
		session_record_library("python", version);
	session_record_layout_fact(LAYOUT_PYTHON_FRAMES, true);
	if (held)
		atomic_store(&trust, BY_INTERPRETER);
	return true;
}

static int read_python_stack(struct foreign_frame *f, int max)
{
	uint8_t now = atomic_load_explicit(&trust, memory_order_acquire);
	uintptr_t tstate;

	if (now == REFUSED || !py.api.is_initialized())
		return 0;
	tstate = (uintptr_t)py.api.this_thread();
	if (!tstate)
		return 0; /* the thread runs no Python */
	if (__builtin_expect(now != BY_INTERPRETER, 0) && !has_valid_frames(tstate, now))
		return 0;
	return py_read_stack(&py, tstate, f, max);
}

static bool read_python_frame_name(const struct foreign_frame *f, struct foreign_name *n)
{
	return py_read_frame_name(&py, f, n);
}

static bool is_python_loop(const struct foreign_frame *f, uintptr_t from)
{
	return is_py_loop(&py, f->code, from, f->at);
}

const struct stack_language python_language = {
	.name = "python",
	.find = find_python,
	.walk = read_python_stack,
	.describe = read_python_frame_name,
	.goes_back = is_python_loop,
	.watch_end = start_uncaught_watch,
};
