/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the toy library tests/doubles/xccl. Arguments: rank, ranks, a letter for the id. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../doubles/xccl/xccl.h"

int main(int argc, char **argv)
{
	uint32_t rank = argc > 1 ? (uint32_t)atoi(argv[1]) : 0,
		 n = argc > 2 ? (uint32_t)atoi(argv[2]) : 2;
	float in[4] = {1, 2, 3, (float)rank}, out[8];
	double wide[2] = {-1, 5};
	int failed = 0;
	xcclComm c, sub, again, none, all[2];
	xcclRootInfo id;

	/* What lies after the id differs between ranks, and is none of it. */
	struct {
		xcclRootInfo id;
		char noise[12];
	} room;

	memset(&room, (int)rank + 1, sizeof(room));
	memset(id.bytes, argc > 3 ? argv[3][0] : 'a', sizeof(id.bytes));
	room.id = id;
	failed += xcclCommInitRootInfo(n, &room.id, rank, &c);
	failed += xcclAllReduce(in, out, 4, XCCL_F32, XCCL_SUM, c, NULL);
	printf("%g %g %g %g\n", out[0], out[1], out[2], out[3]);
	failed += xcclCreateSubComm(c, 3, 0, &sub);
	failed += xcclCreateSubComm(c, -1, 0, &none);
	failed += xcclCreateSubComm(c, 3, 0, &again);
	failed += xcclAllReduce(wide, wide, 2, XCCL_F64, XCCL_MAX, sub, NULL);
	failed += xcclAllGather(in, out, 2, XCCL_F32, again, NULL);
	failed += xcclAllReduce(in, out, 1, XCCL_F32, 77, c, NULL) != XCCL_FAILED;
	failed += xcclCommInitAll(2, NULL, all);
	failed += xcclAllReduce(in, out, 1, XCCL_F32, XCCL_SUM, all[1], NULL);
	failed += xcclCommDestroy(all[0]) + xcclCommDestroy(all[1]);
	failed += xcclCommDestroy(again) + xcclCommDestroy(sub) + xcclCommDestroy(c);
	printf("failed %d\n", failed);
	return failed != 0;
}
