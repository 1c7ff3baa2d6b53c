/* SPDX-License-Identifier: Apache-2.0 */
/* The version of PyTorch: none of its libraries contains it, but the file version.py next to them does. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/loaded/elfsym.h"
#include "life/life.h"
#include "session/state.h"
#include "wrappers/cxx/cxx_version.h"
#include "wrappers/torch/tensors/torch.h"

/*
 * Writes the version of the loaded libtorch, or the library's path if version.py is not found.
 * Returns false if no libtorch is loaded.
 */
static bool format_torch_version(char *out, size_t cap)
{
	struct provider p;
	char *real;

	if (elfsym_find_all("_ZN5torch8autograd6Engine18get_default_engineEv", &p, 1) <= 0)
		return false;
	/*
	 * Linux distributions keep the library in another folder, under a name that contains the
	 * version.
	 */
	if (!cxx_read_package_version(p.path, out, cap)) {
		real = realpath(p.path, NULL);
		snprintf(out, cap, "%.150s", real ? real : p.path);
		free(real);
	}
	return true;
}

bool torch_is_1_13(void)
{
	static _Atomic int known; /* 0: not examined, 1: yes, 2: no */
	char version[LIBRARY_TEXT_MAX];
	int is = atomic_load_explicit(&known, memory_order_relaxed);

	if (__builtin_expect(!is, 0)) {
		if (!format_torch_version(version, sizeof(version)))
			return false;
		is = strncmp(version, "1.13.", 5) == 0 || strstr(version, ".so.1.13") ? 1 : 2;
		atomic_store(&known, is);
	}
	return is == 1;
}

void torch_record_version(void)
{
	static atomic_flag reported = ATOMIC_FLAG_INIT;
	char version[LIBRARY_TEXT_MAX] = "";

	if (!atomic_flag_test_and_set(&reported) && format_torch_version(version, sizeof(version)))
		session_record_library("torch", version);
}
