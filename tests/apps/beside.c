/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program without MPI for tests of what else may live in a process (sanitizers, allocators, Valgrind): the functions
 * that libprobe.so has hooks for, memory, threads and children, from a constructor and from main(). It prints what it
 * sees, and with the argument `fault` makes a mistake at the end that a sanitizer of its kind finds:
 *
 *	beside [heap | race | shift | uninitialised]
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile int shared;
static int arrived, left;

static void look(const char *when)
{
	void *self = dlopen(NULL, RTLD_NOW), *m = dlopen("libm.so.6", RTLD_NOW);
	double (*cosine)(double) = m ? (double (*)(double))dlsym(m, "cos") : NULL;

	printf("%s: self %d, cos(0) %g, ", when, self != NULL, cosine ? cosine(0) : -1);
	printf("malloc %d, next %d, none %d, MPI %d, %d\n", dlsym(RTLD_DEFAULT, "malloc") != NULL,
		dlsym(RTLD_NEXT, "strlen") != NULL, dlsym(RTLD_DEFAULT, "no_such_name") != NULL,
		dlsym(RTLD_DEFAULT, "MPI_Barrier") != NULL, dlsym(self, "MPI_Barrier") != NULL);
	printf("%s: versioned %d, ", when, dlvsym(m, "cos", "GLIBC_2.2.5") != NULL);
	printf("close %d\n", m ? dlclose(m) : -1);
}

__attribute__((constructor)) static void early(void)
{
	look("constructor");
}

/* Every function of the exec family and both ends, in children. */
static void child(int how)
{
	char *argv[] = {"true", NULL};

	switch (how) {
	case 0:
		execve("/bin/true", argv, environ);
		break;
	case 1:
		execv("/bin/true", argv);
		break;
	case 2:
		execvp("true", argv);
		break;
	case 3:
		execvpe("true", argv, environ);
		break;
	case 4:
		execl("/bin/true", "true", NULL);
		break;
	case 5:
		execlp("true", "true", NULL);
		break;
	case 6:
		execle("/bin/true", "true", NULL, environ);
		break;
	case 7:
		_Exit(0);
	}
	_exit(how == 8 ? 0 : 99);
}

/*
 * Both threads write the same memory while both live. Nothing orders their writes: relaxed atomics do not order them. A race
 * with a thread that has ended is found only now and then.
 */
static void race(void)
{
	__atomic_add_fetch(&arrived, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) < 2)
		sched_yield();
	for (int i = 0; i < 100; i++) {
		shared++;
		sched_yield();
	}
	__atomic_add_fetch(&left, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&left, __ATOMIC_RELAXED) < 2)
		sched_yield();
}

static void *work(void *arg)
{
	char *p = NULL;

	for (int i = 1; i < 200; i++) {
		p = realloc(p, (size_t)i * 100);
		memset(p, i, (size_t)i * 100);
	}
	free(p);
	if (arg)
		race();
	return NULL;
}

static int fault(const char *what)
{
	volatile int n = 33;
	volatile char *p = malloc(16);

	if (!strcmp(what, "heap"))
		p[n - 17] = 1;
	if (!strcmp(what, "shift"))
		printf("%d\n", 1 << n);
	if (!strcmp(what, "uninitialised") && p[3])
		puts("set");
	free((void *)p);
	return 5;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t t[2];

	look("main");
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, strcmp(what, "race") ? NULL : (void *)&shared);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	fflush(stdout);
	for (int how = 0; how < 9; how++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0)
			child(how);
		waitpid(pid, &status, 0);
		printf("child %d: 0x%x\n", how, status);
		fflush(stdout);
	}
	return fault(what);
}
