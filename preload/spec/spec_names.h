/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the notation. */
#ifndef PROBE_SPEC_SPEC_NAMES_H
#define PROBE_SPEC_SPEC_NAMES_H

#include "api/api.h"
#include "spec/spec_load.h"

extern const char *const role_name[ROLE_NROLES];
extern const char *const term_name[TERM_NTERMS]; /* those after ROLE_NROLES */
extern const char *const completion_name[]; /* by enum completion, NULL-terminated */
extern const char *const abi_name[]; /* by enum ctype: i8 ... as in `types` */

struct task_name {
	const char *name;
	uint8_t task, sub;
	uint8_t need[4]; /* roles, ending with ROLE_NONE */
};

extern const struct task_name task_names[];

/* Index in a NULL-terminated (max 0) or counted list; -1: not found. */
int name_find(const char *const *list, size_t max, const char *s, size_t len);
const char *name_list(struct spec_load *l, const char *const *list, size_t max); /* "a, b, c" */
/* The role that replaces `role` in a row that lacks it: SCOUNT -> COUNT, SDTYPE -> DTYPE; else ROLE_NONE. */
uint8_t role_fallback(uint8_t role);

#endif
