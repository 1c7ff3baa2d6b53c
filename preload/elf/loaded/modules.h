/* SPDX-License-Identifier: Apache-2.0 */
/* The modules (executable and shared objects) that are loaded at present. */
#ifndef PROBE_ELF_MODULES_H
#define PROBE_ELF_MODULES_H

#include <stdint.h>

#define MODULE_PATH_MAX 512
#define BUILD_ID_MAX 20

struct module {
	uint64_t lo, hi; /* address range of its load segments, hi exclusive */
	uint64_t bias; /* added to the file's virtual addresses */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len; /* 0: no build id */
	char path[MODULE_PATH_MAX]; /* of the executable: without links; "[vdso]" for the vdso */
};

/*
 * Calls fn for each module. Uses only dl_iterate_phdr; fn must not call the dynamic loader.
 * modules_get_generation() returns another value if a module was loaded or unloaded since its last
 * call.
 */
void modules_handle_each(void (*fn)(void *arg, const struct module *m), void *arg);
uint64_t modules_get_generation(void);

#endif
