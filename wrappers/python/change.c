/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/python/change.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "elf/loaded/elfsym.h"

#define EVAL_INPUT 258 /* Py_eval_input (Include/compile.h), unchanged since 3.0 */
#define TEXT_MAX 400

static struct {
	void (*keep)(void *), (*drop)(void *);
	int (*put)(void *, void *, void *);
	int (*take)(void *, void *);
	void *(*new_dict)(void);
	int (*put_named)(void *, const char *, void *);
	void *(*builtins)(void);
	void *(*run)(const char *, int, void *, void *);
	unsigned long (*thread)(void);
	int (*raise)(unsigned long, void *);
	void *(*occurred)(void);
	void (*clear)(void);
	void *none;
} py;

static _Atomic int found; /* 1: everything was found, 2: not */

bool py_can_change(void)
{
	static const struct {
		const char *name;
		void *to;
	} wanted[] = {{"Py_IncRef", &py.keep}, {"Py_DecRef", &py.drop}, {"PyDict_SetItem", &py.put},
		{"PyDict_DelItem", &py.take}, {"PyDict_New", &py.new_dict},
		{"PyDict_SetItemString", &py.put_named}, {"PyEval_GetBuiltins", &py.builtins},
		{"PyRun_String", &py.run}, {"PyThread_get_thread_ident", &py.thread},
		{"PyThreadState_SetAsyncExc", &py.raise}, {"PyErr_Occurred", &py.occurred},
		{"PyErr_Clear", &py.clear}};
	int f = atomic_load_explicit(&found, memory_order_acquire);

	if (f)
		return f == 1;
	f = 1;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct provider p[2];
		void *at =
			elfsym_find_all(wanted[i].name, p, 2) > 0 && !p[0].ifunc ? p[0].addr : NULL;

		memcpy(wanted[i].to, &at, sizeof(at));
		f = at ? f : 2;
	}
	py.none = elfsym_find_data("_Py_NoneStruct");
	f = py.none ? f : 2;
	atomic_store_explicit(&found, f, memory_order_release);
	return f == 1;
}

void py_add_reference(void *o)
{
	py.keep(o);
}

void py_remove_reference(void *o)
{
	py.drop(o);
}

bool py_is_none(const void *o)
{
	return o == py.none;
}

static bool handle_failure(int err)
{
	if (err && py.occurred())
		py.clear();
	return !err;
}

bool py_set_entry(void *dict, void *key, void *value)
{
	return handle_failure(py.put(dict, key, value));
}

bool py_remove_entry(void *dict, void *key)
{
	return handle_failure(py.take(dict, key));
}

/*
 * Raises ValueError from outside CPython: the exception must be given as a class, which CPython
 * instantiates without arguments. So a class derived from ValueError, with the same name, is made
 * that contains the text.
 */
bool py_set_value_error(const char *text)
{
	char code[TEXT_MAX + 200];
	void *globals, *class = NULL;
	int n;

	if (!py_can_change() || strpbrk(text, "\"\\\n") || strlen(text) > TEXT_MAX || py.occurred())
		return false;
	snprintf(code, sizeof(code),
		"type('ValueError', (ValueError,), {'__module__': 'builtins', '__init__': "
		"lambda self: ValueError.__init__(self, \"%s\")})",
		text);
	globals = py.new_dict();
	if (globals && !py.put_named(globals, "__builtins__", py.builtins()))
		class = py.run(code, EVAL_INPUT, globals, globals);
	n = class ? py.raise(py.thread(), class) : 0;
	if (py.occurred())
		py.clear();
	if (class)
		py.drop(class);
	if (globals)
		py.drop(globals);
	return n == 1;
}
