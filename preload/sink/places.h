/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders outside the rank's folder into which sinks write through struct files, with the same guarantee: after a crash
 * each entry is there once. Path "x:NAME" is NAME in the folder that was added as 'x'. If the folder was added with a
 * file's name (which may be longer than struct files' paths), "x:" is that file. A tag always means the same sink's
 * folder, because the journal stores lengths by these paths.
 */
#ifndef PROBE_SINK_PLACES_H
#define PROBE_SINK_PLACES_H

#include "sink/files.h"

/*
 * path: absolute; the folder and its parents are made when its first file is written. file: its only file, or NULL.
 * Returns 0, -ENOMEM, -EEXIST (the tag is taken), or -ENOSPC (FILES_PLACES).
 */
int files_place_add(struct files *f, char tag, const char *path, const char *file);

/*
 * Adds a small file with that text, made before any other file of the folder. name: a constant. Returns 0, -ENOENT, or
 * -ENOMEM.
 */
int files_place_begin(struct files *f, char tag, const char *name, const char *text);

/* The folder has another path now: it was renamed, or is to be made there. Returns 0, -ENOENT, or -ENOMEM. */
int files_place_move(struct files *f, char tag, const char *path);

/*
 * The folder that contains a file of that path, as a descriptor that stays open, and the file's name there. make: make
 * missing folders. Returns -errno on failure.
 */
int files_place_of(struct files *f, const char *path, bool make, const char **name);

void files_places_close(struct files *f);

#endif
