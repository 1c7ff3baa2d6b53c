/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "tools/probe/run/check.h"
#include "tools/probe/intern.h"
#include "tools/probe/json.h"
#include "tools/probe/out.h"
#include "tools/probe/tool.h"

#define NAMES_MAX 24 /* of one kind, without --all */

struct library {
	uint32_t name;
	unsigned n, found, called, skipped;
	uint64_t hits;
};

/* What can be said of a function. */
enum verdict { V_CALLED, V_IDLE, V_SKIPPED, V_MISSING };

static enum verdict verdict(const struct checked_function *f)
{
	if (f->hits)
		return V_CALLED;
	return f->state == CHECKED_OK	     ? V_IDLE
	       : f->state == CHECKED_SKIPPED ? V_SKIPPED
					     : V_MISSING;
}

static const struct checked_function *function(const struct check *k, uint32_t i)
{
	return table_at(&k->seen.functions, i);
}

static struct library *libraries(const struct check *k, unsigned *n)
{
	struct library *list = NULL;
	unsigned cap = 0;

	*n = 0;
	for (uint32_t i = 0; i < k->seen.functions.n; i++) {
		const struct checked_function *f = function(k, i);
		unsigned at = 0;

		while (at < *n && list[at].name != f->lib)
			at++;
		if (at == *n) {
			TOOL_GROW(list, *n, cap);
			list[(*n)++] = (struct library){.name = f->lib};
		}
		list[at].n++;
		list[at].found += f->state == CHECKED_OK || f->found;
		list[at].called += f->hits != 0;
		list[at].skipped += f->state == CHECKED_SKIPPED;
		list[at].hits += f->hits;
	}
	return list;
}

/* PMPI_X beside MPI_X: the same function under its second name, worth a word only where the two differ. */
static bool is_twin(const struct check *k, const struct checked_function *f)
{
	const char *name = intern_name(f->name), *lib = intern_name(f->lib);
	const struct checked_function *base =
		*name == 'P'
			? table_find(&k->seen.functions, hash_str(0, name + 1), hash_str(1, lib))
			: NULL;

	return base && verdict(base) == verdict(f);
}

/* ---- problems ---- */

static uint64_t all_hits(const struct check *k)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < k->seen.functions.n; i++)
		n += function(k, i)->hits;
	return n;
}

static unsigned found(const struct check *k)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < k->seen.functions.n; i++)
		n += function(k, i)->found;
	return n;
}

static char *ended(int status)
{
	if (WIFSIGNALED(status))
		return tool_format("the command was killed by signal %d (%s): a process that does "
				   "not end properly leaves no word",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status))
		return tool_format("the command ended with status %d", WEXITSTATUS(status));
	return NULL;
}

static char *problem(const struct check *k)
{
	if (WIFEXITED(k->status) && WEXITSTATUS(k->status) == 127)
		return tool_format("%s could not be started", k->argv[0]);
	if (!k->seen.n && k->obstacle)
		return tool_format("libprobe.so was loaded into no process: %s", k->obstacle);
	if (!k->seen.n)
		return tool_strdup("libprobe.so was loaded into no process that ended properly: "
				   "was the environment cleared on the "
				   "way (env -i, sudo, ssh, a container)? A script may also have "
				   "set LD_PRELOAD anew");
	if (!found(k))
		return tool_strdup(
			"none of the libraries was loaded: the program is linked statically "
			"against them, or uses one "
			"that libprobe does not know, or did not get as far as loading it");
	if (!all_hits(k))
		return tool_strdup("a library was loaded and none of its functions was called "
				   "through libprobe: the program ended "
				   "too early, or calls them inside the library, or loaded it with "
				   "RTLD_DEEPBIND");
	return NULL;
}

/* ---- text ---- */

/* Processes by program: "4 x /path/train". */
static void processes(const struct check *k)
{
	const struct checked *c = &k->seen;
	bool *done = tool_alloc(c->n);

	for (unsigned i = 0; i < c->n; i++) {
		unsigned n = 0;
		uint64_t hits = 0;

		if (done[i])
			continue;
		for (unsigned j = i; j < c->n; j++) {
			if (strcmp(c->process[i].program, c->process[j].program))
				continue;
			done[j] = true;
			hits += c->process[j].hits;
			n++;
		}
		printf("  %u x ", n);
		out_clean(c->process[i].program);
		printf(": %s\n", hits ? out_plural(hits, "call", "calls") : "no calls");
	}
	free(done);
}

static int by_hits(const void *x, const void *y)
{
	const struct checked_function *a = *(const struct checked_function *const *)x;
	const struct checked_function *b = *(const struct checked_function *const *)y;

	if (a->hits != b->hits)
		return a->hits > b->hits ? -1 : 1;
	return strcmp(intern_name(a->name), intern_name(b->name));
}

/* Names of one verdict in one paragraph, with an introduction. */
static void names(const struct check *k, const struct checked_function *const *list, unsigned n,
	enum verdict v, const char *lead)
{
	unsigned max = k->all ? UINT32_MAX : NAMES_MAX;
	char *all = tool_strdup(""), *was;
	unsigned count = 0;

	for (unsigned i = 0; i < n; i++) {
		if (verdict(list[i]) != v || is_twin(k, list[i]))
			continue;
		if (count++ >= max)
			continue;
		was = all;
		all = tool_format("%s%s%s", was, *was ? " " : "", intern_name(list[i]->name));
		free(was);
	}
	if (count) {
		char *text = tool_format(
			"%s (%u): %s%s", lead, count, all, count > max ? " ... (--all)" : "");

		printf("    ");
		out_wrap(text, 4, 8);
		free(text);
	}
	free(all);
}

static void called(const struct checked_function *const *list, unsigned n)
{
	static const char *const head[] = {"function", "calls", "real function in", ""};
	struct out_table t;
	bool any = false;

	out_table_begin(&t, 4, head, "lrll");
	for (unsigned i = 0; i < n; i++) {
		if (verdict(list[i]) != V_CALLED && !*list[i]->note)
			continue;
		any = true;
		out_cell(&t, intern_name(list[i]->name));
		out_cell(&t, out_count(list[i]->hits));
		out_cell(&t, list[i]->where);
		out_cell(&t, *list[i]->note			 ? list[i]->note
			     : list[i]->state == CHECKED_SKIPPED ? "not in the list"
								 : "");
	}
	if (any) {
		out_table_end(&t);
		return;
	}
	free(t.cell);
}

static void show_library(const struct check *k, const struct library *l)
{
	const struct checked_function **list = tool_alloc((l->n + 1) * sizeof(*list));
	unsigned n = 0;

	for (uint32_t i = 0; i < k->seen.functions.n; i++)
		if (function(k, i)->lib == l->name)
			list[n++] = function(k, i);
	qsort(list, n, sizeof(*list), by_hits);
	printf("%s%s%s: ", out_style(STYLE_HEAD), intern_name(l->name), out_plain());
	if (!l->found && !l->hits) {
		printf("%u functions exported; no loaded library defines them\n", l->n);
		if (k->all)
			names(k, list, n, V_MISSING, "not found");
	} else {
		printf("%u functions exported, %u found, %u called, %s\n", l->n, l->found,
			l->called, out_plural(l->hits, "call", "calls"));
		called(list, n);
		names(k, list, n, V_IDLE, "found and never called");
		names(k, list, n, V_SKIPPED, "not in the list, so not recorded");
		names(k, list, n, V_MISSING, "not defined by any loaded library");
	}
	free(list);
}

static void text(const struct check *k, const char *wrong, const char *end)
{
	struct library *lib;
	unsigned n;

	printf("%slibprobe.so %s%s\n", out_style(STYLE_HEAD), k->library, out_plain());
	if (k->seen.n)
		printf("loaded into %s:\n", out_plural(k->seen.n, "process", "processes"));
	processes(k);
	lib = libraries(k, &n);
	for (unsigned i = 0; i < n; i++)
		if (lib[i].found || lib[i].hits)
			show_library(k, &lib[i]);
	for (unsigned i = 0; i < n; i++)
		if (!lib[i].found && !lib[i].hits)
			show_library(k, &lib[i]);
	free(lib);
	if (k->seen.unreadable)
		printf("%s could not be read\n",
			out_plural(k->seen.unreadable, "process' word", "processes' words"));
	if (end)
		printf("%s\n", end);
	for (unsigned i = 0; i < k->seen.nnote; i++) {
		printf("note: ");
		out_wrap(k->seen.note[i], 6, 6);
	}
	if (!wrong && k->obstacle)
		printf("note: %s\n", k->obstacle);
	if (wrong) {
		printf("%sproblem: %s", out_style(STYLE_BAD), out_plain());
		out_wrap(wrong, 9, 9);
	} else {
		printf("%sfine:%s calls of this program will be recorded\n", out_style(STYLE_GOOD),
			out_plain());
	}
}

/* ---- JSON ---- */

static void json_functions(const struct check *k)
{
	static const char *const state[] = {"missing", "skipped", "ok"};

	json_list("functions");
	for (uint32_t i = 0; i < k->seen.functions.n; i++) {
		const struct checked_function *f = function(k, i);

		json_object(NULL);
		json_string("name", intern_name(f->name));
		json_string("lib", intern_name(f->lib));
		json_string("state", state[f->state]);
		json_u64("hits", f->hits);
		json_string("where", f->where);
		json_string("note", f->note);
		json_end();
	}
	json_end();
}

static void json(const struct check *k, const char *wrong)
{
	struct library *lib;
	unsigned n;

	json_begin();
	json_object(NULL);
	json_u64("format", 1);
	json_string("library", k->library);
	json_list("processes");
	for (unsigned i = 0; i < k->seen.n; i++) {
		json_object(NULL);
		json_i64("pid", k->seen.process[i].pid);
		json_string("program", k->seen.process[i].program);
		json_string("version", k->seen.process[i].version);
		json_u64("hits", k->seen.process[i].hits);
		json_end();
	}
	json_end();
	lib = libraries(k, &n);
	json_list("libraries");
	for (unsigned i = 0; i < n; i++) {
		json_object(NULL);
		json_string("name", intern_name(lib[i].name));
		json_u64("exported", lib[i].n);
		json_u64("found", lib[i].found);
		json_u64("called", lib[i].called);
		json_u64("hits", lib[i].hits);
		json_end();
	}
	json_end();
	free(lib);
	json_functions(k);
	json_list("exports");
	for (unsigned i = 0; i < k->nexports; i++)
		json_string(NULL, k->exports[i]);
	json_end();
	json_list("notes");
	for (unsigned i = 0; i < k->seen.nnote; i++)
		json_string(NULL, k->seen.note[i]);
	json_end();
	json_string("problem", wrong);
	json_end();
}

int check_show(const struct check *k)
{
	char *wrong = problem(k), *end = ended(k->status);

	if (k->json)
		json(k, wrong);
	else
		text(k, wrong, end);

	int status = wrong ? STATUS_PROBLEM : STATUS_DONE;

	free(wrong);
	free(end);
	return status;
}

/* Names of a library in one paragraph; in brackets those that the list leaves out. */
static void export_paragraph(const struct check *k, uint32_t lib, unsigned total)
{
	char *all = tool_strdup(""), *was;

	for (uint32_t i = 0; i < k->seen.functions.n; i++) {
		const struct checked_function *f = function(k, i);
		bool out = f->state == CHECKED_SKIPPED;

		if (f->lib != lib || is_twin(k, f))
			continue;
		was = all;
		all = tool_format("%s%s%s%s%s", was, *was ? " " : "", out ? "(" : "",
			intern_name(f->name), out ? ")" : "");
		free(was);
	}
	printf("%s%s%s: %u functions\n  ", out_style(STYLE_HEAD), intern_name(lib), out_plain(),
		total);
	out_wrap(all, 2, 2);
	free(all);
}

void check_show_exports(const struct check *k)
{
	struct library *lib;
	unsigned n;

	if (k->json) {
		json(k, NULL);
		return;
	}
	lib = libraries(k, &n);
	for (unsigned i = 0; i < n; i++)
		export_paragraph(k, lib[i].name, lib[i].n);
	free(lib);
	for (unsigned i = 0; i < k->nexports; i++)
		puts(k->exports[i]);
}
