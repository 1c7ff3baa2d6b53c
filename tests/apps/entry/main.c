/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program: `main WAY [LIBRARY...]` calls the function in that way and prints what came back. Built with -DLINKED it
 * has the library as DT_NEEDED; else it knows none.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"

typedef float user_fn(float x);

static void *must(void *p)
{
	if (!p) {
		puts(dlerror());
		exit(1);
	}
	return p;
}

static user_fn *user_of(const char *path, int mode)
{
	return (user_fn *)must(dlsym(must(dlopen(path, RTLD_NOW | mode)), "user_call"));
}

#ifdef LIB_CXX
static acme::Group *group(void)
{
	return NULL;
}
#define acme_group group /* found by dlsym it does not care */
#endif

static float by_pointer(void *f, float x)
{
	float out = -1;

	((call_fn *)f)(ARGS(&x, &out, 1));
	return out;
}

static void three(user_fn *f)
{
	for (int i = 1; i <= 3; i++)
		printf("%g\n", f((float)i));
}

static user_fn *at_exit_fn;

static void at_exit(void)
{
	three(at_exit_fn);
	fflush(stdout);
}

static void at_thread_exit(void *f)
{
	three((user_fn *)f);
}

static void *thread(void *f)
{
	static pthread_key_t key;

	pthread_key_create(&key, at_thread_exit);
	pthread_setspecific(key, f);
	return NULL;
}

static int pointers(int n, void **f)
{
	for (int i = 1; i <= 3; i++)
		for (int k = 0; k < n; k++)
			printf("%g\n", by_pointer(f[k], (float)i));
	return 0;
}

#ifdef LINKED
#undef acme_group
static float direct(float x)
{
	float out = -1;

	DIRECT(ARGS(&x, &out, 1));
	return out;
}
#else
#define direct NULL
#endif

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "", *a = argc > 2 ? argv[2] : NULL;
	const char *b = argc > 3 ? argv[3] : NULL;

	if (strcmp(way, "needed") == 0) {
		three(direct);
	} else if (strcmp(way, "local") == 0) {
		three(user_of(a, RTLD_LOCAL));
	} else if (strcmp(way, "global") == 0) {
		three(user_of(a, RTLD_GLOBAL));
	} else if (strcmp(way, "deepbind") == 0) {
		three(user_of(a, RTLD_DEEPBIND));
	} else if (strcmp(way, "handle") == 0) {
		void *f[] = {must(dlsym(must(dlopen(a, RTLD_NOW)), SYMBOL))};

		pointers(1, f);
	} else if (strcmp(way, "handles") == 0) {
		void *f[] = {must(dlsym(must(dlopen(a, RTLD_NOW)), SYMBOL)),
			must(dlsym(must(dlopen(b, RTLD_NOW)), SYMBOL))};

		pointers(2, f);
	} else if (strcmp(way, "next") == 0) {
		if (a)
			must(dlopen(a, RTLD_NOW | RTLD_GLOBAL));

		void *f[] = {must(dlsym(RTLD_NEXT, SYMBOL))};

		pointers(1, f);
	} else if (strcmp(way, "two") == 0) {
		user_fn *f = user_of(a, RTLD_LOCAL);

		three(f);

		user_fn *g = user_of(b, RTLD_LOCAL);

		for (int i = 1; i <= 3; i++)
			printf("%g %g\n", f((float)i), g((float)i));
	} else if (strcmp(way, "constructor") == 0) {
		printf("%g\n", *(float *)must(dlsym(must(dlopen(a, RTLD_NOW)), "user_early")));
	} else if (strcmp(way, "atexit") == 0) {
		at_exit_fn = a ? user_of(a, RTLD_LOCAL) : (user_fn *)direct;
		atexit(at_exit);
	} else if (strcmp(way, "thread") == 0) {
		pthread_t t;

		pthread_create(
			&t, NULL, thread, (void *)(a ? user_of(a, RTLD_LOCAL) : (user_fn *)direct));
		pthread_join(t, NULL);
	} else {
		return 2;
	}
	return 0;
}
