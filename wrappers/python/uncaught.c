/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/python/uncaught.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "text/text.h"
#include "base/thread.h"
#include "elf/loaded/elfsym.h"
#include "life/last_words.h"
#include "session/state.h"

#define SLOT_GETATTRO 58 /* Py_tp_getattro */
/* PyTypeObject (cpython/object.h), the same from 3.8 to 3.15. */
#define TYPE_NAME 24
#define TYPE_INIT 296
#define TYPE_ALLOC 304
#define FRAMES_MAX 4096 /* traceback entries that are walked */
#define FRAMES_WRITTEN 8
#define WORDS_BYTES 2000
#define MESSAGE_BYTES 600

typedef int audit_hook(const char *event, void *args, void *data);
typedef int init_function(void *self, void *args, void *kwargs);

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
	void (*handled)(void **, void **, void **);
	void *(*traceback_of)(void *);
	int (*same_text)(void *, const char *);
	int (*subtype)(void *, void *);
	void *generic_get; /* PyObject_GenericGetAttr */
	void *generic_alloc; /* PyType_GenericAlloc */
	void *str, *tuple, *integer, *traceback, *code;
	void *none;
	void **system_exit; /* address of the class */
} py;

static _Atomic int watching; /* 1: yes, 2: this Python does not support it */
static init_function *real_init; /* of SystemExit */

/*
 * The latest exception that was described; the pointers are only compared. A traceback is printed
 * entry by entry, possibly several times, and must be recorded once.
 */
static void *described, *described_at;

static void *find_uncaught_function(const char *name)
{
	struct provider p[2];

	return elfsym_find_all(name, p, 2) > 0 && !p[0].ifunc ? p[0].addr : NULL;
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
		{"Py_DecRef", &py.drop}, {"PyObject_GenericGetAttr", &py.generic_get},
		{"PyErr_GetExcInfo", &py.handled}, {"PyException_GetTraceback", &py.traceback_of},
		{"PyUnicode_CompareWithASCIIString", &py.same_text},
		{"PyType_IsSubtype", &py.subtype}, {"PyType_GenericAlloc", &py.generic_alloc}};
	static const struct {
		const char *name;
		void **to;
	} types[] = {{"PyUnicode_Type", &py.str}, {"PyTuple_Type", &py.tuple},
		{"PyLong_Type", &py.integer}, {"PyTraceBack_Type", &py.traceback},
		{"PyCode_Type", &py.code}, {"_Py_NoneStruct", &py.none},
		{"PyExc_SystemExit", (void **)&py.system_exit}};
	const char *(*version)(void);
	bool all = true;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		void *a = find_uncaught_function(wanted[i].name);

		memcpy(wanted[i].to, &a, sizeof(a));
		all &= a != NULL;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		*types[i].to = elfsym_find_data(types[i].name);
		all &= *types[i].to != NULL;
	}
	*(void **)&py.holder = find_uncaught_function("PyThreadState_GetUnchecked"); /* 3.13 */
	if (!py.holder)
		*(void **)&py.holder = find_uncaught_function("_PyThreadState_UncheckedGet");
	*(void **)&version = find_uncaught_function("Py_GetVersion");
	return all && py.holder && version && !strstr(version(), "free-threading");
}

static void *get_object_type_word(const void *o)
{
	/* PyObject: ob_type, except in builds without a GIL */
	return *(void *const *)((const char *)o + 8);
}

/*
 * Returns a new reference. Only for objects whose types are CPython's own, so that no code of the
 * program runs.
 */
static void *get_attribute_of(void *o, const char *name)
{
	void *v = o ? py.get(o, name) : NULL;

	if (!v)
		py.clear();
	return v;
}

static void remove_object(void *o)
{
	if (o)
		py.drop(o);
}

static const char *read_text_of(void *o)
{
	const char *s = o && get_object_type_word(o) == py.str ? py.utf8(o, NULL) : NULL;

	if (!s && py.occurred())
		py.clear();
	return s;
}

/*
 * Writes the exception's arguments that are strings or numbers: str() of other arguments may run
 * code of the program.
 */
static void write_exception_message(struct text *t, void *value)
{
	void *args, *get = py.slot(get_object_type_word(value), SLOT_GETATTRO);
	bool any = false;

	if (!get)
		py.clear(); /* a static type, before 3.10 */
	else if (get != py.generic_get)
		return;
	args = get_attribute_of(value, "args");
	for (ssize_t i = 0;
		args && get_object_type_word(args) == py.tuple && i < py.tuple_size(args); i++) {
		void *item = py.tuple_item(args, i);
		const char *s = read_text_of(item);

		if (s) {
			text_add_string(t, any ? ", " : ": ");
			text_add_bytes(t, s, strnlen(s, MESSAGE_BYTES));
			any = true;
		} else if (item && get_object_type_word(item) == py.integer) {
			long v = py.as_long(item);

			if (v == -1 && py.occurred()) {
				py.clear();
				continue;
			}
			text_add_string(t, any ? ", " : ": ");
			text_add_i64(t, v);
			any = true;
		}
	}
	remove_object(args);
}

static void write_traceback_entry(struct text *t, void *tb, const char *separator)
{
	void *frame = get_attribute_of(tb, "tb_frame"), *code = get_attribute_of(frame, "f_code"),
	     *line = get_attribute_of(tb, "tb_lineno");
	void *file = code && get_object_type_word(code) == py.code
			     ? get_attribute_of(code, "co_filename")
			     : NULL,
	     *name = file ? get_attribute_of(code, "co_name") : NULL;
	const char *f = read_text_of(file), *n = read_text_of(name);

	if (f && n && line) {
		long v = py.as_long(line);

		if (v == -1 && py.occurred())
			py.clear();
		text_add_string(t, separator);
		text_add_format(t, "%.300s:%ld %.100s", f, v, n);
	}
	remove_object(name);
	remove_object(file);
	remove_object(line);
	remove_object(code);
	remove_object(frame);
}

/* Writes the traceback's frames, innermost first, as in stack_info.csv. */
static void write_traceback(struct text *t, void *tb)
{
	void *last[FRAMES_WRITTEN] = {NULL};
	unsigned n = 0;

	if (!tb || get_object_type_word(tb) != py.traceback)
		return;
	/* Each entry holds the next one, and the caller holds the first. */
	for (void *at = tb; at && get_object_type_word(at) == py.traceback && n < FRAMES_MAX; n++) {
		void *next = get_attribute_of(at, "tb_next");

		last[n % FRAMES_WRITTEN] = at;
		remove_object(next);
		at = next;
	}
	for (unsigned i = 0; i < n && i < FRAMES_WRITTEN; i++)
		write_traceback_entry(t, last[(n - 1 - i) % FRAMES_WRITTEN], i ? " <- " : "; at ");
	if (n > FRAMES_WRITTEN)
		text_add_string(t, " <- ...");
}

/* words: buffer of WORDS_BYTES + 64 bytes. */
static void format_exception(void *value, void *tb, char *words)
{
	struct text t = text_init(words, WORDS_BYTES);
	const char *name =
		*(const char *const *)((const char *)get_object_type_word(value) + TYPE_NAME);

	text_add_string(&t, name);
	write_exception_message(&t, value);
	write_traceback(&t, tb);
	words[t.len] = 0;
}

static void record_uncaught(void *args)
{
	void *value;
	char words[WORDS_BYTES + 64];

	/* hook, type, value, traceback */
	if (!args || get_object_type_word(args) != py.tuple || py.tuple_size(args) != 4)
		return;
	value = py.tuple_item(args, 2);
	if (!py.tuple_item(args, 1) || !value)
		return;
	format_exception(value, py.tuple_item(args, 3), words);
	record_exception(words);
}

static bool is_system_exit(void *value)
{
	return py.subtype(get_object_type_word(value), *py.system_exit);
}

/*
 * Records the exception that this thread is handling, as a possible reason for the end, but only
 * if its traceback is tb or tb is NULL. The handler holds the exception: dropping libprobe's
 * references destroys no object.
 */
static void record_handled_exception(void *tb)
{
	void *type = NULL, *value = NULL, *its = NULL, *first;
	char words[WORDS_BYTES + 64];

	py.handled(&type, &value, &its);
	if (value && value != py.none && !is_system_exit(value)) {
		first = py.traceback_of(value);
		if ((!tb || tb == first) && (value != described || first != described_at)) {
			format_exception(value, first, words);
			record_shown_exception(words);
			described = value;
			described_at = first;
		}
		remove_object(first);
	}
	remove_object(type);
	remove_object(value);
	remove_object(its);
}

/*
 * True if this thread holds the GIL with the state that PyGILState_GetThisThreadState() returns,
 * and no exception is set; other interpreters are not queried.
 */
static bool can_call_python(void)
{
	void *own = session_is_on() && !thread_state.busy ? py.this_thread() : NULL;

	return own && own == py.holder() && !py.occurred();
}

static void record_handled_if_allowed(void *tb)
{
	int err = errno;

	thread_state.busy++;
	record_handled_exception(tb);
	thread_state.busy--;
	errno = err;
}

/* Handles event object.__getattr__ (object, name): code that formats an exception reads the frame of each traceback entry. */
static void handle_attribute_read(void *args)
{
	void *tb, *name;

	if (!args || get_object_type_word(args) != py.tuple || py.tuple_size(args) != 2)
		return;
	tb = py.tuple_item(args, 0);
	name = py.tuple_item(args, 1);
	if (get_object_type_word(tb) == py.traceback && get_object_type_word(name) == py.str &&
		py.same_text(name, "tb_frame") == 0 && can_call_python())
		record_handled_if_allowed(tb);
}

static int handle_audit_event(const char *event, void *args, void *data)
{
	(void)data;
	if (event[0] == 'o' && strcmp(event, "object.__getattr__") == 0) {
		handle_attribute_read(args);
	} else if (event[0] == 's' && strcmp(event, "sys.excepthook") == 0 && session_is_on() &&
		   !py.occurred()) {
		int err = errno;

		thread_state.busy++;
		record_uncaught(args);
		thread_state.busy--;
		errno = err;
	}
	return 0;
}

/* The exit code for SystemExit(...): nothing or None is 0, an integer is itself, anything else is printed and is 1. */
static int get_exit_code(void *args)
{
	void *first = args && get_object_type_word(args) == py.tuple && py.tuple_size(args) > 0
			      ? py.tuple_item(args, 0)
			      : py.none;
	long code;

	if (first == py.none || !first)
		return 0;
	if (!py.subtype(get_object_type_word(first), py.integer))
		return 1;
	code = py.as_long(first);
	if (code == -1 && py.occurred())
		py.clear();
	return (int)code & 0xff;
}

/* Replaces SystemExit's constructor. A program that exits because of an exception calls it while it handles that exception. */
static int init_system_exit(void *self, void *args, void *kwargs)
{
	if (can_call_python()) {
		record_handled_if_allowed(NULL);
		record_exit_requested(get_exit_code(args));
	}
	return real_init(self, args, kwargs);
}

/*
 * Hooks the constructor of SystemExit. No table of names refers to it: only the class stores its
 * address.
 */
static void set_system_exit_hook(void)
{
	char *class = *py.system_exit;
	const char *name = *(const char **)(class + TYPE_NAME);
	init_function **init = (init_function **)(class + TYPE_INIT);

	if (!name || strcmp(name, "SystemExit") != 0 || !*init ||
		*(void **)(class + TYPE_ALLOC) != py.generic_alloc)
		return; /* unknown layout */
	real_init = *init;
	*init = init_system_exit;
}

void start_uncaught_watch(void)
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
	if (py.add_hook(handle_audit_event, NULL) < 0)
		py.clear();
	set_system_exit_hook();
}
