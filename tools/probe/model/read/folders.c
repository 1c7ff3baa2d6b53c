/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "journal/inspect.h"
#include "journal/meta_part.h"
#include "journal/step_name.h"
#include "folder/owner.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/host/outside.h"
#include "tools/probe/model/host/rank_owner.h"

enum folder_class {
	CLASS_NONE, /* not a folder of libprobe */
	CLASS_RANK, /* rank3 */
	CLASS_OLD, /* rank3.1 */
	CLASS_SECOND, /* rank3-pid77 */
	CLASS_HOST, /* host-vm-pid77 */
};

static const char *const state_name[RANK_STATES] = {
	[RANK_FINISHED] = "finished",
	[RANK_RECOVERED] = "recovered",
	[RANK_RUNNING] = "running",
	[RANK_KILLED] = "killed",
	[RANK_UNSEEN] = "not visible from this host",
	[RANK_UNWRITTEN] = "ended, not written yet",
};

const char *rank_state_get_name(enum rank_state s)
{
	return state_name[s];
}

const char *rank_state_get_key(enum rank_state s)
{
	return s == RANK_UNSEEN ? "unseen" : s == RANK_UNWRITTEN ? "ended" : state_name[s];
}

const char *folders_get_default(void)
{
	const char *env = getenv("PROBE_OUTPUT_DIR");

	return env && *env ? env : "probe_output";
}

/* ---- names ---- */

static const char *parse_rank_digits(const char *p)
{
	const char *s = p;

	while (*p >= '0' && *p <= '9')
		p++;
	return p > s && p - s < 10 && (*s != '0' || p - s == 1) ? p : NULL;
}

static enum folder_class parse_folder_name(const char *name, int *rank)
{
	const char *p;

	*rank = -1;
	if (strncmp(name, "host-", 5) == 0 && strstr(name, "-pid"))
		return CLASS_HOST;
	if (strncmp(name, "rank", 4) || !(p = parse_rank_digits(name + 4)))
		return CLASS_NONE;
	*rank = atoi(name + 4);
	if (!*p)
		return CLASS_RANK;
	if (*p == '.' && (p = parse_rank_digits(p + 1)) && !*p)
		return CLASS_OLD;
	return *p == '-' && strncmp(p, "-pid", 4) == 0 ? CLASS_SECOND : CLASS_NONE;
}

static bool has_file_in_folder(const char *dir, const char *name)
{
	char *path = tool_format("%s/%s", dir, name);
	bool yes = access(path, F_OK) == 0;

	free(path);
	return yes;
}

static bool has_calls(const char *path)
{
	DIR *d = opendir(path);
	bool found = false;

	for (struct dirent *e; d && !found && (e = readdir(d));)
		found = strncmp(e->d_name, "calls_", 6) == 0;
	if (d)
		closedir(d);
	return found;
}

bool folders_is_rank(const char *path)
{
	return has_file_in_folder(path, "meta.json") || has_file_in_folder(path, "journal.bin") ||
	       has_calls(path);
}

/* Returns true if the folder can be listed and has no entry: not even meta.json could be written. */
static bool is_empty_folder(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	if (!d)
		return false;
	for (struct dirent *e; !n && (e = readdir(d));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	return !n;
}

/* ---- one folder ---- */

/* Returns true if the file outside the folder is a regular file of the folder's owner. */
static bool has_owner_of_folder(const char *path, const char *folder)
{
	struct stat dir;
	uid_t uid;

	return outside_user(path, &uid) == 0 && stat(folder, &dir) == 0 && uid == dir.st_uid;
}

static void find_journal(struct rank_dir *r)
{
	if (has_file_in_folder(r->path, "journal.bin"))
		r->journal = tool_format("%s/journal.bin", r->path);
	else if (r->meta.journal_path[0] && strcmp(r->meta.state, "running") == 0 &&
		 has_owner_of_folder(r->meta.journal_path, r->path))
		r->journal = tool_strdup(r->meta.journal_path);
}

static uint64_t get_realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * Reads the journal's header, which is newer than meta.json: it has a sign of life every second. A
 * journal in another folder may belong to another process by now.
 */
static void read_journal_head_of(struct rank_dir *r)
{
	static const uint16_t identity[] = {META_ATTEMPT, META_PROCESS_START};
	struct journal j;
	uint64_t latest;
	uint32_t source;
	char *members;

	if (!r->journal || journal_open(&j, AT_FDCWD, r->journal, true))
		return;

	const struct journal_head *h = j.head;

	if (r->meta.has_owner && !owner_same(&h->owner, &r->meta.owner)) {
		free(r->journal);
		r->journal = NULL;
		journal_close(&j);
		return;
	}
	r->meta.owner = h->owner;
	r->meta.has_owner = h->owner.pid > 0;
	r->alive_ns = h->clock_last.real_ns;
	r->ended = atomic_load(&h->state) != JS_RUNNING;
	r->died_ns = j.died_ns;
	members = meta_find_members(&j, identity, sizeof(identity) / sizeof(*identity));
	if (members)
		meta_copy_members(&r->meta, members);
	free(members);
	/* A rank that is stopped, or died in its first second, has not updated its meta.json. */
	source = atomic_load(&h->step_source);
	if (source && *get_step_source_name(source)) {
		free(r->meta.step_source);
		r->meta.step_source = tool_strdup(get_step_source_name(source));
	}
	if (atomic_load(&h->step) > r->meta.step_now)
		r->meta.step_now = atomic_load(&h->step);
	if (h->progress.at_ns)
		r->progress = (struct rank_progress){.known = true,
			.unseen = h->progress.unseen,
			.cpu_percent = h->progress.cpu_percent,
			.still_ns = compute_still_ns(h->progress.moved_ns, h->progress.quiet_ns)};
	latest = find_latest_event(&j);
	/* A damaged journal may contain any time. */
	if (latest > r->alive_ns && latest <= get_realtime_ns())
		r->alive_ns = latest;
	journal_close(&j);
}

static enum rank_state find_rank_state(struct rank_dir *r)
{
	enum owner_life life;

	if (strcmp(r->meta.state, "finished") == 0)
		return RANK_FINISHED;
	if (strcmp(r->meta.state, "recovered") == 0)
		return RANK_RECOVERED;
	if (!r->meta.has_owner)
		return RANK_KILLED;
	life = recover_owner_life(
		&r->meta.owner, r->meta.journal_path, r->journal ? r->journal : "", 0);
	if (life == OWNER_UNKNOWN && is_owner_ending(&r->meta.owner))
		life = OWNER_DEAD;
	r->lives = life == OWNER_LIVES;
	if (r->ended)
		return RANK_UNWRITTEN;
	switch (life) {
	case OWNER_LIVES:
		return RANK_RUNNING;
	case OWNER_UNKNOWN:
		return RANK_UNSEEN;
	default:
		return RANK_KILLED;
	}
}

static uint64_t get_earlier_known(uint64_t a, uint64_t b)
{
	return !b || (a && a < b) ? a : b;
}

/*
 * The lifetime is that of the process: other ranks of the run may have started and ended before
 * this rank's first record, or after its last. Versions that do not record the start have the first
 * reading of the clock, at the first call.
 */
static void find_lifetime(struct rank_dir *r)
{
	const struct meta *m = &r->meta;
	const uint64_t ends[] = {r->last_ns, m->clock_last_ns, m->end.at_ns, r->died_ns};

	r->start_ns = get_earlier_known(
		m->process_start_ns, get_earlier_known(m->clock_first_ns, m->first_record_ns));
	r->end_ns = 0;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends[i] > r->end_ns)
			r->end_ns = ends[i];
}

/* Reads the folder dir/sub, or dir itself if sub is "". rank: the rank in its name. */
static void open_rank_dir(
	struct rank_dir *r, const char *dir, const char *sub, const char *name, int rank)
{
	char *file;

	*r = (struct rank_dir){.rank = rank};
	r->path = *sub ? tool_format("%s/%s", dir, sub) : tool_strdup(dir);
	r->name = tool_strdup(name);
	file = tool_format("%s/meta.json", r->path);
	r->meta_wrong = meta_read(&r->meta, file);
	free(file);
	if (r->rank < 0)
		r->rank = r->meta.rank;
	find_journal(r);
	r->alive_ns = r->meta.clock_last_ns;
	r->progress = r->meta.progress;
	if (strcmp(r->meta.end.how, "signal") == 0)
		r->died_ns = r->meta.end.at_ns;
	read_journal_head_of(r);
	r->state = find_rank_state(r);
	r->last_ns = r->meta.last_record_ns ? r->meta.last_record_ns : r->meta.clock_last_ns;
	/*
	 * A process that is alive, or that was alive long after its last record, lived until its
	 * last sign of life.
	 */
	if (r->journal && r->alive_ns > r->last_ns)
		r->last_ns = r->alive_ns;
	/* The last drain may be a second old, and other ranks may have begun since. */
	if (r->state == RANK_RUNNING && get_realtime_ns() > r->last_ns)
		r->last_ns = get_realtime_ns();
	find_lifetime(r);
	if (r->rank >= 0)
		r->label = tool_format("rank %d", r->rank);
	else if (r->meta.has_owner)
		r->label = tool_format(
			"host %s pid %lld", r->meta.owner.host, (long long)r->meta.owner.pid);
	else
		r->label = tool_strdup(r->name);
}

static void close_dir(struct rank_dir *r)
{
	meta_free(&r->meta);
	free(r->path);
	free(r->name);
	free(r->label);
	free(r->meta_wrong);
	free(r->journal);
	free(r->round);
	free(r->longer);
}

/* ---- choosing ---- */

static struct unused_folder *add_unused_folder(
	struct folders *f, const char *name, char *why, int rank)
{
	TOOL_GROW(f->out, f->nout, f->cap_out);
	f->out[f->nout] =
		(struct unused_folder){.name = tool_strdup(name), .why = why, .rank = rank};
	return &f->out[f->nout++];
}

/* Compares run, attempt and size. Returns 0 if only the times can distinguish the two runs. */
static int compare_jobs(const struct rank_dir *a, const struct rank_dir *b)
{
	int c = strcmp(a->meta.run, b->meta.run);

	if (!c)
		c = strcmp(a->meta.attempt, b->meta.attempt);
	return c ? c : a->meta.world_size - b->meta.world_size;
}

static int by_job_and_start(const void *x, const void *y)
{
	const struct rank_dir *a = x, *b = y;
	int c = compare_jobs(a, b);

	return c ? c : a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* The folders of one run, while one of all runs is chosen. */
struct run_range {
	unsigned first, n;
	uint64_t start_ns; /* of the process that started last */
	bool renamed; /* all its folders are rank<R>.<n>: a later run took their names */
};

static int get_run_order(const void *x, const void *y)
{
	const struct run_range *a = x, *b = y;

	/* Clocks of hosts may be equal or coarse. */
	return a->start_ns != b->start_ns ? (a->start_ns > b->start_ns ? -1 : 1)
	       : a->renamed != b->renamed ? (a->renamed ? 1 : -1)
					  : (a->first > b->first) - (a->first < b->first);
}

static int compare_rank_dirs(const void *x, const void *y)
{
	const struct rank_dir *a = x, *b = y;

	return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : strcmp(a->name, b->name);
}

/*
 * Returns true if the folder belongs to the run of the previous folders, whose last process ended
 * at end_ns. A second folder of the same rank belongs to another run. If the launcher has given the
 * job an id, a rank may start after all others have ended.
 */
static bool is_of_run(
	const struct rank_dir *run, unsigned n, uint64_t end_ns, const struct rank_dir *d)
{
	if (compare_jobs(run, d))
		return false;
	for (unsigned i = 0; i < n && d->rank >= 0; i++)
		if (run[i].rank == d->rank)
			return false;
	return d->start_ns <= end_ns || (*d->meta.run && d->rank >= 0);
}

/* Returns why a readable folder is not part of the chosen run. */
static char *format_other_run(
	const struct folders *f, const struct rank_dir *r, const struct rank_dir *chosen)
{
	const char *which = r->start_ns > chosen->start_ns ? "a later" : "an earlier";

	if (strcmp(r->meta.run, chosen->meta.run))
		return tool_format(
			"of another run (%s)", *r->meta.run ? r->meta.run : "without a job id");
	if (r->meta.world_size != chosen->meta.world_size)
		return tool_format("of another run (world_size %d)", r->meta.world_size);
	if (strcmp(r->meta.attempt, chosen->meta.attempt))
		return tool_format("of another attempt of the job (%s, not %s)",
			*r->meta.attempt ? r->meta.attempt : "not counted",
			*chosen->meta.attempt ? chosen->meta.attempt : "not counted");
	return f->earlier
		       ? tool_format("of %s run", which)
		       : tool_format("of an earlier run: it ended before this one began; %s@1 is "
				     "the run before this one",
				 f->folder);
}

/* Sorts dir[] by run. Returns the runs, the newest first; the caller frees it. */
static struct run_range *find_runs(struct folders *f, unsigned *n)
{
	struct run_range *run = tool_alloc((f->n + 1) * sizeof(*run));

	*n = 0;
	qsort(f->dir, f->n, sizeof(*f->dir), by_job_and_start);
	for (unsigned i = 0, k; i < f->n; i = k) {
		uint64_t end = f->dir[i].end_ns;

		for (k = i + 1; k < f->n && is_of_run(f->dir + i, k - i, end, &f->dir[k]); k++)
			if (f->dir[k].end_ns > end)
				end = f->dir[k].end_ns;
		run[*n] = (struct run_range){i, k - i, f->dir[k - 1].start_ns, true};
		for (unsigned j = i; j < k; j++)
			run[*n].renamed &= strchr(f->dir[j].name, '.') != NULL;
		++*n;
	}
	qsort(run, *n, sizeof(*run), get_run_order);
	return run;
}

/* Keeps the folders of the chosen run. Reports if there are fewer runs. */
static int remove_other_runs(struct folders *f)
{
	unsigned n, first, count;
	struct run_range *run = find_runs(f, &n);

	if (f->earlier >= n) {
		tool_error("%s: %s has %s; the oldest is %s@%u", f->path, f->folder,
			out_format_plural(n, "run", "runs"), f->folder, n - 1);
		free(run);
		return STATUS_USAGE;
	}
	first = run[f->earlier].first;
	count = run[f->earlier].n;
	free(run);
	for (unsigned i = 0; i < f->n; i++)
		if (i < first || i >= first + count) {
			add_unused_folder(f, f->dir[i].name,
				format_other_run(f, &f->dir[i], &f->dir[first]), -1);
			close_dir(&f->dir[i]);
		}
	memmove(f->dir, f->dir + first, count * sizeof(*f->dir));
	f->n = count;
	return 0;
}

/*
 * A folder whose meta.json cannot be read may be part of any run. It is used only if there is no
 * other folder.
 */
static void remove_unreadable(struct folders *f)
{
	unsigned good = 0, n = 0;

	for (unsigned i = 0; i < f->n; i++)
		good += !f->dir[i].meta_wrong;
	if (!good)
		return;
	for (unsigned i = 0; i < f->n; i++) {
		if (!f->dir[i].meta_wrong) {
			f->dir[n++] = f->dir[i];
			continue;
		}
		add_unused_folder(f, f->dir[i].name,
			tool_format(
				"meta.json: %s; give its path to read it", f->dir[i].meta_wrong),
			f->dir[i].rank);
		close_dir(&f->dir[i]);
	}
	f->n = n;
}

struct entry {
	char *name;
	enum folder_class class;
	int rank;
};

static int compare_entry_classes(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	return a->class != b->class ? (a->class < b->class ? -1 : 1)
	       : a->rank != b->rank ? (a->rank < b->rank ? -1 : 1)
				    : strcmp(a->name, b->name);
}

static char *explain_unused(const struct folders *f, enum folder_class class)
{
	if (class == CLASS_OLD)
		return tool_format("of an earlier run; %s@1 is the run before this one", f->folder);
	if (class == CLASS_SECOND)
		return tool_strdup("a second process with that rank; give its path to read it");
	return tool_strdup("a process whose rank never became known; give its path to read it");
}

static struct entry *read_folder_entries(const char *path, unsigned *n)
{
	struct entry *all = NULL;
	unsigned cap = 0;
	DIR *d = opendir(path);
	struct stat st;

	*n = 0;
	for (struct dirent *e; d && (e = readdir(d));) {
		int rank;
		enum folder_class class = parse_folder_name(e->d_name, &rank);

		if (class == CLASS_NONE || fstatat(dirfd(d), e->d_name, &st, 0) < 0 ||
			!S_ISDIR(st.st_mode))
			continue;
		TOOL_GROW(all, *n, cap);
		all[(*n)++] = (struct entry){tool_strdup(e->d_name), class, rank};
	}
	if (d)
		closedir(d);
	if (*n)
		qsort(all, *n, sizeof(*all), compare_entry_classes);
	return all;
}

bool folders_has_rank(const char *path)
{
	unsigned n;
	struct entry *all = read_folder_entries(path, &n);
	bool have = folders_is_rank(path);

	for (unsigned i = 0; i < n; i++) {
		char *sub = tool_format("%s/%s", path, all[i].name);

		have |= folders_is_rank(sub);
		free(sub);
		free(all[i].name);
	}
	free(all);
	return have;
}

static void add_folder(struct folders *f, const struct entry *e)
{
	char *path = tool_format("%s/%s", f->folder, e->name);

	if (is_empty_folder(path)) {
		struct unused_folder *unused = add_unused_folder(f, e->name,
			tool_strdup("it is empty: its process began a moment ago, or could not "
				    "write into it (a full disk, for example; then its stderr "
				    "has the reason)"),
			e->rank);

		unused->empty = true;
	} else {
		TOOL_GROW(f->dir, f->n, f->cap);
		open_rank_dir(&f->dir[f->n++], f->folder, e->name, e->name, e->rank);
	}
	free(path);
}

static void add_rank_dirs(struct folders *f)
{
	unsigned n;
	struct entry *all = read_folder_entries(f->folder, &n);
	enum folder_class want = CLASS_HOST;

	for (unsigned i = 0; i < n; i++)
		if (all[i].class == CLASS_RANK)
			want = CLASS_RANK;
	for (unsigned i = 0; i < n; i++) {
		if (all[i].class == want || (f->earlier && all[i].class == CLASS_OLD))
			add_folder(f, &all[i]);
		else
			add_unused_folder(f, all[i].name, explain_unused(f, all[i].class), -1);
		free(all[i].name);
	}
	free(all);
}

void folders_each_unused(const struct folders *f, unsigned most,
	void (*take)(void *arg, const struct rank_dir *d), void *arg)
{
	for (unsigned i = 0; i < f->nout && i < most; i++) {
		struct rank_dir d;
		int rank;
		enum folder_class class = parse_folder_name(f->out[i].name, &rank);

		if (class != CLASS_RANK && class != CLASS_OLD)
			continue;
		open_rank_dir(&d, f->folder, f->out[i].name, f->out[i].name, rank);
		take(arg, &d);
		close_dir(&d);
	}
}

static int print_no_rank_folder(const struct folders *f)
{
	if (f->nout && f->out[0].empty)
		tool_error("%s: nothing was recorded: %s: %s", f->folder, f->out[0].name,
			f->out[0].why);
	else if (f->nout)
		tool_error("%s: no folder named rank<R>, but %s: give its path to read it",
			f->folder, f->out[0].name);
	else if (has_file_in_folder(f->folder, "probe_output"))
		tool_error("%s: no rank folders here; did you mean %s/probe_output?", f->folder,
			f->folder);
	else
		tool_error("%s: no rank folders (rank0, rank1 ...): nothing was recorded here; "
			   "`probe check CMD` says why",
			f->folder);
	return STATUS_USAGE;
}

void folders_print_missing(const char *verb, const char *path, int err)
{
	tool_error("%s%s: %s%s", verb, path, strerror(err),
		err != ENOENT
			? ""
			: ": no process has made a recorded call yet, or the run has another "
			  "folder; `probe check CMD` says what CMD calls, and which of these calls "
			  "are recorded");
}

char *folders_find(const char *path, unsigned *earlier)
{
	size_t n = strlen(path), digits = n;
	struct stat st;

	*earlier = 0;
	while (n > 1 && path[n - 1] == '/')
		n--;
	while (digits && path[digits - 1] >= '0' && path[digits - 1] <= '9')
		digits--;
	/* A folder may have such a name of its own. */
	if (digits < 2 || digits == n || n - digits > 4 || path[digits - 1] != '@' ||
		stat(path, &st) == 0)
		return tool_strndup(path, n);
	*earlier = (unsigned)atoi(path + digits);
	for (n = digits - 1; n > 1 && path[n - 1] == '/';)
		n--;
	return tool_strndup(path, n);
}

int folders_open(struct folders *f, const char *path)
{
	struct stat st;
	int err = 0;

	*f = (struct folders){.world_size = -1};
	f->folder = folders_find(path, &f->earlier);
	f->path = f->earlier ? tool_strdup(path) : tool_strdup(f->folder);
	f->run = tool_strdup("");
	if (stat(f->folder, &st) < 0 || (!S_ISDIR(st.st_mode) && (errno = ENOTDIR))) {
		folders_print_missing("", f->folder, errno);
		return STATUS_USAGE;
	}

	DIR *d = opendir(f->folder);

	if (!d) {
		tool_error("%s: %s", f->folder, strerror(errno));
		return STATUS_USAGE;
	}
	closedir(d);
	f->single = folders_is_rank(f->folder);
	if (f->single && f->earlier) {
		tool_error("%s: %s is the folder of one rank; @%u goes after the output folder",
			path, f->folder, f->earlier);
		return STATUS_USAGE;
	}
	if (f->single) {
		/* "." has no name of its own. */
		char *full = realpath(f->folder, NULL),
		     *last = full ? strrchr(full, '/') + 1 : f->folder;
		int rank;

		parse_folder_name(last, &rank);
		TOOL_GROW(f->dir, f->n, f->cap);
		open_rank_dir(&f->dir[f->n++], f->folder, "", last, rank);
		free(full);
	} else {
		add_rank_dirs(f);
		remove_unreadable(f);
		if (f->n)
			err = remove_other_runs(f);
	}
	if (err)
		return err;
	if (!f->n)
		return print_no_rank_folder(f);
	qsort(f->dir, f->n, sizeof(*f->dir), compare_rank_dirs);
	free(f->run);
	f->run = tool_strdup(f->dir[0].meta.run);
	f->world_size = f->dir[0].meta.world_size;
	return 0;
}

void folders_remove_after(struct folders *f, unsigned n)
{
	while (f->n > n)
		close_dir(&f->dir[--f->n]);
	qsort(f->dir, f->n, sizeof(*f->dir), compare_rank_dirs);
}

uint64_t folders_get_journal_bytes(const struct folders *f)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < f->n; i++) {
		const struct rank_dir *d = &f->dir[i];

		if (d->journal &&
			(d->state == RANK_KILLED || (d->state == RANK_UNWRITTEN && !d->lives)))
			bytes += outside_bytes(d->journal);
	}
	/* Only a folder whose owner is known to have ended gets the name <name>.<n>. */
	for (unsigned i = 0; i < f->nout; i++) {
		char *path = tool_format("%s/%s/journal.bin", f->folder, f->out[i].name);

		if (strchr(f->out[i].name, '.'))
			bytes += outside_bytes(path);
		free(path);
	}
	return bytes;
}

void folders_close(struct folders *f)
{
	for (unsigned i = 0; i < f->n; i++)
		close_dir(&f->dir[i]);
	for (unsigned i = 0; i < f->nout; i++) {
		free(f->out[i].name);
		free(f->out[i].why);
	}
	free(f->dir);
	free(f->out);
	free(f->run);
	free(f->path);
	free(f->folder);
}
