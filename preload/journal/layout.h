/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: memory mapped from a file, which grows by need, or from a shared memory segment
 * (docs/explanation/journal-format.md). The job's threads write records into it and the writer
 * thread drains it. It is the only memory that a wrapped call writes, and it outlives the
 * process: after kill -9 it contains every completed call and the open record of each call in
 * progress.
 *
 *	head | thread slots | commits (2) | dictionary | records in flight | chunks ...
 *
 * Growth. These parts lie at fixed offsets in memory, each with space for its maximum size. A file
 * starts with a piece of each and grows by further pieces, which are appended to the file and
 * mapped at the end of their part. The table in the head (journal_piece) has all pieces in the
 * order of the file. `space` of a part is raised last, so no thread sees memory without a file.
 *
 * Threads. A recording thread owns a slot and a chain of chunks, and only this thread writes into
 * them. Entries are adjacent. `used` of the chunk is stored (release) when an entry is complete,
 * `next` when the thread continues in another chunk. Chunks are claimed with one compare-and-swap
 * on a bitmap word; nothing else is shared.
 *
 * The writer (a thread of libprobe, or `probe recover`) reads each chain in order up to an entry
 * that is still open. When it has written rows to files, a *commit* records durably how far it
 * got: the position in every chain and the length of every file. There are two copies of the
 * commit; `commit_seq` (low bit) selects the valid one. Chunks are freed only after the commit.
 * So at any moment: files up to their committed length + everything in the journal after the
 * committed positions = all records. Recovery cuts each file to its committed length and drains.
 * Before a file grows for the first time, a separate commit records its length (sink/files.c:
 * record_lengths()).
 *
 * An asynchronous call is two entries: CALL with state ASYNC, from the thread that started it,
 * and END, from the thread that completed it. The writer keeps a drained CALL in flight in a
 * separate region until its END arrives. Such a record is valid for the commits c with born <= c
 * < died.
 *
 * All integers are in host byte order: a journal is read on the type of machine that wrote it.
 * Times are raw ticks.
 */
#ifndef PROBE_JOURNAL_LAYOUT_H
#define PROBE_JOURNAL_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "stats/stats.h"

#define JOURNAL_MAGIC "PROBEJNL"
/*
 * To be increased with each change of the file's layout or meaning once a release has written
 * journals, because an upgraded `probe` reads the journals of running jobs. No release has
 * written version 2 yet. The static assertions at the end of this file check the sizes.
 */
#define JOURNAL_VERSION 2
/*
 * Maximum number of threads that may record at the same time, in a journal of 16 MiB or more.
 * Calls of additional threads are only counted.
 */
#define JOURNAL_THREADS 4096
#define JOURNAL_THREADS_MIN 512 /* in the smallest journal */
#define JOURNAL_CHUNKS_MAX 8192
#define JOURNAL_CHUNK_MIN 16384
#define JOURNAL_PIECES 256 /* maximum number of pieces of a file that are not adjacent */
#define JOURNAL_ENTRY_MAX (JOURNAL_CHUNK_MIN - 64) /* maximum size of an entry in bytes */
#define JOURNAL_EARLY 8 /* the writer is woken when 1/8 of the chunks is in use */
#define JOURNAL_ENDS 16 /* 1/16 of the chunks is reserved for completions of calls */
#define JOURNAL_FILES 40 /* number of files in a commit */
#define JOURNAL_PATH_MAX 4096
#define SEQ_FIRST 1 /* first number of a call (column seq) */
#define SEQ_BLOCK 64 /* call numbers that a thread reserves at once */
/* number of changes of max_overhead's level in the head: the latest ones */
#define JOURNAL_THINNED 64
#define JOURNAL_NONE INT32_MIN /* marks an integer column as empty */
#define JOURNAL_NONE64 INT64_MIN

/* The process that owns a folder and its journal (docs/reference/output-format.md). */
struct journal_owner {
	char host[72];
	char boot_id[40];
	uint64_t pid_ns; /* inode of the pid namespace; pids are comparable only within one */
	int64_t pid;
	uint64_t start_time; /* field 22 of /proc/<pid>/stat */
};

/* Numbers of calls by what was done with them (recorded, dropped, skipped): counts.def. */
enum journal_count {
#define CALL_COUNT(id, group, name, help) JC_##id,
#include "journal/counts.def"
	JC_COUNT
};

struct journal_thread {
	_Atomic uint32_t state; /* enum journal_thread_state */
	uint32_t generation; /* incremented each time a thread takes the slot */
	int64_t tid;
	_Atomic uint32_t first; /* 1 + number of the first chunk; 0: none yet */
	/*
	 * If the thread waits for all members of wait_comm to make another communicator: 1 + the
	 * number of collectives of wait_comm that this rank entered before. 0: no such wait, or
	 * the journal is of an earlier version.
	 */
	uint32_t wait_number;
	/* The completion call (Wait ...) in which the thread is blocked; 0: none. */
	_Atomic uint32_t wait_api; /* dictionary id */
	uint32_t wait_stack;
	uint64_t wait_tick;
	uint64_t count[JC_COUNT]; /* summed over all threads that used this slot */
	uint64_t self_ticks; /* ticks spent in libprobe's code on this thread */
	/* For a wait for a message (a blocking probe) or for all members of a communicator: */
	uint64_t wait_comm; /* id of the communicator; 0: another wait, or not known */
	int32_t wait_peer, wait_tag; /* JOURNAL_NONE: any */
	int32_t wait_rank, wait_size; /* this rank in the communicator, and its size */
};

/*
 * TAKING: a thread is filling in the slot. DEAD: the slot's thread has ended; the writer frees
 * the slot when everything is written. LOST: the chain contradicts itself. It is not read any
 * further, its chunks stay taken, and its thread continues in another slot.
 */
enum journal_thread_state { JT_FREE, JT_TAKING, JT_LIVE, JT_DEAD, JT_LOST };

struct journal_pos {
	/* of the slot; if the slot has another one now, start at journal_thread.first */
	uint32_t generation;
	uint32_t chunk; /* 1 + number of the chunk; 0: start at journal_thread.first */
	uint32_t offset; /* bytes in the chunk */
	uint32_t pad;
};

/* A file and its committed length. path is relative to the rank's folder; "": unused entry. */
struct journal_file {
	char path[48];
	uint64_t bytes; /* committed length */
	uint64_t used; /* commit number of the last write, to choose the file to evict */
};

struct journal_commit {
	uint64_t number;
	uint64_t rows; /* rows written to calls files so far */
	uint32_t last_step; /* highest step of a written row */
	uint32_t have_rows;
	/* start of the first call and end of the last call among the written rows */
	uint64_t first_tick, last_tick;
	uint32_t steps, pad; /* the end of every step below this number is in the files */
	struct journal_file file[JOURNAL_FILES];
	struct journal_pos pos[]; /* one for each slot; all zero if the slot was never used */
};

/*
 * ENDED: the recording has ended properly, but the files do not have all of the journal yet: the
 * process may still be writing them, or could not. Only FINISHED and RECOVERED mean that no
 * process writes any more.
 */
enum journal_state { JS_RUNNING = 1, JS_FINISHED, JS_RECOVERED, JS_ENDED };

/* A robust lock of the writer thread, which only the kernel marks (death.h). */
struct journal_lock {
	uint64_t next; /* an address in the recorded process */
	uint32_t word, pad; /* thread id; FUTEX_OWNER_DIED: the thread has ended */
};

/*
 * Progress of the process at the writer's latest measurement (writer/progress.h). Times are ns of
 * CLOCK_MONOTONIC; the other values grow as long as the process lives. Written by one thread
 * without a lock, so a reader may see fields of two measurements.
 */
struct journal_progress {
	uint64_t at_ns; /* time of the latest measurement; 0: none */
	/* when the process or a descendant was last seen to use processor time, read or write */
	uint64_t moved_ns;
	/* when last neither happened and no thread was running or waiting for a disk; 0: never */
	uint64_t quiet_ns;
	uint64_t cpu_ns, io_bytes; /* of the process, without the writer thread */
	/* when descendants were measured: only if the process itself makes no progress */
	uint64_t children_at_ns;
	/* of the descendants; children_born: sum of their pids */
	uint64_t children_ns, children_io_bytes, children_born;
	uint32_t cpu_percent; /* percent of one core, in the second before at_ns */
	/* descendants are not visible: the process may be waiting for one that computes */
	uint32_t unseen;
};

/*
 * Key max_overhead: a period in which a level (session/thinning.h) was in use, so that not
 * everything was recorded. Written before any call is skipped.
 */
struct journal_thinned {
	uint64_t from_tick, to_tick; /* to_tick 0: still in use */
	uint32_t from_step, to_step;
	uint32_t level;
	uint32_t power; /* one call in 2^power was recorded */
	/* tensors of at least this many bytes have no values; UINT64_MAX: all have values */
	uint64_t values_from;
};

/* The parts that grow. */
enum journal_part { JP_THREADS, JP_DICT, JP_PENDING, JP_CHUNKS, JP_COUNT };

/* A piece of the file: where it lies in memory, relative to the head. It follows the piece before it in the file. */
struct journal_piece {
	uint64_t offset, bytes; /* multiples of journal_head.align */
};

struct journal_head {
	char magic[8];
	uint32_t version;
	/* sizeof(struct journal_head); a reader compiled with another size refuses the file */
	uint32_t head_bytes;
	/* size in memory, without chunks for more threads; all offsets follow from it and align */
	uint64_t bytes;
	uint64_t thread_off, commit_off, dict_off, dict_bytes, pending_off, pending_bytes,
		chunk_off;
	uint32_t chunk_bytes;
	uint32_t nslot; /* number of thread slots, and of positions in a commit */
	_Atomic uint32_t nchunk; /* number of chunks so far: those that have space */
	uint32_t align; /* size of a memory page of the process; a power of 2 */
	_Atomic uint64_t space[JP_COUNT]; /* bytes of each part that may be used so far */
	struct journal_owner owner;
	struct clock_base clock;
	struct clock_base clock_last; /* taken at the latest drain */
	struct journal_lock lock;

	/* Options that the sink needs so that recovery writes the same rows. */
	uint32_t block_steps;
	uint32_t locked; /* the file is locked as long as the process lives */
	uint64_t part_bytes, limit_bytes;
	int32_t rank, world_size; /* -1: unknown */
	uint32_t rank_guessed;
	char run[128];

	_Atomic uint32_t state;
	_Atomic uint32_t step; /* the current step */
	_Atomic uint32_t step_source;
	_Atomic uint32_t nthread; /* slots ever used */
	_Atomic uint64_t commit_seq; /* low bit: index of the valid commit */
	_Atomic uint64_t dict_used;
	_Atomic uint64_t free_chunks; /* estimate, used to wake the writer */
	uint64_t count[JC_COUNT]; /* counted atomically by any thread: rare events only */
	uint64_t lost_rows; /* rows that the sink could not write and dropped */
	uint64_t removed_blocks; /* finished blocks removed for output_limit_mib */
	/* processor time spent on writing, by all threads; waiting for the disk not included */
	uint64_t writer_ns;
	/*
	 * asynchronous calls that are in flight outside the journal: lost if the process is
	 * killed
	 */
	uint64_t spilled;
	uint64_t damaged; /* number of invalid entries */
	/* above all call numbers used so far; grows by whole blocks from SEQ_FIRST */
	_Atomic uint64_t seq_next;
	struct journal_progress progress;
	uint32_t thinning_level, nthinned; /* current level; number of valid entries */
	struct journal_thinned thinned[JOURNAL_THINNED]; /* oldest first, without level 0 */
	char journal_path[JOURNAL_PATH_MAX];
	/* path of the rank's folder, for a journal that is elsewhere */
	char folder[JOURNAL_PATH_MAX];
	/* what was reported, for each kind of loss; "": nothing */
	char loss[LOSS_COUNT][LOSS_TEXT_MAX];
	_Atomic uint64_t bitmap[JOURNAL_CHUNKS_MAX / 64]; /* bit 1: the chunk is taken */
	_Atomic uint32_t npiece; /* number of valid entries of piece */
	uint32_t pad;
	struct journal_piece piece[JOURNAL_PIECES];
};

struct journal_chunk {
	_Atomic uint32_t used; /* bytes of complete entries after this header */
	/* 1 + number of the thread's next chunk; 0: this is its last */
	_Atomic uint32_t next;
	uint32_t slot;
	uint32_t generation;
	unsigned char data[];
};

/* ---- entries: 8-byte aligned, each begins with this ---- */

enum journal_type {
	JE_CALL = 1, /* struct journal_call */
	JE_END, /* struct journal_end */
	JE_STACK, /* struct journal_stack */
	JE_COMM, /* struct journal_comm */
	JE_KIND, /* struct journal_kind_row */
	JE_NAME, /* struct journal_name */
	JE_SCALAR, /* struct journal_scalar */
};

enum journal_call_state { JCS_OPEN = 1, JCS_CLOSED, JCS_ASYNC };

struct journal_entry {
	uint32_t bytes; /* size of the entry, a multiple of 8 */
	uint8_t type;
	_Atomic uint8_t state; /* JE_CALL: enum journal_call_state */
	uint16_t n; /* number of valid tensors, frames ... that follow */
};

/* A tensor of a call, which becomes one row. */
struct journal_tensor {
	uint64_t count; /* elements */
	uint64_t bytes;
	int64_t comm_seq; /* JOURNAL_NONE64: as in the call */
	struct stats stats; /* n == 0: not measured */
	int32_t peer, tag; /* JOURNAL_NONE: as in the call */
	uint32_t crc; /* with TF_CRC: checksum of the bytes, of the kind set by key checksum */
	uint16_t index;
	uint8_t dtype;
	uint8_t io; /* enum tensor_io */
	uint8_t flags; /* enum tensor_flag */
	uint8_t ndim; /* number of uint64_t dims that follow; JOURNAL_NDIM_NONE: shape unknown */
	uint8_t arg, item; /* as in struct buffer; valid if there are dims */
	uint32_t name; /* role of the tensor in the training: JOURNAL_NAME_*; 0: not known */
};

/*
 * Values of journal_tensor.name: the number of a parameter, as in its JE_NAME entry. With one of
 * these bits the tensor is the parameter's gradient, or a bucket.
 */
#define JOURNAL_NAME_GRAD (UINT32_C(1) << 31)
#define JOURNAL_NAME_BUCKET (UINT32_C(1) << 30)
#define JOURNAL_NAME_ID (JOURNAL_NAME_BUCKET - 1)

/*
 * Parts of `arg`: the number of the argument, and whether it requires a gradient, if that is
 * known.
 */
#define TENSOR_ARG(v) ((v)&0x3f)
#define TENSOR_NO_GRAD 0x40
#define TENSOR_GRAD 0x80
#define TENSOR_VALUE      \
	(TENSOR_NO_GRAD | \
		TENSOR_GRAD) /* a scalar of the program; without elements: None or similar */
#define TENSOR_IS_VALUE(v) (((v)&TENSOR_VALUE) == TENSOR_VALUE)

#define JOURNAL_NDIM_NONE 255
enum tensor_io { IO_IN, IO_OUT };
enum tensor_flag {
	TF_NOSTATS = 1,
	TF_CRC = 2,
	TF_SAVED = 4, /* copied for a dump */
	TF_LEFT_OUT = 8, /* selected for the dump, but not copied */
	TF_XOR = 16, /* stats.min.u is the XOR of the 64-bit words; no other statistics */
};

/* Bits of the `flags` column: flags.def. */
enum call_flag_bit {
#define CALL_FLAG(id, word, value, help) CF_BIT_##id,
#include "journal/flags.def"
	CALL_FLAGS
};
enum call_flag {
#define CALL_FLAG(id, word, value, help) CF_##id = 1 << CF_BIT_##id,
#include "journal/flags.def"
};

/*
 * For CF_NODE: numbers of the graph nodes that the call made, or that it runs: the first, and how
 * many follow (capped).
 */
#define JOURNAL_NODE(first, more) ((int64_t)((first) << 16 | ((more) < 0xffff ? (more) : 0xffff)))
#define JOURNAL_NODE_FIRST(v) ((uint64_t)(v) >> 16)
#define JOURNAL_NODE_MORE(v) ((uint64_t)(v)&0xffff)

/* The `phase` column: flags.def. */
enum phase {
#define CALL_PHASE(id, word, help) PHASE_##id,
#include "journal/flags.def"
	PHASES
};

/*
 * journal_call.wait of an asynchronous call that was complete when it returned, so that no thread
 * waited for it.
 */
#define JOURNAL_NO_WAIT UINT64_MAX

struct journal_call {
	struct journal_entry e;
	uint64_t seq;
	uint64_t start; /* ticks */
	/* ticks; set before state CLOSED. ASYNC: when the starting call returned, 0: not known */
	uint64_t end;
	uint64_t comm; /* 0: none */
	/* JOURNAL_NONE64: empty. With CF_NODE: node numbers, and the column is empty */
	int64_t comm_seq;
	uint64_t parent; /* 0: none */
	uint64_t wait; /* ticks; 0: none, or not known; or JOURNAL_NO_WAIT */
	int32_t comm_rank, comm_size; /* -1: empty */
	uint32_t step, micro_step; /* micro_step UINT32_MAX: empty */
	int32_t root, peer, tag; /* JOURNAL_NONE: empty */
	int32_t error;
	uint32_t flags; /* enum call_flag */
	uint32_t stack;
	uint32_t tid;
	uint16_t api; /* dictionary id */
	uint8_t redop; /* enum redop, 0: empty */
	uint8_t phase; /* enum phase, 0: empty */
	/*
	 * e.n tensors follow, each a struct journal_tensor with its dims. After them there may be
	 * reserved space. While a call without inputs is open, the first tensor in this space
	 * contains dtype, count and bytes of the data to be received.
	 */
};

/*
 * journal_tensor.count of an open call without inputs, if the size of its result is not known in
 * advance.
 */
#define JOURNAL_UNTOLD UINT64_MAX

struct journal_end {
	struct journal_entry e;
	uint64_t seq; /* number of the call */
	uint64_t end; /* ticks */
	uint64_t wait;
	int64_t comm_seq; /* JOURNAL_NONE64: as in the call */
	uint64_t device_ns; /* duration on a device; 0: not known */
	int32_t peer, tag; /* JOURNAL_NONE: as in the call */
	int32_t error;
	uint32_t flags; /* or-ed into the call's flags */
	/* e.n tensors follow */
};

struct journal_stack {
	struct journal_entry e;
	uint32_t id, step;
	uint32_t api; /* dictionary id of the first call with this stack */
	uint32_t text_bytes; /* length of the Python frames' text after the addresses; 0: none */
	/* e.n uint64_t addresses follow, then the text */
};

struct journal_comm {
	struct journal_entry e;
	uint64_t id, parent;
	int32_t size, rank;
	uint32_t flags; /* CF_LOCALCOMM, CF_GUESSED */
	uint32_t pad;
	/* four NUL-terminated strings follow: lib, kind, name, world ranks */
};

/* A number recorded for a step. */
struct journal_scalar {
	struct journal_entry e;
	uint64_t at; /* ticks, unless at_is_real is set */
	double value;
	uint32_t step;
	uint16_t which; /* enum scalar */
	/* `at` is in ns since the epoch, by the clock of the file that the number came from */
	uint16_t at_is_real;
	uint16_t optimizer; /* number of the optimizer, in the order of first steps */
	uint16_t group; /* parameter group of the optimizer; JOURNAL_NO_GROUP: all */
	uint32_t pad2;
};

#define JOURNAL_NO_GROUP UINT16_MAX

/*
 * One row of parameter statistics (terms/train_kind.def): the state of a parameter, or of a
 * tensor that belongs to it, at a certain point of a step.
 */
struct journal_kind_row {
	struct journal_entry e; /* e.n: number of values, for kinds without statistics */
	uint64_t count; /* elements */
	struct stats stats; /* n == 0: not measured */
	uint64_t tick; /* when it was measured */
	uint32_t step, micro_step; /* micro_step UINT32_MAX: the file has no such column */
	uint32_t ops; /* columns of the file: get_train_op() */
	uint16_t vpp_stage;
	uint8_t kind; /* enum train_kind */
	uint8_t dtype;
	uint8_t ndim; /* at most JOURNAL_KIND_DIMS */
	uint8_t pad[7];
	/*
	 * Then follow ndim uint64_t, e.n doubles, and three NUL-terminated strings: the name, the
	 * first word of the file's name if the kind has none (TK_STATE), and the framework's
	 * prefix of the type name.
	 */
};

#define JOURNAL_KIND_DIMS 64
enum journal_name_what {
	JN_PARAM = 1, /* a parameter of the training */
	JN_PART, /* part of a bucket: a parameter, or its gradient */
	JN_MODULE, /* a module: `class` is its type */
	JN_BAD, /* position of the first NaN or Inf of a bucket in a step */
	JN_STRUCT, /* all modules were entered: module_struct.json can be written */
};

/* Bits of journal_name.flags: the words of names.csv, in this order. */
enum journal_name_flag {
	JN_FROZEN = 1, /* requires no gradient */
	JN_UNNAMED = 2, /* the parameter belongs to no module: opt{k}.group{g}.param{i} */
	JN_FLAT = 4, /* a parameter that FSDP1 flattened out of several, or one of these */
	JN_SHARD = 8, /* the local part of a DTensor */
	JN_TIED = 16, /* several modules share the parameter: the name is the first one's */
	JN_GRAD = 32, /* JN_PART: the bucket contains the gradient, not the parameter */
	JN_UNOWNED = 64, /* the parameter belongs to no optimizer */
	JN_NAN = 128, /* JN_BAD: the value is NaN; without this bit Inf */
	JN_INF = 256,
};
#define JN_FLAGS 9

struct journal_name {
	struct journal_entry e;
	/*
	 * JN_PARAM, JN_MODULE: number of this entry, from 1; JN_PART, JN_BAD: number of the
	 * parameter
	 */
	uint32_t id;
	uint32_t step;
	uint32_t bucket; /* JN_PART, JN_BAD: number of the bucket */
	uint16_t optimizer, group, vpp_stage; /* JN_PARAM */
	uint8_t what; /* enum journal_name_what */
	uint8_t dtype;
	uint32_t flags; /* enum journal_name_flag */
	/*
	 * JN_PART: range of elements in the bucket. JN_BAD: index of the element; number of NaN
	 * and Inf
	 */
	uint64_t offset, count;
	/*
	 * e.n dimensions as uint64_t follow, then three NUL-terminated strings: name, module,
	 * class
	 */
};

/* ---- dictionary: strings that records refer to by number; only grows, is never drained ---- */

enum dict_kind { DICT_API = 1, DICT_META, DICT_MODULE };

/* 1/4 of the dictionary is reserved for DICT_API, without which a call cannot be recorded */
#define DICT_ONLY_API 4

struct dict_entry {
	uint32_t bytes; /* multiple of 8; 0: reserved, but not filled in yet */
	/* storing a value (release) publishes the entry; 0: being filled in, or never finished */
	uint16_t kind;
	uint16_t id;
	/*
	 * NUL-terminated strings follow. DICT_API: lib, symbol, op. DICT_META: key, JSON text.
	 * DICT_MODULE: "lo hi bias buildid" in hex (build id "-": none), path.
	 */
};

/* ---- records in flight ---- */

#define PENDING_UNIT 64 /* a record in flight takes a multiple of this many bytes */

struct pending_slot {
	_Atomic uint64_t born; /* number of the first commit for which it is valid; 0: free */
	/* number of the first commit for which it is invalid; 0: still valid */
	_Atomic uint64_t died;
	uint32_t units, pad;
	uint64_t data[]; /* the CALL entry and its tensors */
};

/* The head stores its own size (head_bytes). The version covers the rest. */
_Static_assert(JOURNAL_VERSION == 2 && sizeof(struct journal_thread) == 192 &&
		       sizeof(struct journal_commit) == 2608 &&
		       sizeof(struct journal_chunk) == 16 && sizeof(struct journal_entry) == 8 &&
		       sizeof(struct journal_tensor) == 112 && sizeof(struct journal_call) == 112 &&
		       sizeof(struct journal_end) == 64 && sizeof(struct journal_stack) == 24 &&
		       sizeof(struct journal_comm) == 40 &&
		       sizeof(struct journal_kind_row) == 48 + sizeof(struct stats) &&
		       sizeof(struct journal_scalar) == 40 && sizeof(struct journal_name) == 48 &&
		       sizeof(struct dict_entry) == 8 && sizeof(struct pending_slot) == 24,
	"the journal's layout is another one: see JOURNAL_VERSION");

#endif
