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
	/* size of the mapping; what is beyond the space of a part is memory without a file */
	size_t bytes;
	uint64_t space_max[JP_COUNT]; /* maximum space of each part; a reader: what it has mapped */
	enum journal_kind kind;
	bool safe; /* the memory is a file or a segment, so it survives the process */
	bool rdonly;
	/* when a thread began to grow it, CLOCK_MONOTONIC; 0: none does */
	_Atomic uint64_t growing_ns;
	/* when growth was refused (disk, limits), ns of CLOCK_MONOTONIC; 0: it was not */
	_Atomic uint64_t refused_ns;
	_Atomic uint32_t slots_from; /* where the search for a free slot starts */
	/*
	 * number of chunks whose pages the writer has touched in advance; 0: each thread does so
	 * itself
	 */
	_Atomic uint32_t touched;
	/* mapped by journal_open(). When it is drained, its process has ended and adds nothing */
	bool left;
	uint32_t early_chunks; /* the writer is woken when this many chunks are in use */
	/* new journal, no record in flight so far: the region for them was never touched */
	bool none_parked;
	/* set by journal_open(): when the process was killed, ns, Unix epoch; 0: not known */
	uint64_t died_ns;
	/* the file, locked with flock(2); the kernel releases the lock when the process ends */
	struct io_kept lock;
};

/* Layout of a journal, computed from its size and the size of a memory page. */
struct journal_geometry {
	uint64_t bytes; /* without chunks for more threads */
	uint64_t most_bytes; /* with them */
	uint64_t thread_off, commit_off, dict_off, dict_bytes, pending_off, pending_bytes,
		chunk_off;
	uint32_t align, nslot, chunk_bytes;
	/* maximum numbers: without chunks for more threads, with them */
	uint32_t nchunk, most_chunks;
};

/* 1/16 dictionary, 1/8 records in flight, the rest chunks. Returns -EINVAL if no chunk fits. */
int compute_journal_geometry(struct journal_geometry *g, uint64_t bytes, uint32_t align);

/* Gets the bytes of each part: all of them, in a mapping of `mapped` bytes, or those that a file starts with. */
void get_most_space(const struct journal_geometry *g, uint64_t mapped, uint64_t space[JP_COUNT]);
void get_first_space(const struct journal_geometry *g, uint64_t space[JP_COUNT]);

/* Adds a piece to the head's table, which must have space for it. */
void add_journal_piece(struct journal_head *h, uint64_t offset, uint64_t bytes);

/*
 * Makes a journal of `bytes` (rounded up; at least JOURNAL_BYTES_MIN) in dirfd/name. The file starts with
 * JOURNAL_BYTES_MIN, or a little more if its chunks are large, and grows up to `bytes`. It never has holes, so that a
 * full disk is an error when it is made or grows, and not SIGBUS later. dirfd -1: anonymous memory, lost with the
 * process. Fills the head except for owner, clock, and sink options. Returns 0, or -errno (no file is left); -ENOSPC or
 * -EFBIG also if the file system, or the limit on file sizes, has less than `bytes` left.
 */
#define JOURNAL_BYTES_MIN (1u << 20)
int journal_create(struct journal *j, int dirfd, const char *name, size_t bytes);

/*
 * Adds a piece to a part of the journal: allocates it, maps it, and then raises the part's space.
 * Any thread may call it. If another thread is growing the journal, waits for it, two seconds at
 * most. Returns 0 (also if another thread has grown it), -ENOSPC if the part has its maximum size,
 * -EAGAIN if the other thread does not end, or -errno: refused, by a full disk or a limit. Then
 * the size stays, and no thread tries again until journal_grow_ahead() does.
 */
int journal_grow(struct journal *j, enum journal_part part);

/* Like journal_grow(), but returns -EAGAIN instead of waiting for another thread. */
int journal_grow_if_free(struct journal *j, enum journal_part part);

/*
 * Called by the writer before each pass: adds to each part of which more than half is in use. If
 * that was refused, it is tried again after a second.
 */
void journal_grow_ahead(struct journal *j);

/*
 * Called by each new thread before its first entry. The journal grows with the number of
 * recording threads, so that no thread lacks a chunk because the others have one each. If it
 * cannot grow (disk, limits), records are dropped when no chunk is free.
 */
void journal_grow_for_threads(struct journal *j);

/*
 * Like journal_create(), in a shared memory segment. seed: any number that differs between
 * processes. path: receives the path for journal_open().
 */
int journal_create_segment(struct journal *j, uint64_t seed, size_t bytes, char *path, size_t cap);

/*
 * Locks the file again if the program has closed the descriptor of the lock. path: current path
 * of the file.
 */
void journal_lock_again(struct journal *j, const char *path);

/*
 * Opens a journal's file, which has no write permission, for reading and writing. flags:
 * O_NOFOLLOW. Returns the descriptor or -errno.
 */
int journal_open_file(int dirfd, const char *name, int flags);

/*
 * Maps an existing journal: a file, or a segment ("shm:...", segment.h). Checks magic, version, and geometry. Returns
 * 0, -EINVAL, -EPROTO (other version), -ENODATA (its process ended before the journal was ready, so it holds nothing),
 * or -errno of open.
 */
int journal_open(struct journal *j, int dirfd, const char *name, bool rdonly);
/*
 * Like journal_open(), for reading and writing in memory: changes never reach the file. A segment
 * is not copied: it is mapped read-only.
 */
int journal_open_copy(struct journal *j, const char *path);
void journal_close(struct journal *j);

/*
 * True if a file or segment with this absolute path exists. journal_remove() returns 0 or -errno.
 */
bool has_journal(const char *path);
int journal_remove(const char *path);

static inline struct journal_thread *journal_get_thread(const struct journal *j, uint32_t slot)
{
	return (struct journal_thread *)((char *)j->head + j->head->thread_off) + slot;
}

static inline uint64_t journal_get_commit_bytes(uint32_t nslot)
{
	return sizeof(struct journal_commit) + nslot * sizeof(struct journal_pos);
}

static inline struct journal_commit *journal_get_commit(const struct journal *j, uint64_t seq)
{
	return (struct journal_commit *)((char *)j->head + j->head->commit_off +
					 (seq & 1) * journal_get_commit_bytes(j->head->nslot));
}

/* Bytes of a part that may be used; another thread may be raising it. */
static inline uint64_t journal_get_space(const struct journal *j, enum journal_part part)
{
	uint64_t space = atomic_load_explicit(&j->head->space[part], memory_order_acquire);

	return space < j->space_max[part] ? space : j->space_max[part];
}

/* Number of slots that threads may take. */
static inline uint32_t journal_get_nslot(const struct journal *j)
{
	uint64_t n = journal_get_space(j, JP_THREADS) / sizeof(struct journal_thread);

	return n < j->head->nslot ? (uint32_t)n : j->head->nslot;
}

/* Number of slots that were ever used. */
static inline uint32_t journal_get_nthread(const struct journal *j)
{
	uint32_t n = atomic_load_explicit(&j->head->nthread, memory_order_acquire);
	uint32_t slots = journal_get_nslot(j);

	return n < slots ? n : slots;
}

/* Current size of the journal in bytes, which is that of its file. */
static inline uint64_t journal_get_size(const struct journal *j)
{
	const struct journal_head *h = j->head;
	uint32_t n = atomic_load_explicit(&h->npiece, memory_order_acquire);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n && i < JOURNAL_PIECES; i++)
		bytes += h->piece[i].bytes;
	return bytes;
}

/* Number of chunks; another thread may be adding some. */
static inline uint32_t journal_get_nchunk(const struct journal *j)
{
	uint32_t n = atomic_load_explicit(&j->head->nchunk, memory_order_acquire);
	uint64_t most = n ? j->space_max[JP_CHUNKS] / j->head->chunk_bytes : 0;

	return n < most ? n : (uint32_t)most;
}

static inline struct journal_chunk *journal_get_chunk(const struct journal *j, uint32_t i)
{
	return (struct journal_chunk *)((char *)j->head + j->head->chunk_off +
					(uint64_t)i * j->head->chunk_bytes);
}

/*
 * True if the chunk still belongs to this generation of the slot; it may have been freed and
 * taken by another thread.
 */
static inline bool journal_chunk_is_of(
	const struct journal_chunk *k, uint32_t slot, uint32_t generation)
{
	return k->slot == slot && k->generation == generation;
}

static inline uint32_t journal_get_chunk_cap(const struct journal *j)
{
	return j->head->chunk_bytes - (uint32_t)sizeof(struct journal_chunk);
}

/* ---- the writing side: one thread's chain of chunks ---- */

struct chain {
	struct journal *j;
	struct journal_thread *slot;
	struct journal_chunk *chunk; /* NULL: none yet, or no chunk was free */
	uint32_t used, cap; /* in the current chunk */
	uint32_t generation, index;
};

/* Takes a thread slot. Returns 0, or -EAGAIN if all are taken. */
int chain_open(struct chain *c, struct journal *j, int64_t tid);
/* Frees the slot for new threads. Called by the writer. */
void journal_free_slot(struct journal *j, uint32_t i);
/* Gives the slot to the writer, which frees it when everything in it has been written. */
void chain_close(struct chain *c);

/*
 * Reserves `bytes` for an entry (a multiple of 8, at most JOURNAL_ENTRY_MAX). Returns NULL if no
 * chunk is free. The entry becomes visible with chain_publish(), which must precede the next
 * reservation. Sets *wake if the writer must be woken: an eighth of the chunks, or early_chunks,
 * are in use, or few chunks are left whose pages the writer has touched.
 */
void *chain_reserve(struct chain *c, uint32_t bytes, bool *wake);

/* True if more than two thirds of the chunks are in use. */
static inline bool journal_is_crowded(const struct journal *j)
{
	return atomic_load_explicit(&j->head->free_chunks, memory_order_relaxed) <
	       atomic_load_explicit(&j->head->nchunk, memory_order_relaxed) / 3;
}

/*
 * Like chain_reserve(), but only in the current chunk. Returns NULL if it is too small: call
 * chain_reserve().
 */
static inline void *chain_get_space(struct chain *c, uint32_t bytes)
{
	return c->chunk && c->used + bytes <= c->cap ? c->chunk->data + c->used : NULL;
}

/*
 * Like chain_reserve(), for the completion of an asynchronous call. It may use the reserved last
 * chunks: in the files, a call without completion would look like a hang.
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

/* Like journal_dict_add(), with n separate texts. */
int journal_dict_add_texts(
	struct journal *j, enum dict_kind kind, uint16_t id, const char *const *text, unsigned n);

/*
 * Returns the strings of entry `id`, or NULL. For DICT_META: those of the last entry added with
 * this id.
 */
const char *journal_dict_get(const struct journal *j, enum dict_kind kind, uint16_t id);

/*
 * Iterates over the dictionary's entries; each has all strings of its kind. *at is 0 at first.
 * Returns NULL after the last complete entry. Sets *gap if it skipped an entry that is being
 * filled in, or that its process never completed.
 */
const struct dict_entry *journal_dict_read_next(const struct journal *j, uint64_t *at, bool *gap);

/* ---- reading entries ---- */

/*
 * Tensors of a call or completion, one after the other. Return NULL if the entry has no such
 * tensor.
 */
const struct journal_tensor *journal_get_first_tensor(const struct journal_entry *e);
const struct journal_tensor *journal_get_next_tensor(
	const struct journal_entry *e, const struct journal_tensor *t);

/*
 * For an open call without inputs: returns dtype, count and bytes of the data to be received; the
 * other fields are not valid. Returns NULL if nothing is received, or the size is not known.
 */
const struct journal_tensor *journal_awaited(const struct journal_call *c);

static inline uint32_t journal_get_tensor_bytes(unsigned ndim)
{
	return (uint32_t)sizeof(struct journal_tensor) +
	       (ndim == JOURNAL_NDIM_NONE ? 0 : 8 * (uint32_t)ndim);
}

/*
 * Returns the entry at `offset` of a chunk with `used` valid bytes, with all its lengths checked.
 * Returns NULL if the entry is not valid (a damaged journal).
 */
const struct journal_entry *journal_get_entry_at(
	const struct journal *j, const struct journal_chunk *chunk, uint32_t used, uint32_t offset);

#endif
