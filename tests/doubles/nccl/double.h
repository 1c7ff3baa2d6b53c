/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libnccl.so.2 that computes on the processor: ranks are processes (or threads) that share memory. For tests only.
 *
 *	shm.c     the memory of a communicator: blocks that all put in and take out, mailboxes for messages
 *	number.c  elements of each dtype as numbers
 *	work.c    an operation from its arguments to its result
 *	api.c     operations and groups
 *	comm.c    communicators
 *	window.c  windows and one-sided calls
 *
 * It is of the version DOUBLE_VERSION (default: the header's): functions that came later are skipped.
 *
 * Without a CUDA runtime in the process an operation is done when its function (or the group's end) returns. With the
 * double of libcuda.so.1 it is put on its stream. On a communicator that does not block it is done when the program
 * asks ncclCommGetAsyncError(): until then outputs hold what they held.
 */
#ifndef TESTS_DOUBLES_NCCL_DOUBLE_H
#define TESTS_DOUBLES_NCCL_DOUBLE_H

#include <nccl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANKS_MAX 16
#define SLOT_BYTES (256u << 10)
#define MAIL_BYTES (32u << 10)

/* ---- shm.c ---- */

struct segment;

/* Joins the ranks that give the same name. NULL: no memory, or they did not all come within a minute. */
struct segment *segment_join(const char *name, int rank, int size);
void segment_leave(struct segment *s);

/* This rank's slot, and another's. A barrier lies between writing one and reading others. */
void *segment_slot(struct segment *s, int rank);
int segment_barrier(struct segment *s); /* 0, or -1 after a minute */

/* Moves what can be moved without waiting; returns bytes. */
size_t segment_send(struct segment *s, int to, const void *p, size_t n);
size_t segment_receive(struct segment *s, int from, void *p, size_t n);

/*
 * What one rank leaves for another: a header, and data of up to POST_BYTES. Waits while too much lies there. -1 after a
 * minute.
 */
#define POST_BYTES 4096u
struct post {
	uint32_t window, bytes;
	size_t offset;
	int index;
	bool last; /* counts as a signal */
};
int segment_post(struct segment *s, int to, const struct post *p, const void *data);
/* The next that `from` left here, and its data, NULL: none. It lies there until segment_post_done(). */
const void *segment_posted(struct segment *s, int from, struct post *p);
void segment_post_done(struct segment *s, int from);

/* Gives way to others; false after a minute of it without segment_worked(). */
bool segment_wait(unsigned *tries);

/* ---- number.c ---- */

size_t number_size(ncclDataType_t dt);
/* acc[i] = acc[i] op x[i] in wide numbers, for all ranks in order; then to the type. */
void number_reduce(void *out, const void *const *in, int nin, size_t n, ncclDataType_t dt, int op,
	double scale);

/* ---- work.c ---- */

enum what {
	ALL_REDUCE,
	REDUCE,
	BROADCAST,
	ALL_GATHER,
	REDUCE_SCATTER,
	ALL_TO_ALL,
	GATHER,
	SCATTER,
	SPLIT,
	SEND,
	RECEIVE,
	WINDOW,
	PUT,
	WAIT
};

#define SIGNALS 8 /* indices of signals */
#define NO_WINDOW 0x100 /* flag of a window that this library cannot make */

struct ncclComm {
	struct segment *seg;
	char name[96];
	int rank, size;
	bool blocking, aborted;
	unsigned splits;
	struct window *windows;
	uint32_t made_windows;
	int signals[RANKS_MAX][SIGNALS]; /* that have come from there, and were not waited for */
	struct work *waiting, **waiting_end; /* not blocking: until the next query */
};

struct work {
	struct work *next;
	struct ncclComm *comm;
	enum what what;
	const void *send;
	void *recv;
	size_t count, done;
	ncclDataType_t dtype;
	int op, peer; /* peer: or root */
	double scale;
	void *stream;
	/* one-sided */
	uint32_t window;
	size_t offset;
	int index, nwait;
	struct {
		int count, peer, index;
	} wait[RANKS_MAX];
};

/* Does a list of works of one communicator: collectives in order, then all messages at once. */
ncclResult_t work_run(struct work *list);
void work_free(struct work *list);
/* In a group: at its end; else as start() says. */
ncclResult_t work_submit(struct work w);
void windows_free(struct ncclComm *c);
ncclResult_t window_work(
	struct work *w); /* WINDOW (recv: memory, send: where the handle goes), PUT, WAIT */
ncclResult_t comm_split(struct work *w); /* peer: colour, op: key, recv: where the handle goes */

/* ---- tests/doubles/ccl/queue.c: for the doubles that wait for no other rank ---- */

/* Groups, which may be nested. Their works are done at the end of the outermost; without a group at once. */
void queue_start(void);
ncclResult_t queue_end(void);
ncclResult_t queue_work(const struct work *w);

/* ---- api.c, comm.c ---- */

#ifndef DOUBLE_VERSION
#define DOUBLE_VERSION NCCL_VERSION_CODE
#endif

/* As in the real library ncclX is weak and pncclX is not. */
#define API(ret, name, ...)                                                                   \
	__attribute__((visibility("default"), weak, alias("p" #name))) ret name(__VA_ARGS__); \
	__attribute__((visibility("default"))) ret p##name(__VA_ARGS__);                      \
	ret p##name(__VA_ARGS__)

#endif
