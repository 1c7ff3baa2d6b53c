/* SPDX-License-Identifier: Apache-2.0 */
/* One process that drives two devices: ncclCommInitAll, and groups over both communicators. No RANK needed. */
#include "nccl_app.h"

int main(void)
{
	float x[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, out[2][8];
	ncclComm_t c[2];

	NCCL(ncclCommInitAll(c, 2, NULL));
	for (int step = 0; step < 2; step++) {
		NCCL(ncclGroupStart());
		for (int i = 0; i < 2; i++)
			NCCL(ncclAllReduce(x[i], out[i], 4, ncclFloat32, ncclSum, c[i], NULL));
		NCCL(ncclGroupEnd());
	}
	NCCL(ncclGroupStart());
	for (int i = 0; i < 2; i++) {
		NCCL(ncclSend(x[i], 4, ncclFloat32, 1 - i, c[i], NULL));
		NCCL(ncclRecv(out[i] + 4, 4, ncclFloat32, 1 - i, c[i], NULL));
	}
	NCCL(ncclGroupEnd());
	for (int i = 0; i < 2; i++)
		printf("%g %g %g %g\n", (double)out[i][0], (double)out[i][3], (double)out[i][4],
			(double)out[i][7]);
	for (int i = 0; i < 2; i++)
		NCCL(ncclCommDestroy(c[i]));
	return 0;
}
