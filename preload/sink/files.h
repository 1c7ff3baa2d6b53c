/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a rank's folder that grow: calls_<a>-<b>[.<k>].csv, <kind>_<a>-<b>.csv, stack_info.csv, comms.csv. Text is collected in a
 * buffer per file and written at the end of a drain pass, whole lines at a time; what was committed is never
 * written twice or cut off. One writer: the writer thread, or the tool.
 */
#ifndef PROBE_SINK_FILES_H
#define PROBE_SINK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "config/config.h"
#include "journal/journal.h"

#define FILES_OPEN 32 /* files written in one pass */
#define FILES_PLACES 4
#define FILES_CONFIGS 4 /* configurations before the one in use that are known */

/* How a calls file is written. */
enum calls_kind { CALLS_NONE, CALLS_CSV, CALLS_COMPACT };

struct out_file {
	char path[48]; /* "" = place not used */
	struct io_kept at; /* open as */
	uint64_t bytes; /* committed length; part of the file only up to here */
	const char *header; /* first line of a new file */
	char *buf;
	size_t len, cap;
	uint32_t block, part; /* calls files */
	enum calls_kind calls;
	bool pinned; /* text of this pass will come: it does not give way to another file */
	bool lines; /* text: its tail is cut at the end of a line */
	uint64_t used; /* pass of the last use */
};

/* A calls file that exists, for the limit on the folder's size. */
struct out_block {
	uint32_t block, part;
	enum calls_kind kind;
	uint64_t bytes; /* on the disk */
	bool gz; /* compressed: nothing is written into it any more */
};

/* A folder outside the rank's (places.h). */
struct files_place {
	char tag;
	char *path, *file; /* file: "": any */
	const char *first; /* the name of a file that is put there before any other, NULL: none */
	char *text; /* of it */
	struct io_kept dir;
};

struct files {
	struct journal *j;
	bool from_files; /* SINK_FROM_FILES: what is there already is another's */
	const struct config *cfg; /* what is written and how, for the sinks; NULL: as by default */
	const struct config *before[FILES_CONFIGS]; /* that were in use, the latest first */
	int dirfd;
	/*
	 * Before each use of dirfd: is it still the folder? The program may close it at any moment, and then have something
	 * of its own under that number. NULL: nobody does (`probe recover`).
	 */
	void (*look)(struct files *f);
	uint64_t pass;
	struct out_file file[FILES_OPEN];
	unsigned places; /* of file[] that were ever used: the first so many */
	struct out_file *last_calls; /* that the last row went to, NULL: none yet */
	struct out_block *blocks;
	uint32_t nblocks, cap_blocks;
	uint64_t total; /* bytes of all calls files */
	struct files_place place[FILES_PLACES];
	unsigned nplace;
	bool plain; /* compressing failed once */
	uint64_t limit; /* bytes that a file may hold (RLIMIT_FSIZE), as of the last pass */
	size_t text,
		text_most; /* of all buffers in this pass, and where it ends; one call always fits */
};

static inline int files_dir(struct files *f)
{
	if (f->look)
		f->look(f);
	return f->dirfd;
}

/* Looks at what is in the folder already (a recovered or resumed one). */
int files_open(struct files *f, struct journal *j, int dirfd);
void files_close(struct files *f);

/* From now on it is written by that one; it lives as long as f. What a step was recorded by: files_config_at(). */
void files_use_config(struct files *f, const struct config *cfg);
const struct config *files_config_at(const struct files *f, uint32_t step);

/* The folder is another one, `to`, and nothing of f is in it: configurations and places go on, f is closed. */
void files_move(struct files *f, struct files *to);

/*
 * A place in the buffer of that file, which is one of a sink's own (format.h), with room for `bytes`, NULL when the pass has to be ended first (too many
 * files, too much text, no memory). files_took() says how much of it was used.
 */
char *files_room_table(struct files *f, const char *path, const char *header, size_t bytes,
	struct out_file **which);
char *files_room_calls(struct files *f, enum calls_kind kind, uint32_t step, size_t bytes,
	struct out_file **which);

/* The same at the end of a pass, which has no limit then, in a file that has a place already. NULL: no memory. */
char *files_get_block_room(struct files *f, struct out_file *o, size_t bytes);

/* True if no file may grow so large: a table has no parts, its rows are lost then. */
bool files_table_is_full(struct files *f, const char *path, size_t bytes);

/*
 * The same for a row that may be lost: NULL also where the table is full. *err is then what the sink returns: 0, the row has been
 * counted as lost; -ENOBUFS, the pass has to be ended first.
 */
char *files_room_row(struct files *f, const char *path, const char *header, size_t bytes,
	struct out_file **which, int *err);
void files_took(struct files *f, struct out_file *o, size_t bytes);

/*
 * Writes the buffers and enters the new lengths into *next. On an error everything is as before the pass: files cut
 * to their committed length, buffers empty. -errno of the first failure.
 */
int files_write(struct files *f, struct journal_commit *next);
void files_drop(struct files *f); /* forgets the buffers */

/* How much text there is now, and back to that: of what one entry made of it. Nothing may have been written between. */
struct files_mark {
	unsigned places;
	size_t len[FILES_OPEN];
};

static inline void files_mark(const struct files *f, struct files_mark *m)
{
	m->places = f->places;
	for (unsigned i = 0; i < m->places; i++)
		m->len[i] = f->file[i].len;
}

void files_take_back(struct files *f, const struct files_mark *m);

/* Cuts every file that the valid commit knows to its committed length: what lies behind is in the journal. */
int files_cut(struct files *f);

/* Opens a file of the folder: regular, its owner's, without a second name. -ELOOP, -IO_ENOTREG, -EPERM, -errno. */
int files_open_own(int dirfd, const char *path, int flags);

/* Removes the oldest finished blocks but the first until the folder fits its limit. Returns blocks removed. */
uint32_t files_limit(struct files *f);

/*
 * Compresses at most one calls file that is finished: a part with a further one, or a block with a whole block behind
 * it; rows that come late all the same go into a further part. The plain file is removed last: while it is there, it
 * is the one that counts. 1: done, 0: nothing to do, -errno: it stays as it is, and so do all others from now on.
 * hurry: others wait for the files while it is not 0, so the file is left for later (0 is returned).
 */
int files_compress(struct files *f, const _Atomic int *hurry);

#endif
