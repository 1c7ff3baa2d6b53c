/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/recover/clean.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "tools/lib/tool.h"

#define META_LEAD 16384
#define MOVED_MAX 1000 /* a later run moves an existing folder to <folder>.<n>; n is at most this */

const char *const clean_name[] = {
	[CLEAN_LIVES] = "alive",
	[CLEAN_WAITS] = "waits",
	[CLEAN_ORPHAN] = "orphan",
	[CLEAN_RECOVERED] = "recovered",
	[CLEAN_REMOVED] = "removed",
	[CLEAN_FAILED] = "failed",
};

/* Returns true if the folder belongs to the owner process and `recover` has not completed it. */
static bool is_owner_folder(const char *folder, const struct journal_owner *o)
{
	char *path = tool_format("%s/meta.json", folder), meta[META_LEAD], state[16];
	ssize_t n = io_read_file(AT_FDCWD, path, meta, sizeof(meta) - 1);
	struct journal_owner owner;

	free(path);
	if (n < 0)
		return false;
	meta[n] = 0;
	meta_string(meta, "state", state, sizeof(state));
	return strcmp(state, "running") == 0 && owner_parse(meta, &owner) == 0 &&
	       owner_same(&owner, o);
}

/* Returns the folder to which the journal belongs, malloc'd; "" if there is none. */
static char *find_journal_folder(const struct outside *o)
{
	if (o->folder[0] != '/')
		return tool_strdup("");
	if (is_owner_folder(o->folder, &o->owner))
		return tool_strdup(o->folder);
	for (int i = 1; i < MOVED_MAX; i++) {
		char *path = tool_format("%s.%d", o->folder, i);

		if (access(path, F_OK) < 0) {
			free(path);
			break;
		}
		if (is_owner_folder(path, &o->owner))
			return path;
		free(path);
	}
	return tool_strdup("");
}

static void recover_journal_folder(struct clean_outcome *c)
{
	int fd = open(c->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		c->result = CLEAN_FAILED;
		snprintf(c->why, sizeof(c->why), "%.200s: %s", c->folder, strerror(errno));
		return;
	}
	recover_folder(fd, false, &c->info);
	close(fd);
	c->result = CLEAN_RECOVERED;
	if (c->info.result == RECOVER_DONE)
		return;
	c->result = c->info.result == RECOVER_LIVES ? CLEAN_LIVES : CLEAN_FAILED;
	snprintf(c->why, sizeof(c->why), "%s", c->info.why);
}

static void remove_journal(const struct outside *o, struct clean_outcome *c)
{
	int err = outside_remove(o->path);

	c->result = CLEAN_REMOVED;
	if (err) {
		c->result = err == -EBUSY ? CLEAN_LIVES : CLEAN_FAILED;
		snprintf(c->why, sizeof(c->why), "%s", strerror(-err));
	}
}

/* Returns true if no process has mapped or locked a journal that has no owner yet. */
static bool is_blank_unused(const struct outside *o)
{
	/* The lock of a journal file is checked again before the file is removed. */
	return o->path[0] == '/' || outside_sign(o->path, &o->owner, 0) == OWNER_DEAD;
}

void handle_outside_journal(const struct outside *o, bool remove, struct clean_outcome *out)
{
	bool dead = o->blank ? is_blank_unused(o)
			     : recover_owner_life(&o->owner, o->path, o->path, 0) == OWNER_DEAD;

	*out = (struct clean_outcome){.result = CLEAN_LIVES};
	out->folder = o->blank ? tool_strdup("") : find_journal_folder(o);
	if (!dead)
		return;
	out->result = out->folder[0] ? CLEAN_WAITS : CLEAN_ORPHAN;
	if (!remove)
		return;
	if (out->folder[0])
		recover_journal_folder(out);
	else
		remove_journal(o, out);
}
