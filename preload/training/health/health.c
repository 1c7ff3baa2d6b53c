/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink that judges checkpoints while the job runs (key health_checkpoint). Once a second, on
 * the writer thread, it looks for new files that match ckpt_pattern; the job's own calls are not
 * hooked. A checkpoint belongs to the last step that had ended when its first file was made, by
 * the file system's time. It is healthy if the scalar embedding_local_norm of this step is below
 * the threshold and no alert has fired since the previous checkpoint.
 *
 * Each rank with an embedding appends its judgement to <output_dir>/health/rank<R>.jsonl, and
 * reads the judgements of the others. When all have judged and the checkpoint is complete, the
 * lowest of them, or the one that ends last, writes <output_dir>/health_ckpts.json by rename, in
 * the form of MindSpore Transformers: is_health 0 healthy, 1 not; and <folder>.ckpt_status next
 * to folders of torch.distributed.checkpoint.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "config/output_format.h"
#include "config/rooms/alerts.h"
#include "config/rooms/files.h"
#include "config/rooms/steps.h"
#include "terms/scalar.h"
#include "training/health/ckpt_file.h"
#include "sink/format.h"
#include "training/health/health_files.h"

#define STEPS_KEPT 4096
#define CKPTS_MAX 4096
#define ENTRIES_MAX 4000 /* number of folder entries read at once */
#define LEVELS 4 /* levels of subfolders that are searched */
#define LOOK_NS UINT64_C(1000000000)

struct health {
	struct files *files;
	char *cwd;
	struct {
		uint32_t step;
		uint64_t ns; /* when the step ended */
		double value;
	} step[STEPS_KEPT]; /* ring of the last steps */
	uint64_t nstep, before, carried;
	struct health_ckpt *ckpt;
	unsigned nckpt, entries;
	uint64_t next_look; /* time of the next search: ns, CLOCK_MONOTONIC */
	/* Unix epoch: when the current search began; UINT64_MAX: the last search */
	uint64_t look_ns;
	int64_t last_step; /* step of the last judged checkpoint */
	bool headed, full_said;
	struct health_peers peers;
};

static int open_health(void *state, struct files *files)
{
	struct health *h = state;

	h->files = files;
	/* Steps before the resume were judged in the earlier run. */
	h->last_step = files->cfg ? (int64_t)get_steps_keys(files->cfg)->start_iteration - 1 : -1;
	if (!files->cfg || !get_alerts_keys(files->cfg)->health_checkpoint)
		return 0;
	h->cwd = getcwd(NULL, 0);
	h->ckpt = calloc(CKPTS_MAX, sizeof(*h->ckpt));
	return h->ckpt ? 0 : -ENOMEM;
}

static bool health_is_idle(const void *state)
{
	return !((const struct health *)state)->ckpt;
}

static void close_health(void *state)
{
	struct health *h = state;

	for (unsigned i = 0; i < h->nckpt; i++)
		free(h->ckpt[i].path);
	free(h->ckpt);
	free(h->cwd);
	health_peers_free(&h->peers);
}

/* ---- steps ---- */

static int record_step_health(void *state, const struct record_scalar *e)
{
	struct health *h = state;

	h->before = h->nstep;
	if (e->which != SCALAR_EMBEDDING_NORM)
		return 0;
	h->step[h->nstep % STEPS_KEPT].step = e->step;
	h->step[h->nstep % STEPS_KEPT].ns = e->wall_ns;
	h->step[h->nstep % STEPS_KEPT].value = e->value;
	h->nstep++;
	return 0;
}

static void remove_step_health(void *state)
{
	struct health *h = state;

	h->nstep = h->before;
}

/* File times have the resolution of the kernel's clock tick. */
static uint64_t get_tick_ns(void)
{
	struct timespec t;

	return clock_getres(CLOCK_REALTIME_COARSE, &t) ? 10000000 : (uint64_t)t.tv_nsec;
}

/*
 * Finds the last step that had ended at time `ns`, or (step >= 0) that step. Returns false if it
 * is not known.
 */
static bool find_health_step(
	const struct health *h, uint64_t ns, int64_t step, uint32_t *found, double *value)
{
	uint64_t n = h->nstep < STEPS_KEPT ? h->nstep : STEPS_KEPT;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = (h->nstep - 1 - i) % STEPS_KEPT;

		if (step >= 0 ? h->step[at].step != step : h->step[at].ns > ns)
			continue;
		*found = h->step[at].step;
		*value = h->step[at].value;
		return true;
	}
	return false;
}

/* ---- files ---- */

static struct health_ckpt *find_health_ckpt(struct health *h, const char *path)
{
	for (unsigned i = 0; i < h->nckpt; i++)
		if (strcmp(h->ckpt[i].path, path) == 0)
			return &h->ckpt[i];
	return NULL;
}

static struct health_ckpt *add_health_ckpt(
	struct health *h, const char *path, bool folder, uint64_t begun_ns, int64_t step)
{
	struct health_ckpt *c = &h->ckpt[h->nckpt];

	if (h->nckpt == CKPTS_MAX) {
		if (!h->full_said)
			log_loss(LOSS_HEALTH,
				"more than %d checkpoints: further ones are not judged", CKPTS_MAX);
		h->full_said = true;
		return NULL;
	}
	*c = (struct health_ckpt){
		.path = strdup(path), .folder = folder, .begun_ns = begun_ns, .asked_step = step};
	if (!c->path)
		return NULL;
	h->nckpt++;
	return c;
}

/*
 * True if the file was made during the current search: reading a folder may show it, but not
 * others that were made shortly before. The next search finds all of them. A file server's clock
 * may be far ahead.
 */
static bool is_made_meanwhile(const struct health *h, uint64_t begun_ns)
{
	return h->look_ns != UINT64_MAX && begun_ns + get_tick_ns() >= h->look_ns &&
	       begun_ns < h->look_ns + 2 * LOOK_NS;
}

/* Handles a new file. Files older than the job are not the job's. */
static void check_ckpt_path(struct health *h, const char *path, bool folder)
{
	uint64_t began = h->files->j->head->clock.real_ns;
	struct ckpt_file_state l;

	if (find_health_ckpt(h, path))
		return;
	if (folder)
		ckpt_check_folder(path, &l);
	else
		ckpt_check_file(path, &l);
	if (l.begun_ns && l.begun_ns + get_tick_ns() >= began && !is_made_meanwhile(h, l.begun_ns))
		add_health_ckpt(h, path, folder, l.begun_ns, -1);
}

/*
 * True for a folder that libprobe itself makes in its output folder. Other folders in it may be
 * the job's: with the configuration of MindSpore Transformers, checkpoints are below libprobe's
 * output folder.
 */
static bool is_own_folder(const struct health *h, const char *dir, const char *name)
{
	static const char *const own[] = {
		"anomaly_detected", "health", "monitor", "skip", "tensorboard"};
	const struct config *cfg = h->files->cfg;
	const struct files_keys *keys = get_files_keys(cfg);
	bool found = strncmp(name, "host-", 5) == 0 ||
		     (strncmp(name, "rank", 4) == 0 && name[4] >= '0' && name[4] <= '9') ||
		     (output_has_format(keys->format, FORMAT_DUMP) &&
			     strncmp(name, "step", 4) == 0 && name[4] >= '0' && name[4] <= '9');

	if (strcmp(dir, keys->output_dir) != 0)
		return false;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own) && !found; i++)
		found = strcmp(name, own[i]) == 0;
	return found;
}

static void find_ckpts_below(struct health *h, const char *dir, unsigned deep)
{
	DIR *d = opendir(dir);
	struct ckpt_file_state l;

	for (struct dirent *e; d && (e = readdir(d)) && h->entries < ENTRIES_MAX;) {
		char path[4200];
		struct stat st;

		if (e->d_name[0] == '.' || is_own_folder(h, dir, e->d_name))
			continue;
		h->entries++;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= sizeof(path) ||
			lstat(path, &st))
			continue;
		if (S_ISREG(st.st_mode) && ckpt_name_is_usual(e->d_name))
			check_ckpt_path(h, path, false);
		else if (!S_ISDIR(st.st_mode))
			continue;
		else if (ckpt_check_folder(path, &l))
			check_ckpt_path(h, path, true);
		else if (deep)
			find_ckpts_below(h, path, deep - 1);
	}
	if (d)
		closedir(d);
}

static void check_named_path(struct health *h, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct ckpt_file_state l;
	struct stat st;

	if (stat(path, &st))
		return;
	if (S_ISREG(st.st_mode) && !ckpt_name_is_temporary(slash ? slash + 1 : path))
		check_ckpt_path(h, path, false);
	else if (S_ISDIR(st.st_mode) && ckpt_check_folder(path, &l))
		check_ckpt_path(h, path, true);
	else if (S_ISDIR(st.st_mode))
		find_ckpts_below(h, path, LEVELS);
}

static void find_ckpts_by_pattern(struct health *h, const char *word, size_t n)
{
	char pattern[4200];
	glob_t g = {0};

	if ((size_t)snprintf(pattern, sizeof(pattern), "%s%s%.*s", *word == '/' ? "" : h->cwd,
		    *word == '/' ? "" : "/", (int)n, word) >= sizeof(pattern))
		return;
	if (glob(pattern, GLOB_NOSORT, NULL, &g) == 0)
		for (size_t i = 0; i < g.gl_pathc; i++)
			check_named_path(h, g.gl_pathv[i]);
	globfree(&g);
}

static void find_new_ckpts(struct health *h)
{
	const char *word = get_alerts_keys(h->files->cfg)->ckpt_pattern;

	h->entries = 0;
	if (!h->cwd)
		return;
	if (!*word)
		find_ckpts_below(h, h->cwd, LEVELS);
	for (size_t n; *word; word += n + (word[n] == '\n')) {
		n = strcspn(word, "\n");
		find_ckpts_by_pattern(h, word, n);
	}
	if (h->entries >= ENTRIES_MAX)
		log_loss(LOSS_HEALTH,
			"more than %d files below the working directory: further checkpoints "
			"are not judged; set ckpt_pattern",
			ENTRIES_MAX);
}

/* ---- judging ---- */

static void check_health_ckpt(struct health *h, struct health_ckpt *c)
{
	const struct config *cfg = h->files->cfg;
	double value;

	if (!find_health_step(h, c->begun_ns, c->asked_step, &c->step, &value))
		return;
	c->judged = true;
	c->value = value;
	c->healthy =
		isfinite(value) && value < get_alerts_keys(cfg)->embedding_local_norm_threshold;
	if (health_find_alert_between(
		    files_get_dir(h->files), h->last_step, c->step, c->alert, sizeof(c->alert)))
		c->healthy = false;
	if (c->step > h->last_step)
		h->last_step = c->step;
	health_write_line(h->files, c);
}

/* Handles a line of another rank: it has found, or judged, a checkpoint. */
static void handle_peer_line(void *arg, const struct health_line *l)
{
	struct health *h = arg;
	struct health_ckpt *c = find_health_ckpt(h, l->path);

	if (!c && l->begun_ns + LOOK_NS >= h->files->j->head->clock.real_ns)
		c = add_health_ckpt(h, l->path, l->folder, l->begun_ns, l->step);
	if (!c)
		return;
	c->votes++;
	c->against += !l->healthy;
	c->written = false;
}

static int compare_health_ckpts(const void *a, const void *b)
{
	const struct health_ckpt *x = a, *y = b;

	return (x->begun_ns > y->begun_ns) - (x->begun_ns < y->begun_ns);
}

static void write_judged_ckpts(struct health *h)
{
	/*
	 * The newest checkpoint is made the last in the file, whatever the order in which they
	 * were found.
	 */
	if (h->nckpt)
		qsort(h->ckpt, h->nckpt, sizeof(h->ckpt[0]), compare_health_ckpts);
	for (unsigned i = 0; i < h->nckpt; i++) {
		struct health_ckpt *c = &h->ckpt[i];
		struct ckpt_file_state l;

		if (!c->judged || c->written || c->votes < h->peers.active)
			continue;
		if (c->folder)
			ckpt_check_folder(c->path, &l);
		else
			ckpt_check_file(c->path, &l);
		if (l.complete)
			c->written = health_write_entry(h->files, c) == 0;
	}
}

static unsigned get_vote_count(const struct health *h)
{
	unsigned n = 0;

	for (unsigned i = 0; i < h->nckpt; i++)
		n += h->ckpt[i].votes;
	return n;
}

/*
 * Counts the votes, and writes the entries if this rank has to. last: the lowest rank may have
 * ended before the others had judged; the rank that ends after it writes the rest. A rank that
 * finds the lock taken need not wait: the rank that has it reads the lines again afterwards, and
 * a rank writes its line before it asks for the lock.
 */
static void handle_votes(struct health *h, bool last)
{
	int32_t rank = h->files->j->head->rank;
	unsigned votes;

	health_read_peers(&h->peers, h->files, handle_peer_line, h);
	if (!last && !health_is_lowest(&h->peers, rank < 0 ? 0 : rank))
		return;
	do {
		int lock = health_lock_entries(h->files);

		if (lock < 0)
			return;
		votes = get_vote_count(h);
		write_judged_ckpts(h);
		close(lock);
		health_read_peers(&h->peers, h->files, handle_peer_line, h);
	} while (get_vote_count(h) != votes);
}

static void update_health(struct health *h, bool last)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC), took;

	/* A rank without an embedding takes no part. */
	if (!h->carried || (!last && began < h->next_look))
		return;
	if (!h->headed)
		h->headed = health_write_head(h->files) == 0;
	/* Checkpoints of the previous search: all steps that had ended by then are known now. */
	for (unsigned i = 0; i < h->nckpt; i++)
		if (!h->ckpt[i].judged)
			check_health_ckpt(h, &h->ckpt[i]);
	h->look_ns = last ? UINT64_MAX : clock_ns(CLOCK_REALTIME);
	find_new_ckpts(h);
	for (unsigned i = 0; last && i < h->nckpt; i++)
		if (!h->ckpt[i].judged)
			check_health_ckpt(h, &h->ckpt[i]);
	handle_votes(h, last);
	took = clock_ns(CLOCK_MONOTONIC) - began;
	h->next_look = began + (took * 20 > LOOK_NS ? took * 20 : LOOK_NS);
}

static void handle_health_written(void *state, bool written)
{
	struct health *h = state;

	if (!written) {
		h->nstep = h->carried;
		return;
	}
	h->carried = h->nstep;
	/* look is only set in the recorded process, not when its files are completed later. */
	if (h->files->look)
		update_health(h, false);
}

static void handle_health_end(void *state)
{
	struct health *h = state;

	if (h->files->look)
		update_health(h, true);
}

const struct sink_format health_format = {
	.formats = FORMAT_FILES,
	.state_bytes = sizeof(struct health),
	.open = open_health,
	.idle = health_is_idle,
	.scalar = record_step_health,
	.retract = remove_step_health,
	.commit = handle_health_written,
	.finish = handle_health_end,
	.close = close_health,
};
