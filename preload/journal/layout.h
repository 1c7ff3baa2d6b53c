/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: memory of a fixed size, mapped from a file or a shared memory segment (docs/explanation/journal-format.md), that the
 * job's threads write records into and the writer thread drains. It is the only thing that a wrapped call writes, and
 * it outlives the process: after kill -9 it holds every call that had been left and the open record of each that had
 * been entered.
 *
 *   head | thread slots | commits (2) | dictionary | records in flight | chunks ...
 *
 * Threads. A recording thread owns a slot and a chain of chunks. It alone writes into them: entries are laid one
 * after the other, `used` of the chunk is stored (release) when an entry is complete, `next` when the thread goes
 * on in another chunk. Chunks are claimed with one compare-and-swap on a bitmap word; nothing else is shared.
 *
 * The writer (a thread of libprobe, or `probe recover`) reads each chain in order up to an entry that is still
 * open. What it has turned into rows and written to files it makes durable with a *commit*: the position in every
 * chain and the length of every file, in one of two copies of which `commit_seq` (low bit) names the valid one. Only
 * after that are chunks given back. So at any moment: files up to their committed length + everything in the
 * journal after the committed positions = all records. Recovery cuts each file to its committed length and drains.
 * Before a file grows for the first time a separate commit says how long it is (sink/files.c: announce).
 *
 * An asynchronous call is two entries: CALL with state ASYNC, from the thread that started it, and END, from the
 * thread that completed it. The writer keeps a drained CALL in flight in a separate region until its END arrives. Such a
 * record is valid for the commits c with born <= c < died.
 *
 * All integers are in host byte order: a journal is read on the machine type that wrote it. Times are raw ticks.
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
 * Another one for each change of what lies in the file, or of what it means, once a release has written it: an upgraded
 * `probe` reads the journals of jobs that still run. No release has written 1 yet. At the end of this file the compiler
 * is told the sizes.
 */
#define JOURNAL_VERSION 1
/* Recording threads alive at once, of a journal of 16 MiB and more; a further one records nothing, counted. */
#define JOURNAL_THREADS 4096
#define JOURNAL_THREADS_MIN 512 /* of the smallest journal */
#define JOURNAL_CHUNKS_MAX 8192
#define JOURNAL_CHUNK_MIN 16384
#define JOURNAL_ENTRY_MAX (JOURNAL_CHUNK_MIN - 64) /* bytes of one entry */
#define JOURNAL_EARLY 8 /* with one of this many chunks in use the writer is woken */
#define JOURNAL_ENDS 16 /* one of this many chunks is kept for the ends of calls */
#define JOURNAL_FILES 40 /* files that one commit keeps the length of */
#define JOURNAL_PATH_MAX 4096
#define SEQ_FIRST 1 /* numbers of calls (column seq) begin here */
#define SEQ_BLOCK 64 /* numbers that a thread takes at a time for its calls */
#define JOURNAL_NONE INT32_MIN /* an integer column that stays empty */
#define JOURNAL_NONE64 INT64_MIN

/* Who owns a folder and its journal (docs/reference/output-format.md). */
struct journal_owner {
	char host[72];
	char boot_id[40];
	uint64_t pid_ns; /* inode of the pid namespace: pids compare only within one */
	int64_t pid;
	uint64_t start_time; /* field 22 of /proc/<pid>/stat */
};

/* What became of calls: counts.def. */
enum journal_count {
#define CALL_COUNT(id, group, name, help) JC_##id,
#include "journal/counts.def"
	JC_COUNT
};

struct journal_thread {
	_Atomic uint32_t state; /* enum journal_thread_state */
	uint32_t generation; /* +1 each time the slot is taken */
	int64_t tid;
	_Atomic uint32_t first; /* first chunk + 1, 0: none yet */
	uint32_t pad;
	/* The completion call (Wait ...) that the thread is blocked in: 0 when in none. */
	_Atomic uint32_t wait_api; /* dictionary id */
	uint32_t wait_stack;
	uint64_t wait_tick;
	uint64_t count[JC_COUNT]; /* this slot's owners, all generations */
	uint64_t self_ticks; /* time spent in our own code on this thread */
	/* Of a Wait that is for a message (a blocking probe): which one. */
	uint64_t wait_comm; /* 0: it is for no message, or not known */
	int32_t wait_peer, wait_tag; /* JOURNAL_NONE: any */
	int32_t wait_rank, wait_size; /* of the communicator */
};

/*
 * TAKING: a thread is filling the slot in. DEAD: its thread has ended, the writer frees it when all is written. LOST: its
 * chain contradicts itself; no reader goes on in it, its chunks stay taken, and its thread goes on in another slot.
 */
enum journal_thread_state { JT_FREE, JT_TAKING, JT_LIVE, JT_DEAD, JT_LOST };

struct journal_pos {
	uint32_t generation; /* of the slot; another one: start at journal_thread.first */
	uint32_t chunk; /* + 1; 0: start at journal_thread.first */
	uint32_t offset; /* in the chunk */
	uint32_t pad;
};

/* A file whose tail belongs to a commit. path is relative to the rank's folder; "" = unused. */
struct journal_file {
	char path[48];
	uint64_t bytes; /* committed length */
	uint64_t used; /* for choosing the one to evict: commit number of the last write */
};

struct journal_commit {
	uint64_t number;
	uint64_t rows; /* rows written to calls files so far */
	uint32_t last_step; /* highest step that a written row belongs to */
	uint32_t have_rows;
	uint64_t first_tick, last_tick; /* start of the first, end of the last call among them */
	uint32_t steps, pad; /* the files have the end of every step below this number */
	struct journal_file file[JOURNAL_FILES];
	struct journal_pos pos[]; /* one a slot; those of slots that were never used are zero */
};

/*
 * ENDED: the recording has ended properly, and what is in the journal is not all in the files yet: its process may be
 * writing it, or could not. Only FINISHED and RECOVERED say that no process writes any more.
 */
enum journal_state { JS_RUNNING = 1, JS_FINISHED, JS_RECOVERED, JS_ENDED };

/* A robust lock of the writer thread, which only the kernel marks (death.h). */
struct journal_lock {
	uint64_t next; /* in the memory of its process */
	uint32_t word, pad; /* the thread; FUTEX_OWNER_DIED: it has ended */
};

/*
 * Whether the process gets on, as its writer saw it last (writer/progress.h). Times: ns, CLOCK_MONOTONIC; the others grow with the
 * process. Written by one thread without a lock: a reader may see one measurement's fields beside the next one's.
 */
struct journal_progress {
	uint64_t at_ns; /* of the latest measurement; 0: there was none */
	uint64_t
		moved_ns; /* when it, or a descendant, was last seen to use processor time, read or write */
	uint64_t
		quiet_ns; /* when it last did none of that, and no thread ran or waited for a disk; 0: never */
	uint64_t cpu_ns, io_bytes; /* of the process, without the writer's */
	uint64_t
		children_at_ns; /* when descendants were looked at, for which there is a reason only where the process itself stands still */
	uint64_t children_ns, children_io_bytes,
		children_born; /* theirs; the sum of their numbers */
	uint32_t cpu_percent; /* of one core, in the second before at_ns */
	uint32_t unseen; /* its descendants cannot be seen: it may wait for one that computes */
};

struct journal_head {
	char magic[8];
	uint32_t version;
	uint32_t head_bytes; /* sizeof(struct journal_head): a reader built otherwise refuses */
	uint64_t bytes; /* of the file when it was made: all offsets follow from it */
	uint64_t thread_off, commit_off, dict_off, dict_bytes, pending_off, pending_bytes,
		chunk_off;
	uint32_t chunk_bytes;
	uint32_t nslot; /* thread slots; each commit has as many positions */
	_Atomic uint32_t
		nchunk; /* with the threads that record there come more, at the end of the file */
	uint32_t pad;
	struct journal_owner owner;
	struct clock_base clock;
	struct clock_base clock_last; /* taken at the latest drain */
	struct journal_lock lock;

	/* What the sink needs, so that recovery writes the same rows. */
	uint32_t block_steps;
	uint32_t locked; /* its file has a lock for as long as the process lives */
	uint64_t part_bytes, limit_bytes;
	int32_t rank, world_size; /* -1: unknown */
	uint32_t rank_guessed;
	char run[128];

	_Atomic uint32_t state;
	_Atomic uint32_t step; /* the current step */
	_Atomic uint32_t step_source;
	_Atomic uint32_t nthread; /* slots ever used */
	_Atomic uint64_t commit_seq; /* low bit: the valid copy */
	_Atomic uint64_t dict_used;
	_Atomic uint64_t free_chunks; /* estimate, for waking the writer */
	uint64_t count[JC_COUNT]; /* written by anyone with atomic adds: rare events only */
	uint64_t lost_rows; /* rows the sink could not write and gave up */
	uint64_t removed_blocks; /* finished blocks removed for output_limit_mib */
	uint64_t
		writer_ns; /* processor time of writing, on whatever thread: a writer that waits for the disk costs nothing */
	uint64_t
		spilled; /* asynchronous calls kept outside the journal: lost if the process is killed */
	uint64_t damaged; /* entries that made no sense */
	_Atomic uint64_t
		seq_next; /* numbers of calls below it may have been given: SEQ_FIRST and whole blocks */
	struct journal_progress progress;
	char journal_path[JOURNAL_PATH_MAX];
	char folder
		[JOURNAL_PATH_MAX]; /* of the rank: for who finds a journal that lies elsewhere */
	char loss[LOSS_COUNT][LOSS_TEXT_MAX]; /* what was reported, by kind; "" = nothing */
	_Atomic uint64_t bitmap[JOURNAL_CHUNKS_MAX / 64]; /* 1: chunk taken */
};

struct journal_chunk {
	_Atomic uint32_t used; /* bytes after this header that hold complete entries */
	_Atomic uint32_t next; /* chunk + 1 that the thread went on in; 0: this is its last */
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
	uint32_t bytes; /* of the entry, a multiple of 8 */
	uint8_t type;
	_Atomic uint8_t state; /* JE_CALL: enum journal_call_state */
	uint16_t n; /* tensors, frames ... that follow and are valid */
};

/* One row to be: a tensor of a call. */
struct journal_tensor {
	uint64_t count; /* elements */
	uint64_t bytes;
	int64_t comm_seq; /* JOURNAL_NONE64: the call's */
	struct stats stats; /* n == 0: none */
	int32_t peer, tag; /* JOURNAL_NONE: the call's */
	uint32_t crc; /* checksum of the bytes, with TF_CRC; of which kind says the configuration */
	uint16_t index;
	uint8_t dtype;
	uint8_t io; /* enum tensor_io */
	uint8_t flags; /* enum tensor_flag */
	uint8_t ndim; /* dims that follow this struct as uint64_t; JOURNAL_NDIM_NONE: shape unknown */
	uint8_t arg, item; /* struct buffer's, where there are dims */
	uint32_t name; /* what the tensor is in the training: JOURNAL_NAME_*; 0: not known */
};

/* journal_tensor.name: the number of a parameter, which is its JE_NAME's; with one of these bits its gradient, or a bucket. */
#define JOURNAL_NAME_GRAD (UINT32_C(1) << 31)
#define JOURNAL_NAME_BUCKET (UINT32_C(1) << 30)
#define JOURNAL_NAME_ID (JOURNAL_NAME_BUCKET - 1)

/* Of `arg`: the argument, and whether a gradient is computed for it, where that is known. */
#define TENSOR_ARG(v) ((v)&0x3f)
#define TENSOR_NO_GRAD 0x40
#define TENSOR_GRAD 0x80
#define TENSOR_VALUE      \
	(TENSOR_NO_GRAD | \
		TENSOR_GRAD) /* a number of the program's; without elements: None or the like */
#define TENSOR_IS_VALUE(v) (((v)&TENSOR_VALUE) == TENSOR_VALUE)

#define JOURNAL_NDIM_NONE 255
enum tensor_io { IO_IN, IO_OUT };
enum tensor_flag {
	TF_NOSTATS = 1,
	TF_CRC = 2,
	TF_SAVED = 4, /* copied for a dump */
	TF_LEFT_OUT = 8, /* wanted there, and not copied */
	TF_XOR = 16, /* stats.min.u is the XOR of its 64-bit words, and there are no statistics */
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

/* Numbers of the nodes of a graph that the call made or is: the first, and how many follow it (at most). */
#define JOURNAL_NODE(first, more) ((int64_t)((first) << 16 | ((more) < 0xffff ? (more) : 0xffff)))
#define JOURNAL_NODE_FIRST(v) ((uint64_t)(v) >> 16)
#define JOURNAL_NODE_MORE(v) ((uint64_t)(v)&0xffff)

/* The `phase` column: flags.def. */
enum phase {
#define CALL_PHASE(id, word, help) PHASE_##id,
#include "journal/flags.def"
	PHASES
};

/* journal_call.wait of an asynchronous call that was complete when it returned: no thread had to wait for it. */
#define JOURNAL_NO_WAIT UINT64_MAX

struct journal_call {
	struct journal_entry e;
	uint64_t seq;
	uint64_t start; /* ticks */
	uint64_t
		end; /* ticks; set before state CLOSED; of ASYNC: when the start returned, 0: not known */
	uint64_t comm; /* 0: none */
	int64_t comm_seq; /* JOURNAL_NONE64: empty; with CF_NODE something else, and the column is empty */
	uint64_t parent; /* 0: none */
	uint64_t wait; /* ticks; 0: none, or not known; JOURNAL_NO_WAIT */
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
	 * e.n tensors follow, each a struct journal_tensor and its dims; room for more may follow them. Without inputs the
	 * first in that room has, while the call is open, dtype, count and bytes of what it is to receive.
	 */
};

/* journal_tensor.count of a call that has no inputs, and whose result is not known in advance. */
#define JOURNAL_UNTOLD UINT64_MAX

struct journal_end {
	struct journal_entry e;
	uint64_t seq; /* of the call */
	uint64_t end; /* ticks */
	uint64_t wait;
	int64_t comm_seq; /* JOURNAL_NONE64: as in the call */
	uint64_t device_ns; /* that its work took on a device; 0: not known */
	int32_t peer, tag; /* JOURNAL_NONE: as in the call */
	int32_t error;
	uint32_t flags; /* or-ed to the call's */
	/* e.n tensors */
};

struct journal_stack {
	struct journal_entry e;
	uint32_t id, step;
	uint32_t api; /* dictionary id of the first call with this stack */
	uint32_t text_bytes; /* Python frames as text, after the addresses; 0: none */
	/* e.n uint64_t addresses, then the text */
};

struct journal_comm {
	struct journal_entry e;
	uint64_t id, parent;
	int32_t size, rank;
	uint32_t flags; /* CF_LOCALCOMM, CF_GUESSED */
	uint32_t pad;
	/* four NUL-terminated strings: lib, kind, name, world ranks */
};

/* A number of a step. */
struct journal_scalar {
	struct journal_entry e;
	uint64_t at; /* ticks, or what at_is_real says */
	double value;
	uint32_t step;
	uint16_t which; /* enum scalar */
	uint16_t at_is_real; /* ns of the epoch, of the clock that files have theirs from */
	uint16_t optimizer; /* that it is of, in the order of their first steps */
	uint16_t group; /* of that optimizer; JOURNAL_NO_GROUP: of all */
	uint32_t pad2;
};

#define JOURNAL_NO_GROUP UINT16_MAX

/* One row of a kind (terms/train_kind.def): what a parameter, or a tensor that belongs to it, was at some point of a step. */
struct journal_kind_row {
	struct journal_entry e; /* e.n: values, of kinds without statistics */
	uint64_t count; /* elements */
	struct stats stats; /* n == 0: none */
	uint64_t tick; /* when it was looked at */
	uint32_t step, micro_step; /* micro_step UINT32_MAX: the file has no such column */
	uint32_t ops; /* columns of the file: train_op_at() */
	uint16_t vpp_stage;
	uint8_t kind; /* enum train_kind */
	uint8_t dtype;
	uint8_t ndim; /* at most JOURNAL_KIND_DIMS */
	uint8_t pad[7];
	/*
	 * ndim uint64_t, e.n doubles, then three NUL-terminated strings: the name; the file's word where the kind has none
	 * (TK_STATE); what the framework puts before the type's name.
	 */
};

#define JOURNAL_KIND_DIMS 64
enum journal_name_what {
	JN_PARAM = 1, /* a parameter of the training */
	JN_PART, /* what a bucket holds, from which of its elements on */
	JN_MODULE, /* a module: `class` is its type */
	JN_BAD, /* the first NaN or Inf of a bucket in a step: where it lies */
	JN_STRUCT, /* the modules that were just entered are all there are: module_struct.json is to be written */
};

/* Bits of journal_name.flags: the words of names.csv, in this order. */
enum journal_name_flag {
	JN_FROZEN = 1, /* takes no gradient */
	JN_UNNAMED = 2, /* no module has it: opt{k}.group{g}.param{i} */
	JN_FLAT = 4, /* parameters that FSDP1 laid one after the other, or one of these */
	JN_SHARD = 8, /* the local part of a DTensor */
	JN_TIED = 16, /* several modules have it: the name is the first one's */
	JN_GRAD = 32, /* JN_PART: its gradient lies there, not the parameter */
	JN_UNOWNED = 64, /* no optimizer has it */
	JN_NAN = 128, /* JN_BAD: which of the two it is */
	JN_INF = 256,
};
#define JN_FLAGS 9

struct journal_name {
	struct journal_entry e;
	uint32_t
		id; /* JN_PARAM, JN_MODULE: its number, from 1; JN_PART, JN_BAD: of the parameter */
	uint32_t step;
	uint32_t bucket; /* JN_PART, JN_BAD: number of the bucket */
	uint16_t optimizer, group, vpp_stage; /* JN_PARAM */
	uint8_t what; /* enum journal_name_what */
	uint8_t dtype;
	uint32_t flags; /* enum journal_name_flag */
	uint64_t offset,
		count; /* JN_PART: elements of the bucket; JN_BAD: which one, and how many NaN and Inf */
	/* e.n dimensions as uint64_t, then three NUL-terminated strings: name, module, class */
};

/* ---- dictionary: strings that records name by number; append only, never drained ---- */

enum dict_kind { DICT_API = 1, DICT_META, DICT_MODULE };

#define DICT_ONLY_API \
	4 /* one of this many bytes is kept for DICT_API: without it a call cannot be recorded at all */

struct dict_entry {
	uint32_t bytes; /* multiple of 8; 0: reserved, and nothing is there yet */
	uint16_t
		kind; /* the store of it (release) publishes the entry; 0: being filled in, or never was */
	uint16_t id;
	/*
	 * DICT_API: lib, symbol, op. DICT_META: key, JSON text. DICT_MODULE: "lo hi bias buildid" in
	 * hex (build id "-": none), path. All NUL-terminated strings.
	 */
};

/* ---- records in flight ---- */

#define PENDING_UNIT 64 /* a record in flight takes whole units */

struct pending_slot {
	_Atomic uint64_t born; /* commit number that made it valid; 0: free */
	_Atomic uint64_t died; /* commit number from which it is not; 0: lives */
	uint32_t units, pad;
	uint64_t data[]; /* the CALL entry and its tensors */
};

/* The head says its own size (head_bytes). Of the rest the version speaks. */
_Static_assert(JOURNAL_VERSION == 1 && sizeof(struct journal_thread) == 184 &&
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
