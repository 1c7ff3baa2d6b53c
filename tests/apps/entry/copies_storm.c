/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copies_storm ROUNDS USER1 USER2: user libraries (user.c) of two copies of a library, whose factors are 2 and 3. First
 * they come and go one after the other, then four threads load, call and unload them at the same time. Prints how many
 * calls went to the wrong copy.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

typedef float user_fn(float x);

static char **users;
static int rounds;
static atomic_int wrong, calls;

static void *load(int k, user_fn **f)
{
	void *h = dlopen(users[k], RTLD_NOW | RTLD_LOCAL);

	*f = h ? (user_fn *)dlsym(h, "user_call") : NULL;
	if (!*f) {
		puts(dlerror());
		exit(1);
	}
	return h;
}

static void call(int k, user_fn *f, int x)
{
	wrong += f((float)x) != (float)((2 + k) * x);
	calls++;
}

static void one_after_the_other(void)
{
	user_fn *f[2];
	void *h[2];

	for (int k = 0; k < 2; k++)
		h[k] = load(k, &f[k]);
	for (int k = 0; k < 2; k++)
		call(k, f[k], 1);
	for (int k = 0; k < 2; k++) {
		/* The other one is the only one, and is called as that; then there are two again. */
		dlclose(h[k]);
		call(1 - k, f[1 - k], 2);
		h[k] = load(k, &f[k]);
		call(k, f[k], 3);
		call(1 - k, f[1 - k], 4);
	}
	for (int k = 0; k < 2; k++)
		dlclose(h[k]);
}

static void *work(void *arg)
{
	int k = (int)(long)arg % 2;
	user_fn *f;

	for (int i = 0; i < rounds; i++) {
		void *h = load(k, &f);

		for (int n = 0; n < 3; n++)
			call(k, f, i);
		dlclose(h);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];

	if (argc < 4)
		return 2;
	rounds = atoi(argv[1]);
	users = argv + 2;
	one_after_the_other();
	printf("%d calls, %d wrong\n", calls, wrong);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%d calls, %d wrong\n", calls, wrong);
	return 0;
}
