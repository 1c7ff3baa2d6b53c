/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct files_place *find_outside_place(struct files *f, char tag)
{
	for (unsigned i = 0; i < f->nplace; i++)
		if (f->place[i].tag == tag)
			return &f->place[i];
	return NULL;
}

int files_place_add(struct files *f, char tag, const char *path, const char *file)
{
	struct files_place *p = &f->place[f->nplace];

	if (find_outside_place(f, tag))
		return -EEXIST;
	if (f->nplace == FILES_PLACES)
		return -ENOSPC;
	*p = (struct files_place){.tag = tag,
		.path = strdup(path),
		.file = strdup(file ? file : ""),
		.dir = {.fd = -1}};
	if (!p->path || !p->file) {
		free(p->path);
		free(p->file);
		return -ENOMEM;
	}
	f->nplace++;
	return 0;
}

int files_place_set_first(struct files *f, char tag, const char *name, const char *text)
{
	struct files_place *p = find_outside_place(f, tag);
	char *copy = strdup(text);

	if (!p || !copy) {
		free(copy);
		return p ? -ENOMEM : -ENOENT;
	}
	free(p->text);
	p->text = copy;
	p->first = name;
	return 0;
}

int files_place_set_path(struct files *f, char tag, const char *path)
{
	struct files_place *p = find_outside_place(f, tag);
	char *to = strdup(path);

	if (!p || !to) {
		free(to);
		return p ? -ENOMEM : -ENOENT;
	}
	free(p->path);
	p->path = to;
	return 0;
}

/*
 * Returns the descriptor of the folder. The folder is opened once, and again if the program has
 * closed the descriptor.
 */
static int open_outside_place(struct files_place *p, bool make)
{
	int err, fd;

	if (io_kept_is_same(&p->dir, NULL))
		return p->dir.fd;
	p->dir.fd = -1;
	err = make ? io_add_folders(p->path) : 0;
	if (err)
		return err;
	fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (make && p->first && faccessat(fd, p->first, F_OK, 0) < 0)
		io_replace_file(fd, p->first, p->text, strlen(p->text));
	io_kept_set(&p->dir, fd);
	return p->dir.fd;
}

int files_place_open(struct files *f, const char *path, bool make, const char **name)
{
	struct files_place *p = path[0] && path[1] == ':' ? find_outside_place(f, path[0]) : NULL;

	*name = path;
	if (!p)
		return path[0] && path[1] == ':' ? -ENOENT : files_get_dir(f);
	*name = *p->file ? p->file : path + 2;
	return open_outside_place(p, make);
}

void files_places_close(struct files *f)
{
	for (; f->nplace; f->nplace--) {
		struct files_place *p = &f->place[f->nplace - 1];

		io_kept_close(&p->dir);
		free(p->path);
		free(p->file);
		free(p->text);
	}
}
