/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "journal/meta_part.h"
#include "tools/lib/tool.h"
#include "writer/drain.h"

/*
 * Copies the used part of a segment. A segment cannot be mapped privately, and reading a page that
 * was never written would allocate memory for it.
 */
static void *copy_segment(const struct journal *j)
{
	const struct journal_head *h = j->head;
	char *p = mmap(NULL, j->bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return p;
	memcpy(p, h, h->chunk_off);
	for (uint32_t i = 0, n = journal_get_nchunk(j); i < n; i++)
		if (atomic_load(&h->bitmap[i / 64]) >> (i & 63) & 1)
			memcpy(p + h->chunk_off + (uint64_t)i * h->chunk_bytes,
				journal_get_chunk(j, i), h->chunk_bytes);
	return p;
}

/* Opens a private copy: changes made by draining never reach the journal. */
static int open_private(struct journal *j, const char *path)
{
	int err = journal_open_copy(j, path);
	struct journal copy;

	if (err || j->kind != JK_SEGMENT)
		return err;
	copy = (struct journal){
		.head = copy_segment(j), .bytes = j->bytes, .safe = true, .lock = {.fd = -1}};
	memcpy(copy.space_max, j->space_max, sizeof(copy.space_max));
	err = copy.head == MAP_FAILED ? -errno : 0;
	journal_close(j);
	if (!err)
		*j = copy;
	return err;
}

static void read_committed_lengths(struct overlay *o, const struct journal *j)
{
	const struct journal_commit *c = journal_get_commit(
		j, atomic_load_explicit(&j->head->commit_seq, memory_order_relaxed));

	for (int i = 0; i < JOURNAL_FILES; i++)
		if (c->file[i].path[0])
			o->file[o->nfile++] = c->file[i];
}

static int write_overlay_rows(struct overlay *o, struct journal *j, int dirfd)
{
	uint64_t before = journal_get_commit(j, atomic_load(&j->head->commit_seq))->rows;
	struct sink sink;
	struct drain drain;
	int err = sink_open(&sink, j, dirfd, NULL, FORMAT_BIT(CSV));

	if (err)
		return err;
	err = drain_open(&drain, j, &sink);
	if (!err) {
		err = drain_all(&drain, true);
		drain_close(&drain);
	}
	sink_close(&sink);
	o->rows = journal_get_commit(j, atomic_load(&j->head->commit_seq))->rows - before;
	return err;
}

static char *make_overlay_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	char *path = tool_format("%s/probe-report.XXXXXX", tmp && *tmp ? tmp : "/tmp");

	if (mkdtemp(path))
		return path;
	free(path);
	return NULL;
}

static void remove_overlay_folder(struct overlay *o)
{
	if (o->path)
		tool_remove_folder(o->path);
	free(o->path);
	o->path = NULL;
}

char *overlay_open(struct overlay *o, const struct rank_dir *r)
{
	static const uint16_t ended[] = {META_END, META_MEMORY_GROUP};
	struct journal j;
	int err, fd = -1;

	*o = (struct overlay){0};
	if (!r->journal)
		return NULL;
	err = open_private(&j, r->journal);
	if (err == -EPROTO)
		return tool_strdup("the journal was written by another version of libprobe: its "
				   "last rows and open calls are not shown");
	if (err)
		return tool_format("the journal: %s: its last rows and open calls are not shown",
			err == -EINVAL	  ? "damaged"
			: err == -ENODATA ? "empty"
					  : io_error_text(err));
	read_committed_lengths(o, &j);
	o->spilled = j.head->spilled;
	o->members = meta_find_members(&j, ended, sizeof(ended) / sizeof(*ended));
	o->path = make_overlay_folder();
	if (o->path)
		fd = open(o->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = fd < 0 ? -errno : write_overlay_rows(o, &j, fd);
	journal_close(&j);
	if (fd >= 0)
		close(fd);
	if (!err)
		return NULL;

	char *why = tool_format("temporary files: %s: the last rows are not shown; set TMPDIR to a "
				"folder with room",
		strerror(-err));

	remove_overlay_folder(o);
	return why;
}

void overlay_remove(struct overlay *o)
{
	remove_overlay_folder(o);
	free(o->members);
	o->members = NULL;
}

uint64_t overlay_get_limit(const struct overlay *o, const char *file)
{
	for (unsigned i = 0; i < o->nfile; i++)
		if (strncmp(o->file[i].path, file, sizeof(o->file[i].path)) == 0)
			return o->file[i].bytes;
	return UINT64_MAX;
}
