/* Made by genwrap from tiny.yaml; change that file instead. For the adapter. */
#ifndef PROBE_GEN_TINY_H
#define PROBE_GEN_TINY_H

#include "terms/dtype.h"
#include "api/api.h"
#include "wrappers/tables.h"

extern const struct adapter adapter_tiny;
extern const char *const tiny_sonames[];

/* Used by api_table.c: the rows of the wrappers, sorted by symbol, and a wrapper's address. */
extern struct api tiny_rows[] __attribute__((visibility("hidden")));
void *tiny_wrapper(unsigned row);

/* The fields of struct adapter that come from the spec. */
#define LIB_TINY_SPEC \
	.name = "tiny", .sonames = tiny_sonames, .success = {0, 7}, .nsuccess = 2, .missing = -3, .in_progress = 7, .matrix = &tiny_matrix, .dtypes = &tiny_dtypes, .redops = &tiny_redops, .alias_prefix = "p"

extern const struct spec_values tiny_dtypes;
extern const struct spec_values tiny_redops;

/* Implementations whose constants differ: the index of abi_const.at[]. */
enum {
	ABI_TINY_ONE,
	ABI_TINY_TWO,
	ABI_TINY_COUNT,
};

extern const struct abi_const tiny_abi_dtypes[2];
extern const struct abi_const tiny_abi_redops[1];

/* Index of tiny_abi_consts[]. */
enum {
	CONST_TINY_NULL,
	CONST_TINY_SIZE,
};

extern const struct abi_const tiny_abi_consts[2];

extern const struct matrix_codes tiny_matrix;

#endif
