/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "config/config_value.h"
#include "tools/probe/run/check.h"
#include "tools/lib/intern.h"
#include "tools/lib/files/json.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"

#define NAMES_MAX 24 /* maximum number of names in a paragraph, without --all */

struct library {
	uint32_t name;
	unsigned n, found, called, skipped;
	uint64_t hits;
};

/* The result of the check for one function. */
enum verdict { V_CALLED, V_IDLE, V_SKIPPED, V_REFUSED, V_MISSING };

static enum verdict get_function_verdict(const struct checked_function *f)
{
	if (f->hits)
		return V_CALLED;
	return f->state == CHECKED_OK	     ? V_IDLE
	       : f->state == CHECKED_SKIPPED ? V_SKIPPED
	       : f->state == CHECKED_REFUSED ? V_REFUSED
					     : V_MISSING;
}

static const struct checked_function *checked_function_at(const struct check *k, uint32_t i)
{
	return table_at(&k->seen.functions, i);
}

static struct library *compute_library_counts(const struct check *k, unsigned *n)
{
	struct library *list = NULL;
	unsigned cap = 0;

	*n = 0;
	for (uint32_t i = 0; i < k->seen.functions.n; i++) {
		const struct checked_function *f = checked_function_at(k, i);
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

/*
 * Returns true for PMPI_X if MPI_X, its other name, has the same result. Then only MPI_X is printed.
 */
static bool is_pmpi_name(const struct check *k, const struct checked_function *f)
{
	const char *name = intern_get_name(f->name), *lib = intern_get_name(f->lib);
	const struct checked_function *base =
		*name == 'P'
			? table_find(&k->seen.functions, hash_str(0, name + 1), hash_str(1, lib))
			: NULL;

	return base && get_function_verdict(base) == get_function_verdict(f);
}

/* ---- problems ---- */

static uint64_t get_total_hits(const struct check *k)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < k->seen.functions.n; i++)
		n += checked_function_at(k, i)->hits;
	return n;
}

static unsigned get_found_count(const struct check *k)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < k->seen.functions.n; i++)
		n += checked_function_at(k, i)->found;
	return n;
}

static char *format_command_end(int status)
{
	if (WIFSIGNALED(status))
		return tool_format("the command was killed by signal %d (%s): only a process that "
				   "exits normally "
				   "writes its result",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status))
		return tool_format("the command ended with status %d", WEXITSTATUS(status));
	return NULL;
}

/*
 * Returns the reason why the calls that reached libprobe would not be recorded, or NULL if some would be.
 */
static char *find_skip_reason(const struct check *k)
{
	const struct checked *c = &k->seen;
	uint64_t record = 0;
	bool all_known = true, chosen = false;
	char ranks[256], only[256], skip[256];

	for (unsigned i = 0; i < c->n; i++) {
		const struct checked_process *p = &c->process[i];

		all_known &= p->told;
		record += p->record;
		chosen |= p->record && (p->rank < 0 || !k->cfg.rank.n ||
					       ranges_has(&k->cfg.rank, (uint64_t)p->rank));
	}
	if (!all_known || chosen)
		return NULL;
	config_format(&k->cfg, config_key_find("only", 4, false), only, sizeof(only));
	config_format(&k->cfg, config_key_find("skip", 4, false), skip, sizeof(skip));
	if (!record && (*k->cfg.only || *k->cfg.skip))
		return tool_format(
			"nothing will be recorded: only: %s, skip: %s select none of the "
			"functions that were called",
			only, skip);
	if (!record)
		return tool_strdup(
			"nothing will be recorded: the list of functions (wrap_ops) names none of "
			"the functions that were called");
	config_format(&k->cfg, config_key_find("rank", 4, false), ranks, sizeof(ranks));
	return tool_format("nothing will be recorded: the setting rank: %s names none of the "
			   "ranks that made calls",
		ranks);
}

static char *find_check_problem(const struct check *k)
{
	if (WIFEXITED(k->status) && WEXITSTATUS(k->status) == 127)
		return tool_format("%s could not be started", k->argv[0]);
	/*
	 * Even so, the library may have been loaded into programs that this program started, if these
	 * made no call to record.
	 */
	if (k->obstacle && !get_found_count(k))
		return tool_format(
			"libprobe.so records nothing of %s: %s", k->argv[0], k->obstacle);
	if (k->cfg.disable)
		return tool_format("nothing will be recorded: %s",
			k->off ? "PROBE_DISABLE is set" : "disable is set in probe.yaml");
	if (!k->seen.n)
		return tool_strdup(
			"libprobe.so was loaded into no process that exited normally: was the "
			"environment cleared before it (env -i, sudo, ssh, a container)? A script "
			"may also have set LD_PRELOAD again");
	if (!get_found_count(k))
		return tool_strdup(
			"none of the libraries was loaded: the program is linked statically "
			"against them, or uses one "
			"that libprobe does not know, or ended before it loaded one");
	if (!get_total_hits(k))
		return tool_strdup("a library was loaded and none of its functions was called "
				   "through libprobe: the program ended "
				   "too early, or calls them inside the library, or loaded it with "
				   "RTLD_DEEPBIND");
	return find_skip_reason(k);
}

/* ---- text ---- */

/* Prints the processes by program: "4 x /path/train". */
static void print_processes(const struct check *k)
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
		out_print_clean(c->process[i].program);
		printf(": %s\n", hits ? out_format_plural(hits, "call", "calls") : "no calls");
	}
	free(done);
}

static int compare_hits(const void *x, const void *y)
{
	const struct checked_function *a = *(const struct checked_function *const *)x;
	const struct checked_function *b = *(const struct checked_function *const *)y;

	if (a->hits != b->hits)
		return a->hits > b->hits ? -1 : 1;
	return strcmp(intern_get_name(a->name), intern_get_name(b->name));
}

/* Prints the names with one verdict as a paragraph, after an introduction. */
static void print_verdict_names(const struct check *k, const struct checked_function *const *list,
	unsigned n, enum verdict v, const char *lead)
{
	unsigned max = k->all ? UINT32_MAX : NAMES_MAX;
	char *all = tool_strdup("");
	unsigned count = 0;

	for (unsigned i = 0; i < n; i++) {
		if (get_function_verdict(list[i]) != v || is_pmpi_name(k, list[i]))
			continue;
		if (count++ >= max)
			continue;
		tool_add_item(&all, " ", "%s", intern_get_name(list[i]->name));
	}
	if (count) {
		char *text = tool_format(
			"%s (%u): %s%s", lead, count, all, count > max ? " ... (--all)" : "");

		printf("    ");
		out_print_wrapped(text, 4, 8);
		free(text);
	}
	free(all);
}

static void print_called(const struct checked_function *const *list, unsigned n)
{
	static const char *const head[] = {"function", "calls", "real function in", ""};
	struct out_table t;
	bool any = false;

	out_start_table(&t, 4, head, "lrll");
	for (unsigned i = 0; i < n; i++) {
		enum verdict v = get_function_verdict(list[i]);

		if (v != V_CALLED && (v == V_REFUSED || !*list[i]->note))
			continue;
		any = true;
		out_add_cell(&t, intern_get_name(list[i]->name));
		out_add_cell(&t, out_format_count(list[i]->hits));
		out_add_cell(&t, list[i]->where);
		out_add_cell(&t, *list[i]->note			     ? list[i]->note
				 : list[i]->state == CHECKED_SKIPPED ? "not in the list"
								     : "");
	}
	if (any) {
		out_print_table(&t);
		return;
	}
	free(t.cell);
}

static void print_library(const struct check *k, const struct library *l)
{
	const struct checked_function **list = tool_alloc((l->n + 1) * sizeof(*list));
	unsigned n = 0;

	for (uint32_t i = 0; i < k->seen.functions.n; i++)
		if (checked_function_at(k, i)->lib == l->name)
			list[n++] = checked_function_at(k, i);
	qsort(list, n, sizeof(*list), compare_hits);
	printf("%s%s%s: ", out_get_style(STYLE_HEAD), intern_get_name(l->name), out_get_plain());
	if (!l->found && !l->hits) {
		printf("%u functions exported; no loaded library defines them\n", l->n);
		if (k->all)
			print_verdict_names(k, list, n, V_MISSING, "not found");
	} else {
		printf("%u functions exported, %u found, %u called, %s\n", l->n, l->found,
			l->called, out_format_plural(l->hits, "call", "calls"));
		print_called(list, n);
		print_verdict_names(k, list, n, V_IDLE, "found and never called");
		print_verdict_names(k, list, n, V_SKIPPED, "not in the list, so not recorded");
		print_verdict_names(k, list, n, V_REFUSED,
			"listed, but not recorded: their calling convention is not known");
		print_verdict_names(k, list, n, V_MISSING, "not defined by any loaded library");
	}
	free(list);
}

/*
 * Prints the layout facts: knowledge about libraries beyond their interfaces. Without --all: only the
 * facts that this program needed.
 */
static void print_layout_facts(const struct check *k, bool all_facts)
{
	static const char *const head[] = {"layout fact", "state", "of", "verified by"};
	struct out_table t;
	unsigned shown = 0;

	for (unsigned i = 0; i < k->seen.nfact; i++)
		shown += all_facts || strcmp(k->seen.fact[i].state, "unseen");
	if (!shown)
		return;
	out_start_table(&t, 4, head, "llll");
	for (unsigned i = 0; i < k->seen.nfact; i++) {
		const struct checked_fact *f = &k->seen.fact[i];
		bool failed = strcmp(f->state, "failed") == 0;

		if (!all_facts && strcmp(f->state, "unseen") == 0)
			continue;
		out_add_cell(&t, f->name);
		out_add_cell(&t, f->state);
		out_add_cell(&t, f->versions);
		out_add_cell(&t, failed ? f->off : f->verified_by);
	}
	out_print_table(&t);
	for (unsigned i = 0; i < k->seen.nfact; i++)
		if (strcmp(k->seen.fact[i].state, "failed") == 0)
			printf("note: %s does not hold for this program's library; switched off: "
			       "%s\n",
				k->seen.fact[i].name, k->seen.fact[i].off);
}

static void print_check_text(const struct check *k, const char *problem, const char *end)
{
	struct library *lib;
	unsigned n;

	printf("%slibprobe.so %s%s\n", out_get_style(STYLE_HEAD), k->library, out_get_plain());
	if (k->seen.n)
		printf("loaded into %s:\n", out_format_plural(k->seen.n, "process", "processes"));
	print_processes(k);
	lib = compute_library_counts(k, &n);
	for (unsigned i = 0; i < n; i++)
		if (lib[i].found || lib[i].hits)
			print_library(k, &lib[i]);
	for (unsigned i = 0; i < n; i++)
		if (!lib[i].found && !lib[i].hits)
			print_library(k, &lib[i]);
	free(lib);
	print_layout_facts(k, k->all);
	if (k->seen.unreadable)
		printf("%s could not be read\n",
			out_format_plural(k->seen.unreadable, "process' word", "processes' words"));
	if (end)
		printf("%s\n", end);
	for (unsigned i = 0; i < k->seen.nnote; i++) {
		printf("note: ");
		out_print_wrapped(k->seen.note[i], 6, 6);
	}
	if (k->runtime)
		printf("note: the program is built with AddressSanitizer, whose runtime must come "
		       "first: LD_PRELOAD=%s:%s, as `probe run` does\n",
			k->runtime, k->library);
	if (!problem && k->obstacle)
		printf("note: %s\n", k->obstacle);
	if (problem) {
		printf("%sproblem: %s", out_get_style(STYLE_BAD), out_get_plain());
		out_print_wrapped(problem, 9, 9);
	} else {
		printf("%sfine:%s calls of this program will be recorded\n",
			out_get_style(STYLE_GOOD), out_get_plain());
	}
}

/* ---- JSON ---- */

static void print_functions_json(const struct check *k)
{
	static const char *const state[] = {"missing", "refused", "skipped", "ok"};

	json_list("functions");
	for (uint32_t i = 0; i < k->seen.functions.n; i++) {
		const struct checked_function *f = checked_function_at(k, i);

		json_object(NULL);
		json_string("name", intern_get_name(f->name));
		json_string("lib", intern_get_name(f->lib));
		json_string("state", state[f->state]);
		json_u64("hits", f->hits);
		json_string("where", f->where);
		json_string("note", f->note);
		json_end();
	}
	json_end();
}

static void print_layout_facts_json(const struct check *k)
{
	json_list("layout_facts");
	for (unsigned i = 0; i < k->seen.nfact; i++) {
		const struct checked_fact *f = &k->seen.fact[i];

		json_object(NULL);
		json_string("name", f->name);
		json_string("state", f->state);
		json_string("versions", f->versions);
		json_string("verified_by", f->verified_by);
		json_string("off", f->off);
		json_end();
	}
	json_end();
}

static void print_check_json(const struct check *k, const char *problem)
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
	lib = compute_library_counts(k, &n);
	json_list("libraries");
	for (unsigned i = 0; i < n; i++) {
		json_object(NULL);
		json_string("name", intern_get_name(lib[i].name));
		json_u64("exported", lib[i].n);
		json_u64("found", lib[i].found);
		json_u64("called", lib[i].called);
		json_u64("hits", lib[i].hits);
		json_end();
	}
	json_end();
	free(lib);
	print_functions_json(k);
	print_layout_facts_json(k);
	json_list("exports");
	for (unsigned i = 0; i < k->nexports; i++)
		json_string(NULL, k->exports[i]);
	json_end();
	json_list("notes");
	for (unsigned i = 0; i < k->seen.nnote; i++)
		json_string(NULL, k->seen.note[i]);
	json_end();
	json_string("problem", problem);
	json_end();
}

int check_show(const struct check *k)
{
	char *problem = find_check_problem(k), *end = format_command_end(k->status);

	if (k->json)
		print_check_json(k, problem);
	else
		print_check_text(k, problem, end);

	int status = problem ? STATUS_PROBLEM : STATUS_DONE;

	free(problem);
	free(end);
	return status;
}

/* Prints the names of a library as a paragraph. Names that the list skips are in brackets. */
static void print_library_exports(const struct check *k, uint32_t lib, unsigned total)
{
	char *all = tool_strdup("");

	for (uint32_t i = 0; i < k->seen.functions.n; i++) {
		const struct checked_function *f = checked_function_at(k, i);
		bool out = f->state == CHECKED_SKIPPED;

		if (f->lib != lib || is_pmpi_name(k, f))
			continue;
		tool_add_item(&all, " ", "%s%s%s", out ? "(" : "", intern_get_name(f->name),
			out ? ")" : "");
	}
	printf("%s%s%s: %u functions\n  ", out_get_style(STYLE_HEAD), intern_get_name(lib),
		out_get_plain(), total);
	out_print_wrapped(all, 2, 2);
	free(all);
}

void check_show_exports(const struct check *k)
{
	struct library *lib;
	unsigned n;

	if (k->json) {
		print_check_json(k, NULL);
		return;
	}
	lib = compute_library_counts(k, &n);
	for (unsigned i = 0; i < n; i++)
		print_library_exports(k, lib[i].name, lib[i].n);
	free(lib);
	print_layout_facts(k, true);
	for (unsigned i = 0; i < k->nexports; i++)
		puts(k->exports[i]);
}
