/* SPDX-License-Identifier: Apache-2.0 */
/* What torch.compile takes out of sight: its kernels are objects that are loaded when a graph has been compiled. */
#include <stdatomic.h>
#include <string.h>

#include "life/life.h"
#include "session/state.h"
#include "wrappers/torch/torch.h"

/*
 * Inductor (2.3 and later) loads its C++ as a module "kernel" from a file named by a hash, which importing it by its name
 * would not; Triton's launchers are a separate module in a cache folder.
 */
static bool is_compiled(const char *module, const char *file)
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;

	if (strcmp(module, "kernel") == 0)
		return strncmp(base, "kernel", 6) != 0;
	return strcmp(module, "__triton_launcher") == 0;
}

void torch_compiled_code(const char *module, const char *file)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!file || !is_compiled(module, file) || !session_configure() ||
		atomic_flag_test_and_set(&said))
		return;
	session_invisible("torch.compile",
		"graphs were compiled: operators inside of them are in no row, collectives and "
		"steps "
		"are; TORCH_COMPILE_DISABLE=1 runs the same script without graphs");
}
