/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that load, call and unload libraries all the time, children that do so too, and a constructor that loads
 * another library. `storm ROUNDS LIBRARY...`: user libraries (user.c). Prints how many calls gave a wrong result.
 * No thread forks while the loader is at work: its child could not load anything, with or without a preload.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4

typedef float user_fn(float x);

static char **libraries;
static int nlibraries, rounds;
static atomic_int wrong, calls;
static pthread_rwlock_t loader = PTHREAD_RWLOCK_INITIALIZER;

static void *work(void *arg)
{
	for (int i = 0; i < rounds; i++) {
		const char *path = libraries[(i + (int)(long)arg) % nlibraries];
		void *h;
		user_fn *f;

		pthread_rwlock_rdlock(&loader);
		h = dlopen(path, RTLD_NOW | (i & 1 ? RTLD_LOCAL : RTLD_GLOBAL));
		f = h ? (user_fn *)dlsym(h, "user_call") : NULL;
		pthread_rwlock_unlock(&loader);

		if (!f || f((float)i) != 2 * (float)i)
			wrong++;
		calls++;
		pthread_rwlock_rdlock(&loader);
		if (h && i % 3)
			dlclose(h);
		pthread_rwlock_unlock(&loader);
	}
	return NULL;
}

static int child(void)
{
	pid_t pid;
	int status = 0;

	pthread_rwlock_wrlock(&loader);
	pid = fork();
	if (pid)
		pthread_rwlock_unlock(&loader);
	if (pid == 0) {
		pthread_rwlock_init(&loader, NULL);
		alarm(60);
		work(NULL);
		_exit(wrong != 0);
	}
	waitpid(pid, &status, 0);
	return status != 0;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	int bad = 0;

	rounds = atoi(argv[1]);
	libraries = argv + 2;
	nlibraries = argc - 2;
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	for (int i = 0; i < 5; i++)
		bad += child();
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%d calls, %d wrong, %d bad children\n", calls, wrong, bad);
	return 0;
}
