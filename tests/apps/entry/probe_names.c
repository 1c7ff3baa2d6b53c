/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the loader for functions in many ways and prints its answers, also the messages of dlerror(): the same must come
 * out with and without a preload. `names LIBRARY NAME [OTHER-LIBRARY]`: the library defines the name, the other does
 * not.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* "found" or what dlerror() says; without the object in front of the message where that is not ours to choose. */
static void answer(const char *what, void *p, int whole)
{
	char text[512] = "no error";
	const char *e = dlerror(), *colon;

	if (e)
		snprintf(text, sizeof(text), "%s", e);
	colon = whole ? NULL : strstr(text, ": undefined");
	printf("%s: %s, %s, then %s, errno %d\n", what, p ? "found" : "none",
		colon ? colon + 2 : text, dlerror() ? "an error" : "none", errno);
}

int main(int argc, char **argv)
{
	const char *library = argv[1], *name = argv[2], *other = argc > 3 ? argv[3] : NULL;
	void *self = dlopen(NULL, RTLD_NOW), *libc = dlopen("libc.so.6", RTLD_NOW);

	errno = 71;
	answer("default", dlsym(RTLD_DEFAULT, name), 0);
	answer("next", dlsym(RTLD_NEXT, name), 0);
	answer("of the program", dlsym(self, name), 0);
	answer("of libc", dlsym(libc, name), 1);
	answer("with a version", dlvsym(libc, name, "GLIBC_2.2.5"), 1);
	answer("of no interest", dlsym(RTLD_DEFAULT, "strlen"), 1);
	answer("of no interest, with a version", dlvsym(libc, "strlen", "GLIBC_2.2.5"), 1);
	answer("none at all", dlsym(libc, "no_such_function_at_all"), 1);
	answer("no library", dlopen("libno-such-library.so.9", RTLD_NOW), 1);

	void *h = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	errno = 0;
	answer("the library", h, 1);
	answer("of it", dlsym(h, name), 1);
	answer("twice the same", dlsym(h, name) == dlsym(h, name) ? h : NULL, 1);
	answer("of it, another name", dlsym(h, "no_such_function_at_all"), 1);
	answer("default, the library is local", dlsym(RTLD_DEFAULT, name), 0);
	answer("next, the library is local", dlsym(RTLD_NEXT, name), 0);
	answer("of the program, the library is local", dlsym(self, name), 0);
	answer("of libc still", dlsym(libc, name), 1);
	if (other)
		answer("of another", dlsym(dlopen(other, RTLD_NOW), name), 1);
	/* An error that is waiting to be read survives a call that is looked up meanwhile. */
	dlsym(libc, "no_such_function_at_all");
	answer("an error that waits", NULL, 1);
	answer("made global", dlopen(library, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD), 1);
	answer("default, global", dlsym(RTLD_DEFAULT, name), 1);
	answer("next, global", dlsym(RTLD_NEXT, name), 1);
	answer("of the program, global", dlsym(self, name), 1);
	return 0;
}
