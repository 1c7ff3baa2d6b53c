/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of the tables that the generator makes from a spec for the library's adapter. The tables
 * are declared in <library>_gen.h:
 *
 *	LIB_<LIBRARY>_SPEC		fields of struct adapter that the spec provides
 *	<library>_dtypes, _redops	`dtype:`, `redop:`, if handles are enums: spec_value_find()
 *	<library>_abi_dtypes, ...	`abi:` of a library whose implementations differ
 */
#ifndef PROBE_WRAPPERS_TABLES_H
#define PROBE_WRAPPERS_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/enum_value.h"

#define ABI_FLAVOURS_MAX 4

enum abi_form {
	ABI_NONE, /* this implementation has no such constant */
	ABI_VALUE, /* value */
	ABI_ADDRESS, /* the address of `symbol` in the library */
};

/*
 * Names are stored in the table itself, because the loader would have to relocate pointers at
 * every process start.
 */
#define ABI_NAME_BYTES 48u

/*
 * A constant as each implementation defines it. Index of at[]: enum ABI_<LIBRARY>_... in
 * <library>_gen.h.
 */
struct abi_const {
	char name[ABI_NAME_BYTES];
	uint8_t to; /* enum dtype or enum redop; 0 for plain constants */
	bool derived; /* a dtype of several elements (flag `derived`) */
	struct abi_cell {
		uint8_t form; /* enum abi_form */
		int64_t value;
		char symbol[ABI_NAME_BYTES];
	} at[ABI_FLAVOURS_MAX];
};

#endif
