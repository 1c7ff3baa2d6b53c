/* SPDX-License-Identifier: Apache-2.0 */
/* Which PyTorch this is: no function of its libraries says so, the file version.py beside them does. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "elf/elfsym.h"
#include "life/life.h"
#include "session/state.h"
#include "wrappers/torch/torch.h"

/* __version__ = '2.13.0+cpu' */
static bool read_version(const char *lib, char *out, size_t cap)
{
	char path[4096], text[2048];
	const char *v, *quote;
	const char *slash = strrchr(lib, '/');
	ssize_t n;

	if (!slash || slash - lib > 4000)
		return false;
	snprintf(path, sizeof(path), "%.*s/../version.py", (int)(slash - lib), lib);
	n = io_read_file(AT_FDCWD, path, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = 0;
	v = strstr(text, "__version__ = ");
	quote = v ? strchr(v + 15, v[14]) : NULL;
	if (!quote)
		return false;
	snprintf(out, cap, "%.*s", (int)(quote - v - 15), v + 15);
	return true;
}

/* Of the libtorch that is loaded; where version.py is not found, the library's path. False: none is. */
static bool version_text(char *out, size_t cap)
{
	struct provider p;
	char *real;

	if (elfsym_all("_ZN5torch8autograd6Engine18get_default_engineEv", &p, 1) <= 0)
		return false;
	/* Distributions keep the library elsewhere, under a name that has the version. */
	if (!read_version(p.path, out, cap)) {
		real = realpath(p.path, NULL);
		snprintf(out, cap, "%.150s", real ? real : p.path);
		free(real);
	}
	return true;
}

bool torch_is_1_13(void)
{
	static _Atomic int known; /* 0: not looked at, 1: yes, 2: no */
	char version[LIBRARY_TEXT_MAX];
	int is = atomic_load_explicit(&known, memory_order_relaxed);

	if (__builtin_expect(!is, 0)) {
		if (!version_text(version, sizeof(version)))
			return false;
		is = strncmp(version, "1.13.", 5) == 0 || strstr(version, ".so.1.13") ? 1 : 2;
		atomic_store(&known, is);
	}
	return is == 1;
}

void torch_report_version(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	char version[LIBRARY_TEXT_MAX] = "";

	if (!atomic_flag_test_and_set(&said) && version_text(version, sizeof(version)))
		session_library("torch", version);
}
