/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/stubs/ffi.h"

#include <errno.h>
#include <ffi.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/thread.h"
#include "call/call.h"
#include "call/wrapper.h"
#include "elf/memory.h"
#include "api/runtime_registry.h"

#if !FFI_GO_CLOSURES
#error "this libffi has no go closures"
#endif

/* The caller's state at the jump, written by ffi_enter.S and read immediately by the handler. */
struct ffi_caller {
	uintptr_t sp, fp; /* stack and frame pointer */
	uintptr_t pc; /* return address, if it is in a register (aarch64) */
};

__attribute__((visibility("hidden"))) extern __thread struct ffi_caller ffi_caller THREAD_TLS;
__thread struct ffi_caller ffi_caller;

/*
 * Stores the caller's state and jumps to the go closure whose address is in the context register.
 */
__attribute__((visibility("hidden"))) void ffi_enter(void);

struct entry {
	ffi_go_closure go; /* must be first: its address is the context */
	struct api *api;
	struct entry *next;
	struct made_row made;
	ffi_cif cif;
	ffi_type *type[API_ARGS_MAX];
};

/* ---- types ---- */

static ffi_type *ffi_scalar_type(uint8_t ctype)
{
	static ffi_type *const of[] = {
		[CT_VOID] = &ffi_type_void,
		[CT_I8] = &ffi_type_sint8,
		[CT_U8] = &ffi_type_uint8,
		[CT_I16] = &ffi_type_sint16,
		[CT_U16] = &ffi_type_uint16,
		[CT_I32] = &ffi_type_sint32,
		[CT_U32] = &ffi_type_uint32,
		[CT_I64] = &ffi_type_sint64,
		[CT_U64] = &ffi_type_uint64,
		[CT_F32] = &ffi_type_float,
		[CT_F64] = &ffi_type_double,
		[CT_P] = &ffi_type_pointer,
	};

	return ctype < CT_STRUCT ? of[ctype] : NULL;
}

/* Describes a large C++ object by its size; its content does not matter. */
static ffi_type *hidden_result(void)
{
	static ffi_type *members[] = {
		&ffi_type_pointer, &ffi_type_pointer, &ffi_type_pointer, NULL};
	static ffi_type type = {24, 8, FFI_TYPE_STRUCT, members};

	return &type;
}

/* Returns NULL if there is no memory, or a member is not supported. */
static ffi_type *ffi_struct_type(const struct api_struct *s)
{
	ffi_type *t = calloc(1, sizeof(*t) + (s->n + (size_t)1) * sizeof(ffi_type *));

	if (!t)
		return NULL;
	t->elements = (ffi_type **)(t + 1);
	for (unsigned i = 0; i < s->n; i++) {
		t->elements[i] = s->member[i] == CT_VOID ? NULL : ffi_scalar_type(s->member[i]);
		if (!t->elements[i]) {
			free(t);
			return NULL;
		}
	}
	t->type = FFI_TYPE_STRUCT;
	/*
	 * Size and alignment are set now, so that libffi does not compute them in a type that
	 * another thread may be using.
	 */
	t->size = s->size;
	t->alignment = s->align;
	return t;
}

static int type_of(ffi_type **out, uint8_t ctype, const struct api_struct *s)
{
	if (ctype != CT_STRUCT)
		*out = ffi_scalar_type(ctype);
	else
		*out = s && s->n ? ffi_struct_type(s) : NULL;
	if (*out)
		return 0;
	return ctype == CT_STRUCT && s && s->n ? -ENOMEM : -EINVAL;
}

static void type_free(ffi_type *t)
{
	if (t && t->type == FFI_TYPE_STRUCT && t != hidden_result())
		free(t);
}

/* ---- a call ---- */

static void pack_arguments(union arg *v, void **av, void **args, const struct api_spec *s)
{
	for (unsigned i = 0; i < s->nargs; i++) {
		av[i] = &v[i]; /* little-endian: the low bytes are the narrower integer */
		switch (s->args[i].ctype) {
		case CT_I8:
			v[i].i = *(const int8_t *)args[i];
			break;
		case CT_U8:
			v[i].u = *(const uint8_t *)args[i];
			break;
		case CT_I16:
			v[i].i = *(const int16_t *)args[i];
			break;
		case CT_U16:
			v[i].u = *(const uint16_t *)args[i];
			break;
		case CT_I32:
			v[i].i = *(const int32_t *)args[i];
			break;
		case CT_U32:
			v[i].u = *(const uint32_t *)args[i];
			break;
		case CT_F32:
			v[i].d = (double)*(const float *)args[i];
			/* copied bit for bit, so that a signalling NaN stays one */
			av[i] = args[i];
			break;
		case CT_STRUCT:
			v[i].p = args[i];
			av[i] = args[i];
			break;
		default:
			memcpy(&v[i], args[i], sizeof(v[i]));
		}
	}
}

/* libffi returns integers narrower than a register as a whole register. */
static int64_t returned_value(const struct api_spec *s, const void *ret)
{
	int64_t v;

	if (!s->ffi->code)
		return s->lib->nsuccess ? s->lib->success[0] : 0;
	memcpy(&v, ret, sizeof(v));
	switch (s->ffi->ret) {
	case CT_I8:
		return (int8_t)v;
	case CT_U8:
		return (uint8_t)v;
	case CT_I16:
		return (int16_t)v;
	case CT_U16:
		return (uint16_t)v;
	case CT_I32:
		return (int32_t)v;
	case CT_U32:
		return (uint32_t)v;
	default:
		return v;
	}
}

/*
 * For a missing real function: returns an error code if the function returns codes, otherwise
 * zeros.
 */
static void return_missing(const struct entry *e, void *ret)
{
	const struct api_spec *s = e->api->spec;
	ffi_sarg v = s->ffi->code ? (ffi_sarg)s->lib->missing : 0;

	if (s->ffi->ret == CT_STRUCT)
		memset(ret, 0, e->cif.rtype->size);
	else if (s->ffi->ret != CT_VOID)
		memcpy(ret, &v, sizeof(v));
}

/*
 * Finds the frame that stands for the wrapper's: its return address at frame[1], the caller's
 * frame pointer at frame[0]. Returns false if a signal handler interrupted between ffi_enter and
 * here and made another call, which is recognised by its lower position on the stack.
 */
static bool caller_frame(struct ffi_caller *from, uintptr_t here, uintptr_t *frame)
{
	const uintptr_t far = 4096;

	if (from->sp <= here || from->sp - here > far)
		return false;
#if defined(__x86_64__)
	/*
	 * ffi_enter stores the frame pointer below the return address, where libffi's frame has a
	 * word of padding.
	 */
	*frame = from->sp - sizeof(uintptr_t);
	from->pc = ((const uintptr_t *)*frame)[1];
	return ((const uintptr_t *)*frame)[0] == from->fp;
#else
	for (int i = 0; i < 4 && here < from->sp; i++, here = *(const uintptr_t *)here) {
		*frame = here;
		if (((const uintptr_t *)here)[0] == from->fp &&
			((const uintptr_t *)here)[1] == from->pc)
			return true;
	}
	return false;
#endif
}

static void on_call(ffi_cif *cif, void *ret, void **args, void *data)
{
	struct ffi_caller from = ffi_caller;
	struct entry *e = data;
	struct api *const f = e->api;

	if (WRAPPER_OFF(f)) {
		ffi_call(cif, FFI_FN(WRAPPER_REAL(f)), ret, args);
		return;
	}

	union arg v[API_ARGS_MAX];
	void *av[API_ARGS_MAX];
	uintptr_t frame;

	if (!caller_frame(&from, (uintptr_t)__builtin_frame_address(0), &frame)) {
		from.pc = (uintptr_t)__builtin_return_address(0);
		frame = (uintptr_t)__builtin_frame_address(0);
	}
	pack_arguments(v, av, args, f->spec);

	struct call c __attribute__((cleanup(call_cleanup)));
	void *real = call_enter(&c, f, v, from.pc, frame);

	if (__builtin_expect(!real, 0)) {
		return_missing(e, ret);
		return;
	}
	c.result = ret;
	ffi_call(cif, FFI_FN(real), ret, av);
	call_leave(&c, returned_value(f->spec, ret));
}

/* ---- calls with unknown parameters ---- */

/* number of registers for floats; additional ones are among the words on the stack */
#define OPEN_FLOATS 8u

/*
 * Replaces words on the stack that cannot be read: they do not belong to the call, whose
 * arguments are all readable.
 */
static void cut_open_words(void **args, uint64_t *none)
{
	uintptr_t first = (uintptr_t)args[API_OPEN_REGISTERS],
		  last = (uintptr_t)args[API_OPEN_WORDS - 1];

	_Static_assert(8 * API_OPEN_WORDS < MEMORY_PAGE, "");
	if ((first ^ last) < MEMORY_PAGE || is_memory_readable(last))
		return;
	for (unsigned i = API_OPEN_REGISTERS; i < API_OPEN_WORDS; i++)
		if ((first ^ (uintptr_t)args[i]) >= MEMORY_PAGE)
			args[i] = none;
}

static void on_open_call(ffi_cif *cif, void *ret, void **args, void *data)
{
	struct ffi_caller from = ffi_caller;
	struct entry *e = data;
	struct api *const f = e->api;
	uint64_t none = 0;

	cut_open_words(args, &none);
	if (WRAPPER_OFF(f)) {
		ffi_call(cif, FFI_FN(WRAPPER_REAL(f)), ret, args);
		return;
	}

	uintptr_t frame;

	if (!caller_frame(&from, (uintptr_t)__builtin_frame_address(0), &frame)) {
		from.pc = (uintptr_t)__builtin_return_address(0);
		frame = (uintptr_t)__builtin_frame_address(0);
	}

	struct call c __attribute__((cleanup(call_cleanup)));
	void *real = call_enter(&c, f, (union arg *)args, from.pc, frame);

	if (__builtin_expect(!real, 0)) {
		return_missing(e, ret);
		return;
	}
	c.result = ret;
	ffi_call(cif, FFI_FN(real), ret, args);
	call_leave(&c, returned_value(f->spec, ret));
}

static int prepare_open_entry(struct entry *e)
{
	static ffi_type *types[] = {[0 ... API_OPEN_WORDS - 1] = &ffi_type_uint64,
		[API_OPEN_WORDS... API_OPEN_WORDS + OPEN_FLOATS - 1] = &ffi_type_double};
	ffi_type *ret = ffi_scalar_type(e->api->spec->ffi->ret);

	if (!ret || ffi_prep_cif(&e->cif, FFI_DEFAULT_ABI, API_OPEN_WORDS + OPEN_FLOATS, ret,
			    types) != FFI_OK)
		return -EINVAL;
	return ffi_prep_go_closure(&e->go, &e->cif, on_open_call) == FFI_OK ? 0 : -EINVAL;
}

/* ---- errors of libffi ---- */

#if defined(__x86_64__)
#define INTEGER_REGISTERS 6u
#define VECTOR_REGISTERS 8u

/*
 * Returns which of the struct's two eightbytes contain only float and double (System V ABI for
 * x86-64, 3.2.3), one bit each.
 */
static unsigned vector_halves(const struct api_struct *s)
{
	unsigned halves = s->size > 8 ? 3 : 1, at = 0;

	for (unsigned i = 0; i < s->n; i++) {
		const ffi_type *t = ffi_scalar_type(s->member[i]);

		at = (at + t->alignment - 1) / t->alignment * t->alignment;
		if (s->member[i] != CT_F32 && s->member[i] != CT_F64)
			halves &= ~(1u << at / 8);
		at += (unsigned)t->size;
	}
	return halves;
}

/*
 * ffi_call() of 3.4.4 (x86/ffi64.c) copies all 16 bytes of a struct to where the register of its first half is saved. If that
 * is the last integer register, and the second half belongs in a vector register, the first vector register is overwritten.
 */
static bool meets_error_of_libffi(const struct api_spec *s)
{
	const struct api_struct *ret = s->ffi->ret_struct;
	unsigned in = s->ffi->hidden || (s->ffi->ret == CT_STRUCT && ret && ret->size > 16);
	unsigned vectors = 0;

	for (unsigned i = 0; i < s->nargs; i++) {
		const struct api_struct *a = s->ffi->arg[i];
		unsigned v, n;

		if (s->args[i].ctype != CT_STRUCT) {
			bool real = s->args[i].ctype == CT_F32 || s->args[i].ctype == CT_F64;

			vectors += real && vectors < VECTOR_REGISTERS;
			in += !real && in < INTEGER_REGISTERS;
			continue;
		}
		if (a->size > 16)
			continue;
		n = a->size > 8 ? 2 : 1;
		v = vector_halves(a);
		if (v == 2 && n == 2 && in == INTEGER_REGISTERS - 1 && vectors &&
			vectors < VECTOR_REGISTERS)
			return true;
		v = (v & 1) + (v >> 1);
		/* A struct is passed completely in registers, or not at all. */
		if (in + n - v > INTEGER_REGISTERS || vectors + v > VECTOR_REGISTERS)
			continue;
		in += n - v;
		vectors += v;
	}
	return false;
}
#else
static bool meets_error_of_libffi(const struct api_spec *s)
{
	(void)s;
	return false;
}
#endif

/* ---- entries: made once, found by their row, never freed ---- */

#define BUCKETS 1024u

static _Atomic(struct entry *) buckets[BUCKETS];

static struct entry *find_ffi_entry(struct entry *e, const struct entry *end, const struct api *a)
{
	for (; e != end; e = e->next)
		if (e->api == a)
			return e;
	return NULL;
}

static void entry_free(struct entry *e)
{
	for (unsigned i = 0; i < API_ARGS_MAX; i++)
		type_free(e->type[i]);
	type_free(e->cif.rtype);
	free(e);
}

static int prepare_ffi_entry(struct entry *e)
{
	const struct api_spec *s = e->api->spec;
	ffi_type *ret = hidden_result();
	int err = 0;

	if (s->ffi->open)
		return prepare_open_entry(e);
	if (!s->ffi->hidden)
		err = type_of(&ret, s->ffi->ret, s->ffi->ret_struct);
	e->cif.rtype = err ? NULL : ret;
	for (unsigned i = 0; i < s->nargs && !err; i++)
		err = s->args[i].ctype == CT_VOID
			      ? -EINVAL
			      : type_of(&e->type[i], s->args[i].ctype, s->ffi->arg[i]);
	if (err)
		return err;
	if (meets_error_of_libffi(s))
		return -ENOTSUP;
	if (ffi_prep_cif(&e->cif, FFI_DEFAULT_ABI, s->nargs, ret, e->type) != FFI_OK ||
		ffi_prep_go_closure(&e->go, &e->cif, on_call) != FFI_OK)
		return -EINVAL;
	return 0;
}

/*
 * Inserts e before `head`, the entry that was examined first. Returns e, or the entry for the
 * same row that another thread made meanwhile.
 */
static struct entry *insert_ffi_entry(
	_Atomic(struct entry *) *bucket, struct entry *head, struct entry *e)
{
	struct entry *other, *seen;

	e->next = head;
	while (!atomic_compare_exchange_weak(bucket, &e->next, e)) {
		seen = head;
		head = e->next;
		other = find_ffi_entry(head, seen, e->api);
		if (other) {
			entry_free(e);
			return other;
		}
	}
	e->made.api = e->api;
	rows_add(&e->made);
	return e;
}

int ffi_entry(struct api *a, void **code, void **context)
{
	const struct api_spec *s = a->spec;
	_Atomic(struct entry *) *bucket = &buckets[hash_mix((uintptr_t)a) % BUCKETS];
	struct entry *head = atomic_load_explicit(bucket, memory_order_acquire);
	struct entry *e = find_ffi_entry(head, NULL, a);
	int err;

	if (!s->ffi || s->nargs > API_ARGS_MAX)
		return -EINVAL;
	if (s->ffi->entry) {
		*code = s->ffi->entry;
		*context = NULL;
		return 0;
	}
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return -ENOMEM;
		e->api = a;
		err = prepare_ffi_entry(e);
		if (err) {
			entry_free(e);
			return err;
		}
		e = insert_ffi_entry(bucket, head, e);
	}
	*code = (void *)ffi_enter;
	*context = &e->go;
	return 0;
}
