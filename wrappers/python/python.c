/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python as a language of stacks: found in the process by its exported symbols, read by the layout of its version, and
 * only after a walk in which everything was as the layout says. Otherwise there are no Python stacks, and meta.json says
 * why: a wrong stack is worse than none.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "base/log.h"
#include "entry/elfsym.h"
#include "wrappers/languages.h"
#include "wrappers/python/walk.h"
#include "session.h"

static struct py py;
static char version[96];

/* Verification waits for a thread that has frames; while it never held the GIL it is repeated now and then. */
enum { UNVERIFIED, BY_STRUCTURE, BY_INTERPRETER, REFUSED };
static _Atomic uint8_t trust;
static _Atomic uint32_t tries;
#define TRIES_MAX 1000

static void *function(const char *name)
{
	struct provider p[2];

	return elfsym_all(name, p, 2) > 0 && !p[0].ifunc ? p[0].addr : NULL;
}

static void refuse(const char *why)
{
	char text[200];

	atomic_store(&trust, REFUSED);
	snprintf(text, sizeof(text), "%.60s; no Python stacks: %s", version, why);
	session_library("python", text);
	log_info(2, "Python %.40s: stacks are not read: %s", version, why);
}

static bool find(void)
{
	const char *(*get_version)(void) = (const char *(*)(void))function("Py_GetVersion");
	struct py_api *a = &py.api;
	size_t n = 0;

	if (!get_version)
		return false;
	for (const char *v = get_version(); v[n] && v[n] != '(' && n < sizeof(version) - 1; n++)
		version[n] = v[n];
	while (n && version[n - 1] == ' ')
		n--;
	version[n] = 0;
	py.l = py_layout_of(get_version());
	a->this_thread = (void *(*)(void))function("PyGILState_GetThisThreadState");
	a->globals = (void *(*)(void))function("PyEval_GetGlobals");
	a->line = (int (*)(void *, int))function("PyCode_Addr2Line");
	a->is_initialized = (int (*)(void))function("Py_IsInitialized");
	a->code_type = (uintptr_t)elfsym_data("PyCode_Type");
	a->str_type = (uintptr_t)elfsym_data("PyUnicode_Type");
	a->holder = (void *(*)(void))function("PyThreadState_GetUnchecked");
	if (!a->holder)
		a->holder = (void *(*)(void))function("_PyThreadState_UncheckedGet");
	if (!py.l)
		refuse("this version is not known");
	else if (!a->this_thread || !a->globals || !a->line || !a->is_initialized ||
		 !a->code_type || !a->str_type)
		refuse("it does not export what is needed");
	else
		return true;
	/* It is here and will not be read: there is no use in looking again. */
	return true;
}

/* True if the thread's frames may be read. */
static bool verify(uintptr_t tstate, uint8_t now)
{
	int frames;
	bool held;
	const char *wrong;

	if (now == BY_STRUCTURE &&
		(atomic_fetch_add_explicit(&tries, 1, memory_order_relaxed) >= TRIES_MAX ||
			!py.api.holder || py.api.holder() != (void *)tstate))
		return true;
	wrong = py_verify(&py, tstate, &frames, &held);
	if (wrong) {
		refuse(wrong);
		return false;
	}
	if (!frames)
		return now != UNVERIFIED;
	if (now == UNVERIFIED && atomic_compare_exchange_strong(&trust, &now, BY_STRUCTURE))
		session_library("python", version);
	if (held)
		atomic_store(&trust, BY_INTERPRETER);
	return true;
}

static int walk(struct foreign_frame *f, int max)
{
	uint8_t now = atomic_load_explicit(&trust, memory_order_acquire);
	uintptr_t tstate;

	if (now == REFUSED || !py.api.is_initialized())
		return 0;
	tstate = (uintptr_t)py.api.this_thread();
	if (!tstate)
		return 0; /* a thread that runs no Python */
	if (__builtin_expect(now != BY_INTERPRETER, 0) && !verify(tstate, now))
		return 0;
	return py_walk(&py, tstate, f, max);
}

static bool describe(const struct foreign_frame *f, struct foreign_name *n)
{
	return py_describe(&py, f, n);
}

static bool goes_back(const struct foreign_frame *f, uintptr_t from)
{
	return py_goes_back(&py, f->code, from, f->at);
}

const struct stack_language python_language = {
	.name = "python",
	.find = find,
	.walk = walk,
	.describe = describe,
	.goes_back = goes_back,
};
