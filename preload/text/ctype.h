/* SPDX-License-Identifier: Apache-2.0 */
/* C types, as the ABI passes arguments and results. */
#ifndef PROBE_BASE_CTYPE_H
#define PROBE_BASE_CTYPE_H

/* How the ABI passes one argument. */
enum ctype {
	CT_VOID,
	CT_I8,
	CT_U8,
	CT_I16,
	CT_U16,
	CT_I32,
	CT_U32,
	CT_I64,
	CT_U64,
	CT_F32,
	CT_F64,
	CT_P,
	CT_STRUCT
};

#define API_ARGS_MAX 24 /* parameters of one function */

/*
 * For a function with unknown parameters (`open` in struct api_ffi): numbers of words for
 * integers and pointers, those in registers and those on the stack, 8 bytes each (System V ABI
 * for x86-64, 3.2.3; AAPCS64, 6.8.2).
 */
#if defined(__x86_64__)
#define API_OPEN_REGISTERS 6
#else
#define API_OPEN_REGISTERS 8
#endif
#define API_OPEN_WORDS (API_OPEN_REGISTERS + 64)

#endif
