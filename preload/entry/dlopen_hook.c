/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs before the loader loads a library. The library and its dependencies are examined on disk,
 * in the loader's order, and a stub object is loaded before them for the functions that an
 * adapter wants.
 *
 * Second copies of libraries in use are also detected here: rows that had only one real function
 * so far become API_MULTI, because a wrapper's fast path knows only one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/private_stack.h"
#include "base/environment.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "api/api.h"
#include "api/enabled.h"
#include "elf/elf_search.h"
#include "elf/loaded/elfsym.h"
#include "entry/stubs/provider.h"
#include "entry/stubs/stub.h"
#include "entry/weak_names.h"
#include "session/state.h"
#include "stack/foreign.h"

#define QUEUE_MAX 512
#define SEEN 4096u

/* ---- files that were examined ---- */

/*
 * Hashes of examined files. No lock: a file that two threads examine at once is examined twice.
 * If the table is full, every file is examined each time.
 */
static _Atomic uint64_t seen[SEEN];

static uint64_t compute_file_key(dev_t dev, ino_t ino, uint64_t size)
{
	return hash_u64(hash_u64(hash_u64(1, dev), ino), size) | 1;
}

/* True if the file is in the table; if not, adds it if `add` is set. */
static bool was_file_seen(uint64_t key, bool add)
{
	for (unsigned i = 0; i < 16; i++) {
		_Atomic uint64_t *s = &seen[(key + i) % SEEN];
		uint64_t was = atomic_load_explicit(s, memory_order_relaxed);

		if (!was && add && atomic_compare_exchange_strong(s, &was, key))
			return false;
		if (was == key)
			return true;
		if (!was)
			return false;
	}
	return false;
}

/* ---- the libraries, breadth first ---- */

struct queued {
	struct elf_asker asker; /* the object, as the one that needs the next ones */
	struct elf_file file;
	char *path;
};

struct walk {
	struct queued *item;
	unsigned n;
	bool all; /* include libraries that are loaded already */
	const char *get_library_path;
	/* returns false if the object's dependencies are not to be visited */
	bool (*visit)(const struct queued *q, void *arg);
	/* called when all objects were visited; NULL: not needed */
	void (*end)(const struct walk *w);
	void *arg;
};

/* Adds an object that `by` needs. */
static void add_queued_object(struct walk *w, const char *name, const struct elf_asker *by)
{
	struct queued *q = &w->item[w->n];
	char path[ELF_PATH_MAX];

	if (w->n == QUEUE_MAX || (!w->all && elfsym_loaded(name)))
		return;
	for (unsigned i = 0; i < w->n; i++)
		if (w->item[i].file.soname && strcmp(w->item[i].file.soname, name) == 0)
			return;
	if (!elf_find_file(&q->file, name, by, w->get_library_path, path))
		return;
	for (unsigned i = 0; i < w->n; i++) {
		if (w->item[i].file.dev == q->file.dev && w->item[i].file.ino == q->file.ino) {
			elf_file_close(&q->file);
			return;
		}
	}
	q->path = strdup(path);
	if (!q->path) {
		elf_file_close(&q->file);
		return;
	}
	q->asker =
		(struct elf_asker){q->path, q->file.rpath, q->file.runpath, q->file.no_default, by};
	w->n++;
}

static void add_dependencies(struct walk *w, const char *file, const struct elf_asker *by)
{
	w->item = calloc(QUEUE_MAX, sizeof(*w->item));
	if (!w->item)
		return;
	add_queued_object(w, file, by);
	for (unsigned i = 0; i < w->n; i++) {
		struct queued *q = &w->item[i];
		const char *name;

		if (!w->visit(q, w->arg))
			continue;
		for (size_t at = 0; (name = elf_file_needed(&q->file, &at));)
			add_queued_object(w, name, &q->asker);
	}
	if (w->end)
		w->end(w);
	for (unsigned i = 0; i < w->n; i++) {
		elf_file_close(&w->item[i].file);
		free(w->item[i].path);
	}
	free(w->item);
}

/* ---- names ---- */

struct collect {
	struct stub_names *names;
	const char *object;
	bool here; /* for this process: existing stubs and rows are considered */
};

static bool add_stub_name(struct stub_names *l, const struct elf_function *fn)
{
	char *copy;

	if (l->n == l->cap) {
		uint32_t cap = l->cap ? 2 * l->cap : 64;
		struct stub_name *item = realloc(l->item, cap * sizeof(*item));

		if (!item)
			return false;
		l->item = item;
		l->cap = cap;
	}
	copy = strdup(fn->name);
	if (copy)
		l->item[l->n++] = (struct stub_name){copy, fn->versioned, fn->old};
	return copy;
}

static bool add_function_name(const struct elf_function *fn, void *arg)
{
	struct collect *c = arg;
	struct provider stub;

	if (!runtime_wants(fn->name, c->object))
		return true;
	if (c->here && elfsym_find_stub(fn->name, &stub)) {
		stub_second(fn->name);
		return true;
	}
	c->names->failed = !add_stub_name(c->names, fn);
	return !c->names->failed;
}

static int compare_stub_names(const void *x, const void *y)
{
	const struct stub_name *a = x, *b = y;

	return strcmp(a->text, b->text);
}

/*
 * Sorts the names and removes duplicates. Drops names that a library has in several versions: a
 * stub cannot know which version was meant.
 */
static void remove_duplicate_names(struct stub_names *l)
{
	uint32_t n = 0;

	if (l->n)
		qsort(l->item, l->n, sizeof(*l->item), compare_stub_names);
	for (uint32_t i = 0, j; i < l->n; i = j) {
		struct stub_name one = l->item[i];

		for (j = i + 1; j < l->n && strcmp(one.text, l->item[j].text) == 0; j++) {
			one.old |= l->item[j].old;
			one.versioned |= l->item[j].versioned;
			free(l->item[j].text);
		}
		if (!one.old) {
			l->item[n++] = one;
			continue;
		}
		log_loss(LOSS_ENTRY,
			"%s is not recorded: the library defines several versions of it, and a "
			"wrapper has one",
			one.text);
		free(one.text);
	}
	l->n = n;
}

void stub_names_free(struct stub_names *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		free(l->item[i].text);
	free(l->item);
	*l = (struct stub_names){0};
}

/*
 * Skips the program itself: its own functions cannot get stubs, because it comes first in every
 * search.
 */
static bool add_library_after_first(const struct queued *q, void *arg)
{
	struct collect *c = arg;

	c->object = q->path;
	if (q->asker.by)
		elf_file_handle_functions(&q->file, add_function_name, c);
	return !c->names->failed;
}

void stub_collect(struct stub_names *names, const char *program, const char *get_library_path)
{
	struct collect c = {.names = names};
	struct walk w = {.all = true,
		.get_library_path = get_library_path,
		.visit = add_library_after_first,
		.arg = &c};

	add_dependencies(&w, program, NULL);
	remove_duplicate_names(names);
}

/* ---- second copies ---- */

/* True if a wrapper was called already: only then can a second copy matter. */
static bool is_any_in_use(void)
{
	for (unsigned i = 0; i < api_count; i++)
		if (get_api_word(api_get(i)) & API_STATES)
			return true;
	return false;
}

static void record_second_copies(const struct elf_file *f)
{
	for (unsigned i = 0; i < api_count; i++) {
		struct api *a = api_get(i);

		if (get_api_word(a) & (API_ON | API_SKIP) &&
			elf_file_has_function(f, a->spec->symbol))
			set_api_state(a, API_ON | API_SKIP, API_MULTI);
	}
}

/* ---- RTLD_DEEPBIND ---- */

static _Atomic(char *) deepbound;

const char *stub_deepbound(void)
{
	return atomic_load(&deepbound);
}

struct deep {
	const char *path;
	bool any;
};

static bool is_wanted_function(const struct elf_function *fn, void *arg)
{
	struct deep *d = arg;

	d->any = api_find(fn->name) || runtime_wants(fn->name, d->path);
	return !d->any;
}

static void record_deepbind(const struct elf_file *f, const char *path)
{
	struct deep d = {path, false};
	char *none = NULL, *copy;

	if (atomic_load(&deepbound))
		return;
	elf_file_handle_functions(f, is_wanted_function, &d);
	copy = d.any ? strdup(path) : NULL;
	if (!copy || !atomic_compare_exchange_strong(&deepbound, &none, copy)) {
		free(copy);
		return;
	}
	log_loss(LOSS_ENTRY,
		"%s was loaded with RTLD_DEEPBIND: calls from it and from the libraries that come "
		"with it are not recorded",
		path);
}

/* ---- the hook ---- */

struct loading {
	struct collect collect;
	bool wanted, in_use, deepbind;
};

static bool add_library(const struct queued *q, void *arg)
{
	struct loading *l = arg;
	uint64_t key = compute_file_key(q->file.dev, q->file.ino, q->file.size);

	if (l->deepbind)
		record_deepbind(&q->file, q->path);
	if (l->in_use)
		record_second_copies(&q->file);
	if (!l->wanted) {
		if (l->in_use)
			stub_second_copies(&q->file);
		return true;
	}
	if (was_file_seen(key, true)) {
		/*
		 * The file has stubs already, but the copy that they belong to may have been
		 * unloaded, and another copy may now be the only one.
		 */
		stub_second_copies(&q->file);
		return true;
	}
	l->collect.object = q->path;
	elf_file_handle_functions(&q->file, add_function_name, &l->collect);
	return !l->collect.names->failed;
}

static const struct elf_file *get_walk_file(unsigned i, const void *arg)
{
	const struct walk *w = arg;

	return i < w->n ? &w->item[i].file : NULL;
}

static void check_weak_names(const struct walk *w)
{
	weak_names_before_load(get_walk_file, w);
}

static const char *get_library_path(void)
{
	for (char *const *e = startup_get_environment(); *e; e++)
		if (strncmp(*e, "LD_LIBRARY_PATH=", 16) == 0)
			return *e + 16;
	return NULL;
}

static void before_load(const char *file, uintptr_t pc, struct loading *l)
{
	struct stub_names names = {0};
	struct walk w = {.get_library_path = get_library_path(),
		.visit = add_library,
		.end = check_weak_names,
		.arg = l};
	struct elf_place at = {.path = ""};
	struct elf_asker by;

	/*
	 * The search path of the caller is known; of the objects that loaded the caller, only the
	 * program's.
	 */
	elfsym_find_place(pc, &at);
	by = (struct elf_asker){.path = *at.path ? at.path : "/proc/self/exe",
		.rpath = at.rpath,
		.runpath = at.runpath,
		.no_default = at.no_default};
	l->collect = (struct collect){.names = &names, .here = true};
	add_dependencies(&w, file, &by);
	remove_duplicate_names(&names);
	if (names.failed)
		log_loss(LOSS_ENTRY, "%s: no memory for its names; its functions are not recorded",
			file);
	else if (names.n)
		stub_load(&names);
	stub_names_free(&names);
}

/*
 * True if the library was loaded before from the same file, as is usual if libraries are opened
 * repeatedly.
 */
static bool is_loaded_before(const char *file, const struct loading *l)
{
	struct stat st;

	return !l->in_use && !l->deepbind && file[0] == '/' && stat(file, &st) == 0 &&
	       was_file_seen(compute_file_key(st.st_dev, st.st_ino, (uint64_t)st.st_size), false) &&
	       (!stub_any_in_use() || elfsym_loaded(file));
}

struct wanted_load {
	const char *file;
	int mode;
	uintptr_t pc;
	bool wanted; /* this process is recorded */
};

static void look_before_load(void *arg)
{
	struct wanted_load *want = arg;
	struct loading l = {.deepbind = want->mode & RTLD_DEEPBIND};
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	l.in_use = is_any_in_use() || stub_any_in_use();
	want->wanted = recording_enabled() && session_configure();
	l.wanted = want->wanted && runtime_any();
	if (l.wanted)
		stub_report_missed();
	/*
	 * Done even if nothing is recorded: results of weak references must be the same as
	 * without libprobe.
	 */
	if (!is_loaded_before(want->file, &l))
		before_load(want->file, want->pc, &l);
	pthread_setcancelstate(cancel, NULL);
}

void stub_before_load(const char *file, int mode, uintptr_t pc)
{
	struct wanted_load want = {file, mode, pc, false};
	int err = errno;

	if (!file || !*file || mode & RTLD_NOLOAD || thread_state.busy)
		return;
	thread_state.busy++;
	private_stack_call(look_before_load, &want);
	if (want.wanted)
		foreign_start_end_watch();
	thread_state.busy--;
	errno = err;
}
