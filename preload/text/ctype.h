/* SPDX-License-Identifier: Apache-2.0 */
/* C types as arguments and results are passed by the ABI. */
#ifndef PROBE_BASE_CTYPE_H
#define PROBE_BASE_CTYPE_H

/* How one argument is passed, as the ABI sees it. */
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
 * Of a function whose parameters are not known (struct api_ffi, open): the words in which integers and pointers come, first those
 * of the registers, then those that lie on the stack, each in 8 bytes (System V ABI for x86-64, 3.2.3; AAPCS64, 6.8.2).
 */
#if defined(__x86_64__)
#define API_OPEN_REGISTERS 6
#else
#define API_OPEN_REGISTERS 8
#endif
#define API_OPEN_WORDS (API_OPEN_REGISTERS + 64)

#endif
