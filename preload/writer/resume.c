/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/resume.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "config/output_format.h"
#include "config/rooms/files.h"
#include "journal/segment.h"
#include "folder/opened.h"
#include "folder/owner.h"
#include "session/generation.h"
#include "sink/split_steps.h"
#include "writer/complete.h"

#define META_LEAD 16384
#define EARLIER_MAX 100000 /* largest n tried for rank<R>.<n> */
#define JOURNAL_FILE "journal.bin"

/* Files that each run writes again from the start. */
static const char of_one_run[][24] = {"names.csv", "module_struct.json", "parallel.json",
	"modules.csv", "monitor.log", OPENED_FILE};
/* Files that are needed to read the rows, copied to both folders. */
static const char of_both[][24] = {"stack_info.csv", "comms.csv", "meta.json"};

/* ---- the journal of a process that was killed ---- */

/*
 * Opens the journal at the path in meta.json. Another user could have put a file at this path: it
 * must belong to this user, and to the process of meta.json.
 */
static int open_named_journal(
	struct journal *j, const char *path, const struct journal_owner *owner)
{
	struct segment_state state;
	struct segment s;
	struct stat st;
	int err;

	if (segment_parse(path, &s))
		err = segment_read_state(&s, &state);
	else
		err = lstat(path, &st) < 0 ? -errno : 0;
	if (err)
		return err;
	if ((segment_parse(path, &s) ? state.uid : st.st_uid) != geteuid())
		return -EPERM;
	err = journal_open(j, AT_FDCWD, path, false);
	if (!err && !owner_same(&j->head->owner, owner)) {
		journal_close(j);
		err = -ENOENT;
	}
	return err;
}

/* Completes the files of the earlier run. meta: content of the folder's meta.json. */
static int write_rest_of_earlier_run(int dirfd, const char *meta, uint64_t *next_seq)
{
	char state[16], path[JOURNAL_PATH_MAX];
	struct journal_owner owner;
	struct completed done;
	struct journal j;
	int err = journal_open(&j, dirfd, JOURNAL_FILE, false);
	bool inside = err != -ENOENT;

	/* The run was killed before its first record. */
	if (err == -ENODATA)
		return unlinkat(dirfd, JOURNAL_FILE, 0) < 0 ? -errno : 0;
	if (!inside) {
		meta_string(meta, "state", state, sizeof(state));
		meta_string(meta, "journal_path", path, sizeof(path));
		if (strcmp(state, "running") || !path[0] || owner_parse(meta, &owner) < 0)
			return 0;
		err = open_named_journal(&j, path, &owner);
		/* The memory of the journal no longer exists: only the files are left. */
		if (err == -ENOENT)
			return 0;
	}
	if (err)
		return err;
	if (j.head->seq_next > *next_seq)
		*next_seq = j.head->seq_next;
	/*
	 * Format api must not be completed: values that the program reads are those of its own
	 * run.
	 */
	if (atomic_load(&j.head->state) != JS_FINISHED)
		err = complete_folder(&j, dirfd, ~FORMAT_BIT(API), &done);
	journal_close(&j);
	if (err)
		return err;
	unlinkat(dirfd, OPENED_FILE, 0);
	return inside ? unlinkat(dirfd, JOURNAL_FILE, 0) < 0 ? -errno : 0 : journal_remove(path);
}

/* ---- moving the earlier run's rows ---- */

/* Makes the first rank<R>.<n> that does not exist. Returns a descriptor or -errno. */
static int add_earlier_folder(int out, const char *name, char *earlier, size_t cap)
{
	for (unsigned n = 1; n < EARLIER_MAX; n++) {
		int fd;

		if ((size_t)snprintf(earlier, cap, "%s.%u", name, n) >= cap)
			return -ENAMETOOLONG;
		if (mkdirat(out, earlier, IO_FOLDER_MODE) < 0) {
			if (errno != EEXIST)
				return -errno;
			continue;
		}
		fd = openat(out, earlier, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	return -EEXIST;
}

static int move_repeated_steps(int dirfd, int to, uint32_t first, struct split_steps *done)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(of_both) / sizeof(*of_both); i++)
		err = copy_between_folders(dirfd, to, of_both[i]);
	if (!err)
		err = move_steps(dirfd, to, first, done);
	for (size_t i = 0; !err && i < sizeof(of_one_run) / sizeof(*of_one_run); i++)
		if (renameat(dirfd, of_one_run[i], to, of_one_run[i]) < 0 && errno != ENOENT)
			err = -errno;
	return err;
}

static uint64_t read_next_seq(const char *meta)
{
	static const char key[] = "\"next_seq\": ";
	const char *at = strstr(meta, key);

	return at ? strtoull(at + sizeof(key) - 1, NULL, 10) : 0;
}

/*
 * True if step `first` is in the middle of a file that cannot be divided (a compact one), or that
 * has another format than the key: all calls of a block must be in one format.
 */
static bool is_block_of_another_format(int dirfd, uint32_t first)
{
	uint32_t formats = parse_output_formats(get_files_keys(get_config())->format);

	return has_divided_calls(dirfd, ".compact", first) ||
	       (formats & FORMAT_BIT(COMPACT) && has_divided_calls(dirfd, ".csv", first));
}

int resume_earlier_run(void *arg, int out, int dirfd, const char *name)
{
	struct resumed *r = arg;
	struct split_steps done = {0};
	char meta[META_LEAD];
	ssize_t n = io_read_file(dirfd, "meta.json", meta, sizeof(meta) - 1);
	int err = n < 0 ? (int)n : 0, to = -1;
	int64_t stacks;

	meta[n > 0 ? n : 0] = 0;
	r->next_seq = read_next_seq(meta);
	if (!err)
		err = write_rest_of_earlier_run(dirfd, meta, &r->next_seq);
	if (!err && is_block_of_another_format(dirfd, r->first))
		err = -EPROTO;
	if (!err) {
		to = add_earlier_folder(out, name, r->earlier, sizeof(r->earlier));
		err = to < 0 ? to : move_repeated_steps(dirfd, to, r->first, &done);
	}
	stacks = err ? err : find_column_max(dirfd, "stack_info.csv", "stack_id");
	if (to >= 0)
		close(to);
	if (stacks < 0) {
		log_loss(LOSS_FOLDER,
			"append_output: cannot continue in %s: %s; it is moved to %s.<n>, "
			"and the rows of this run begin in a new one",
			name,
			stacks == -EPROTO ? "written by another version of libprobe, or in another "
					    "format (compact files are "
					    "continued at the first step of a file only)"
					  : io_error_text((int)stacks),
			name);
		return (int)stacks;
	}
	r->last_stack = (uint32_t)stacks;
	r->is = true;
	log_info(2,
		"continuing in %s from step %u; %llu rows and files of steps from there on "
		"are in %s",
		name, r->first, (unsigned long long)done.moved, r->earlier);
	return 0;
}

void format_resumed(struct text *t, const struct resumed *r)
{
	text_add_format(t, "{\"first_step\": %u, \"earlier\": ", r->first);
	text_add_json(t, r->earlier);
	text_add_char(t, '}');
}
