/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/recover/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "journal/drain.h"
#include "sink/owner.h"
#include "sink/sink.h"

#define META_LEAD 16384

static void fail(struct recover_info *r, const char *what, int err)
{
	r->result = RECOVER_FAILED;
	if (err == -EPROTO)
		snprintf(r->why, sizeof(r->why),
			"%s: written by another version of libprobe; use the probe command of that "
			"version",
			what);
	else if (err == -ENODATA)
		snprintf(r->why, sizeof(r->why),
			"%s: empty: its process was killed before it recorded a call, or has just "
			"begun",
			what);
	else if (err == -EINVAL)
		snprintf(r->why, sizeof(r->why), "%s: not a journal, or damaged at its head", what);
	else
		snprintf(r->why, sizeof(r->why), "%s: %s", what, strerror(-err));
}

/*
 * The journal: in the folder, or where meta.json says. There another process may have put its own by now (the folder
 * was moved, the job started again): it must be this folder's owner's. Returns -errno of opening it.
 */
static int open_journal(struct journal *j, int dirfd, char *path, size_t cap)
{
	char meta[META_LEAD], state[16];
	struct journal_owner owner;
	int err = journal_open(j, dirfd, "journal.bin", false);
	ssize_t n;

	snprintf(path, cap, "journal.bin");
	if (err != -ENOENT)
		return err;
	n = io_read_file(dirfd, "meta.json", meta, sizeof(meta) - 1);
	if (n < 0)
		return -ENOENT;
	meta[n] = 0;
	meta_string(meta, "state", state, sizeof(state));
	meta_string(meta, "journal_path", path, cap);
	if (path[0] != '/' || strcmp(state, "running") || owner_parse(meta, &owner) < 0)
		return -ENOENT;
	err = journal_open(j, AT_FDCWD, path, false);
	if (!err && !owner_same(&j->head->owner, &owner)) {
		journal_close(j);
		err = -ENOENT;
	}
	return err;
}

static uint64_t rows_of(const struct journal *j)
{
	return journal_commit(j, atomic_load(&j->head->commit_seq))->rows;
}

/* The process says why records are missing when it drains: a killed one may not have come to that. */
static void say_why(struct journal *j)
{
	char *why = j->head->loss[LOSS_FULL];
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < j->head->nthread && i < JOURNAL_THREADS; i++)
		dropped += journal_thread(j, i)->count[JC_DROP_FULL];
	if (dropped && !why[0])
		snprintf(why, LOSS_TEXT_MAX,
			"the journal was full: records were dropped; journal_mib enlarges it");
}

/* Modules were read and forgotten by the dead process; stacks that are still in the journal need them. */
static int complete(struct journal *j, int dirfd, struct recover_info *r)
{
	struct sink sink;
	struct drain drain;
	uint64_t before = rows_of(j);
	int err = sink_open(&sink, j, dirfd);

	if (err)
		return err;
	err = files_cut(&sink.files);
	if (!err)
		err = drain_open(&drain, j, &sink);
	if (err) {
		sink_close(&sink);
		return err;
	}
	/* What had been left, then what was open: two passes so that the second can be counted. */
	err = drain_all(&drain, false);

	uint64_t left = rows_of(j);

	if (!err)
		err = drain_all(&drain, true);
	r->rows = rows_of(j) - before;
	r->open = rows_of(j) - left;
	r->damaged = j->head->damaged;
	if (!err) {
		say_why(j);
		atomic_store(&j->head->state, JS_RECOVERED);
		err = sink_meta(&sink);
	}
	drain_close(&drain);
	sink_close(&sink);
	return err;
}

enum owner_life recover_owner_life(
	const struct journal_owner *o, const char *noted, const char *path)
{
	enum owner_life life = owner_life(o, noted);
	char *now;

	/* A process that maps another file than the one noted may still map this one: the folder was moved. */
	if (life != OWNER_DEAD || !(now = realpath(path, NULL)))
		return life;
	if (strcmp(now, noted))
		life = owner_life(o, now);
	free(now);
	return life;
}

/* The journal's present place, by way of the open folder. */
static enum owner_life life_of(const struct journal_head *h, int dirfd, const char *path)
{
	char here[64];

	if (atomic_load(&h->state) != JS_RUNNING)
		return OWNER_DEAD;
	if (path[0] == '/')
		return recover_owner_life(&h->owner, h->journal_path, path);
	snprintf(here, sizeof(here), "/proc/self/fd/%d/journal.bin", dirfd);
	return recover_owner_life(&h->owner, h->journal_path, here);
}

static void left_alone(struct recover_info *r, enum owner_life life)
{
	r->result = RECOVER_LIVES;
	if (life == OWNER_UNKNOWN)
		snprintf(r->why, sizeof(r->why),
			"its process (%s) cannot be seen from here; run this on that host, or with "
			"--force if it is gone",
			r->owner);
	else
		snprintf(r->why, sizeof(r->why), "its process (%s) is running", r->owner);
}

/*
 * A folder without a journal: its process may have taken it a moment ago and be about to make one, or be one that got
 * none (a full disk) and writes its files without. True: it lives, or may.
 */
static bool lives_without_journal(int dirfd, bool force, struct recover_info *r)
{
	char meta[META_LEAD], state[16], path[JOURNAL_PATH_MAX];
	struct journal_owner owner;
	ssize_t n = io_read_file(dirfd, "meta.json", meta, sizeof(meta) - 1);
	enum owner_life life;

	if (n < 0)
		return false;
	meta[n] = 0;
	meta_string(meta, "state", state, sizeof(state));
	meta_string(meta, "journal_path", path, sizeof(path));
	if (strcmp(state, "running") || owner_parse(meta, &owner) < 0)
		return false;
	life = owner_life(&owner, path);
	snprintf(r->owner, sizeof(r->owner), "host %.71s, pid %lld", owner.host,
		(long long)owner.pid);
	if (life == OWNER_DEAD || (life == OWNER_UNKNOWN && force))
		return false;
	left_alone(r, life);
	return true;
}

void recover_folder(int dirfd, bool force, struct recover_info *r)
{
	struct journal j;
	char path[JOURNAL_PATH_MAX];

	*r = (struct recover_info){.result = RECOVER_NOTHING};
	/* Two at once would write the same rows. The lock goes with the caller's descriptor. */
	if (flock(dirfd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		r->result = RECOVER_FAILED;
		snprintf(r->why, sizeof(r->why), "another probe recover is at work here");
		return;
	}

	int err = open_journal(&j, dirfd, path, sizeof(path));

	if (err == -ENOENT) {
		lives_without_journal(dirfd, force, r);
		return;
	}
	if (err) {
		fail(r, path, err);
		return;
	}

	enum owner_life life = life_of(j.head, dirfd, path);

	snprintf(r->owner, sizeof(r->owner), "host %.71s, pid %lld", j.head->owner.host,
		(long long)j.head->owner.pid);
	if (life == OWNER_LIVES || (life == OWNER_UNKNOWN && !force)) {
		left_alone(r, life);
		journal_close(&j);
		return;
	}
	r->spilled = j.head->spilled;
	err = complete(&j, dirfd, r);
	journal_close(&j);
	if (err) {
		fail(r, "writing", err);
		return;
	}
	r->result = RECOVER_DONE;
	if (path[0] == '/')
		unlink(path);
	else
		unlinkat(dirfd, path, 0);
}
