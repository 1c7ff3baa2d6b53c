/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of the doubles of HCCL and oneCCL, which do their works when they are given; one thread. */
#include <stdlib.h>

#include "../nccl/double.h"

static struct {
	int depth;
	struct work *first, **end;
} queue;

/* work.c asks for it; communicators are not split this way here. */
ncclResult_t comm_split(struct work *w)
{
	(void)w;
	return ncclInvalidUsage;
}

/* ... and for windows, which are NCCL's. */
ncclResult_t window_work(struct work *w)
{
	(void)w;
	return ncclInvalidUsage;
}

static ncclResult_t run_and_free(struct work *list)
{
	ncclResult_t r = list ? work_run(list) : ncclSuccess;

	while (list) {
		struct work *next = list->next;

		free(list);
		list = next;
	}
	return r;
}

void queue_start(void)
{
	if (!queue.depth++)
		queue.end = &queue.first;
}

ncclResult_t queue_end(void)
{
	struct work *list = queue.first;

	if (!queue.depth)
		return ncclInvalidUsage;
	if (--queue.depth)
		return ncclSuccess;
	queue.first = NULL;
	return run_and_free(list);
}

ncclResult_t queue_work(const struct work *w)
{
	struct work *mine = malloc(sizeof(*mine));

	if (!mine)
		return ncclSystemError;
	*mine = *w;
	if (!queue.depth)
		return run_and_free(mine);
	*queue.end = mine;
	queue.end = &mine->next;
	return ncclSuccess;
}
