/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/python/uncaught.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "base/text.h"
#include "base/thread.h"
#include "elf/elfsym.h"
#include "life/last_words.h"
#include "session/state.h"

#define SLOT_GETATTRO 58 /* Py_tp_getattro */
#define FRAMES_MAX 4096 /* of a traceback that are walked */
#define FRAMES_SAID 8
#define WORDS_BYTES 2000
#define MESSAGE_BYTES 600

typedef int audit_hook(const char *event, void *args, void *data);

static struct {
	void *(*this_thread)(void), *(*holder)(void);
	int (*is_initialized)(void);
	int (*add_hook)(audit_hook *, void *);
	void *(*tuple_item)(void *, ssize_t);
	ssize_t (*tuple_size)(void *);
	void *(*get)(void *, const char *);
	void *(*slot)(void *, int);
	long (*as_long)(void *);
	const char *(*utf8)(void *, ssize_t *);
	void *(*occurred)(void);
	void (*clear)(void);
	void (*drop)(void *);
	void *generic_get; /* PyObject_GenericGetAttr */
	void *str, *tuple, *integer, *traceback, *code;
} py;

static _Atomic int watching; /* 1: yes, 2: this Python has no such thing */

static void *find_uncaught_function(const char *name)
{
	struct provider p[2];

	return elfsym_all(name, p, 2) > 0 && !p[0].ifunc ? p[0].addr : NULL;
}

static bool find_uncaught_functions(void)
{
	static const struct {
		const char *name;
		void *to;
	} wanted[] = {{"PyGILState_GetThisThreadState", &py.this_thread},
		{"Py_IsInitialized", &py.is_initialized}, {"PySys_AddAuditHook", &py.add_hook},
		{"PyTuple_GetItem", &py.tuple_item}, {"PyTuple_Size", &py.tuple_size},
		{"PyObject_GetAttrString", &py.get}, {"PyType_GetSlot", &py.slot},
		{"PyLong_AsLong", &py.as_long}, {"PyUnicode_AsUTF8AndSize", &py.utf8},
		{"PyErr_Occurred", &py.occurred}, {"PyErr_Clear", &py.clear},
		{"Py_DecRef", &py.drop}, {"PyObject_GenericGetAttr", &py.generic_get}};
	static const struct {
		const char *name;
		void **to;
	} types[] = {{"PyUnicode_Type", &py.str}, {"PyTuple_Type", &py.tuple},
		{"PyLong_Type", &py.integer}, {"PyTraceBack_Type", &py.traceback},
		{"PyCode_Type", &py.code}};
	const char *(*version)(void);
	bool all = true;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		void *a = find_uncaught_function(wanted[i].name);

		memcpy(wanted[i].to, &a, sizeof(a));
		all &= a != NULL;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		*types[i].to = elfsym_data(types[i].name);
		all &= *types[i].to != NULL;
	}
	*(void **)&py.holder = find_uncaught_function("PyThreadState_GetUnchecked"); /* 3.13 */
	if (!py.holder)
		*(void **)&py.holder = find_uncaught_function("_PyThreadState_UncheckedGet");
	*(void **)&version = find_uncaught_function("Py_GetVersion");
	return all && py.holder && version && !strstr(version(), "free-threading");
}

static void *type_of_object(const void *o)
{
	return *(void *const *)((const char *)o +
				8); /* PyObject: ob_type, but in builds without a GIL */
}

/* A new reference; of objects whose types are CPython's own, so no code of the program runs. */
static void *get_attribute_of(void *o, const char *name)
{
	void *v = o ? py.get(o, name) : NULL;

	if (!v)
		py.clear();
	return v;
}

static void drop_object(void *o)
{
	if (o)
		py.drop(o);
}

static const char *read_text_of(void *o)
{
	const char *s = o && type_of_object(o) == py.str ? py.utf8(o, NULL) : NULL;

	if (!s && py.occurred())
		py.clear();
	return s;
}

/* The arguments of the exception that are texts or numbers: what str() would make of them may be code of the program. */
static void put_message(struct text *t, void *value)
{
	void *args, *get = py.slot(type_of_object(value), SLOT_GETATTRO);
	bool any = false;

	if (!get)
		py.clear(); /* a static type, before 3.10 */
	else if (get != py.generic_get)
		return;
	args = get_attribute_of(value, "args");
	for (ssize_t i = 0; args && type_of_object(args) == py.tuple && i < py.tuple_size(args);
		i++) {
		void *item = py.tuple_item(args, i);
		const char *s = read_text_of(item);

		if (s) {
			text_str(t, any ? ", " : ": ");
			text_put(t, s, strnlen(s, MESSAGE_BYTES));
			any = true;
		} else if (item && type_of_object(item) == py.integer) {
			long v = py.as_long(item);

			if (v == -1 && py.occurred()) {
				py.clear();
				continue;
			}
			text_str(t, any ? ", " : ": ");
			text_i64(t, v);
			any = true;
		}
	}
	drop_object(args);
}

static void put_traceback_entry(struct text *t, void *tb, const char *separator)
{
	void *frame = get_attribute_of(tb, "tb_frame"), *code = get_attribute_of(frame, "f_code"),
	     *line = get_attribute_of(tb, "tb_lineno");
	void *file = code && type_of_object(code) == py.code ? get_attribute_of(code, "co_filename")
							     : NULL,
	     *name = file ? get_attribute_of(code, "co_name") : NULL;
	const char *f = read_text_of(file), *n = read_text_of(name);

	if (f && n && line) {
		long v = py.as_long(line);

		if (v == -1 && py.occurred())
			py.clear();
		text_str(t, separator);
		text_fmt(t, "%.300s:%ld %.100s", f, v, n);
	}
	drop_object(name);
	drop_object(file);
	drop_object(line);
	drop_object(code);
	drop_object(frame);
}

/* Innermost first, as stacks are in stack_info.csv. */
static void put_traceback(struct text *t, void *tb)
{
	void *last[FRAMES_SAID] = {NULL};
	unsigned n = 0;

	if (!tb || type_of_object(tb) != py.traceback)
		return;
	/* Each entry holds the next one, and the first is held by who called. */
	for (void *at = tb; at && type_of_object(at) == py.traceback && n < FRAMES_MAX; n++) {
		void *next = get_attribute_of(at, "tb_next");

		last[n % FRAMES_SAID] = at;
		drop_object(next);
		at = next;
	}
	for (unsigned i = 0; i < n && i < FRAMES_SAID; i++)
		put_traceback_entry(t, last[(n - 1 - i) % FRAMES_SAID], i ? " <- " : "; at ");
	if (n > FRAMES_SAID)
		text_str(t, " <- ...");
}

static void describe_uncaught(void *args)
{
	void *type, *value, *tb;
	char words[WORDS_BYTES + 64];
	struct text t = text_over(words, WORDS_BYTES);

	/* hook, type, value, traceback */
	if (!args || type_of_object(args) != py.tuple || py.tuple_size(args) != 4)
		return;
	type = py.tuple_item(args, 1);
	value = py.tuple_item(args, 2);
	tb = py.tuple_item(args, 3);
	if (!type || !value)
		return;

	const char *name =
		*(const char *const *)((const char *)type_of_object(value) + 24); /* tp_name */

	text_str(&t, name);
	put_message(&t, value);
	put_traceback(&t, tb);
	words[t.len] = 0;
	note_exception(words);
}

static int hear_audit_event(const char *event, void *args, void *data)
{
	(void)data;
	if (event[0] == 's' && strcmp(event, "sys.excepthook") == 0 && session_is_on() &&
		!py.occurred()) {
		int err = errno;

		thread_state.busy++;
		describe_uncaught(args);
		thread_state.busy--;
		errno = err;
	}
	return 0;
}

void watch_uncaught_exceptions(void)
{
	int none = 0;
	void *tstate;

	if (atomic_load_explicit(&watching, memory_order_acquire))
		return;
	if (!find_uncaught_function("PySys_AddAuditHook"))
		return; /* no Python, or not yet */
	if (!find_uncaught_functions()) {
		atomic_store(&watching, 2);
		return;
	}
	tstate = py.is_initialized() ? py.this_thread() : NULL;
	if (!tstate || py.holder() != tstate || py.occurred() ||
		!atomic_compare_exchange_strong(&watching, &none, 1))
		return;
	if (py.add_hook(hear_audit_event, NULL) < 0)
		py.clear();
}
