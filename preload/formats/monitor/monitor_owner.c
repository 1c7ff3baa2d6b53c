/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/monitor/monitor_owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "text/text.h"
#include "folder/folder_mark.h"
#include "folder/owner.h"

size_t format_monitor_owner(char *buf, size_t cap, const struct journal *j)
{
	struct text t = text_init(buf, cap);

	text_add_string(&t, "{\n ");
	owner_format(&t, &j->head->owner);
	text_add_string(&t, ",\n \"journal_path\": ");
	text_add_json(&t, j->head->journal_path);
	text_add_string(&t, "\n}\n");
	return t.len;
}

/* Reads .owner. Returns -ENOENT if there is none. */
static int read_monitor_owner(int dirfd, struct journal_owner *o, char *journal, size_t cap)
{
	char text[MONITOR_OWNER_MAX];
	ssize_t n = io_read_file(dirfd, MONITOR_OWNER_FILE, text, sizeof(text) - 1);

	if (n < 0)
		return (int)n;
	text[n] = 0;
	meta_string(text, "journal_path", journal, cap);
	return owner_parse(text, o);
}

static bool has_monitor_rows(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool found = false;

	if (!d && fd >= 0)
		close(fd);
	for (struct dirent *e; d && !found && (e = readdir(d));)
		found = strstr(e->d_name, ".csv") != NULL;
	if (d)
		closedir(d);
	return found;
}

enum monitor_use find_monitor_folder_use(int dirfd, const struct journal *mine)
{
	char journal[JOURNAL_PATH_MAX];
	struct journal_owner o;
	int err = read_monitor_owner(dirfd, &o, journal, sizeof(journal));
	bool there;

	/* No .owner: if the folder has no rows, it was just made, and .owner will follow. */
	if (err == -ENOENT)
		return has_monitor_rows(dirfd) ? MONITOR_LEFT : MONITOR_USED;
	if (err)
		return MONITOR_UNJUDGED;
	if (owner_same(&o, &mine->head->owner))
		return MONITOR_LEFT;
	/*
	 * A journal with the path of this process' own does not count: if a run continues in the
	 * rank's folder, the journal at that path is the new one.
	 */
	there = journal[0] && strcmp(journal, mine->head->journal_path) && has_journal(journal);
	/*
	 * A journal that is missing may have been renamed with its folder, so this tells nothing
	 * about the process.
	 */
	switch (owner_life(&o, there ? journal : "")) {
	case OWNER_LIVES:
		return MONITOR_USED;
	case OWNER_DEAD:
		return there ? MONITOR_UNJUDGED : MONITOR_LEFT;
	default:
		return MONITOR_UNJUDGED;
	}
}

bool was_made_by(int dirfd, const struct journal *mine)
{
	char journal[JOURNAL_PATH_MAX];
	struct journal_owner o;
	int err = read_monitor_owner(dirfd, &o, journal, sizeof(journal));

	return err == -ENOENT ? !has_monitor_rows(dirfd)
			      : !err && owner_same(&o, &mine->head->owner);
}

int write_monitor_owner(int dirfd, const struct journal *mine)
{
	char text[MONITOR_OWNER_MAX];
	size_t n = format_monitor_owner(text, sizeof(text), mine);
	int err = 0, mark = mark_folder(dirfd);

	if (mark < 0)
		return mark;
	/* Another process may have taken the folder in the meantime. */
	if (find_monitor_folder_use(dirfd, mine) != MONITOR_LEFT)
		err = -EBUSY;
	else
		err = io_replace_file(dirfd, MONITOR_OWNER_FILE, text, n);
	unmark_folder(dirfd, mark);
	return err;
}

void remove_monitor_owner(int dirfd, const struct journal *j)
{
	char journal[JOURNAL_PATH_MAX];
	struct journal_owner o;

	if (read_monitor_owner(dirfd, &o, journal, sizeof(journal)) == 0 &&
		owner_same(&o, &j->head->owner))
		unlinkat(dirfd, MONITOR_OWNER_FILE, 0);
}
