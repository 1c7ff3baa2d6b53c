/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "call/api.h"
#include "call/forked.h"
#include "call/identity.h"
#include "call/pending.h"
#include "call/stackid.h"
#include "call/step.h"
#include "call/stream.h"
#include "call/thread.h"
#include "entry/rows.h"
#include "sink/meta.h"
#include "sink/owner.h"
#include "stats/threads.h"

static const uint32_t always = 1;

struct session session = {
	.alive = &always,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.drain_lock = PTHREAD_MUTEX_INITIALIZER,
	.seq = 1,
	.world_rank = -1,
	.world_size = -1,
	.folder = {.dir = {.fd = -1}},
};

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static void report(void *arg, const char *line)
{
	(void)arg;
	log_loss(LOSS_CONFIG, "%s", line);
}

/* ---- configuration ---- */

static const char *startup_value(const char *name)
{
	size_t n = strlen(name);

	for (char *const *e = startup_env(); *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

static char *absolute(const char *path)
{
	char *s = NULL;

	if (path[0] == '/')
		return strdup(path);
	return asprintf(&s, "%s/%s", startup_cwd(), path) < 0 ? NULL : s;
}

static void configure(void)
{
	clock_choose();

	const char *named = startup_value("PROBE_CONFIG");
	char *file = named && *named ? absolute(named) : config_find("probe.yaml", startup_path());

	config_load(&session.cfg, file, startup_env(), startup_cwd(), report, NULL);
	free(file);
	log_level_set((int)session.cfg.log_level);
	if (session.cfg.disable)
		return;

	const char *ops = session.cfg.wrap_ops;
	char *list =
		ops && *ops ? strdup(ops) : config_find("support_wrap_ops.yaml", startup_path());

	session.list = wraplist_load(list, report, NULL);
	if (!session.list && list)
		session.list = wraplist_load(NULL, report, NULL);
	free(list);
	step_configure();
	stack_id_configure();
}

/* Entries of the list that no wrapper of their library has: a misspelt name would silently record nothing. */
static void check_names(void)
{
	const struct lib *seen[64];
	unsigned n = 0;

	for (unsigned i = 0; i < api_count; i++)
		if (api_table[i].spec->task == TASK_DATA)
			wraplist_match(session.list, api_table[i].spec->lib->name,
				api_table[i].spec->list_name);
	for (unsigned i = 0; i < api_count; i++) {
		const struct lib *l = api_table[i].spec->lib;
		unsigned k = 0;

		while (k < n && seen[k] != l)
			k++;
		if (k < n || n == 64)
			continue;
		seen[n++] = l;
		wraplist_report_unknown(session.list, l->name, report, NULL);
	}
}

static void child_after_fork(void);
static _Atomic bool fork_hooked;

bool session_configure(void)
{
	uint32_t phase = atomic_load_explicit(&session.phase, memory_order_acquire);

	if (phase != SESSION_NEW)
		return phase == SESSION_READY || phase == SESSION_ON;

	int cancel;

	/* Before the lock is held for the first time: a child forked meanwhile would wait for it for ever. */
	if (!atomic_exchange(&fork_hooked, true))
		pthread_atfork(NULL, NULL, child_after_fork);
	/* Opening and reading files are cancellation points: a thread that is cancelled here would keep the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&session.lock);
	if (atomic_load(&session.phase) == SESSION_NEW) {
		configure();
		if (session.cfg.disable || !session.list) {
			atomic_store_explicit(&session.phase, SESSION_OFF, memory_order_release);
		} else {
			check_names();
			atomic_store_explicit(&session.phase, SESSION_READY, memory_order_release);
		}
	}
	phase = atomic_load(&session.phase);
	pthread_mutex_unlock(&session.lock);
	pthread_setcancelstate(cancel, NULL);
	return phase == SESSION_READY || phase == SESSION_ON;
}

_Atomic int session_rank_wanted;

bool session_rank_look(void)
{
	int rank = session.world_rank, k;

	if (!session.cfg.rank.n)
		k = 1;
	else if (rank < 0)
		return false; /* not known yet; a list of ranks means just these */
	else
		k = ranges_contain(&session.cfg.rank, (uint64_t)rank) ? 1 : 2;
	atomic_store_explicit(&session_rank_wanted, k, memory_order_relaxed);
	return k == 1;
}

/* ---- starting ---- */

/* What is the same in the head of every journal of this process, and in the first meta.json. */
static void fill_head(struct journal_head *h)
{
	h->owner = session.owner;
	h->clock = h->clock_last = session.clock;
	h->block_steps = (uint32_t)session.cfg.step_count_per_record;
	h->part_bytes = (uint64_t)session.cfg.part_mib << 20;
	h->limit_bytes = (uint64_t)session.cfg.output_limit_mib << 20;
	h->rank = session.world_rank;
	h->world_size = session.world_size;
	h->rank_guessed = session.rank_guessed;
	memcpy(h->run, session.run, sizeof(h->run));
	atomic_store_explicit(&h->step, step_now(), memory_order_relaxed);
	atomic_store_explicit(&h->state, JS_RUNNING, memory_order_relaxed);
}

int session_take_folder(struct folder *f)
{
	size_t bytes = sizeof(struct journal_head) + META_MAX;
	char *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct journal none = {.head = (struct journal_head *)mem};
	bool other = false;

	if (mem == MAP_FAILED)
		return -ENOMEM;
	fill_head(none.head);

	struct text t = text_over(mem + sizeof(struct journal_head), META_MAX);

	meta_format(&t, &none, NULL);

	int err = folder_take(f, session.cfg.output_dir, session.world_rank, &session.owner, t.buf,
		t.len, &other);

	munmap(mem, bytes);
	if (!err && other)
		log_loss(LOSS_FOLDER, "rank%d is in use by another process: writing to %s instead",
			session.world_rank, f->path);
	return err;
}

/*
 * The journal: in the rank's folder, or where the user said; else in memory that other programs can see; else in our
 * own, where it is lost with the process.
 */
static int make_journal(void)
{
	size_t bytes = (size_t)session.cfg.journal_mib << 20;
	struct journal *j = &session.journal;
	char name[160], path[JOURNAL_PATH_MAX];
	struct text at = text_over(path, sizeof(path));
	int err, dir;

	snprintf(name, sizeof(name), "libprobe-%s-%lld-%llu.journal", session.owner.host,
		(long long)session.owner.pid, (unsigned long long)session.owner.start_time);
	if (session.cfg.journal_dir[0]) {
		dir = open(session.cfg.journal_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = dir < 0 ? -errno : journal_create(j, dir, name, bytes);
		text_fmt(&at, "%s/%s", session.cfg.journal_dir, name);
	} else {
		dir = -1;
		err = journal_create(j, session.folder.dir.fd, "journal.bin", bytes);
		text_fmt(&at, "%s/journal.bin", session.folder.path);
	}
	if (dir >= 0)
		close(dir);
	if (err) {
		int shm = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int second = shm < 0 ? -errno : journal_create(j, shm, name, bytes);

		if (shm >= 0)
			close(shm);
		log_loss(LOSS_JOURNAL, "journal %s: %s; %s", path, strerror(-err),
			second ? "kept in memory: if the process is killed its last records are "
				 "lost"
			       : "kept in /dev/shm");
		at = text_over(path, sizeof(path));
		text_fmt(&at, "/dev/shm/%s", name);
		err = second ? journal_create(j, -1, NULL, bytes) : 0;
		if (second)
			path[0] = 0;
	}
	if (err)
		return err;
	fill_head(j->head);
	strcpy(j->head->journal_path, path);
	return 0;
}

static void once_per_process(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	thread_init();
	at_quick_exit(session_end);

	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	if (madvise(page, 4096, MADV_WIPEONFORK) == 0) {
		*(volatile uint32_t *)page = 1;
		session.alive = page;
	} else {
		munmap(page, 4096);
	}
}

static void identify(void)
{
	struct identity id;

	identity_read(&id);
	if (session.world_rank < 0) {
		session.world_rank = id.rank;
		session.world_size = id.size;
	}
	memcpy(session.run, id.run, sizeof(session.run));
	log_rank_set(session.world_rank);
}

/* ---- the start itself ---- */

static bool start(void)
{
	owner_self(&session.owner);
	session.pid = (pid_t)session.owner.pid;
	clock_init(&session.clock);
	identify();

	int err = session_take_folder(&session.folder);

	if (err) {
		log_loss(LOSS_FOLDER,
			"output folder %s: %s; nothing is recorded; set PROBE_OUTPUT_DIR to a "
			"folder that can be written",
			session.cfg.output_dir, strerror(-err));
		return false;
	}
	err = make_journal();
	if (!err)
		err = sink_open(&session.sink, &session.journal, session.folder.dir.fd);
	if (!err)
		err = drain_open(&session.drain, &session.journal, &session.sink);
	if (err) {
		log_loss(LOSS_JOURNAL, "no journal: %s; nothing is recorded", strerror(-err));
		return false;
	}
	once_per_process();
	session_statistics();
	session_about();
	log_info(2, "recording to %s", session.folder.path);
	return true;
}

bool session_start(void)
{
	uint32_t phase = atomic_load_explicit(&session.phase, memory_order_acquire);

	if (phase == SESSION_ON)
		return *session.alive;
	if (phase != SESSION_READY)
		return false;

	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&session.lock);
	if (atomic_load(&session.phase) == SESSION_READY) {
		bool ok = start();

		atomic_store_explicit(
			&session.phase, ok ? SESSION_ON : SESSION_OFF, memory_order_release);
		if (ok)
			writer_start();
	}
	phase = atomic_load(&session.phase);
	pthread_mutex_unlock(&session.lock);
	pthread_setcancelstate(cancel, NULL);
	return phase == SESSION_ON;
}

/* The journal goes with the folder if it lies there. It may be in /dev/shm, where the folder's disk was full. */
static void rename_folder(int rank)
{
	char *path = session.journal.head->journal_path;
	size_t n = strlen(session.folder.path);
	bool inside =
		strncmp(path, session.folder.path, n) == 0 && strcmp(path + n, "/journal.bin") == 0;

	if (folder_rename(&session.folder, session.cfg.output_dir, rank, &session.owner) == 0 &&
		inside)
		snprintf(path, JOURNAL_PATH_MAX, "%s/journal.bin", session.folder.path);
}

/* With session.lock held. */
static void set_rank(int rank, int size, bool guessed)
{
	bool named = session.world_rank >= 0 && !session.rank_guessed;
	bool on = atomic_load(&session.phase) == SESSION_ON;

	if (!guessed)
		session.rank_told = true;

	if (!on || !named) {
		session.world_rank = rank;
		session.world_size = size;
		session.rank_guessed = guessed;
	}
	if (on && !named) {
		pthread_mutex_lock(&session.drain_lock);
		session.journal.head->rank = rank;
		session.journal.head->world_size = size;
		session.journal.head->rank_guessed = guessed;
		rename_folder(rank);
		pthread_mutex_unlock(&session.drain_lock);
	}
	log_rank_set(session.world_rank);
}

/* Files are opened under the lock: a thread that is cancelled there would keep it. */
static void lock_whole(int *cancel)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
	pthread_mutex_lock(&session.lock);
}

static void unlock_whole(int cancel)
{
	pthread_mutex_unlock(&session.lock);
	pthread_setcancelstate(cancel, NULL);
}

void session_rank(int rank, int size)
{
	int cancel;

	lock_whole(&cancel);
	set_rank(rank, size, false);
	unlock_whole(cancel);
}

void session_rank_guess(int rank, int size)
{
	struct identity id;
	int cancel;

	lock_whole(&cancel);
	if (session.world_rank < 0) {
		identity_read(&id);
		if (id.rank < 0)
			set_rank(rank, size, true);
	}
	unlock_whole(cancel);
}

/* ---- forked children ---- */

static void forget_dict(struct api *a, void *arg)
{
	(void)arg;
	atomic_store(&a->dict, 0);
}

/*
 * Runs in the child between fork() and its return. The parent's threads, its writer among them, do not exist here and
 * may have held any lock; the journal is still mapped and belongs to the parent.
 */
static void child_after_fork(void)
{
	uint32_t phase = atomic_load(&session.phase);

	/* Communicators are followed before the first record too. */
	pthread_mutex_init(&session.lock, NULL);
	pthread_mutex_init(&session.drain_lock, NULL);
	call_forked();
	stats_threads_forked();
	if (phase != SESSION_ON && phase != SESSION_ENDED)
		return;
	thread_forget();
	pending_reset();
	stream_reset();
	if (session.cfg.fork != FORK_FOLLOW) {
		atomic_store(&session.phase, SESSION_OFF);
		return;
	}
	munmap(session.journal.head, session.journal.bytes);
	folder_close(&session.folder);
	session.journal = (struct journal){0};
	session.sink = (struct sink){0};
	session.drain = (struct drain){0};
	if (!session.rank_told) {
		/* Its environment may say otherwise. */
		session.world_rank = session.world_size = -1;
		session.rank_guessed = false;
	}
	atomic_store(&session_rank_wanted, 0);
	session.clock_settled = session.inline_writer = false;
	for (unsigned i = 0; i < api_count; i++)
		atomic_store(&api_table[i].dict, 0);
	rows_each(forget_dict, NULL);
	stack_id_reset();
	log_forget();
	if (session.alive != &always)
		*(volatile uint32_t *)(uintptr_t)session.alive = 1;
	atomic_store(&session.phase, SESSION_READY);
}
