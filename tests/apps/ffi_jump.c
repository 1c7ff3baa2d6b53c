/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library's function that calls back, and callbacks that leave it by longjmp: at once, out of two of its calls at once,
 * out of a call made by a thread. The calls that follow are calls like others, also those under a large frame that lies
 * over what was left. Built twice: with -DLIBRARY the library, else the program, which is linked with it or (PLUGIN)
 * loads it by dlopen.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

typedef void callback(void);

int ring_sum(const float *send, float *recv, int n, callback *before);

#ifdef LIBRARY
int ring_sum(const float *send, float *recv, int n, callback *before)
{
	if (before)
		before();
	for (int i = 0; i < n; i++)
		recv[i] = 2 * send[i];
	return 0;
}
#else
#ifdef PLUGIN
static int (*sum)(const float *, float *, int, callback *);
#else
#define sum ring_sum
#endif

static __thread jmp_buf back;
static __thread int wrong;

static void leave(void)
{
	longjmp(back, 1);
}

static void leave_both(void)
{
	float x = 1, y;

	sum(&x, &y, 1, leave);
}

static void sums(int n, float first)
{
	for (int i = 0; i < n; i++) {
		float x = first + (float)i, y = 0;

		wrong += sum(&x, &y, 1, NULL) != 0 || y != 2 * x;
	}
}

/* Over all that was left, and touching none of it. */
__attribute__((noinline)) static void sums_below(int n, float first)
{
	volatile char room[65536];

	room[0] = 0;
	sums(n, first);
	room[1] = room[0];
}

static void jump(callback *how)
{
	volatile int kept = 77;
	float x = 5, y = 0;

	if (setjmp(back) == 0) {
		sum(&x, &y, 1, how);
		wrong++;
	}
	wrong += kept != 77 || y != 0;
}

static void *all(void *arg)
{
	jump(leave);
	sums(10, 100);
	jump(leave_both);
	sums(10, 200);
	jump(leave);
	sums_below(80, 300);
	*(int *)arg = wrong;
	return NULL;
}

int main(void)
{
	int here = 1, there = 1;
	pthread_t t;

#ifdef PLUGIN
	void *h = dlopen(PLUGIN, RTLD_NOW);

	sum = h ? (__typeof__(sum))dlsym(h, "ring_sum") : NULL;
	if (!sum)
		return 2;
#endif
	all(&here);
	if (pthread_create(&t, NULL, all, &there))
		return 2;
	pthread_join(t, NULL);
	printf("%d %d\n", here, there);
	return here || there;
}
#endif
