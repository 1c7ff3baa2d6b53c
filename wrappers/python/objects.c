/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/python/objects.h"

#include <stdatomic.h>
#include <string.h>

#include "elf/loaded/elfsym.h"
#include "elf/memory.h"
#include "wrappers/python/python_walk.h"

/* Bits of tp_flags (Include/object.h), the same since 3.0. */
#define FLAG_INLINE_VALUES (1ul << 2) /* 3.13 */
#define FLAG_MANAGED_DICT (1ul << 4) /* 3.11 */
#define FLAG_HEAPTYPE (1ul << 9)
#define FLAG_LIST (1ul << 25)
#define FLAG_TUPLE (1ul << 26)
#define FLAG_DICT (1ul << 29)
#define FLAG_EXCEPTION (1ul << 30)
#define FLAG_TYPE (1ul << 31)

#define SLOT_TRAVERSE 71 /* Py_tp_traverse */

#define TYPE_AT 8 /* PyObject: ob_type */
#define NAME_AT 24 /* PyTypeObject: tp_name */
#define DICT_WORD (-3) /* words before the object: dictionary */
#define VALUES_WORD (-4)

typedef int visit_fn(void *o, void *arg);

static struct {
	struct py py;
	int (*ensure)(void);
	void (*release)(int);
	int (*finalizing)(void);
	void *(*interpreter)(void *tstate);
	void *(*main_interpreter)(void);
	void *(*exception)(void);
	void (*forget_exception)(void);
	int (*dict_next)(const void *, long *, void **, void **);
	int (*is_subtype)(const void *, const void *);
	unsigned long (*flags)(const void *);
	void *(*slot)(const void *, int);
	long (*list_size)(const void *);
	void *(*list_item)(const void *, long);
	long (*tuple_size)(const void *);
	void *(*tuple_item)(const void *, long);
	double (*as_double)(const void *);
	long long (*as_long)(const void *, int *);
	void *(*modules)(void);
	void *(*module_dict)(const void *);
	void *(*look_up)(const void *type, void *name);
	void *(*generic)(const void *, void *name, void *dict, int suppress);
	void **(*dict_place)(const void *);
	void *(*new_text)(const char *);
	void (*drop)(void *);
	void *(*cell_get)(const void *);
	void *(*method_self)(const void *);
	void (*visit_gc)(int (*)(void *, void *), void *);
	/* 0: not exported */
	uintptr_t float_type, long_type, bool_type, module_type, cell_type, method_type,
		member_type;
} api;

enum { UNKNOWN_OBJECTS, READABLE_OBJECTS, REFUSED_OBJECTS };
static _Atomic int objects_state; /* written under the GIL */
static const char *_Atomic refused_why;

/* ---- finding the interpreter ---- */

static void *find_object_function(const char *name)
{
	struct provider p[2];

	return elfsym_find_all(name, p, 2) > 0 && !p[0].ifunc ? p[0].addr : NULL;
}

#define NEED(member, name)                                                                \
	do {                                                                              \
		*(void **)&api.member = find_object_function(name);                       \
		if (!api.member)                                                          \
			return "this Python does not export the required function " name; \
	} while (0)
#define NEED_TYPE(member, name)                                                           \
	do {                                                                              \
		api.member = (uintptr_t)elfsym_find_data(name);                           \
		if (!api.member)                                                          \
			return "this Python does not export the required function " name; \
	} while (0)

/* Returns NULL if everything was found, otherwise the reason. */
static const char *find_object_functions(void)
{
	const char *(*version)(void) = (const char *(*)(void))find_object_function("Py_GetVersion");

	if (!version)
		return "no Python is exported";
	api.py.l = py_find_layout(version());
	if (strstr(version(), "free-threading"))
		return "a free-threaded Python";
	if (!api.py.l)
		return "this version of Python is not known";
	NEED(ensure, "PyGILState_Ensure");
	NEED(release, "PyGILState_Release");
	NEED(py.api.this_thread, "PyGILState_GetThisThreadState");
	NEED(py.api.is_initialized, "Py_IsInitialized");
	NEED(py.api.line, "PyCode_Addr2Line");
	NEED(main_interpreter, "PyInterpreterState_Main");
	*(void **)&api.interpreter = find_object_function("PyThreadState_GetInterpreter"); /* 3.9 */
	*(void **)&api.finalizing = find_object_function("Py_IsFinalizing"); /* 3.13 */
	if (!api.finalizing)
		NEED(finalizing, "_Py_IsFinalizing");
	NEED(exception, "PyErr_Occurred");
	NEED(forget_exception, "PyErr_Clear");
	NEED(dict_next, "PyDict_Next");
	NEED(is_subtype, "PyType_IsSubtype");
	NEED(flags, "PyType_GetFlags");
	NEED(slot, "PyType_GetSlot");
	NEED(list_size, "PyList_Size");
	NEED(list_item, "PyList_GetItem");
	NEED(tuple_size, "PyTuple_Size");
	NEED(tuple_item, "PyTuple_GetItem");
	NEED(as_double, "PyFloat_AsDouble");
	NEED(as_long, "PyLong_AsLongLongAndOverflow");
	NEED(modules, "PyImport_GetModuleDict");
	NEED(module_dict, "PyModule_GetDict");
	NEED(look_up, "_PyType_Lookup");
	NEED(generic, "_PyObject_GenericGetAttrWithDict");
	NEED(dict_place, "_PyObject_GetDictPtr");
	NEED(new_text, "PyUnicode_FromString");
	NEED(drop, "Py_DecRef");
	NEED(cell_get, "PyCell_Get");
	NEED(method_self, "PyMethod_Self");
	NEED_TYPE(py.api.code_type, "PyCode_Type");
	NEED_TYPE(py.api.str_type, "PyUnicode_Type");
	NEED_TYPE(float_type, "PyFloat_Type");
	NEED_TYPE(long_type, "PyLong_Type");
	NEED_TYPE(bool_type, "PyBool_Type");
	NEED_TYPE(module_type, "PyModule_Type");
	NEED_TYPE(cell_type, "PyCell_Type");
	NEED_TYPE(method_type, "PyMethod_Type");
	api.member_type = (uintptr_t)elfsym_find_data("PyMemberDescr_Type");
	*(void **)&api.visit_gc = find_object_function("PyUnstable_GC_VisitObjects"); /* 3.12 */
	return NULL;
}

/* ---- kinds ---- */

const void *py_get_class(const void *o)
{
	return *(const void *const *)((const char *)o + TYPE_AT);
}

static unsigned long get_object_flags(const void *o)
{
	return api.flags(py_get_class(o));
}

bool py_is_list(const void *o)
{
	return get_object_flags(o) & FLAG_LIST;
}

bool py_is_tuple(const void *o)
{
	return get_object_flags(o) & FLAG_TUPLE;
}

bool py_is_dict(const void *o)
{
	return get_object_flags(o) & FLAG_DICT;
}

bool py_is_type(const void *o)
{
	return get_object_flags(o) & FLAG_TYPE;
}

bool py_is_str(const void *o)
{
	return (uintptr_t)py_get_class(o) == api.py.api.str_type;
}

bool py_is_instance(const void *o, const void *type)
{
	return type && api.is_subtype(py_get_class(o), type);
}

const char *py_get_class_name(const void *o)
{
	const char *name = *(const char *const *)((const char *)py_get_class(o) + NAME_AT);
	const char *dot = name ? strrchr(name, '.') : NULL;

	return !name ? "" : dot ? dot + 1 : name;
}

/* ---- contents ---- */

size_t py_get_item_count(const void *o)
{
	long n = py_is_list(o) ? api.list_size(o) : py_is_tuple(o) ? api.tuple_size(o) : 0;

	return n > 0 ? (size_t)n : 0;
}

void *py_get_item(const void *o, size_t i)
{
	if (i >= py_get_item_count(o))
		return NULL;
	return py_is_list(o) ? api.list_item(o, (long)i) : api.tuple_item(o, (long)i);
}

bool py_get_next_entry(const void *dict, size_t *at, void **key, void **value)
{
	long pos = (long)*at;
	bool more = api.dict_next(dict, &pos, key, value);

	*at = (size_t)pos;
	return more;
}

bool py_get_text(const void *o, char *out, size_t cap)
{
	return py_copy_text(&api.py, (uintptr_t)o, out, cap);
}

/* Only for ASCII texts, such as libprobe's own names. */
bool py_has_text(const void *o, const char *text)
{
	size_t n = strlen(text);
	uintptr_t s = (uintptr_t)o;

	if (!py_is_str(o) || *(const size_t *)(s + 16) != n)
		return false;

	uint8_t state = *(const uint8_t *)(s + 32);

	/* Compact and ASCII. */
	return (state >> 5 & 3) == 3 &&
	       memcmp((const char *)s + api.py.l->ascii_data, text, n) == 0;
}

void *py_find_entry(const void *dict, const char *key)
{
	size_t at = 0;
	void *k, *v;

	while (py_get_next_entry(dict, &at, &k, &v))
		if (py_has_text(k, key))
			return v;
	return NULL;
}

bool py_get_number(const void *o, double *out)
{
	uintptr_t type = (uintptr_t)py_get_class(o);
	int overflow = 0;

	if (type == api.float_type) {
		*out = api.as_double(o);
		return true;
	}
	if (type != api.long_type && type != api.bool_type)
		return false;
	*out = (double)api.as_long(o, &overflow);
	return !overflow;
}

bool py_get_integer(const void *o, int64_t *out)
{
	uintptr_t type = (uintptr_t)py_get_class(o);
	int overflow = 0;

	if (type != api.long_type && type != api.bool_type)
		return false;
	*out = api.as_long(o, &overflow);
	return !overflow;
}

/*
 * The dictionary of o, if it has one now. *inside: the attributes are stored in the object
 * instead.
 */
static void *get_object_dict(const void *o, bool *inside)
{
	unsigned long flags = get_object_flags(o);
	const uintptr_t *words = o;
	void **place;
	uintptr_t w;

	*inside = false;
	if (!(flags & FLAG_MANAGED_DICT) || api.py.l->values == PY_VALUES_NONE) {
		place = api.dict_place(o);
		return place ? *place : NULL;
	}
	w = words[DICT_WORD];
	switch (api.py.l->values) {
	case PY_VALUES_BESIDE:
		*inside = words[VALUES_WORD] != 0;
		break;
	case PY_VALUES_TAGGED:
		*inside = w & 1;
		break;
	default:
		*inside = !w && flags & FLAG_INLINE_VALUES;
		break;
	}
	return *inside ? NULL : (void *)w;
}

/* PyMemberDescrObject and PyMemberDef (Include/descrobject.h), the same since 3.0. */
#define DESCRIPTOR_MEMBER 40
#define MEMBER_TYPE 8
#define MEMBER_OFFSET 16
#define MEMBER_OBJECT_EX 16 /* T_OBJECT_EX: the type of members made by __slots__ */

/*
 * The value of attribute `name` of a class with __slots__, whose descriptor gives its offset in
 * the object. NULL if it is no such attribute.
 */
static void *read_slot_value(const void *o, const char *name)
{
	void *text = api.member_type ? api.new_text(name) : NULL;
	const char *descriptor = text ? api.look_up(py_get_class(o), text) : NULL, *member;
	long at;

	if (text)
		api.drop(text);
	if (!descriptor || (uintptr_t)py_get_class(descriptor) != api.member_type)
		return NULL;
	member = *(const char *const *)(descriptor + DESCRIPTOR_MEMBER);
	if (!member || *(const int *)(member + MEMBER_TYPE) != MEMBER_OBJECT_EX)
		return NULL;
	at = *(const long *)(member + MEMBER_OFFSET);
	return at > 0 ? *(void *const *)((const char *)o + at) : NULL;
}

void *py_get_attribute(const void *o, const char *name)
{
	bool inside;
	void *dict = get_object_dict(o, &inside), *text, *value;

	if (dict) {
		value = py_is_dict(dict) ? py_find_entry(dict, name) : NULL;
		return value ? value : read_slot_value(o, name);
	}
	if (!inside)
		return read_slot_value(o, name);
	/* Keys are exact str, so the look-up calls no comparison of the program. */
	text = api.new_text(name);
	if (!text)
		return NULL;
	if (api.look_up(py_get_class(o), text)) {
		api.drop(text);
		return read_slot_value(o, name);
	}
	value = api.generic(o, text, NULL, 1);
	api.drop(text);
	/*
	 * The object also holds a reference to the value, and no other code runs before this
	 * search ends.
	 */
	if (value)
		api.drop(value);
	return value;
}

void *py_find_global(const char *module, const char *name)
{
	void *modules = api.modules(), *m, *dict;

	m = modules && py_is_dict(modules) ? py_find_entry(modules, module) : NULL;
	if (!m || !api.is_subtype(py_get_class(m), (const void *)api.module_type))
		return NULL;
	dict = api.module_dict(m);
	return dict ? py_find_entry(dict, name) : NULL;
}

/* ---- frames ---- */

int py_get_frames(struct py_frame *f, int max)
{
	uintptr_t at[PY_FRAMES_MAX];
	int n = py_read_frames(&api.py, (uintptr_t)api.py.api.this_thread(), at,
		max < PY_FRAMES_MAX ? max : PY_FRAMES_MAX);

	for (int i = 0; i < n; i++)
		f[i].at = at[i];
	return n;
}

static uintptr_t read_code_word(const struct py_frame *f, unsigned at)
{
	return *(const uintptr_t *)(py_get_frame_code(&api.py, f->at) + at);
}

static unsigned read_code_number(const struct py_frame *f, unsigned at)
{
	int32_t n = *(const int32_t *)(py_get_frame_code(&api.py, f->at) + at);

	return n > 0 ? (unsigned)n : 0;
}

bool py_get_frame_name(
	const struct py_frame *f, char *file, size_t nfile, char *function, size_t nfunction)
{
	return py_copy_text(&api.py, read_code_word(f, api.py.l->file), file, nfile) &&
	       py_copy_text(&api.py, read_code_word(f, api.py.l->name), function, nfunction);
}

unsigned py_get_local_count(const struct py_frame *f)
{
	const struct py_layout *l = api.py.l;
	unsigned n = read_code_number(f, l->nlocals);

	if (l->cellvars)
		n += (unsigned)(py_get_item_count((void *)read_code_word(f, l->cellvars)) +
				py_get_item_count((void *)read_code_word(f, l->freevars)));
	return n;
}

static void *find_local_name(const struct py_frame *f, unsigned i)
{
	const struct py_layout *l = api.py.l;
	void *names = (void *)read_code_word(f, l->varnames);
	size_t n = py_get_item_count(names);

	if (i < n)
		return py_get_item(names, i);
	if (!l->cellvars)
		return NULL;
	i -= (unsigned)n;
	names = (void *)read_code_word(f, l->cellvars);
	n = py_get_item_count(names);
	return i < n ? py_get_item(names, i)
		     : py_get_item((void *)read_code_word(f, l->freevars), i - n);
}

/*
 * Address of the object in variable i; 0 if the variable has no value, or a value that is not an
 * object.
 */
static uintptr_t read_local_object(const struct py_frame *f, unsigned i)
{
	return py_referred_object(((const uintptr_t *)(f->at + api.py.l->locals))[i]);
}

bool py_get_local(const struct py_frame *f, unsigned i, void **name, void **value)
{
	uintptr_t v = read_local_object(f, i);

	if (!v)
		return false;
	if (*(const uintptr_t *)(v + TYPE_AT) == api.cell_type) {
		void *in = api.cell_get((void *)v);

		if (!in)
			return false;
		api.drop(in);
		v = (uintptr_t)in;
	}
	*name = find_local_name(f, i);
	*value = (void *)v;
	return *name != NULL;
}

void *py_find_local(const struct py_frame *f, const char *name)
{
	void *n, *v;

	for (unsigned i = 0, count = py_get_local_count(f); i < count; i++)
		if (py_get_local(f, i, &n, &v) && py_has_text(n, name))
			return v;
	return NULL;
}

void *py_get_globals(const struct py_frame *f)
{
	return *(void *const *)(f->at + api.py.l->globals);
}

/* True if address o seems to hold an object. */
static bool is_plausible_object(uintptr_t o)
{
	uintptr_t type, meta;

	if (!o || o & 7 || !is_memory_readable(o) || !is_memory_readable(o + TYPE_AT))
		return false;
	type = *(const uintptr_t *)(o + TYPE_AT);
	if (!type || type & 7 || !is_memory_readable(type + TYPE_AT))
		return false;
	meta = *(const uintptr_t *)(type + TYPE_AT);
	return meta && !(meta & 7) && is_memory_readable(meta + TYPE_AT) &&
	       is_memory_readable(meta + NAME_AT);
}

/* Verifies that frames and their variables match the layout: the kernel first tests each address. */
static const char *check_locals(void)
{
	struct py_frame f[16];
	int n = py_get_frames(f, 16);
	const struct py_layout *l = api.py.l;

	for (int i = 0; i < n; i++) {
		uintptr_t names = read_code_word(&f[i], l->varnames);

		if (!is_plausible_object(names) || !py_is_tuple((void *)names) ||
			py_get_item_count((void *)names) != read_code_number(&f[i], l->nlocals))
			return "names of a frame's variables are at another offset";
		for (unsigned k = 0; k < read_code_number(&f[i], l->nlocals); k++) {
			uintptr_t v = read_local_object(&f[i], k);

			if (v && !is_plausible_object(v))
				return "a frame's variables are at another offset";
		}
	}
	return NULL;
}

/* ---- the GIL ---- */

bool py_lock_objects(struct py_object_lock *h, const char **why)
{
	int state = atomic_load_explicit(&objects_state, memory_order_acquire);
	void *tstate;

	*why = NULL;
	if (state == UNKNOWN_OBJECTS) {
		/* Several threads may search at once; all find the same. */
		*why = find_object_functions();
		if (*why) {
			atomic_store(&refused_why, *why);
			atomic_store(&objects_state, REFUSED_OBJECTS);
			return false;
		}
	}
	if (state == REFUSED_OBJECTS) {
		*why = atomic_load(&refused_why);
		return false;
	}
	if (!api.py.api.is_initialized() || api.finalizing())
		return false;
	tstate = api.py.api.this_thread();
	if (!tstate)
		return false;
	if (api.interpreter && api.interpreter(tstate) != api.main_interpreter()) {
		*why = "a sub-interpreter";
		return false;
	}
	h->state = api.ensure();
	if (api.exception()) {
		api.release(h->state);
		return false;
	}
	if (state == UNKNOWN_OBJECTS) {
		*why = check_locals();
		atomic_store(&refused_why, *why);
		atomic_store(&objects_state, *why ? REFUSED_OBJECTS : READABLE_OBJECTS);
		if (*why) {
			py_unlock_objects(h);
			return false;
		}
	}
	return true;
}

void py_unlock_objects(struct py_object_lock *h)
{
	/* Functions called here raise no exception; if one does, the program must not see it. */
	if (api.exception())
		api.forget_exception();
	api.release(h->state);
}

/* ---- references between objects ---- */

struct visit {
	py_visit_fn *fn;
	void *arg;
	bool ended;
};

static int handle_one_referent(void *o, void *arg)
{
	struct visit *v = arg;

	if (!v->ended && o)
		v->ended = !v->fn(v->arg, o);
	return v->ended;
}

void py_handle_referents(void *o, py_visit_fn *visit, void *arg)
{
	struct visit v = {visit, arg, false};
	uintptr_t type = (uintptr_t)py_get_class(o);
	unsigned long flags = get_object_flags(o);
	int (*traverse)(void *, visit_fn *, void *);

	if (type == api.method_type) {
		handle_one_referent(api.method_self(o), &v);
		return;
	}
	if (type == api.cell_type) {
		void *in = api.cell_get(o);

		if (in)
			api.drop(in);
		handle_one_referent(in, &v);
		return;
	}
	if (!(flags & FLAG_HEAPTYPE) || flags & (FLAG_TYPE | FLAG_EXCEPTION))
		return;
	*(void **)&traverse = api.slot((void *)type, SLOT_TRAVERSE);
	if (traverse)
		traverse(o, handle_one_referent, &v);
}

/* ---- the collector's lists ---- */

#define GENERATION_BYTES 24 /* head (two words), threshold, count */
#define PERMANENT_AT 80 /* from the first generation: the list of gc.freeze() */
#define HEAD_BYTES 16 /* before each object */
#define OBJECTS_SANE 200000000u

static void handle_gc_list(uintptr_t head, struct visit *v)
{
	uint32_t n = 0;

	/* The low bits of a link are the collector's own. */
	for (uintptr_t at = *(const uintptr_t *)head & ~(uintptr_t)3;
		at && at != head && !v->ended && n < OBJECTS_SANE;
		at = *(const uintptr_t *)at & ~(uintptr_t)3, n++)
		handle_one_referent((void *)(at + HEAD_BYTES), v);
}

static int handle_collected(void *o, void *arg)
{
	return !handle_one_referent(o, arg);
}

/* True if a list begins at `head`: its neighbours must point back. */
static bool is_list_head(uintptr_t head)
{
	uintptr_t next, prev;

	if (!is_memory_readable(head) || !is_memory_readable(head + 8))
		return false;
	next = *(const uintptr_t *)head & ~(uintptr_t)3;
	prev = *(const uintptr_t *)(head + 8) & ~(uintptr_t)3;
	return next && prev && is_memory_readable(next + 8) && is_memory_readable(prev) &&
	       (*(const uintptr_t *)(next + 8) & ~(uintptr_t)3) == head &&
	       (*(const uintptr_t *)prev & ~(uintptr_t)3) == head;
}

bool py_handle_collected(py_visit_fn *visit, void *arg)
{
	struct visit v = {visit, arg, false};
	uintptr_t first;

	if (api.visit_gc) {
		api.visit_gc(handle_collected, &v);
		return true;
	}
	if (!api.py.l->collector)
		return false;
	first = (uintptr_t)api.main_interpreter() + api.py.l->collector + 24;
	for (unsigned i = 0; i < 4; i++)
		if (!is_list_head(i < 3 ? first + GENERATION_BYTES * i : first + PERMANENT_AT))
			return false;
	for (unsigned i = 0; i < 4; i++)
		handle_gc_list(i < 3 ? first + GENERATION_BYTES * i : first + PERMANENT_AT, &v);
	return true;
}
