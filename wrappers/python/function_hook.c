/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets used: PyObject (reference count, type), PyTypeObject (the same from 3.8 to 3.15: cpython/object.h), tuple and
 * list. A function's type gives the offset of its vectorcall (tp_vectorcall_offset).
 */
#include "wrappers/python/function_hook.h"

#include <stdatomic.h>
#include <string.h>

#include "base/thread.h"
#include "elf/loaded/elfsym.h"

#define AT(o, offset, type) (*(type *)((char *)(uintptr_t)(o) + (offset)))
#define TYPE_OF(o) AT(o, 8, py_object *)
#define TYPE_BASIC_SIZE 32
#define TYPE_VECTORCALL 56
#define TYPE_DICT 264

/* CPython's own functions, looked up once; NULL if a version lacks one. */
static struct {
	int (*initialized)(void);
	int (*finalizing)(void), (*now_finalizing)(void);
	void *(*this_thread)(void);
	int (*ensure)(void);
	void (*release)(int);
	int (*check)(void);
	void *(*interpreter)(void), *(*main_interpreter)(void); /* 3.9 */
	const char *(*version)(void);
	py_object *(*module_dict)(void);
	py_object *(*dict_of_module)(py_object *);
	int (*dict_next)(py_object *, intptr_t *, py_object **, py_object **);
	int (*same_text)(py_object *, const char *);
	const char *(*utf8)(py_object *, size_t *);
	int (*subtype)(py_object *, py_object *);
	py_object *(*occurred)(void);
	void (*clear)(void);
	py_object **(*dict_at)(py_object *);
	py_object *(*alloc)(py_object *, intptr_t);
	py_object *(*call)(py_object *, py_object *);
	void (*keep)(py_object *), (*drop)(py_object *);
	int (*gc_disable)(void), (*gc_enable)(void); /* 3.10 */
	void (*set_vectorcall)(py_object *, py_vectorcall_fn *); /* 3.12 */
	py_vectorcall_fn *plain_vectorcall;
	py_object *(*attribute)(py_object *, const char *);
	long (*as_long)(py_object *);
	py_object *static_method, *class_method;
	py_object *str, *dict, *type, *module, *function, *tuple, *list, *True, *False, *None;
} py;

static atomic_int found; /* 1: everything was found, 2: not */

static void *exported_function(const char *name)
{
	struct provider p[2];

	return elfsym_find_all(name, p, 2) > 0 && !p[0].ifunc ? p[0].addr : NULL;
}

static const struct {
	const char *name;
	void *to;
	bool data, optional;
} wanted[] = {
	{"Py_IsInitialized", &py.initialized, false, false},
	{"_Py_IsFinalizing", &py.finalizing, false, true}, /* name before 3.13 */
	{"Py_IsFinalizing", &py.now_finalizing, false, true},
	{"PyGILState_GetThisThreadState", &py.this_thread, false, false},
	{"PyGILState_Ensure", &py.ensure, false, false},
	{"PyGILState_Release", &py.release, false, false},
	{"PyGILState_Check", &py.check, false, false},
	{"PyInterpreterState_Get", &py.interpreter, false, true},
	{"PyInterpreterState_Main", &py.main_interpreter, false, true},
	{"Py_GetVersion", &py.version, false, false},
	{"PyImport_GetModuleDict", &py.module_dict, false, false},
	{"PyModule_GetDict", &py.dict_of_module, false, false},
	{"PyDict_Next", &py.dict_next, false, false},
	{"PyUnicode_CompareWithASCIIString", &py.same_text, false, false},
	{"PyUnicode_AsUTF8AndSize", &py.utf8, false, false},
	{"PyType_IsSubtype", &py.subtype, false, false},
	{"PyErr_Occurred", &py.occurred, false, false},
	{"PyErr_Clear", &py.clear, false, false},
	{"_PyObject_GetDictPtr", &py.dict_at, false, false},
	{"PyType_GenericAlloc", &py.alloc, false, false},
	{"PyObject_CallObject", &py.call, false, false},
	{"Py_IncRef", &py.keep, false, false},
	{"Py_DecRef", &py.drop, false, false},
	{"PyGC_Disable", &py.gc_disable, false, true},
	{"PyGC_Enable", &py.gc_enable, false, true},
	{"PyFunction_SetVectorcall", &py.set_vectorcall, false, true},
	{"_PyFunction_Vectorcall", &py.plain_vectorcall, false, true}, /* before 3.13 */
	{"PyObject_GetAttrString", &py.attribute, false, false},
	{"PyLong_AsLong", &py.as_long, false, false},
	{"PyStaticMethod_Type", &py.static_method, true, true},
	{"PyClassMethod_Type", &py.class_method, true, true},
	{"PyUnicode_Type", &py.str, true, false},
	{"PyDict_Type", &py.dict, true, false},
	{"PyType_Type", &py.type, true, false},
	{"PyModule_Type", &py.module, true, false},
	{"PyFunction_Type", &py.function, true, false},
	{"PyTuple_Type", &py.tuple, true, false},
	{"PyList_Type", &py.list, true, false},
	{"_Py_TrueStruct", &py.True, true, false},
	{"_Py_FalseStruct", &py.False, true, false},
	{"_Py_NoneStruct", &py.None, true, false},
};

static bool find_interpreter(void)
{
	int f = atomic_load_explicit(&found, memory_order_acquire);

	if (f)
		return f == 1;
	f = 1;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		void *a = wanted[i].data ? elfsym_find_data(wanted[i].name)
					 : exported_function(wanted[i].name);

		/* Two threads that come here at once store the same values. */
		memcpy(wanted[i].to, &a, sizeof(a));
		if (!a && !wanted[i].optional)
			f = 2;
	}
	if (f == 1 &&
		(strncmp(py.version(), "3.", 2) != 0 || strstr(py.version(), "free-threading")))
		f = 2;
	atomic_store_explicit(&found, f, memory_order_release);
	return f == 1;
}

static bool is_finalizing(void)
{
	return py.now_finalizing ? py.now_finalizing() : py.finalizing && py.finalizing();
}

bool py_lock_gil(int *state, const char **why)
{
	*why = NULL;
	if (!find_interpreter()) {
		*why = py.version && strstr(py.version(), "free-threading")
			       ? "a free-threaded Python"
			       : "this Python does not export the required functions";
		return false;
	}
	if (!py.initialized() || is_finalizing() || !py.this_thread())
		return false;
	*state = py.ensure();
	if (!py.interpreter || !py.main_interpreter || py.interpreter() == py.main_interpreter())
		return true;
	py.release(*state);
	return false;
}

void py_unlock_gil(int state)
{
	py.release(state);
}

/* ---- objects ---- */

static py_object *find_in_dict(py_object *dict, const char *name)
{
	py_object *key, *value;
	intptr_t at = 0;

	while (py_get_next_of_dict(dict, &at, &key, &value))
		if (TYPE_OF(key) == py.str && py.same_text(key, name) == 0)
			return value;
	return NULL;
}

bool py_get_next_of_dict(py_object *o, intptr_t *pos, py_object **key, py_object **value)
{
	return o && py_is_kind_of(o, py.dict) && py.dict_next(o, pos, key, value);
}

py_object *py_get_own_attribute(py_object *o, const char *name)
{
	py_object **dict = py.dict_at(o);

	return dict ? find_in_dict(*dict, name) : NULL;
}

bool py_is_true(const py_object *o)
{
	return o && o == py.True;
}

bool py_is_false(const py_object *o)
{
	return o && o == py.False;
}

bool py_get_sequence(py_object *o, py_object *const **at, size_t *n)
{
	if (!o || (TYPE_OF(o) != py.tuple && TYPE_OF(o) != py.list))
		return false;
	*n = AT(o, 16, size_t);
	/* A tuple's items are at its end: its type gives their offset. Since 3.14 its hash precedes them. */
	*at = TYPE_OF(o) == py.tuple ? &AT(o, AT(py.tuple, TYPE_BASIC_SIZE, size_t), py_object *)
				     : AT(o, 24, py_object **);
	return true;
}

const char *py_get_ascii(py_object *o)
{
	size_t n;
	const char *s = o && TYPE_OF(o) == py.str ? py.utf8(o, &n) : NULL;

	/* Lone surrogates have no UTF-8 form. */
	if (!s && o && py.occurred())
		py.clear();
	return s && strlen(s) == n ? s : NULL;
}

bool py_is_kind_of(const py_object *o, const py_object *type)
{
	return TYPE_OF(o) == type || py.subtype(TYPE_OF(o), (py_object *)(uintptr_t)type);
}

/* ---- the function ---- */

static THREAD_OWN struct {
	py_object *self; /* of the trial call in progress on this thread */
	bool arrived;
} trial;

bool py_handle_trial_call(
	py_object *callable, py_object *const *args, size_t nargsf, py_object **result)
{
	(void)callable;
	if (__builtin_expect(!own(trial).self, 1))
		return false;
	if (py_get_nargs(nargsf) != 1 || args[0] != own(trial).self)
		return false;
	own(trial).arrived = true;
	py.keep(py.None);
	*result = py.None;
	return true;
}

static void set_vectorcall_pointer(py_object *function, size_t at, py_vectorcall_fn *f)
{
	/*
	 * If the interpreter has PyFunction_SetVectorcall(), use it: it also invalidates code
	 * specialised for this function.
	 */
	if (py.set_vectorcall)
		py.set_vectorcall(function, f);
	else
		AT(function, at, py_vectorcall_fn *) = f;
}

/*
 * Makes an object of the class without __init__, and calls it: the interpreter finds `__call__` in the class and calls it from
 * C. No code of the program runs: the class has no finalizer, and the collector does not run.
 */
static bool check_trial_call(py_object *class)
{
	py_object *o, *r;
	int rested;

	if (!py.gc_disable || !py.gc_enable)
		return false;
	rested = py.gc_disable();
	o = py.alloc(class, 0);
	if (o) {
		own(trial).self = o;
		own(trial).arrived = false;
		r = py.call(o, NULL);
		own(trial).self = NULL;
		if (r)
			py.drop(r);
		py.drop(o);
	}
	if (py.occurred())
		py.clear();
	if (rested)
		py.gc_enable();
	return o && own(trial).arrived;
}

bool py_is_held(void)
{
	return find_interpreter() && py.initialized() && py.this_thread() && py.check();
}

bool py_has_module(const char *name)
{
	return find_in_dict(py.module_dict(), name);
}

/*
 * The C function that runs a plain Python function: exported up to 3.12; for later versions it is read from functions that only
 * CPython itself uses. Several must agree on it.
 */
#define ALIKE_FUNCTIONS 4

static py_vectorcall_fn *find_usual_vectorcall(size_t at)
{
	py_object *m = find_in_dict(py.module_dict(), "_frozen_importlib"), *key, *value;
	py_vectorcall_fn *plain_vectorcall = NULL;
	intptr_t pos = 0;
	int alike = 0;

	if (py.plain_vectorcall)
		return py.plain_vectorcall;
	if (!m || TYPE_OF(m) != py.module)
		return NULL;
	while (alike < ALIKE_FUNCTIONS &&
		py_get_next_of_dict(py.dict_of_module(m), &pos, &key, &value)) {
		if (TYPE_OF(value) != py.function)
			continue;
		if (plain_vectorcall && AT(value, at, py_vectorcall_fn *) != plain_vectorcall)
			return NULL;
		plain_vectorcall = AT(value, at, py_vectorcall_fn *);
		alike++;
	}
	return alike == ALIKE_FUNCTIONS ? plain_vectorcall : NULL;
}

const char *py_set_call_hook(const char *module, const char *class_name,
	py_vectorcall_fn *replacement, py_vectorcall_fn *_Atomic *old)
{
	py_object *m = find_in_dict(py.module_dict(), module), *class, *f;
	py_vectorcall_fn *plain_vectorcall;
	size_t at = AT(py.function, TYPE_VECTORCALL, size_t);

	if (py.occurred())
		return "an exception is being raised";
	if (!m || TYPE_OF(m) != py.module)
		return "the module is not loaded";
	class = find_in_dict(py.dict_of_module(m), class_name);
	if (!class || TYPE_OF(class) != py.type)
		return "the module has no such class";
	f = find_in_dict(AT(class, TYPE_DICT, py_object *), "__call__");
	if (!f || TYPE_OF(f) != py.function)
		return "__call__ of the class is not a Python function";
	if (at < 24 || at % 8 || at + 8 > AT(py.function, TYPE_BASIC_SIZE, size_t))
		return "the function has an unknown vectorcall";
	plain_vectorcall = find_usual_vectorcall(at);
	if (!plain_vectorcall || AT(f, at, py_vectorcall_fn *) != plain_vectorcall)
		return "the function has an unknown vectorcall";
	atomic_store(old, plain_vectorcall);
	set_vectorcall_pointer(f, at, replacement);
	if (AT(f, at, py_vectorcall_fn *) == replacement && check_trial_call(class))
		return NULL;
	set_vectorcall_pointer(f, at, plain_vectorcall);
	return "the trial call did not reach the hook";
}

/* ---- a function by its name ---- */

#define METHOD_CALLABLE 16 /* of staticmethod and classmethod */
#define WRAPPED_MAX 8 /* nested decorators */
#define NAME_PART_MAX 128
#define DICT_USED 16

static py_object *find_in_namespace(py_object *owner, const char *name)
{
	if (TYPE_OF(owner) == py.module)
		return find_in_dict(py.dict_of_module(owner), name);
	return py_is_kind_of(owner, py.type) ? find_in_dict(AT(owner, TYPE_DICT, py_object *), name)
					     : NULL;
}

/* The plain Python function below the decorators of o; NULL if it is something else. */
static py_object *find_plain_function(py_object *o)
{
	if (o && (TYPE_OF(o) == py.static_method || TYPE_OF(o) == py.class_method))
		o = AT(o, METHOD_CALLABLE, py_object *);
	for (int i = 0; i < WRAPPED_MAX && o && TYPE_OF(o) == py.function; i++) {
		py_object *inner = py_get_own_attribute(o, "__wrapped__");

		if (!inner || TYPE_OF(inner) != py.function)
			return o;
		o = inner;
	}
	return o && TYPE_OF(o) == py.function ? o : NULL;
}

static py_object *find_by_path(py_object *owner, const char *name)
{
	char part[NAME_PART_MAX];

	while (owner) {
		size_t n = strcspn(name, ".");

		if (n >= sizeof(part))
			return NULL;
		memcpy(part, name, n);
		part[n] = 0;
		owner = find_in_namespace(owner, part);
		if (!name[n])
			return find_plain_function(owner);
		name += n + 1;
	}
	return NULL;
}

py_object *py_find_function(
	bool (*is_file)(const void *arg, const char *file), const void *arg, const char *name)
{
	py_object *key, *module, *function = NULL;
	intptr_t at = 0;

	while (!function && py_get_next_of_dict(py.module_dict(), &at, &key, &module)) {
		py_object *file;
		const char *path;
		size_t n;

		if (TYPE_OF(module) != py.module)
			continue;
		file = find_in_dict(py.dict_of_module(module), "__file__");
		path = file && TYPE_OF(file) == py.str ? py.utf8(file, &n) : NULL;
		if (path && is_file(arg, path))
			function = find_by_path(module, name);
	}
	if (py.occurred())
		py.clear();
	return function;
}

const char *py_set_function_hook(
	py_object *function, py_vectorcall_fn *replacement, py_vectorcall_fn *_Atomic *old)
{
	size_t at = AT(py.function, TYPE_VECTORCALL, size_t);
	py_vectorcall_fn *plain_vectorcall;

	if (at < 24 || at % 8 || at + 8 > AT(py.function, TYPE_BASIC_SIZE, size_t))
		return "functions have an unknown vectorcall";
	plain_vectorcall = find_usual_vectorcall(at);
	if (!plain_vectorcall || AT(function, at, py_vectorcall_fn *) != plain_vectorcall)
		return "the function has an unknown vectorcall";
	atomic_store(old, plain_vectorcall);
	py.keep(function);
	set_vectorcall_pointer(function, at, replacement);
	return NULL;
}

size_t py_get_module_count(void)
{
	return AT(py.module_dict(), DICT_USED, size_t);
}

bool py_has_direct_calls(void)
{
	return strncmp(py.version(), "3.11.", 5) == 0;
}

static long get_long_attribute(py_object *owner, const char *name)
{
	py_object *o = py.attribute(owner, name);
	long n = o ? py.as_long(o) : -1;

	if (o)
		py.drop(o);
	return n;
}

py_object *py_get_parameter_names(py_object *function, size_t *n)
{
	int rested = py.gc_disable ? py.gc_disable() : 0;
	py_object *code = py.attribute(function, "__code__");
	py_object *names = code ? py.attribute(code, "co_varnames") : NULL;
	long count = code ? get_long_attribute(code, "co_argcount") : -1;

	if (code)
		py.drop(code);
	if (py.occurred())
		py.clear();
	if (rested && py.gc_enable)
		py.gc_enable();
	*n = count > 0 ? (size_t)count : 0;
	return names;
}
