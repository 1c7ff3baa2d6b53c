/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of oneCCL's C interface on host memory, with small numbers: RANK, WORLD_SIZE, and APP_ID, the file where the
 * ranks meet. Declared here, for ccl.h is C++. The library is loaded, so that the program builds without it:
 * APP_LOAD=libccl.so.2
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
	char data[4096];
} unique_id;
typedef void *communicator;
enum { FLOAT32 = 7, SUM = 0, MAX = 2 };

#define FUNCTIONS(X)                                                                               \
	X(onecclGetUniqueId, (unique_id *))                                                        \
	X(onecclSetDevice, (uint32_t))                                                             \
	X(onecclCommInitRank, (communicator *, size_t, unique_id, int))                            \
	X(onecclCommDestroy, (communicator))                                                       \
	X(onecclAllReduce, (void *, void *, size_t, int, int, communicator, void *))               \
	X(onecclReduce, (const void *, void *, size_t, int, int, int, communicator, void *))       \
	X(onecclBroadcast, (const void *, void *, size_t, int, int, communicator, void *))         \
	X(onecclAllGather, (const void *, void *, size_t, int, communicator, void *))              \
	X(onecclReduceScatter, (const void *, void *, size_t, int, int, communicator, void *))     \
	X(onecclAllToAll, (const void *, void *, size_t, int, communicator, void *))               \
	X(onecclAllToAllV,                                                                         \
		(const void *, const size_t *, void *, const size_t *, int, communicator, void *)) \
	X(onecclSend, (const void *, size_t, int, int, communicator, void *))                      \
	X(onecclRecv, (void *, size_t, int, int, communicator, void *))                            \
	X(onecclGroupStart, (void))                                                                \
	X(onecclGroupEnd, (void))

static struct {
#define FUNCTION(name, parameters) int(*name) parameters;
	FUNCTIONS(FUNCTION)
#undef FUNCTION
} ccl;

static int rank, size;
static float x[4], out[16];

static void show(const char *what, int status, unsigned n)
{
	printf("rank %d %s status %d:", rank, what, status);
	for (unsigned i = 0; i < n; i++)
		printf(" %g", (double)out[i]);
	putchar('\n');
	fflush(stdout);
	memset(out, 0, sizeof(out));
}

static void share_id(unique_id *id)
{
	char tmp[520];
	FILE *f;

	snprintf(tmp, sizeof(tmp), "%s.tmp", getenv("APP_ID"));
	if (rank == 0) {
		if (ccl.onecclGetUniqueId(id))
			exit(3);
		f = fopen(tmp, "wb");
		if (!f || fwrite(id, sizeof(*id), 1, f) != 1 || fclose(f) ||
			rename(tmp, getenv("APP_ID")))
			exit(2);
		return;
	}
	while (!(f = fopen(getenv("APP_ID"), "rb")))
		usleep(2000);
	if (fread(id, sizeof(*id), 1, f) != 1)
		exit(2);
	fclose(f);
}

int main(void)
{
	void *h = dlopen(getenv("APP_LOAD"), RTLD_NOW | RTLD_GLOBAL), *f;
	size_t scounts[2][2] = {{1, 3}, {2, 2}}, rcounts[2][2] = {{1, 2}, {3, 2}};
	communicator c = NULL;
	unique_id id;
	int status;

	if (!h) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
#define FUNCTION(name, parameters) \
	f = dlsym(h, #name);       \
	if (!f)                    \
		return 2;          \
	memcpy(&ccl.name, &f, sizeof(f));
	FUNCTIONS(FUNCTION)
#undef FUNCTION
	rank = atoi(getenv("RANK"));
	size = atoi(getenv("WORLD_SIZE"));
	for (int i = 0; i < 4; i++)
		x[i] = (float)((rank + 1) * (i + 1));
	share_id(&id);
	status = ccl.onecclCommInitRank(&c, (size_t)size, id, rank);
	printf("rank %d init %d\n", rank, status);
	if (status)
		return 3;
	status = ccl.onecclAllReduce(x, out, 4, FLOAT32, SUM, c, NULL);
	show("all_reduce", status, 4);
	status = ccl.onecclReduce(x, out, 4, FLOAT32, MAX, 1, c, NULL);
	show("reduce", status, rank == 1 ? 4 : 0);
	status = ccl.onecclBroadcast(x, out, 4, FLOAT32, 0, c, NULL);
	show("broadcast", status, 4);
	status = ccl.onecclAllGather(x, out, 2, FLOAT32, c, NULL);
	show("all_gather", status, 4);
	status = ccl.onecclReduceScatter(x, out, 2, FLOAT32, SUM, c, NULL);
	show("reduce_scatter", status, 2);
	status = ccl.onecclAllToAll(x, out, 2, FLOAT32, c, NULL);
	show("all_to_all", status, 4);
	status = ccl.onecclAllToAllV(x, scounts[rank], out, rcounts[rank], FLOAT32, c, NULL);
	show("all_to_all_v", status, rank ? 5 : 3);
	status = ccl.onecclAllReduce(x, out, 4, FLOAT32, SUM, c, &size); /* any queue */
	show("all_reduce on a queue", status, 4);
	ccl.onecclGroupStart();
	status = rank ? ccl.onecclRecv(out, 4, FLOAT32, 0, c, NULL)
		      : ccl.onecclSend(x, 4, FLOAT32, 1, c, NULL);
	status += ccl.onecclGroupEnd();
	show("message", status, 4);
	printf("rank %d end %d\n", rank, ccl.onecclCommDestroy(c));
	return 0;
}
