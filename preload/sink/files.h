/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The growing files of a rank's folder: calls_<a>-<b>[.<k>].csv, <kind>_<a>-<b>.csv,
 * stack_info.csv, comms.csv. Text is collected in one buffer per file and written at the end of a
 * drain pass, whole lines at a time. Committed text is never written twice or cut off. Only one
 * thread uses them: the writer thread, or the tool.
 */
#ifndef PROBE_SINK_FILES_H
#define PROBE_SINK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "config/rooms/room.h"
#include "journal/journal.h"

#define FILES_OPEN 32 /* maximum number of files written in one pass */
#define FILES_PLACES 4
#define FILES_CONFIGS 4 /* number of earlier configurations that are kept */

/* How a calls file is written. */
enum calls_kind { CALLS_NONE, CALLS_CSV, CALLS_COMPACT };

struct out_file {
	char path[48]; /* "": the entry is not used */
	struct io_kept at; /* descriptor */
	uint64_t bytes; /* committed length; only this part of the file is valid */
	const char *header; /* first line, for a new file */
	char *buf;
	size_t len, cap;
	uint32_t block, part; /* of a calls file */
	enum calls_kind calls;
	/* text of this pass will follow: the entry must not be reused for another file */
	bool pinned;
	bool lines; /* text file: an uncommitted tail is cut at the end of a line */
	uint64_t used; /* the last pass in which the file was used */
	/* struct files' `entry` when text was last added, and the length before */
	uint64_t entry;
	size_t len_before;
};

/* An existing calls file, for the limit on the folder's size. */
struct out_block {
	uint32_t block, part;
	enum calls_kind kind;
	uint64_t bytes; /* size on disk */
	bool gz; /* compressed: nothing more is written into it */
};

/* A folder outside the rank's folder (places.h). */
struct files_place {
	char tag;
	char *path, *file; /* file: "" if it may have several */
	const char *first; /* name of a file to be made before any other; NULL: none */
	char *text; /* content of `first` */
	struct io_kept dir;
};

struct files {
	struct journal *j;
	bool from_files; /* SINK_FROM_FILES: existing files belong to another process */
	const struct config *cfg; /* configuration for the sinks; NULL: defaults */
	const struct config *before[FILES_CONFIGS]; /* earlier configurations, the latest first */
	int dirfd;
	/*
	 * Called before each use of dirfd: checks that it still refers to the folder, since the
	 * program may close it at any moment and reuse the number. NULL: not needed (`probe
	 * recover`).
	 */
	void (*look)(struct files *f);
	uint64_t pass;
	struct out_file file[FILES_OPEN];
	unsigned places; /* number of entries of file[] ever used */
	struct out_file *last_calls; /* the file of the last calls row; NULL: none yet */
	/*
	 * It takes rows of this many steps from its block's first one on, until its text has
	 * calls_most bytes. 0: not known in this pass.
	 */
	uint32_t calls_steps;
	size_t calls_most;
	struct out_block *blocks;
	uint32_t nblocks, cap_blocks;
	uint64_t total; /* total size of all calls files */
	struct files_place place[FILES_PLACES];
	unsigned nplace;
	bool plain; /* compressing has failed once */
	uint64_t limit; /* maximum size of a file (RLIMIT_FSIZE) at the last pass */
	/* size of all buffers in this pass, and its limit, which always allows one call */
	size_t text, text_most;
	uint64_t entry; /* number of the current entry */
};

static inline int files_get_dir(struct files *f)
{
	if (f->look)
		f->look(f);
	return f->dirfd;
}

/* Loads the content of an existing folder, to recover or continue it. */
int files_open(struct files *f, struct journal *j, int dirfd);
void files_close(struct files *f);

/*
 * Sets the current configuration; it must live as long as f. files_get_config_at() returns the one
 * used in a step.
 */
void files_set_config(struct files *f, const struct config *cfg);
const struct config *files_get_config_at(const struct files *f, uint32_t step);

/*
 * The folder is replaced by another one, `to`. Moves configurations and places; closes f, whose
 * buffers must be empty.
 */
void files_move(struct files *f, struct files *to);

/*
 * Returns space for `bytes` in the buffer of a sink's own file (format.h). Returns NULL if the
 * pass must be ended first (too many files, too much text, no memory). files_add_length() sets how much
 * of the space was used.
 */
char *files_get_table_space(struct files *f, const char *path, const char *header, size_t bytes,
	struct out_file **which);
char *files_get_calls_space(struct files *f, enum calls_kind kind, uint32_t step, size_t bytes,
	struct out_file **which);

/*
 * Like files_get_table_space(), for the end of a pass, which has no limit on text, and a file that is
 * in the table already. Returns NULL if there is no memory.
 */
char *files_get_block_space(struct files *f, struct out_file *o, size_t bytes);

/*
 * True if the file cannot grow by `bytes` (RLIMIT_FSIZE). A table has no parts, so its further
 * rows are lost.
 */
bool files_table_is_full(struct files *f, const char *path, size_t bytes);

/*
 * Like files_get_table_space(), for a row that may be lost. If it returns NULL, *err is what the sink
 * must return: 0 (the table is full, the row has been counted as lost), or -ENOBUFS (the pass
 * must be ended first).
 */
char *files_get_row_space(struct files *f, const char *path, const char *header, size_t bytes,
	struct out_file **which, int *err);
static inline void files_add_length(struct files *f, struct out_file *o, size_t bytes)
{
	if (o->entry != f->entry) {
		o->entry = f->entry;
		o->len_before = o->len;
	}
	f->text += bytes;
	o->len += bytes;
}

/*
 * Writes the buffers and stores the new lengths in *next. On an error everything is as before the
 * pass: files are cut to their committed length, and the buffers are empty. Returns 0, or -errno
 * of the first failure.
 */
int files_write(struct files *f, struct journal_commit *next);
void files_reset_buffers(struct files *f); /* drops the text in the buffers */

/*
 * files_start_entry() begins an entry; files_remove_entry() removes all text added since then.
 * Nothing may have been written in between. A file remembers its length when the entry first adds
 * to it, because most entries add to one file only.
 */
static inline void files_start_entry(struct files *f)
{
	f->entry++;
}

void files_remove_entry(struct files *f);

/*
 * Cuts every file of the valid commit to its committed length: the text after it is still in the
 * journal.
 */
int files_reset_to_commit(struct files *f);

/*
 * Opens a file of the folder. The file must be regular, owned by this user, and have no other
 * hard link. Returns a descriptor, -ELOOP, -IO_ENOTREG, -EPERM, or -errno.
 */
int files_open_own(int dirfd, const char *path, int flags);

/*
 * Removes the oldest finished blocks, except the first, until the folder is within its limit. Returns the number of
 * blocks removed.
 */
uint32_t files_remove_oldest(struct files *f);

/*
 * Compresses at most one finished calls file: a part that has a next part, or a block with a
 * complete block after it. Late rows then go into an additional part. The plain file is removed
 * last: while it exists, it is the valid one. hurry: not 0 while other threads wait for the
 * files; then nothing is compressed now. Returns 1 if a file was compressed, 0 if not, and -errno
 * on failure: that file and all later ones then stay uncompressed.
 */
int files_compress(struct files *f, const _Atomic int *hurry);

#endif
