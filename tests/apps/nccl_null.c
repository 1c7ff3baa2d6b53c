/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a libnccl.so.2 answers where no GPU is needed: its version, a unique id, and errors for communicators that do not
 * exist. Needs nothing of NCCL that version 2.18 has not.
 */
#include <nccl.h>
#include <stdio.h>

int main(void)
{
	float x[4] = {1, 2, 3, 4};
	ncclUniqueId id;
	ncclComm_t c = NULL;
	int version = 0;
	int r = (int)ncclGetVersion(&version);

	printf("version %d %d\n", r, version);
	printf("id %d\n", (int)ncclGetUniqueId(&id));
	printf("all_reduce %d\n", (int)ncclAllReduce(x, x, 4, ncclFloat32, ncclSum, NULL, NULL));
	printf("bcast %d\n", (int)ncclBcast(x, 4, ncclFloat32, 0, NULL, NULL));
	printf("send %d\n", (int)ncclSend(x, 4, ncclFloat32, 0, NULL, NULL));
	printf("group %d", (int)ncclGroupStart());
	printf(" %d", (int)ncclReduce(x, x, 4, ncclFloat32, ncclSum, 0, NULL, NULL));
	printf(" %d\n", (int)ncclGroupEnd());
	printf("end too many %d\n", (int)ncclGroupEnd());
	printf("split %d\n", (int)ncclCommSplit(NULL, 0, 0, &c, NULL));
	printf("destroy %d\n", (int)ncclCommDestroy(NULL));
	printf("abort %d\n", (int)ncclCommAbort(NULL));
	printf("init %d\n", (int)ncclCommInitRank(&c, 0, id, 0));
	printf("%s\n", ncclGetErrorString(ncclInvalidArgument));
	return 0;
}
