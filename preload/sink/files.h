/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The growing files of a rank's folder: calls_<a>-<b>[.<k>].csv, <kind>_<a>-<b>.csv, stack_info.csv, comms.csv. Text is
 * collected in one buffer per file and written at the end of a drain pass, whole lines at a time. Committed text is
 * never written twice or cut off. One writer: the writer thread, or the tool.
 */
#ifndef PROBE_SINK_FILES_H
#define PROBE_SINK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "config/rooms/room.h"
#include "journal/journal.h"

#define FILES_OPEN 32 /* files written in one pass */
#define FILES_PLACES 4
#define FILES_CONFIGS 4 /* number of earlier configurations that are kept */

/* How a calls file is written. */
enum calls_kind { CALLS_NONE, CALLS_CSV, CALLS_COMPACT };

struct out_file {
	char path[48]; /* "": the entry is not used */
	struct io_kept at; /* open as */
	uint64_t bytes; /* committed length; only this part of the file is valid */
	const char *header; /* first line of a new file */
	char *buf;
	size_t len, cap;
	uint32_t block, part; /* calls files */
	enum calls_kind calls;
	bool pinned; /* text of this pass will come: it does not give way to another file */
	bool lines; /* text: its tail is cut at the end of a line */
	uint64_t used; /* pass of the last use */
	/* the entry of struct files that last added text, and the length before that */
	uint64_t entry;
	size_t len_before;
};

/* An existing calls file, for the limit on the folder's size. */
struct out_block {
	uint32_t block, part;
	enum calls_kind kind;
	uint64_t bytes; /* on the disk */
	bool gz; /* compressed: no more data is written into it */
};

/* A folder outside the rank's folder (places.h). */
struct files_place {
	char tag;
	char *path, *file; /* file: "": any */
	const char *first; /* a file that is made there before any other, NULL: none */
	char *text; /* of it */
	struct io_kept dir;
};

struct files {
	struct journal *j;
	bool from_files; /* SINK_FROM_FILES: existing files are another process' */
	const struct config *cfg; /* what is written and how, for the sinks; NULL: defaults */
	const struct config *before[FILES_CONFIGS]; /* earlier configurations, the latest first */
	int dirfd;
	/*
	 * Called before each use of dirfd: checks that it is still the folder. The program may close it at any moment
	 * and reuse the number. NULL: not needed (`probe recover`).
	 */
	void (*look)(struct files *f);
	uint64_t pass;
	struct out_file file[FILES_OPEN];
	unsigned places; /* number of entries of file[] ever used */
	struct out_file *last_calls; /* the file of the last row, NULL: none yet */
	struct out_block *blocks;
	uint32_t nblocks, cap_blocks;
	uint64_t total; /* total size of all calls files */
	struct files_place place[FILES_PLACES];
	unsigned nplace;
	bool plain; /* compressing failed once */
	uint64_t limit; /* maximum size of a file (RLIMIT_FSIZE) at the last pass */
	/* size of all buffers in this pass, and its limit; one call always fits */
	size_t text, text_most;
	uint64_t entry; /* number of the current one */
};

static inline int files_dir(struct files *f)
{
	if (f->look)
		f->look(f);
	return f->dirfd;
}

/* Loads the content of an existing folder (recovered or resumed). */
int files_open(struct files *f, struct journal *j, int dirfd);
void files_close(struct files *f);

/*
 * Sets the configuration used from now on; it must live as long as f. files_config_at() returns the one used for a
 * step.
 */
void files_use_config(struct files *f, const struct config *cfg);
const struct config *files_config_at(const struct files *f, uint32_t step);

/* The folder is replaced by another one, `to`, and f is empty: moves configurations and places, closes f. */
void files_move(struct files *f, struct files *to);

/*
 * Room for `bytes` in the buffer of a sink's own file (format.h). NULL: the pass has to be ended first (too many files,
 * too much text, no memory). files_took() sets how much of it was used.
 */
char *files_room_table(struct files *f, const char *path, const char *header, size_t bytes,
	struct out_file **which);
char *files_room_calls(struct files *f, enum calls_kind kind, uint32_t step, size_t bytes,
	struct out_file **which);

/* The same at the end of a pass, which has no limit then, in a file that has a place already. NULL: no memory. */
char *files_get_block_room(struct files *f, struct out_file *o, size_t bytes);

/* True if no file may grow by that much. A table has no parts, so its rows are lost then. */
bool files_table_is_full(struct files *f, const char *path, size_t bytes);

/*
 * The same for a row that may be lost: NULL also if the table is full. *err is then the sink's result: 0 (the row has
 * been counted as lost), or -ENOBUFS (the pass has to be ended first).
 */
char *files_room_row(struct files *f, const char *path, const char *header, size_t bytes,
	struct out_file **which, int *err);
static inline void files_took(struct files *f, struct out_file *o, size_t bytes)
{
	if (o->entry != f->entry) {
		o->entry = f->entry;
		o->len_before = o->len;
	}
	f->text += bytes;
	o->len += bytes;
}

/*
 * Writes the buffers and stores the new lengths in *next. On an error everything is as before the pass: files are cut
 * to their committed length, buffers are empty. Returns 0, or -errno of the first failure.
 */
int files_write(struct files *f, struct journal_commit *next);
void files_drop(struct files *f); /* forgets the buffers */

/*
 * Begins an entry, and takes back all text that was added since then. Nothing may have been written in between. A file
 * remembers its length when the entry first adds to it: most entries add to one.
 */
static inline void files_begin_entry(struct files *f)
{
	f->entry++;
}

void files_take_back(struct files *f);

/* Cuts every file in the valid commit to its committed length: the rest is still in the journal. */
int files_cut(struct files *f);

/*
 * Opens a file of the folder: it must be regular, belong to its owner, and have no other hard link. Returns a
 * descriptor, -ELOOP, -IO_ENOTREG, -EPERM, or -errno.
 */
int files_open_own(int dirfd, const char *path, int flags);

/*
 * Removes the oldest finished blocks, except the first, until the folder is within its limit. Returns the number of
 * blocks removed.
 */
uint32_t files_limit(struct files *f);

/*
 * Compresses at most one finished calls file: a part that has a next part, or a block with a complete block after it.
 * Late rows then go into a further part. The plain file is removed last: while it exists, it is the valid one. Returns
 * 1: done; 0: nothing to do; -errno: the file stays as it is, and so do all others from now on. hurry: not 0 while
 * other threads wait for the files; then the file is put off (returns 0).
 */
int files_compress(struct files *f, const _Atomic int *hurry);

#endif
