/* SPDX-License-Identifier: Apache-2.0 */
/* Rank 1 does not come to the second all-reduce; the others wait for it in a group (a first argument: not in one). */
#include "nccl_app.h"

int main(int argc, char **argv)
{
	ncclComm_t c = app_init();
	float x[4] = {1, 2, 3, 4};

	(void)argv;
	NCCL(ncclAllReduce(x, x, 4, ncclFloat32, ncclSum, c, NULL));
	if (app_rank == 1) {
		printf("rank 1 stays away\n");
		fflush(stdout);
		for (;;)
			pause();
	}
	if (argc == 1)
		NCCL(ncclGroupStart());
	NCCL(ncclAllReduce(x, x, 4, ncclFloat32, ncclSum, c, NULL));
	if (argc == 1)
		NCCL(ncclGroupEnd());
	return 0;
}
