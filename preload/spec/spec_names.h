/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the spec files. */
#ifndef PROBE_SPEC_SPEC_NAMES_H
#define PROBE_SPEC_SPEC_NAMES_H

#include "api/api.h"
#include "spec/spec_load.h"

extern const char *const role_name[ROLE_NROLES];
extern const char *const term_name[TERM_NTERMS]; /* names of the terms after ROLE_NROLES */
extern const char *const completion_name[]; /* index: enum completion; NULL-terminated */
extern const char *const abi_name[]; /* index: enum ctype; i8 ... as in `types` */

struct task_name {
	char name[16]; /* "" in the last one */
	uint8_t task, sub;
	uint8_t need[4]; /* roles that a row needs, ending with ROLE_NONE */
};

extern const struct task_name task_names[];

/*
 * Returns the index of s in a list that is NULL-terminated (max 0) or has max entries; -1: not
 * found.
 */
int name_find(const char *const *list, size_t max, const char *s, size_t len);
const char *name_list(struct spec_load *l, const char *const *list, size_t max); /* "a, b, c" */
/*
 * Returns the role that is used if a row lacks `role`: SCOUNT -> COUNT, SDTYPE -> DTYPE; else
 * ROLE_NONE.
 */
uint8_t role_fallback(uint8_t role);

#endif
