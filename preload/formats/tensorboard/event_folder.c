/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/tensorboard/event_folder.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"
#include "sink/places.h"

int add_event_folder(struct files *f, char tag, const char *folder)
{
	const struct journal_head *h = f->j->head;
	char file[160];
	int err;

	snprintf(file, sizeof(file), "events.out.tfevents.%010llu.%s",
		(unsigned long long)(h->clock.real_ns / 1000000000u), h->owner.host);
	for (char *p = file; *p; p++)
		if (*p == '/')
			*p = '_';
	err = io_add_folders(folder);
	if (!err && access(folder, W_OK | X_OK) < 0)
		err = -errno;
	return err ? err : files_place_add(f, tag, folder, file);
}
