/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of its caller's stack a wrapper uses: the stack of a thread is painted below the call, and the real function
 * looks how far down the paint is gone, paints again, and lets the call return. Linked with tests/bench/standin.c, whose
 * functions call stack_use_look(); "-Wl,-z,now", or the loader's resolver is measured.
 *
 *	stack_use BYTES mpi | jump | custom LIBRARY | dlsym LIBRARY | quit
 *
 * BYTES of stack. Each line is CALL DOWN BACK: bytes below the caller's stack pointer that were touched when the real
 * function was entered, and between its return and that of the wrapper. The first line is the process' first call.
 *	quit    no paint: the thread ends the process by exit()
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../bench/standin.h"

#define PAINT UINT64_C(0x5ca1ab1e0ddba115)
#define KEPT 256 /* bytes below a frame that the painter itself may be using */

static uintptr_t low, caller_sp, down, back;
static const char *mode, *library;

void stack_use_look(void);

static inline uintptr_t stack_pointer(void)
{
	uintptr_t sp;

#if defined(__x86_64__)
	__asm__ volatile("mov %%rsp, %0" : "=r"(sp));
#else
	__asm__ volatile("mov %0, sp" : "=r"(sp));
#endif
	return sp;
}

__attribute__((noinline)) static void paint(void)
{
	volatile uint64_t *p = (volatile uint64_t *)low;

	while ((uintptr_t)p < stack_pointer() - KEPT)
		*p++ = PAINT;
}

__attribute__((noinline)) static uintptr_t touched(void)
{
	volatile uint64_t *p = (volatile uint64_t *)low;

	while ((uintptr_t)p < caller_sp && *p == PAINT)
		p++;
	return caller_sp - (uintptr_t)p;
}

void stack_use_look(void)
{
	if (!low)
		return;
	down = touched();
	paint();
}

#define MEASURE(name, call)                  \
	do {                                 \
		paint();                     \
		caller_sp = stack_pointer(); \
		call;                        \
		back = touched();            \
		note(name, down, back);      \
	} while (0)

static struct {
	const char *name;
	uintptr_t down, back;
} lines[64];
static int nlines;

/* printf takes more stack than there is: the main thread prints. */
__attribute__((noinline)) static void note(const char *name, uintptr_t d, uintptr_t b)
{
	lines[nlines].name = name;
	lines[nlines].down = d;
	lines[nlines++].back = b;
}

static float in[1024], out[1024];

__attribute__((noinline)) static void call_mpi(void)
{
	int comm, request, flag;

	MEASURE("init", MPI_Init(NULL, NULL));
	for (int i = 0; i < 3; i++) {
		MEASURE("allreduce",
			MPI_Allreduce(in, out, 1024, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
		MEASURE("bcast", MPI_Bcast(in, 1024, MPI_FLOAT, 0, MPI_COMM_WORLD));
	}
	MEASURE("comm_dup", MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	MEASURE("on_it", MPI_Allreduce(in, out, 7, MPI_FLOAT, MPI_SUM, comm));
	MEASURE("isend", MPI_Isend(in, 1024, MPI_FLOAT, 0, 1, comm, &request));
	MEASURE("test", MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
	MEASURE("wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
	MEASURE("finalize", MPI_Finalize());
}

typedef int sum_fn(const float *, float *, unsigned long, int);

__attribute__((noinline)) static void call_library(void)
{
	void *handle;
	sum_fn *sum;

	/* The loader has its own needs: only what it takes is printed, for a comparison without a preload. */
	MEASURE("dlopen", down = 0; handle = dlopen(library, RTLD_NOW));
	if (!handle)
		exit(3);
	MEASURE("dlsym", down = 0; sum = (sum_fn *)dlsym(handle, "ring_sum"));
	if (!sum)
		exit(4);
	for (int i = 0; i < 3; i++)
		MEASURE("sum", sum(in, out, 100, 0));
}

static void *work(void *arg)
{
	(void)arg;
	if (strcmp(mode, "quit") == 0) {
		low = 0;
		MPI_Init(NULL, NULL);
		MPI_Allreduce(in, out, 1024, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		exit(0);
	}
	if (strcmp(mode, "mpi") == 0)
		call_mpi();
	else
		call_library();
	return NULL;
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 2 ? strtoul(argv[1], NULL, 0) : 0;
	pthread_attr_t a;
	pthread_t t;
	char *mem = mmap(NULL, bytes + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!bytes || mem == MAP_FAILED || mprotect(mem + 4096, bytes, PROT_READ | PROT_WRITE))
		return 2;
	mode = argv[2];
	library = argv[3];
	low = (uintptr_t)mem + 4096;
	pthread_attr_init(&a);
	if (pthread_attr_setstack(&a, mem + 4096, bytes) || pthread_create(&t, &a, work, NULL))
		return 2;
	pthread_join(t, NULL);
	for (int i = 0; i < nlines; i++)
		printf("%s %lu %lu\n", lines[i].name, (unsigned long)lines[i].down,
			(unsigned long)lines[i].back);
	return 0;
}
