/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of the configuration while the program runs. At most once a second, and each process at
 * its own times, the writer checks the file that PROBE_CONFIG names, the list named in that file,
 * and ctl.yaml in the output folder. A process that records nothing has no writer: from the end
 * of its first step on it has a thread only for this.
 *
 * Changes become generations (session/generation.h): one for the next step if the file changed,
 * and one for each change of ctl.yaml that waits for its step.
 *
 * Lock: `watch.lock` is a leaf except for the locks of generations, and is only taken if it is
 * free; a forked child initialises it again.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/private_stack.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "call/step.h"
#include "config/config.h"
#include "config/load/ctl_file.h"
#include "config/reader.h"
#include "life/dynamic_on.h"
#include "life/life.h"
#include "session/generation_pair.h"
#include "session/state.h"
#include "folder/owner.h"

#define LOOK_NS UINT64_C(1000000000)
#define JITTER_NS UINT64_C(250000000)
#define SETTLED_NS INT64_C(150000000) /* a file that was written more recently may be incomplete */
/*
 * The other ranks must have read `dynamic_on: true` before it is overwritten: each checks at its own times, late on a loaded
 * machine, and a file server's clients see a new file up to a few seconds later (acregmin of nfs(5): 3).
 */
#define OTHERS_READ_NS UINT64_C(10000000000)

/* A file's state when it was read. All zero: the file did not exist. */
struct file_mark {
	uint64_t dev, ino, size;
	int64_t changed_ns;
};

static struct {
	pthread_mutex_t lock;
	_Atomic uint64_t next_ns; /* time of the next check, CLOCK_MONOTONIC */
	struct file_mark config, list, ctl; /* state of the files at the last check */
	uint64_t config_read_ns; /* CLOCK_MONOTONIC */
	char *text; /* text of the configuration file in use; NULL: unchanged since process start */
	size_t len;
	struct ctl_file wanted; /* content of ctl.yaml in use */
	_Atomic bool alone; /* a thread exists only for these checks */
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t get_stat_time_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static struct file_mark read_file_mark(const char *path)
{
	struct file_mark m = {0};
	struct stat st;

	if (path && *path && stat(path, &st) == 0)
		m = (struct file_mark){(uint64_t)st.st_dev, (uint64_t)st.st_ino,
			(uint64_t)st.st_size, get_stat_time_ns(&st)};
	return m;
}

static bool is_mark_equal(const struct file_mark *a, const struct file_mark *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}

/*
 * False if the file may be being written at this moment. A file server's clock that is ahead must
 * not cause an endless wait.
 */
static bool is_file_settled(const struct file_mark *m)
{
	int64_t age = (int64_t)clock_ns(CLOCK_REALTIME) - m->changed_ns;

	return age < 0 || age > SETTLED_NS;
}

/*
 * True if the file has changed since *seen, and is complete; then returns its text and updates
 * *seen. An empty file counts as incomplete: editors that truncate first would switch everything
 * to its default.
 */
static bool read_changed_text(const char *path, struct file_mark *seen, char **text, size_t *len)
{
	struct file_mark now = read_file_mark(path), after;

	if (is_mark_equal(&now, seen) || !now.ino || !now.size || !is_file_settled(&now))
		return false;

	int err = reader_read_file(path, text, len);

	after = read_file_mark(path);
	if (!err && !is_mark_equal(&now, &after)) {
		free(*text);
		return false; /* checked again next time */
	}
	*seen = now;
	if (err)
		log_loss(LOSS_CONFIG, "%s: cannot be read: %s; the configuration stays as it was",
			path, reader_get_error_text(err));
	return !err;
}

static void handle_wrong_ctl(void *arg, const char *line)
{
	(void)arg;
	log_loss(LOSS_CONFIG, "%s; the last one stays in use", line);
}

/* True if ctl.yaml is meant for this run. One of an earlier run in the same folder is ignored. */
static bool is_ctl_ours(const struct ctl_file *c, const struct file_mark *m)
{
	static const uint64_t skew_ns = 1000000000;
	uint64_t written = c->written_ns ? c->written_ns : (uint64_t)m->changed_ns;
	struct journal_owner me;

	if (c->run[0] && session.run[0])
		return strcmp(c->run, session.run) == 0;
	owner_self(&me);
	return written + skew_ns >= owner_start_ns(&me);
}

static const char *format_ctl_path(char *buf, size_t cap)
{
	int n = snprintf(buf, cap, "%s/" CTL_FILE, generation_first.cfg.output_dir);

	return n > 0 && (size_t)n < cap ? buf : NULL;
}

static uint64_t compute_change_hash(const struct ctl_change *c)
{
	uint64_t h;

	if (!c)
		return 0;
	h = hash_u64(c->effective_step, c->len);
	for (size_t at = 0; at < c->len; at += strlen(c->keys + at) + 1)
		h = hash_str(h, c->keys + at);
	return h ? h : 1;
}

/* ---- new generations ---- */

static int add_generation_of_change(
	const struct ctl_change *c, const char *by, struct generation_pair **pair)
{
	struct change_text t = {.name = life_config_file ? life_config_file : "configuration",
		/* no file, or an empty one: all keys have their defaults */
		.text = watch.text ? watch.text : "#\n",
		.len = watch.text ? watch.len : 2,
		.change = c,
		/* 0 means the next step; a change for step 0 takes effect in the next step too */
		.asked = c ? c->effective_step + !c->effective_step : 0,
		.mark = compute_change_hash(c),
		.by = by};

	return life_make_pair(&t, pair);
}

/*
 * Proposes a generation for now, if `again` or if ctl.yaml differs from the one in use, and one
 * for each change that waits for its step.
 */
static void register_generations(bool again, const char *by)
{
	struct generation_pair *pair[GENERATIONS_AHEAD];
	uint32_t step = step_now();

	/*
	 * If the file could not be read, a configuration from ctl.yaml alone would differ from
	 * the one in use.
	 */
	if (life_config_file && !watch.text)
		return;

	const struct ctl_change *now = ctl_get_change(&watch.wanted, step);
	unsigned n = 0;

	if (again || compute_change_hash(now) != get_generation()->change) {
		if (add_generation_of_change(now, by, &pair[0]) == 0) {
			if (again)
				pair[0]->running.asked = 0;
			if (now && now->now && !again) {
				generation_apply_now(pair[0], step);
				step_update_config();
			} else {
				n = 1;
			}
		}
	}
	for (unsigned i = 0; i < watch.wanted.n && n < GENERATIONS_AHEAD; i++)
		if (watch.wanted.change[i].effective_step > step &&
			add_generation_of_change(&watch.wanted.change[i], CTL_FILE, &pair[n]) == 0)
			n++;
	if (generation_propose(pair, n))
		for (unsigned i = 0; i < n; i++)
			generation_free(pair[i]);
}

/* ---- detecting changes ---- */

static bool read_changed_ctl(void)
{
	char buf[PATH_MAX], *text;
	const char *path = format_ctl_path(buf, sizeof(buf));
	struct ctl_file c;
	size_t len;
	int err;

	if (!path || !read_changed_text(path, &watch.ctl, &text, &len))
		return false;
	err = ctl_parse(&c, path, text, len, handle_wrong_ctl, NULL);
	free(text);
	if (err || !is_ctl_ours(&c, &watch.ctl)) {
		if (!err)
			log_info(2, "%s: was written for an earlier run; it is ignored", path);
		ctl_free(&c);
		return false;
	}
	ctl_free(&watch.wanted);
	watch.wanted = c;
	return true;
}

/*
 * True if the configuration file's new text can be parsed, and, with dynamic_monitor, contains
 * dynamic_on: true.
 */
static bool is_text_acceptable(const char *text, size_t len)
{
	struct change_text t = {.name = life_config_file, .text = text, .len = len, .by = "config"};
	struct generation_pair *pair;
	bool ok;

	if (life_make_pair(&t, &pair))
		return false;
	ok = !pair->cfg.dynamic_monitor || pair->cfg.dynamic_on;
	generation_free(pair);
	return ok;
}

static bool read_changed_config(void)
{
	char *text;
	size_t len;

	if (!life_config_named || !read_changed_text(life_config_file, &watch.config, &text, &len))
		return false;
	if (!is_text_acceptable(text, len)) {
		free(text);
		return false;
	}
	free(watch.text);
	watch.text = text;
	watch.len = len;
	watch.config_read_ns = clock_ns(CLOCK_MONOTONIC);
	return true;
}

/*
 * True if the list file has changed. Only the change is detected here; the code that loads the
 * list reads the file.
 */
static bool has_list_changed(void)
{
	const char *path = get_config()->wrap_ops;
	struct file_mark now = read_file_mark(path);

	if (!now.ino || is_mark_equal(&now, &watch.list) || !is_file_settled(&now))
		return false;
	watch.list = now;
	return true;
}

void config_watch_start(void)
{
	watch.config = read_file_mark(life_config_file);
	watch.list = read_file_mark(get_config()->wrap_ops);
	watch.config_read_ns = clock_ns(CLOCK_MONOTONIC);
}

/* Reads the text of the configuration file in use: changes in ctl.yaml are applied on top of it. */
static void read_config_text(void)
{
	struct file_mark now = read_file_mark(life_config_file);

	if (!watch.text && now.size && is_mark_equal(&now, &watch.config) &&
		reader_read_file(life_config_file, &watch.text, &watch.len))
		watch.text = NULL, watch.len = 0;
}

/*
 * When the limit of collect_times is reached, sets dynamic_on in the file to false, so that the
 * user can start again with an edit. An edit that has not been read yet is kept.
 */
static void record_monitor_end(void)
{
	static uint32_t noted; /* 1 + number of the generation */
	const struct generation *g = get_generation();
	struct file_mark now;

	if (!g->cfg->dynamic_monitor || !g->cfg->dynamic_on || noted == g->number + 1 ||
		!life_config_named || config_find_next_step(g->cfg, step_now()) != UINT64_MAX)
		return;
	now = read_file_mark(life_config_file);
	if (!is_mark_equal(&now, &watch.config))
		return;
	noted = g->number + 1;
	if (session.world_rank >= 0 &&
		(uint64_t)session.world_rank != (g->cfg->rank.n ? g->cfg->rank.item[0].lo : 0))
		return;
	if (dynamic_on_write_false(life_config_file) == 0)
		watch.config = read_file_mark(life_config_file);
}

static void check_watched_files(void *arg)
{
	const char *by = NULL;
	bool ctl, config;

	(void)arg;
	read_config_text();
	config = read_changed_config();
	if (config)
		by = "config";
	if (has_list_changed() && !config)
		by = "list";
	ctl = read_changed_ctl();
	if (by || ctl)
		register_generations(by != NULL, by ? by : CTL_FILE);
	/* The file was replaced by another one meanwhile. */
	if (by)
		watch.list = read_file_mark(get_config()->wrap_ops);
	if (clock_ns(CLOCK_MONOTONIC) - watch.config_read_ns > OTHERS_READ_NS)
		record_monitor_end();
}

void config_watch_stop(void)
{
	if (pthread_mutex_trylock(&watch.lock))
		return;
	record_monitor_end();
	pthread_mutex_unlock(&watch.lock);
}

static uint64_t compute_next_check_ns(uint64_t now)
{
	return now + LOOK_NS + hash_u64((uint64_t)getpid(), now) % JITTER_NS;
}

void life_check_config(void)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int cancel;

	if (now < atomic_load_explicit(&watch.next_ns, memory_order_relaxed) ||
		pthread_mutex_trylock(&watch.lock))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	private_stack_call(check_watched_files, NULL);
	atomic_store(&watch.next_ns, compute_next_check_ns(now));
	pthread_setcancelstate(cancel, NULL);
	pthread_mutex_unlock(&watch.lock);
}

/* ---- processes that record nothing ---- */

static void *run_watch_thread(void *arg)
{
	(void)arg;
	thread_state.busy++; /* calls made by this thread are not recorded */
	prctl(PR_SET_NAME, "probe-watch");
	while (atomic_load(&session.phase) == SESSION_READY) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC), wait = compute_next_check_ns(now) - now;
		struct timespec t = {.tv_sec = (time_t)(wait / 1000000000),
			.tv_nsec = (long)(wait % 1000000000)};

		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
		/* From the first record on, the writer thread makes these checks. */
		if (atomic_load(&session.phase) == SESSION_READY)
			life_check_config();
	}
	atomic_store(&watch.alone, false);
	return NULL;
}

void life_step_unrecorded(void)
{
	const struct config *c = &generation_first.cfg;

	/* A process that may be switched on must be visible to `probe ctl`, so it needs its folder. */
	if ((!c->dynamic_on || *c->armable || c->dynamic_monitor) && session_rank_selected()) {
		session_start();
		return;
	}
	if (!atomic_load_explicit(&watch.alone, memory_order_relaxed) &&
		!atomic_exchange(&watch.alone, true) && thread_start(run_watch_thread, NULL))
		log_loss(LOSS_CONFIG,
			"no thread could be started to watch the configuration: changes "
			"made while the program runs have no effect");
}

void config_watch_forked(void)
{
	pthread_mutex_init(&watch.lock, NULL);
	atomic_store(&watch.alone, false);
}
