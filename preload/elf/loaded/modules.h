/* SPDX-License-Identifier: Apache-2.0 */
/* The program's modules (executable and shared objects) at one moment. */
#ifndef PROBE_ELF_MODULES_H
#define PROBE_ELF_MODULES_H

#include <stdint.h>

#define MODULE_PATH_MAX 512
#define BUILD_ID_MAX 20

struct module {
	uint64_t lo, hi; /* address range of its load segments, hi exclusive */
	uint64_t bias; /* added to the file's virtual addresses */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: has none */
	char path[MODULE_PATH_MAX]; /* the executable's is resolved; "[vdso]" for the vdso */
};

/*
 * Calls fn for each module. Uses dl_iterate_phdr only; fn must not call the dynamic loader. modules_generation() changes
 * whenever a module was loaded or unloaded since its last call.
 */
void modules_each(void (*fn)(void *arg, const struct module *m), void *arg);
uint64_t modules_generation(void);

#endif
