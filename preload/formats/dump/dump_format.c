/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dump sink: a folder for each step and rank. Calls are staged as they come (dump_stage.h). A step's files are made
 * when the next step has ended too, because asynchronous calls end a little later, and at the end of the program.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "config/rooms/dump.h"
#include "formats/dump/dump_compose.h"
#include "formats/dump/dump_folder.h"
#include "formats/dump/dump_tensors.h"
#include "sink/format.h"

#define STEPS_BEHIND 1 /* number of steps that have ended and have no files yet */

struct dumped_step {
	uint32_t step;
	bool own; /* the step's folder belongs to this process */
	/* `left` of struct dump before the step's files were made for the first time */
	int64_t left;
	bool touched; /* the step has calls that are not in its files */
	bool made; /* the step's files have been made; later calls are appended (dump_compose.h) */
};

struct dump {
	struct files *files;
	struct dump_book *book;
	struct dumped_step *step;
	uint32_t n, cap;
	uint32_t ended; /* steps below this number have ended */
	int64_t left; /* see dump_write_step() */
};

static struct dumped_step *add_dumped_step(struct dump *d, uint32_t step)
{
	for (uint32_t i = d->n; i-- > 0;)
		if (d->step[i].step == step)
			return &d->step[i];
	if (d->n == d->cap) {
		uint32_t want = d->cap ? d->cap * 2 : 64;
		struct dumped_step *more = realloc(d->step, want * sizeof(*more));

		if (!more)
			return NULL;
		d->step = more;
		d->cap = want;
	}
	d->step[d->n] = (struct dumped_step){.step = step};
	return &d->step[d->n++];
}

/* Finds steps that a killed process had begun. */
static int find_begun_steps(struct dump *d)
{
	int fd = openat(files_get_dir(d->files), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;
	int err = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while (!err && (e = readdir(dir))) {
		struct dumped_step *s;
		uint32_t step;

		if (!dump_parse_part_path(e->d_name, &step))
			continue;
		s = add_dumped_step(d, step);
		if (!s) {
			err = -ENOMEM;
			break;
		}
		s->touched = true;
		s->own = s->made = dump_folder_is_made(d->files, step);
	}
	closedir(dir);
	return err;
}

static int open_dump_sink(void *state, struct files *files)
{
	const struct dump_keys *keys;
	struct dump *d = state;

	d->files = files;
	if (!files->cfg)
		return -EINVAL;
	keys = get_dump_keys(files->cfg);
	d->left = keys->task == DUMP_OVERFLOW_CHECK ? keys->overflow_nums : keys->diff_nums;
	d->book = dump_book_open();
	return d->book ? find_begun_steps(d) : -ENOMEM;
}

static int copy_call_aside(void *state, const struct record *r)
{
	struct dump *d = state;
	struct dumped_step *s = add_dumped_step(d, r->call->step);
	int err = 0;

	if (!s)
		return -ENOBUFS;
	if (s->made)
		err = write_staged_step(d->files, r->call->step);
	if (!err)
		err = write_staged_call(d->files, r);
	if (!err) {
		s->touched = true;
		s->made = false;
	}
	return err;
}

static int copy_stack_aside(void *state, const struct record_stack *e)
{
	return write_staged_stack(((struct dump *)state)->files, e);
}

static int copy_comm_aside(void *state, const struct record_comm *e)
{
	return write_staged_comm(((struct dump *)state)->files, e);
}

static int note_ended_steps(void *state, uint32_t next)
{
	((struct dump *)state)->ended = next;
	return 0;
}

static void write_dump_step(struct dump *d, struct dumped_step *s)
{
	int err = dump_book_read(d->book, files_get_dir(d->files));
	int64_t left;

	/* If the files are made again, the same calls are kept again, but they count once. */
	if (!s->own)
		s->left = d->left;
	left = s->left;
	if (!err)
		err = dump_write_step(d->files, d->book, s->step, s->own, &left);
	if (!err && (d->left < 0 || left < d->left))
		d->left = left;
	s->touched = false;
	s->made = true;
	s->own |= !err;
	if (err && err != -ENOENT)
		log_loss(LOSS_DUMP,
			"the dump of step %u cannot be written: %s; its data stays in "
			"dump_%u.part, from which `probe recover` writes it",
			s->step, io_error_text(err), s->step);
}

static void make_ended_steps(void *state, bool written)
{
	struct dump *d = state;

	/*
	 * Tensors were copied before their calls were recorded, so they are written before a
	 * step's files are made.
	 */
	if (written)
		dump_tensors_write_copied(d->files);
	for (uint32_t i = 0; i < d->n; i++) {
		struct dumped_step *s = &d->step[i];

		/*
		 * The pass is undone, perhaps with the mark STAGED_MADE: a second mark does no
		 * harm.
		 */
		if (!written)
			s->made |= s->own;
		else if (s->touched && s->step + STEPS_BEHIND < d->ended)
			write_dump_step(d, s);
	}
}

static void remove_staged_files(struct dump *d)
{
	char path[48];
	int dirfd = files_get_dir(d->files);

	for (uint32_t i = 0; i < d->n; i++) {
		dump_format_part_path(d->step[i].step, path, sizeof(path));
		unlinkat(dirfd, path, 0);
	}
	unlinkat(dirfd, DUMP_STACKS_PART, 0);
	unlinkat(dirfd, DUMP_COMMS_PART, 0);
}

static void finish_dump(void *state)
{
	struct dump *d = state;
	bool all = true;

	dump_tensors_write_copied(d->files);
	for (uint32_t i = 0; i < d->n; i++) {
		if (d->step[i].touched)
			write_dump_step(d, &d->step[i]);
		all &= d->step[i].own;
	}
	if (all && d->n) {
		remove_staged_files(d);
		dump_tensors_remove_folder(d->files);
	}
}

static void close_dump_sink(void *state)
{
	struct dump *d = state;

	dump_book_free(d->book);
	free(d->step);
	*d = (struct dump){0};
}

static enum sink_file get_dump_file_kind(const char *path)
{
	uint32_t step;

	return dump_parse_part_path(path, &step) || strcmp(path, DUMP_STACKS_PART) == 0 ||
			       strcmp(path, DUMP_COMMS_PART) == 0
		       ? SINK_FILE_BYTES
		       : SINK_FILE_OTHER;
}

/* True for task grad_probe, which has no dump of calls (grad_probe_csv.c). */
static bool is_dump_idle(const void *state)
{
	return get_dump_keys(((const struct dump *)state)->files->cfg)->task == DUMP_GRAD_PROBE;
}

const struct sink_format dump_format = {
	.formats = FORMAT_BIT(DUMP),
	.state_bytes = sizeof(struct dump),
	.open = open_dump_sink,
	.record = copy_call_aside,
	.stack = copy_stack_aside,
	.comm = copy_comm_aside,
	.step = note_ended_steps,
	.commit = make_ended_steps,
	.finish = finish_dump,
	.close = close_dump_sink,
	.idle = is_dump_idle,
	.owns = get_dump_file_kind,
};
