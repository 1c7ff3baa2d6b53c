/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads call a library in each way that has entries of its own, while recording is switched off and on. What switches it,
 * set_off_reason() of libprobe.so, is found by OFF_SWITCH: how far it lies from probe_step(), in decimal.
 *
 *	off NEEDED... : prints "off FROM TO" and "on FROM TO", times of day in ns between which nothing was switched and
 *	each thread had made some calls, then "calls WAY N" for each thread, and "wrong N"
 *
 * Linked with libthing.so.1; loads libuser.so, and looks libthing.so.1 up, from the folder in argv[1].
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call.h"

enum { NEEDED, BY_DLSYM, BY_DLOPEN, WAYS };
static const char *const way_name[WAYS] = {"needed", "dlsym", "dlopen"};

static struct caller {
	_Atomic uint64_t calls;
	_Alignas(64) pthread_t thread;
} callers[WAYS];
static _Atomic bool over;
static _Atomic unsigned wrong;
static char user[512], thing[512];
static void (*set_off_reason)(unsigned why, bool off);

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

typedef int thing_fn(const float *, float *, int, int);

static float by_needed(float x)
{
	float out = -1;

	acme_allreduce(&x, &out, 1, 0);
	return out;
}

/* Looked up each time: what the hook of dlsym gives out while it is on stays valid when it is off. */
static float by_dlsym(float x)
{
	static void *h;
	static _Atomic(thing_fn *) kept;
	float out = -1;
	thing_fn *f;

	if (!h)
		h = dlopen(thing, RTLD_NOW | RTLD_LOCAL);
	f = (thing_fn *)dlsym(h, "acme_allreduce");
	if (kept && (int)x % 2)
		f = kept;
	else
		kept = f;
	f(&x, &out, 1, 0);
	return out;
}

static float by_dlopen(float x)
{
	void *h = dlopen(user, RTLD_NOW | RTLD_LOCAL);
	float (*f)(float) = h ? (float (*)(float))dlsym(h, "user_call") : NULL;
	float out = f ? f(x) : -1;

	if (h)
		dlclose(h);
	return out;
}

static void *call_until_over(void *arg)
{
	static float (*const by[WAYS])(float) = {by_needed, by_dlsym, by_dlopen};
	struct caller *me = arg;
	long way = me - callers;

	for (int i = 0; !over; i = (i + 1) % 1000) {
		wrong += by[way]((float)i) != (float)i * 2;
		me->calls++;
	}
	return NULL;
}

/* Until each thread has made n more calls. */
static void wait_for_calls(uint64_t n)
{
	struct timespec ms = {.tv_nsec = 1000000};
	uint64_t was[WAYS];

	for (int i = 0; i < WAYS; i++)
		was[i] = callers[i].calls;
	for (int i = 0; i < WAYS; i++)
		while (callers[i].calls < was[i] + n)
			nanosleep(&ms, NULL);
}

static void keep(bool off)
{
	uint64_t from;

	set_off_reason(2, off);
	wait_for_calls(2); /* those on their way, and one more */
	from = now_ns();
	wait_for_calls(20);
	printf("%s %llu %llu\n", off ? "off" : "on", (unsigned long long)from,
		(unsigned long long)now_ns());
}

int main(int argc, char **argv)
{
	char *at = dlsym(RTLD_DEFAULT, "probe_step");

	if (argc < 2 || !at || !getenv("OFF_SWITCH"))
		return 2;
	set_off_reason = (void (*)(unsigned, bool))(at + atol(getenv("OFF_SWITCH")));
	snprintf(user, sizeof(user), "%s/libuser.so", argv[1]);
	snprintf(thing, sizeof(thing), "%s/libthing.so.1", argv[1]);
	for (int i = 0; i < WAYS; i++)
		if (pthread_create(&callers[i].thread, NULL, call_until_over, &callers[i]))
			return 2;
	wait_for_calls(2);
	for (int i = 0; i < 8; i++)
		keep(i % 2 == 0);
	over = true;
	for (int i = 0; i < WAYS; i++)
		pthread_join(callers[i].thread, NULL);
	for (int i = 0; i < WAYS; i++)
		printf("calls %s %llu\n", way_name[i], (unsigned long long)callers[i].calls);
	printf("wrong %u\n", wrong);
	return 0;
}
