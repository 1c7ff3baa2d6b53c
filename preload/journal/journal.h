/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal as an object: mapping it, writing entries (threads of the job), looking at it (writer and tools).
 * What lies in it: layout.h.
 */
#ifndef PROBE_JOURNAL_JOURNAL_H
#define PROBE_JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "journal/layout.h"

enum journal_kind { JK_MEMORY, JK_FILE, JK_SEGMENT };

struct journal {
	struct journal_head *head;
	size_t bytes; /* of the mapping, which is larger than what can be touched where the journal may grow */
	enum journal_kind kind;
	bool safe; /* in a file or a segment: survives the process */
	bool rdonly;
	_Atomic bool growing; /* a thread is at it, or it cannot grow any more */
	_Atomic uint32_t slots_from; /* where a free slot is looked for first */
	_Atomic uint32_t
		touched; /* chunks of which the writer has taken the page faults; 0: none, or all take their own */
	bool left; /* mapped by journal_open(): if it is drained then its process has ended, and nothing is added any more */
	uint32_t
		early_chunks; /* with so many in use the writer is woken too; 0: with JOURNAL_EARLY alone */
	bool none_parked; /* new, and no record in flight has lain in it yet: that part was never touched */
	uint64_t
		died_ns; /* by journal_open(): when its process was ended, Unix epoch; 0: not known */
	struct io_kept
		lock; /* the file, with flock(2): the kernel frees that when the process ends, however it does */
};

/*
 * Makes a journal of `bytes` (rounded up; at least JOURNAL_BYTES_MIN) in dirfd/name: allocated in full, so that a
 * full disk shows here and not as SIGBUS. dirfd -1: anonymous memory (not crash-safe). The head is filled but for
 * owner, clock, sink options. Returns -errno; no file is left then.
 */
#define JOURNAL_BYTES_MIN (1u << 20)
int journal_create(struct journal *j, int dirfd, const char *name, size_t bytes);

/*
 * From each new thread, before its first entry: the journal grows with the threads that record, so that none of them lacks a chunk
 * because others hold one. Where it cannot (disk, limits), records are dropped when no chunk is free.
 */
void journal_grow_for_threads(struct journal *j);

/* The same in a shared memory segment. seed: any number that differs between processes. path: what to open it by. */
int journal_create_segment(struct journal *j, uint64_t seed, size_t bytes, char *path, size_t cap);

/* The program may have closed the descriptor of the lock: takes it again. path: where the file is now. */
void journal_lock_again(struct journal *j, const char *path);

/* A journal's file for reading and writing, though it has no permission for writing. flags: O_NOFOLLOW. The descriptor, or -errno. */
int journal_open_file(int dirfd, const char *name, int flags);

/*
 * Maps an existing one: a file, or a segment ("shm:...", segment.h). Checks magic, version, geometry: -EINVAL, -EPROTO
 * (other version), -ENODATA (its process ended before it was ready: nothing was ever in it), or -errno of open.
 */
int journal_open(struct journal *j, int dirfd, const char *name, bool rdonly);
void journal_close(struct journal *j);

/* Is there a file, or a segment, of that absolute path? Removing it: 0 or -errno. */
bool journal_exists(const char *path);
int journal_remove(const char *path);

static inline struct journal_thread *journal_thread(const struct journal *j, uint32_t slot)
{
	return (struct journal_thread *)((char *)j->head + j->head->thread_off) + slot;
}

static inline uint64_t journal_commit_bytes(uint32_t nslot)
{
	return sizeof(struct journal_commit) + nslot * sizeof(struct journal_pos);
}

static inline struct journal_commit *journal_commit(const struct journal *j, uint64_t seq)
{
	return (struct journal_commit *)((char *)j->head + j->head->commit_off +
					 (seq & 1) * journal_commit_bytes(j->head->nslot));
}

/* Slots that were ever used. */
static inline uint32_t journal_nthread(const struct journal *j)
{
	uint32_t n = atomic_load_explicit(&j->head->nthread, memory_order_acquire);

	return n < j->head->nslot ? n : j->head->nslot;
}

/* What it has grown to. */
static inline uint64_t journal_size(const struct journal *j)
{
	const struct journal_head *h = j->head;
	uint64_t end =
		h->chunk_off +
		(uint64_t)atomic_load_explicit(&h->nchunk, memory_order_relaxed) * h->chunk_bytes;

	return end > h->bytes ? end : h->bytes;
}

/* Chunks that there are, of a journal that may be growing. */
static inline uint32_t journal_nchunk(const struct journal *j)
{
	uint32_t n = atomic_load_explicit(&j->head->nchunk, memory_order_acquire);
	uint64_t most = n ? (j->bytes - j->head->chunk_off) / j->head->chunk_bytes : 0;

	return n < most ? n : (uint32_t)most;
}

static inline struct journal_chunk *journal_chunk(const struct journal *j, uint32_t i)
{
	return (struct journal_chunk *)((char *)j->head + j->head->chunk_off +
					(uint64_t)i * j->head->chunk_bytes);
}

/* A chunk that was given back may be another thread's by now. */
static inline bool journal_chunk_is_of(
	const struct journal_chunk *k, uint32_t slot, uint32_t generation)
{
	return k->slot == slot && k->generation == generation;
}

static inline uint32_t journal_chunk_cap(const struct journal *j)
{
	return j->head->chunk_bytes - (uint32_t)sizeof(struct journal_chunk);
}

/* ---- the writing side: one thread's chain of chunks ---- */

struct chain {
	struct journal *j;
	struct journal_thread *slot;
	struct journal_chunk *chunk; /* NULL: none yet, or none was free */
	uint32_t used, cap; /* of the chunk */
	uint32_t generation, index;
};

/* Takes a thread slot. -EAGAIN: all are taken. */
int chain_attach(struct chain *c, struct journal *j, int64_t tid);
/* From the writer: the slot is a new thread's to take. */
void journal_free_slot(struct journal *j, uint32_t i);
/* Leaves the slot to the writer, which frees it once everything in it has been written. */
void chain_detach(struct chain *c);

/*
 * Room for an entry of that many bytes (a multiple of 8, at most JOURNAL_ENTRY_MAX), NULL if no chunk is free. The
 * entry becomes visible with chain_publish(), which must come before the next reserve. *wake is set when an eighth of the
 * chunks, or early_chunks, are in use, and when those run out of which the writer has taken the page faults.
 */
void *chain_reserve(struct chain *c, uint32_t bytes, bool *wake);

/* More than two thirds of the chunks are in use. */
static inline bool journal_is_crowded(const struct journal *j)
{
	return atomic_load_explicit(&j->head->free_chunks, memory_order_relaxed) <
	       atomic_load_explicit(&j->head->nchunk, memory_order_relaxed) / 3;
}

/* The same where the current chunk has the room, else NULL: chain_reserve() is to be called. */
static inline void *chain_room(struct chain *c, uint32_t bytes)
{
	return c->chunk && c->used + bytes <= c->cap ? c->chunk->data + c->used : NULL;
}

/*
 * The same for the end of an asynchronous call, which may use the last chunks too: a call without its end would stand
 * in the files as one that hangs.
 */
void *chain_reserve_end(struct chain *c, uint32_t bytes, bool *wake);

static inline void chain_publish(struct chain *c, uint32_t bytes)
{
	c->used += bytes;
	atomic_store_explicit(&c->chunk->used, c->used, memory_order_release);
}

/*
 * Adds strings (NUL-terminated, one after the other, `bytes` in all) to the dictionary; id: the entry's number within
 * its kind. Returns 0, -ENOSPC when full, -EMSGSIZE. Any thread.
 */
int journal_dict_add(
	struct journal *j, enum dict_kind kind, uint16_t id, const char *strings, size_t bytes);

/* The same of n texts. */
int journal_dict_add_texts(
	struct journal *j, enum dict_kind kind, uint16_t id, const char *const *text, unsigned n);

/* The strings of entry `id`, or NULL. For `kind` DICT_META: the last one added under that id. */
const char *journal_dict_get(const struct journal *j, enum dict_kind kind, uint16_t id);

/*
 * The dictionary's entries one after the other, each with as many strings as its kind has: *at is 0 at first. NULL: no
 * more (for now). *gap is set when one was stepped over that is being filled in, or that its process died in.
 */
const struct dict_entry *journal_dict_next(const struct journal *j, uint64_t *at, bool *gap);

/* ---- looking at entries ---- */

/* The n-th tensor of a call or end entry; NULL when the entry is too small for it. */
const struct journal_tensor *journal_tensor_first(const struct journal_entry *e);
const struct journal_tensor *journal_tensor_next(
	const struct journal_entry *e, const struct journal_tensor *t);

/*
 * Of an open call without tensors: dtype, count and bytes of what it was to receive, nothing else of it is
 * valid. NULL: nothing, or that is not known.
 */
const struct journal_tensor *journal_awaited(const struct journal_call *c);

static inline uint32_t journal_tensor_bytes(unsigned ndim)
{
	return (uint32_t)sizeof(struct journal_tensor) +
	       (ndim == JOURNAL_NDIM_NONE ? 0 : 8 * (uint32_t)ndim);
}

/*
 * The entry at `offset` of a chunk of which `used` bytes are valid, or NULL if what lies there is no entry (a
 * damaged journal): all lengths have been checked then.
 */
const struct journal_entry *journal_entry_at(
	const struct journal *j, const struct journal_chunk *chunk, uint32_t used, uint32_t offset);

#endif
