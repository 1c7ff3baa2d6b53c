/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal as an object: mapping it, writing entries (threads of the job), reading it (writer and tools). Its
 * layout: layout.h.
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
	/* of the mapping, which is larger than the usable part if the journal may grow */
	size_t bytes;
	enum journal_kind kind;
	bool safe; /* in a file or segment, so it survives the process */
	bool rdonly;
	_Atomic bool growing; /* a thread is growing it, or it cannot grow any more */
	_Atomic uint32_t slots_from; /* where the search for a free slot starts */
	/* chunks whose page faults the writer has taken; 0: none, or each thread takes its own */
	_Atomic uint32_t touched;
	/* mapped by journal_open(). If it is drained, its process has ended, and nothing more is added */
	bool left;
	/* the writer is also woken at this many chunks in use; 0: only at JOURNAL_EARLY */
	uint32_t early_chunks;
	/* new, without any record in flight so far: that region was never touched */
	bool none_parked;
	/* set by journal_open(): when its process was killed, Unix epoch; 0: not known */
	uint64_t died_ns;
	/* the file, locked with flock(2). The kernel releases the lock whenever the process ends */
	struct io_kept lock;
};

/*
 * Makes a journal of `bytes` (rounded up; at least JOURNAL_BYTES_MIN) in dirfd/name. It is allocated in full, so that a
 * full disk is an error here and not SIGBUS later. dirfd -1: anonymous memory, lost with the process. Fills the head
 * except for owner, clock, and sink options. Returns 0, or -errno (no file is left).
 */
#define JOURNAL_BYTES_MIN (1u << 20)
int journal_create(struct journal *j, int dirfd, const char *name, size_t bytes);

/*
 * Called by each new thread before its first entry. The journal grows with the threads that record, so that no thread
 * lacks a chunk because others hold one each. If it cannot grow (disk, limits), records are dropped when no chunk is
 * free.
 */
void journal_grow_for_threads(struct journal *j);

/*
 * The same in a shared memory segment. seed: any number that differs between processes. path: gets the path for
 * journal_open().
 */
int journal_create_segment(struct journal *j, uint64_t seed, size_t bytes, char *path, size_t cap);

/* Takes the lock again, because the program may have closed its descriptor. path: where the file is now. */
void journal_lock_again(struct journal *j, const char *path);

/*
 * Opens a journal's file for reading and writing, though it has no write permission. flags: O_NOFOLLOW. Returns the
 * descriptor or -errno.
 */
int journal_open_file(int dirfd, const char *name, int flags);

/*
 * Maps an existing journal: a file, or a segment ("shm:...", segment.h). Checks magic, version, and geometry. Returns
 * 0, -EINVAL, -EPROTO (other version), -ENODATA (its process ended before the journal was ready, so it holds nothing),
 * or -errno of open.
 */
int journal_open(struct journal *j, int dirfd, const char *name, bool rdonly);
void journal_close(struct journal *j);

/* True if there is a file or segment of that absolute path. journal_remove() returns 0 or -errno. */
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

/* Number of slots ever used. */
static inline uint32_t journal_nthread(const struct journal *j)
{
	uint32_t n = atomic_load_explicit(&j->head->nthread, memory_order_acquire);

	return n < j->head->nslot ? n : j->head->nslot;
}

/* The size that it has grown to, in bytes. */
static inline uint64_t journal_size(const struct journal *j)
{
	const struct journal_head *h = j->head;
	uint64_t end =
		h->chunk_off +
		(uint64_t)atomic_load_explicit(&h->nchunk, memory_order_relaxed) * h->chunk_bytes;

	return end > h->bytes ? end : h->bytes;
}

/* Number of chunks; the journal may be growing. */
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

/* False if the chunk was freed and belongs to another thread by now. */
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
	struct journal_chunk *chunk; /* NULL: none yet, or no chunk was free */
	uint32_t used, cap; /* of the chunk */
	uint32_t generation, index;
};

/* Takes a thread slot. Returns 0, or -EAGAIN if all are taken. */
int chain_attach(struct chain *c, struct journal *j, int64_t tid);
/* Frees the slot for new threads. Called by the writer. */
void journal_free_slot(struct journal *j, uint32_t i);
/* Leaves the slot to the writer, which frees it when everything in it has been written. */
void chain_detach(struct chain *c);

/*
 * Reserves room for an entry of that many bytes (a multiple of 8, at most JOURNAL_ENTRY_MAX). NULL: no chunk is free.
 * The entry becomes visible with chain_publish(), which must come before the next reserve. *wake is set if an eighth of
 * the chunks, or early_chunks, are in use, or if the chunks run out whose page faults the writer has taken.
 */
void *chain_reserve(struct chain *c, uint32_t bytes, bool *wake);

/* True if more than two thirds of the chunks are in use. */
static inline bool journal_is_crowded(const struct journal *j)
{
	return atomic_load_explicit(&j->head->free_chunks, memory_order_relaxed) <
	       atomic_load_explicit(&j->head->nchunk, memory_order_relaxed) / 3;
}

/* The same if the current chunk has the room. NULL: call chain_reserve(). */
static inline void *chain_room(struct chain *c, uint32_t bytes)
{
	return c->chunk && c->used + bytes <= c->cap ? c->chunk->data + c->used : NULL;
}

/*
 * The same for the end of an asynchronous call. It may use the reserved last chunks too: a call without its end would
 * look like a hang in the files.
 */
void *chain_reserve_end(struct chain *c, uint32_t bytes, bool *wake);

static inline void chain_publish(struct chain *c, uint32_t bytes)
{
	c->used += bytes;
	atomic_store_explicit(&c->chunk->used, c->used, memory_order_release);
}

/*
 * Adds strings (NUL-terminated, one after the other, `bytes` in total) to the dictionary. id: the entry's number within
 * its kind. Any thread may call it. Returns 0, -ENOSPC (full), or -EMSGSIZE.
 */
int journal_dict_add(
	struct journal *j, enum dict_kind kind, uint16_t id, const char *strings, size_t bytes);

/* The same with n separate texts. */
int journal_dict_add_texts(
	struct journal *j, enum dict_kind kind, uint16_t id, const char *const *text, unsigned n);

/* The strings of entry `id`, or NULL. If `kind` is DICT_META: the last entry added with that id. */
const char *journal_dict_get(const struct journal *j, enum dict_kind kind, uint16_t id);

/*
 * Iterates over the dictionary's entries; each has all strings of its kind. *at is 0 at first. NULL: no more for now.
 * *gap is set if an entry was skipped that is being filled in, or that its process did not finish.
 */
const struct dict_entry *journal_dict_next(const struct journal *j, uint64_t *at, bool *gap);

/* ---- reading entries ---- */

/* The n-th tensor of a call or end entry. NULL: the entry is too small for it. */
const struct journal_tensor *journal_tensor_first(const struct journal_entry *e);
const struct journal_tensor *journal_tensor_next(
	const struct journal_entry *e, const struct journal_tensor *t);

/*
 * For an open call without tensors: dtype, count and bytes of the data that it will receive; its other fields are not
 * valid. NULL: nothing is received, or that is not known.
 */
const struct journal_tensor *journal_awaited(const struct journal_call *c);

static inline uint32_t journal_tensor_bytes(unsigned ndim)
{
	return (uint32_t)sizeof(struct journal_tensor) +
	       (ndim == JOURNAL_NDIM_NONE ? 0 : 8 * (uint32_t)ndim);
}

/*
 * The entry at `offset` of a chunk with `used` valid bytes. All its lengths have been checked. NULL: there is no valid
 * entry (a damaged journal).
 */
const struct journal_entry *journal_entry_at(
	const struct journal *j, const struct journal_chunk *chunk, uint32_t used, uint32_t offset);

#endif
