/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders outside the rank's into which sinks write through struct files, with the same promise: after a crash each
 * entry is there once. A path "x:NAME" is NAME in the folder that was added as 'x'; where the folder was added with a file's
 * name, which may be longer than a path of files is, "x:" is that file. A tag always stands for the same sink's folder:
 * the journal keeps lengths by these paths.
 */
#ifndef PROBE_SINK_PLACES_H
#define PROBE_SINK_PLACES_H

#include "sink/files.h"

/*
 * path: absolute; the folder and those above it are made when the first file in it is written. file: its only file, or
 * NULL. 0, -ENOMEM, -EEXIST (the tag is taken), -ENOSPC (FILES_PLACES).
 */
int files_place_add(struct files *f, char tag, const char *path, const char *file);

/* A small file that the folder is to have before any other, with that text. name: a constant. 0, -ENOENT, -ENOMEM. */
int files_place_begin(struct files *f, char tag, const char *name, const char *text);

/* The folder has another path now, because it was renamed, or is to be made there. 0, -ENOENT, -ENOMEM. */
int files_place_move(struct files *f, char tag, const char *path);

/*
 * The folder that a file of that path is in, as a descriptor that stays open, and its name there. make: make what is
 * not there. -errno.
 */
int files_place_of(struct files *f, const char *path, bool make, const char **name);

void files_places_close(struct files *f);

#endif
