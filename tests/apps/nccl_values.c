/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What values on a device must never do to a job: nccl_values CASE, on the doubles of NCCL and of CUDA's driver, 2 ranks. Prints
 * what the program sees, the same with libprobe and without.
 */
#include "nccl_app.h"

#include "../doubles/cuda/cuda_double.h"

extern void probe_step(void) __attribute__((weak));

#define N 1024
#define MANY 1000

static cudaStream_t s1, s2;
static ncclComm_t c, other;

static float *device(float value)
{
	CUdeviceptr p;
	float *host;

	if (cuMemAlloc_v2(&p, N * sizeof(float)))
		exit(2);
	host = double_device_alias((void *)(uintptr_t)p);
	for (int i = 0; i < N; i++)
		host[i] = value * (float)(i % 4 + 1);
	return (float *)(uintptr_t)p;
}

static void show(const char *what, const float *p)
{
	const float *v = double_device_alias(p);

	printf("rank %d %s %g %g\n", app_rank, what, (double)v[0], (double)v[N - 1]);
}

/* No call of the program's in between waits or asks. */
static void run_many(void)
{
	float *a = device(1), *b = device(0);
	unsigned before = double_waits();

	for (int i = 0; i < MANY; i++)
		NCCL(ncclAllReduce(a, b, N, ncclFloat32, ncclMax, c, s1));
	printf("rank %d: %u waits in %d collectives\n", app_rank, double_waits() - before, MANY);
	cuStreamSynchronize((CUstream)s1);
	show("many", b);
}

/* The device does not get on: more of ours than it may have. */
static void run_full(void)
{
	float *a = device(1), *b = device(0);

	double_hold((CUstream)s1);
	for (int i = 0; i < 200; i++)
		NCCL(ncclAllReduce(a, b, N, ncclFloat32, ncclMax, c, s1));
	double_release((CUstream)s1);
	cuStreamSynchronize((CUstream)s1);
	NCCL(ncclAllReduce(a, b, N, ncclFloat32, ncclSum, c, s1));
	cuStreamSynchronize((CUstream)s1);
	show("full", b);
}

static void run_wrong(void)
{
	float *a = device(1), *gone = device(2);
	float *nowhere = (float *)(uintptr_t)0x7e0000001000;

	/* Calls that NCCL refuses, with buffers that are not what they say. */
	printf("rank %d: too many %d\n", app_rank, ncclSend(a, 1 << 20, ncclFloat32, 99, c, s1));
	printf("rank %d: nowhere %d\n", app_rank, ncclSend(nowhere, N, ncclFloat32, 99, c, s1));
	cuMemFree_v2((CUdeviceptr)(uintptr_t)gone);
	printf("rank %d: freed %d\n", app_rank, ncclSend(gone, N, ncclFloat32, 99, c, s1));
	printf("rank %d: the end of it %d\n", app_rank,
		ncclSend(a + N - 4, 8, ncclFloat32, 99, c, s1));
	printf("rank %d: between elements %d\n", app_rank,
		ncclSend((char *)a + 2, 4, ncclFloat32, 99, c, s1));
	/* On ranks that are not the root the result's buffer is not used. */
	NCCL(ncclReduce(a, app_rank ? nowhere : a, N, ncclFloat32, ncclSum, 0, c, s1));
	cuStreamSynchronize((CUstream)s1);
	show("wrong", a);
}

static void run_freed(void)
{
	float *a = device(1), *b = device(0);

	NCCL(ncclAllReduce(a, b, N, ncclFloat32, ncclSum, other, s1));
	cuStreamSynchronize((CUstream)s1);
	NCCL(ncclCommDestroy(other)); /* its values are there, and were not read yet */
	cuMemFree_v2((CUdeviceptr)(uintptr_t)a);
	NCCL(ncclAllReduce(b, b, N, ncclFloat32, ncclSum, c, s1));
	cuStreamSynchronize((CUstream)s1);
	show("freed", b);
}

/* The process ends while its results are to come. */
static void run_exit(void)
{
	float *a = device(1), *b = device(0);

	NCCL(ncclAllReduce(a, b, N, ncclFloat32, ncclSum, c, s1));
	cuStreamSynchronize((CUstream)s1);
	double_hold((CUstream)s2);
	NCCL(ncclAllReduce(a, b, N, ncclFloat32, ncclSum, c, s2));
	printf("rank %d leaves\n", app_rank);
	exit(7);
}

static void run_usual(void)
{
	float *a = device(1), *b = device(0);

	for (int i = 0; i < 8; i++) {
		NCCL(ncclAllReduce(a, b, N, ncclFloat32, ncclSum, c, s1));
		cuStreamSynchronize((CUstream)s1);
	}
	show("usual", b);
}

/*
 * Rank 1's X spins until rank 0 comes, which does only when Y is done. Between them values are switched on in rank 1: an
 * allocation there would wait for X, and so for ever.
 */
static void run_cross(void)
{
	float *a = device(1), *b = device(0), *d = device(3);
	const char *go = getenv("APP_GO");

	if (app_rank == 1) {
		NCCL(ncclAllReduce(a, b, N, ncclFloat32, ncclSum, c, s1));
		printf("rank 1 waits in X\n");
		fflush(stdout);
		while (go && access(go, F_OK))
			usleep(2000);
		/* A change takes effect at the end of a step, when it has been seen: within seconds. */
		for (int i = 0; go && probe_step && i < 40; i++) {
			probe_step();
			usleep(100000);
		}
		NCCL(ncclAllReduce(d, d, N, ncclFloat32, ncclSum, other, s2));
	} else {
		NCCL(ncclAllReduce(d, d, N, ncclFloat32, ncclSum, other, s2));
		NCCL(ncclAllReduce(a, b, N, ncclFloat32, ncclSum, c, s1));
	}
	cuStreamSynchronize((CUstream)s2);
	cuStreamSynchronize((CUstream)s1);
	show("cross X", b);
	show("cross Y", d);
	NCCL(ncclAllReduce(d, d, N, ncclFloat32, ncclMax, other, s2));
	cuStreamSynchronize((CUstream)s2);
	NCCL(ncclAllReduce(d, d, N, ncclFloat32, ncclMax, other, s2));
	cuStreamSynchronize((CUstream)s2);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {{"many", run_many}, {"full", run_full}, {"wrong", run_wrong}, {"freed", run_freed},
	{"exit", run_exit}, {"usual", run_usual}, {"cross", run_cross}};

int main(int argc, char **argv)
{
	if (cuInit(0) || cuStreamCreate((CUstream *)&s1, 0) || cuStreamCreate((CUstream *)&s2, 0))
		return 2;
	c = app_init();
	NCCL(ncclCommSplit(c, 0, app_rank, &other, NULL));
	usleep(300000); /* the device has run our kernel once */
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(cases[i].name, argv[1]) == 0)
			cases[i].run();
	NCCL(ncclCommDestroy(c));
	return 0;
}
