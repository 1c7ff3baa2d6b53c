/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/segment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "base/hash.h"

#define KEYS_TRIED 64

bool segment_parse(const char *path, struct segment *s)
{
	int end = 0;

	return strncmp(path, "shm:", 4) == 0 && path[4] >= '0' && path[4] <= '9' &&
	       sscanf(path, "shm:%d:0x%8x%n", &s->id, &s->key, &end) == 2 && end && path[end] == 0;
}

void segment_format_path(const struct segment *s, char path[SEGMENT_PATH_MAX])
{
	snprintf(path, SEGMENT_PATH_MAX, "shm:%d:0x%08x", s->id, s->key);
}

static void *map_segment(int id, bool rdonly, int *err)
{
	void *p = shmat(id, NULL, rdonly ? SHM_RDONLY : 0);

	if (p != (void *)-1) /* NOLINT: the error value of shmat */
		return p;
	*err = errno == EIDRM || errno == EINVAL ? -ENOENT : -errno;
	return NULL;
}

void *segment_make(struct segment *s, uint64_t seed, size_t bytes, int *err)
{
	for (int i = 0; i < KEYS_TRIED; i++) {
		uint32_t key =
			SEGMENT_KEY | ((uint32_t)hash_mix(seed + (uint64_t)i) & ~SEGMENT_KEY_MASK);
		int id = shmget((key_t)key, bytes, IPC_CREAT | IPC_EXCL | 0600);
		void *p;

		if (id < 0 && errno == EEXIST)
			continue;
		if (id < 0) {
			*err = -errno;
			return NULL;
		}
		*s = (struct segment){id, key};
		p = map_segment(id, false, err);
		if (!p) {
			shmctl(id, IPC_RMID, NULL);
			return NULL;
		}
		/*
		 * Excludes the segment from the program's core files: it outlives the process
		 * anyway.
		 */
		madvise(p, bytes, MADV_DONTDUMP);
		return p;
	}
	*err = -EEXIST;
	return NULL;
}

int segment_read_state(const struct segment *s, struct segment_state *state)
{
	struct shmid_ds ds;

	if (shmctl(s->id, IPC_STAT, &ds) < 0)
		return errno == EIDRM || errno == EINVAL ? -ENOENT : -errno;
	/* Ids are reused; and a segment that is being removed no longer has a key. */
	if ((uint32_t)ds.shm_perm.__key != s->key)
		return -ENOENT;
	*state = (struct segment_state){.bytes = ds.shm_segsz,
		.attached = (uint32_t)ds.shm_nattch,
		.uid = ds.shm_perm.uid,
		.made = ds.shm_ctime};
	return 0;
}

void *segment_map(const struct segment *s, size_t *bytes, bool rdonly, int *err)
{
	struct segment_state state;

	*err = segment_read_state(s, &state);
	if (*err)
		return NULL;
	*bytes = state.bytes;
	return map_segment(s->id, rdonly, err);
}

int segment_remove(const struct segment *s)
{
	struct segment_state state;
	int err = segment_read_state(s, &state);

	return err ? err : shmctl(s->id, IPC_RMID, NULL) < 0 ? -errno : 0;
}
