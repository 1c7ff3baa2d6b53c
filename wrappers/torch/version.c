/* SPDX-License-Identifier: Apache-2.0 */
/* Which PyTorch this is: no function of its libraries says so, the file version.py beside them does. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "entry/elfsym.h"
#include "session.h"
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

void torch_say_version(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	struct provider p;
	char version[LIBRARY_TEXT_MAX] = "";
	char *real;

	if (atomic_flag_test_and_set(&said) ||
		elfsym_all("_ZN5torch8autograd6Engine18get_default_engineEv", &p, 1) <= 0)
		return;
	/* Distributions keep the library elsewhere, under a name that has the version. */
	if (!read_version(p.path, version, sizeof(version))) {
		real = realpath(p.path, NULL);
		snprintf(version, sizeof(version), "%.150s", real ? real : p.path);
		free(real);
	}
	session_library("torch", version);
}
