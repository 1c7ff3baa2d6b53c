/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders outside the rank's folder into which sinks write through struct files, with the same
 * guarantee: after a crash each entry is in the files once. Path "x:NAME" is file NAME in the
 * folder that was added with tag 'x'. If the folder was added with a file name (which may be
 * longer than paths of struct files), "x:" is that file. A tag always means the folder of the
 * same sink, because the journal stores lengths by these paths.
 */
#ifndef PROBE_SINK_PLACES_H
#define PROBE_SINK_PLACES_H

#include "sink/files.h"

/*
 * Adds a folder. path: absolute; the folder and its parents are made when its first file is
 * written. file: name of the only file in it, or NULL. Returns 0, -ENOMEM, -EEXIST (tag is used
 * already), or -ENOSPC (FILES_PLACES).
 */
int files_place_add(struct files *f, char tag, const char *path, const char *file);

/*
 * Sets a small file that is made with this text before any other file of folder `tag`. name: a
 * constant. Returns 0, -ENOENT (unknown tag), or -ENOMEM.
 */
int files_place_set_first(struct files *f, char tag, const char *name, const char *text);

/*
 * Changes the path of folder `tag`: it was renamed, or is not made yet. Returns 0, -ENOENT
 * (unknown tag), or -ENOMEM.
 */
int files_place_set_path(struct files *f, char tag, const char *path);

/*
 * Returns the descriptor of the folder that contains file `path`, and in *name the file's name in
 * that folder. The descriptor stays open. make: makes missing folders. Returns -errno on failure.
 */
int files_place_open(struct files *f, const char *path, bool make, const char **name);

void files_places_close(struct files *f);

#endif
