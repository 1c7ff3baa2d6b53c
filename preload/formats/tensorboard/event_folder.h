/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a process's event file. */
#ifndef PROBE_FORMATS_TENSORBOARD_EVENT_FOLDER_H
#define PROBE_FORMATS_TENSORBOARD_EVENT_FOLDER_H

#include "sink/files.h"

/*
 * Makes `folder` and registers it under `tag` (files_place_add()), with a file named
 * events.out.tfevents.<seconds>.<host>. Returns 0, or -errno if the folder cannot be used.
 */
int add_event_folder(struct files *f, char tag, const char *folder);

#endif
