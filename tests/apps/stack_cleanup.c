/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a wrapper does around the real function, for test_stack_exceptions: a cleanup that also runs when an exception
 * passes. Linked as libprobe.so is, with its personality routine and without libgcc's.
 */
#define EXPORT __attribute__((visibility("default")))

EXPORT int cleanup_count(void);
EXPORT int cleanup_around(int (*fn)(int), int v);

static int count;

static void clean(int *v)
{
	__atomic_fetch_add(&count, *v, __ATOMIC_RELAXED);
}

int cleanup_count(void)
{
	return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

int cleanup_around(int (*fn)(int), int v)
{
	int one __attribute__((cleanup(clean))) = 1;
	int r = fn(v);

	{
		/* Another call site, with two cleanups. */
		int two __attribute__((cleanup(clean))) = 2;

		if (v < 0)
			r += fn(v) + two;
	}
	return r + one;
}
