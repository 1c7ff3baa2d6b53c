/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant data about a wrapped function: `struct api_spec`, made by the generator from
 * configs/apis/ (or at run time from a user's spec).
 */
#ifndef PROBE_API_API_SPEC_H
#define PROBE_API_API_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "api/kind.h"
#include "text/ctype.h"

struct adapter;

struct api_arg {
	uint8_t role; /* enum role */
	uint8_t ctype; /* enum ctype */
	/*
	 * CT_P to an array of integers: bytes of one integer (4 or 8); to handles: 0, the adapter
	 * knows
	 */
	uint8_t elem_bytes;
	uint8_t dtype; /* CT_P to a number: its enum dtype; DT_OTHER: not known */
	/* CT_STRUCT: number of 8-byte words; v[] contains a pointer to the struct */
	uint16_t words;
	bool pointers; /* CT_P to an array of pointers to numbers of this dtype */
};

/* A struct that is passed by value, for libffi: its members in order, arrays member by member. */
struct api_struct {
	uint16_t size, align; /* bytes */
	uint16_t n;
	const uint8_t *member; /* enum ctype of each, never CT_VOID or CT_STRUCT */
};

/* Additional data for an entry through libffi. Only rows made at run time have it. */
struct api_ffi {
	uint8_t ret; /* enum ctype of the result; CT_STRUCT: ret_struct */
	/*
	 * The result is a C++ object that the function constructs at an address passed in a hidden argument (x86-64: before the
	 * first argument; aarch64: x8). For libffi that is a result of struct type larger than 16 bytes; ret is CT_VOID.
	 */
	bool hidden;
	/*
	 * The result shows whether the call succeeded. If not set, lib->success[0] must be passed
	 * to call_leave().
	 */
	bool code;
	/*
	 * The function's parameters are not known: v[] contains the addresses of API_OPEN_WORDS
	 * words. The first words are the integer and pointer arguments, one each; the others are
	 * the memory that follows. They are passed on unchanged, including floating-point
	 * registers. args[] is empty.
	 */
	bool open;
	/*
	 * A compiled function that replaces the libffi entry: it is called like the real
	 * function, and is a complete wrapper (call/wrapper.h). NULL: libffi is used.
	 */
	void *entry;
	const struct api_struct *ret_struct;
	const struct api_struct *arg[API_ARGS_MAX]; /* for arguments with CT_STRUCT, else NULL */
};

struct api_spec {
	const char *symbol; /* the exported name: the `api` column */
	const char *list_name; /* the name in support_wrap_ops.yaml that selects it */
	const struct adapter *lib;
	const struct kind *kind; /* TASK_DATA only */
	uint8_t task, sub, completion, nargs;
	struct api_arg args[API_ARGS_MAX];
	uint8_t at[ROLE_NROLES]; /* 1 + index of the argument with this role; 0: none */
	const char *how; /* TASK_COMM_NEW: the `kind` column of comms.csv: dup, split ... */
	/*
	 * By role of a buffer: enum dtype of its C type (float *); DT_OTHER: none (void *). Used
	 * if the row has no dtype role for this buffer.
	 */
	uint8_t buf_dtype[ROLE_BUF + 1];
	const char *link_name; /* name for the linker (mangled); NULL: as symbol */
	const struct api_ffi *ffi; /* NULL: the function has a compiled wrapper */
	/* TASK_DATA: calls inside this one are recorded like outermost ones, with `parent`. */
	bool transparent;
};

/*
 * True for a message that is sent in parts (MPI_Psend_init): these messages are numbered
 * separately.
 */
static inline bool spec_is_partitioned(const struct api_spec *s)
{
	return s->at[ROLE_NITEMS] != 0 && s->completion == DONE_START;
}

#endif
