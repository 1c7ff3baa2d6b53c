/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the NCCL programs share. They are started once per rank with RANK and WORLD_SIZE in the environment, as
 * launchers do (or APP_RANK, APP_SIZE, which mean nothing to anybody else), and meet in the file APP_ID.
 */
#ifndef TESTS_APPS_NCCL_APP_H
#define TESTS_APPS_NCCL_APP_H

#include <nccl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int app_rank, app_size;

#define NCCL(call)                                                                      \
	do {                                                                            \
		ncclResult_t r_ = (call);                                               \
		if (r_ != ncclSuccess) {                                                \
			fprintf(stderr, "rank %d: %s gives %d\n", app_rank, #call, r_); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

static inline int app_number(const char *a, const char *b)
{
	const char *s = getenv(a) ? getenv(a) : getenv(b);

	if (!s) {
		fprintf(stderr, "neither %s nor %s is set\n", a, b);
		exit(2);
	}
	return atoi(s);
}

/* The unique id of rank 0; the n-th of a program, for several communicators. */
static inline ncclUniqueId app_id(int n)
{
	char path[512], tmp[520];
	ncclUniqueId id;
	FILE *f;

	snprintf(path, sizeof(path), "%s.%d", getenv("APP_ID") ? getenv("APP_ID") : "app_id", n);
	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	if (app_rank == 0) {
		NCCL(ncclGetUniqueId(&id));
		f = fopen(tmp, "wb");
		if (!f || fwrite(&id, sizeof(id), 1, f) != 1 || fclose(f) || rename(tmp, path))
			exit(2);
		return id;
	}
	while (!(f = fopen(path, "rb")))
		usleep(2000);
	if (fread(&id, sizeof(id), 1, f) != 1)
		exit(2);
	fclose(f);
	return id;
}

static inline ncclComm_t app_init(void)
{
	ncclComm_t comm;

	app_rank = app_number("RANK", "APP_RANK");
	app_size = app_number("WORLD_SIZE", "APP_SIZE");
	NCCL(ncclCommInitRank(&comm, app_size, app_id(0), app_rank));
	return comm;
}

/* FNV-1a of some bytes, for comparing results. */
static inline uint64_t app_sum(uint64_t h, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)p)[i]) * UINT64_C(0x100000001b3);
	return h;
}

#endif
