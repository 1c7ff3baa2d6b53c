/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A preloaded library that counts, per thread, what a call that is recorded must not do: ask for memory or give it
 * back, take locks. steady_counts() hands the calling thread's counts out.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/mman.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);
void steady_counts(unsigned long *memory, unsigned long *locks);

static __thread unsigned long memory, locks;

void steady_counts(unsigned long *m, unsigned long *l)
{
	*m = memory;
	*l = locks;
}

void *malloc(size_t n)
{
	memory++;
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	memory++;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	memory++;
	return __libc_realloc(p, n);
}

void *memalign(size_t align, size_t n)
{
	memory++;
	return __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	memory++;
	return __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
	memory++;
	*p = __libc_memalign(align, n);
	return *p ? 0 : 12;
}

void free(void *p)
{
	memory++;
	__libc_free(p);
}

#define COUNT(name, type)                                                \
	int name(type *x)                                                \
	{                                                                \
		static int (*real)(type *);                              \
                                                                         \
		locks++;                                                 \
		if (!real)                                               \
			real = (int (*)(type *))dlsym(RTLD_NEXT, #name); \
		return real(x);                                          \
	}

COUNT(pthread_mutex_lock, pthread_mutex_t)
COUNT(pthread_mutex_trylock, pthread_mutex_t)
COUNT(pthread_rwlock_rdlock, pthread_rwlock_t)
COUNT(pthread_rwlock_wrlock, pthread_rwlock_t)
COUNT(pthread_rwlock_tryrdlock, pthread_rwlock_t)
COUNT(sem_wait, sem_t)
