/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink of calls_<a>-<b>.compact. Each pass adds one block to a file. Dictionaries are
 * continued from block to block as long as one process writes them one after the other; otherwise
 * the next block begins new dictionaries.
 *
 * This is the last in the table of sinks, so none of its entries is ever retracted.
 */
#include <errno.h>
#include <string.h>

#include "formats/compact/block.h"
#include "formats/compact/compact_layout.h"
#include "sink/format.h"

/* Two, because calls that end late belong to the previous block of steps. */
#define OPEN_FILES 2
/*
 * Dictionaries begin again after this many bytes: a reader that starts near the file's end, or
 * has found a damaged block, continues where they begin.
 */
#define DICTIONARY_BYTES (4u << 20)
#define BLOCK_BYTES 65536 /* bytes of the file that a pass reserves */

struct open_file {
	struct compact_block *block; /* NULL: not used so far */
	struct out_file *out; /* set while the block has calls */
	uint32_t steps, part; /* first step of the file, and its part */
	uint64_t bytes; /* size of the file for which the dictionaries are valid */
	uint64_t since; /* bytes since the dictionaries began */
	uint64_t used; /* pass of the last use */
};

struct compact {
	struct files *files;
	struct open_file file[OPEN_FILES];
	struct open_file *latest; /* file of the latest call; NULL: none yet */
	uint32_t per, steps; /* number of steps in a file; first step of the latest file */
	uint64_t pass;
};

static int open_compact(void *state, struct files *files)
{
	struct compact *s = state;

	s->files = files;
	s->pass = 1;
	return 0;
}

static void close_compact(void *state)
{
	struct compact *s = state;

	for (unsigned i = 0; i < OPEN_FILES; i++)
		compact_block_free(s->file[i].block);
	memset(s->file, 0, sizeof(s->file));
}

/*
 * Returns the open file of this block of steps, or one without calls in this pass. Returns NULL
 * if the pass must be ended first.
 */
static struct open_file *find_open_file(struct compact *s, uint32_t steps)
{
	struct open_file *oldest = NULL;

	for (unsigned i = 0; i < OPEN_FILES; i++) {
		struct open_file *f = &s->file[i];

		if (f->block && f->steps == steps)
			return f;
		if (!f->out && (!oldest || f->used < oldest->used))
			oldest = f;
	}
	return oldest;
}

/* Begins the block in file f for its first call of a pass. */
static int start_block(struct compact *s, struct open_file *f, uint32_t step, uint32_t steps)
{
	struct out_file *o;

	if (!f->block)
		f->block = compact_block_open();
	if (!f->block || !files_get_calls_space(s->files, CALLS_COMPACT, step, BLOCK_BYTES, &o))
		return -ENOBUFS;

	uint64_t bytes = o->bytes + o->len;
	bool goes_on = bytes && f->bytes == bytes && f->steps == steps && f->part == o->part &&
		       f->since < DICTIONARY_BYTES && !compact_block_is_crowded(f->block);

	compact_block_reset(f->block, !goes_on);
	if (!goes_on)
		f->since = 0;
	f->steps = steps;
	f->part = o->part;
	f->bytes = bytes;
	f->out = o;
	o->pinned = true;
	return 0;
}

/* Sets s->latest to the open file of the call's step, in which a block has begun. */
static __attribute__((noinline)) int find_latest_file(struct compact *s, uint32_t step)
{
	uint32_t n = s->files->j->head->block_steps;
	struct open_file *f;

	s->per = n;
	s->steps = n ? step / n * n : 0;
	s->latest = f = find_open_file(s, s->steps);
	if (!f)
		return -ENOBUFS;
	return f->out ? 0 : start_block(s, f, step, s->steps);
}

static int write_latest(struct compact *s, const struct record *r)
{
	s->latest->used = s->pass;
	return compact_block_add(s->latest->block, r);
}

/* A function of its own, so that write_record() saves no register. */
static __attribute__((noinline)) int write_other_file(struct compact *s, const struct record *r)
{
	int err = find_latest_file(s, r->call->step);

	return err ? err : write_latest(s, r);
}

static int write_record(void *state, const struct record *r)
{
	struct compact *s = state;
	uint32_t n = s->files->j->head->block_steps;
	const struct open_file *f = s->latest;

	/* Usually the file of the previous call. */
	if (__builtin_expect(!f || !f->out || n != s->per || r->call->step - f->steps >= n, 0))
		return write_other_file(s, r);
	return write_latest(s, r);
}

/* Writes the blocks into the buffers of their files. */
static int write_blocks(void *state)
{
	struct compact *s = state;

	for (unsigned i = 0; i < OPEN_FILES; i++) {
		struct open_file *f = &s->file[i];
		size_t bytes;
		char *at;

		if (!f->out || !compact_block_get_calls(f->block))
			continue;
		bytes = compact_block_measure(f->block);
		at = files_get_block_space(s->files, f->out, bytes);
		if (!at)
			return -ENOMEM;
		compact_block_write(f->block, (unsigned char *)at);
		files_add_length(s->files, f->out, bytes);
		f->bytes += bytes;
		f->since += bytes;
	}
	return 0;
}

static void handle_pass_end(void *state, bool written)
{
	struct compact *s = state;

	for (unsigned i = 0; i < OPEN_FILES; i++) {
		struct open_file *f = &s->file[i];

		if (!f->out)
			continue;
		/*
		 * Another process has cut or removed the file, or nothing was written: the
		 * dictionaries are not valid.
		 */
		if (!written || f->out->bytes != f->bytes)
			f->bytes = 0;
		f->out->pinned = false;
		f->out = NULL;
	}
	s->pass++;
}

static enum sink_file get_file_kind(const char *path)
{
	size_t n = strlen(path), end = sizeof(COMPACT_SUFFIX) - 1;

	return strncmp(path, "calls_", 6) == 0 && n > end &&
			       strcmp(path + n - end, COMPACT_SUFFIX) == 0
		       ? SINK_FILE_BYTES
		       : SINK_FILE_OTHER;
}

const struct sink_format compact_format = {
	.formats = FORMAT_BIT(COMPACT),
	.state_bytes = sizeof(struct compact),
	.open = open_compact,
	.record = write_record,
	.pack = write_blocks,
	.commit = handle_pass_end,
	.close = close_compact,
	.owns = get_file_kind,
};
