/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "double.h"

struct mail {
	_Atomic uint32_t full;
	uint32_t bytes;
	unsigned char data[MAIL_BYTES];
};

#define POSTS 8u

struct box {
	_Atomic uint32_t put, taken;
	struct {
		struct post head;
		unsigned char data[POST_BYTES];
	} item[POSTS];
};

struct shared {
	_Atomic uint32_t arrived, round;
	_Atomic uint32_t joined;
	uint32_t pad;
	unsigned char slot[RANKS_MAX][SLOT_BYTES];
	struct mail mail[RANKS_MAX][RANKS_MAX]; /* [from][to] */
	struct box box[RANKS_MAX][RANKS_MAX];
};

struct segment {
	struct shared *mem;
	int rank, size;
};

#define PATIENCE_S 60

bool segment_wait(unsigned *tries)
{
	struct timespec t = {0, 50000};

	if (++*tries < 100)
		sched_yield();
	else
		nanosleep(&t, NULL);
	return *tries < PATIENCE_S * 15000u;
}

struct segment *segment_join(const char *name, int rank, int size)
{
	struct segment *s = calloc(1, sizeof(*s));
	unsigned tries = 0;
	char path[112];
	int fd;

	snprintf(path, sizeof(path), "/%s", name);
	/* New memory is zero, which is how everything in it begins: the order of ranks does not matter. */
	fd = shm_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (!s || fd < 0 || ftruncate(fd, sizeof(struct shared)) < 0) {
		free(s);
		return NULL;
	}
	s->mem = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	s->rank = rank;
	s->size = size;
	if (s->mem == MAP_FAILED) {
		free(s);
		return NULL;
	}
	atomic_fetch_add(&s->mem->joined, 1);
	while (atomic_load(&s->mem->joined) < (uint32_t)size)
		if (!segment_wait(&tries)) {
			shm_unlink(path);
			segment_leave(s);
			return NULL;
		}
	/* All have it open: the name is not needed any more. */
	if (rank == 0)
		shm_unlink(path);
	return s;
}

void segment_leave(struct segment *s)
{
	munmap(s->mem, sizeof(struct shared));
	free(s);
}

void *segment_slot(struct segment *s, int rank)
{
	return s->mem->slot[rank];
}

int segment_barrier(struct segment *s)
{
	struct shared *m = s->mem;
	uint32_t round = atomic_load(&m->round);
	unsigned tries = 0;

	if (atomic_fetch_add(&m->arrived, 1) + 1 == (uint32_t)s->size) {
		atomic_store(&m->arrived, 0);
		atomic_fetch_add(&m->round, 1);
		return 0;
	}
	while (atomic_load(&m->round) == round)
		if (!segment_wait(&tries))
			return -1;
	return 0;
}

size_t segment_send(struct segment *s, int to, const void *p, size_t n)
{
	struct mail *b = &s->mem->mail[s->rank][to];

	if (!n || atomic_load(&b->full))
		return 0;
	if (n > MAIL_BYTES)
		n = MAIL_BYTES;
	memcpy(b->data, p, n);
	b->bytes = (uint32_t)n;
	atomic_store(&b->full, 1);
	return n;
}

size_t segment_receive(struct segment *s, int from, void *p, size_t n)
{
	struct mail *b = &s->mem->mail[from][s->rank];

	if (!n || !atomic_load(&b->full))
		return 0;
	if (n > b->bytes)
		n = b->bytes;
	memcpy(p, b->data, n);
	atomic_store(&b->full, 0);
	return n;
}

int segment_post(struct segment *s, int to, const struct post *p, const void *data)
{
	struct box *b = &s->mem->box[s->rank][to];
	uint32_t n = atomic_load(&b->put);
	unsigned tries = 0;

	while (n - atomic_load(&b->taken) == POSTS)
		if (!segment_wait(&tries))
			return -1;
	b->item[n % POSTS].head = *p;
	memcpy(b->item[n % POSTS].data, data, p->bytes);
	atomic_store(&b->put, n + 1);
	return 0;
}

const void *segment_posted(struct segment *s, int from, struct post *p)
{
	struct box *b = &s->mem->box[from][s->rank];
	uint32_t n = atomic_load(&b->taken);

	if (n == atomic_load(&b->put))
		return NULL;
	*p = b->item[n % POSTS].head;
	return b->item[n % POSTS].data;
}

void segment_post_done(struct segment *s, int from)
{
	atomic_fetch_add(&s->mem->box[from][s->rank].taken, 1);
}
