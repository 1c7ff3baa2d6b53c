/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/check_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/at_start.h"
#include "base/private_stack.h"
#include "base/io.h"
#include "base/log.h"
#include "text/text.h"
#include "base/thread.h"
#include "api/api.h"
#include "api/kind.h"
#include "config/list/chosen.h"
#include "api/layout_fact.h"
#include "elf/loaded/elfsym.h"
#include "entry/stubs/bound_stub.h"
#include "entry/stubs/provider.h"
#include "session/identity.h"
#include "resolve/real.h"
#include "entry/stubs/stub.h"
#include "session/state.h"

#define LINE_MAX_BYTES 1024
#define ROWS_MADE 8192 /* maximum number of rows made at run time; additional ones are not listed */

/* Writes a line: symbol, library, state, hits, object with the real function, note. */
static void check_line(struct text *t, const char *symbol, const char *lib, const char *state,
	uint64_t hits, const char *where)
{
	text_add_string(t, symbol);
	text_add_char(t, '\t');
	text_add_string(t, lib);
	text_add_char(t, '\t');
	text_add_string(t, state);
	text_add_char(t, '\t');
	text_add_u64(t, hits);
	text_add_char(t, '\t');
	text_add_string(t, where);
	text_add_char(t, '\t');
}

/* Number of calls that would have been recorded. */
static uint64_t to_record;

static void check_api(struct api *a, void *arg)
{
	const struct api_spec *s = a->spec;
	struct provider p[2] = {{0}};
	int n = elfsym_find_after_us(get_real_name(s), p, 2);
	/*
	 * Adapters with rules of their own have decided already: aten::add is add.Tensor in the
	 * row.
	 */
	bool listed = s->task != TASK_DATA ||
		      ((get_api_word(a) & API_CHOSEN ||
			       wraplist_match(get_wraplist(), s->lib->name, s->list_name)) &&
			      is_function_chosen(get_config(), s->symbol, s->list_name,
				      s->kind ? s->kind->op : NULL));
	struct text *t = arg;

	to_record += s->task == TASK_DATA && listed ? atomic_load(&a->hits) : 0;
	if (t->cap - t->len < LINE_MAX_BYTES)
		return;
	check_line(t, s->symbol, s->lib->name,
		!n	 ? "missing"
		: listed ? "ok"
			 : "skipped",
		atomic_load(&a->hits), n ? p[0].path : "");
	if (n > 1) {
		text_add_string(t, "also defined by ");
		text_add_string(t, p[1].path);
	}
	text_add_char(t, '\n');
}

/* Writes the line about a function that got no stub, because its library was loaded before libprobe could insert one. */
static void check_missed_function(const char *name, const char *object, void *arg)
{
	struct api *a = runtime_make(name, object);
	struct text *t = arg;

	if (!a || t->cap - t->len < LINE_MAX_BYTES)
		return;
	check_line(t, a->spec->symbol, a->spec->lib->name, "missing", 0, object);
	text_add_string(t,
		"loaded at program start, so it cannot be intercepted: start it with `probe "
		"run`\n");
}

/* Writes a function that is listed but cannot be recorded, with the reason. */
static void check_refused_function(const char *symbol, void *arg)
{
	struct text *t = arg;
	const char *lib = "", *why = "";
	char name[256];

	if (t->cap - t->len < LINE_MAX_BYTES ||
		!runtime_refused(symbol, name, sizeof(name), &lib, &why))
		return;
	check_line(t, name, lib, "refused", 0, "");
	text_add_string(t, why);
	text_add_char(t, '\n');
}

static void check_notes(struct text *t)
{
	const char *deep = stub_deepbound();

	if (!deep)
		return;
	text_add_string(t, "# note ");
	text_add_string(t, deep);
	text_add_string(t,
		" was loaded with RTLD_DEEPBIND: calls from it and from the libraries that "
		"come with it cannot be intercepted\n");
}

/* Writes "# layout NAME STATE VERSIONS VERIFIED-BY OFF", with tabs between them. */
static void check_layout_facts(struct text *t)
{
	for (unsigned i = 0; layout_facts && layout_facts[i].name[0]; i++)
		text_add_format(t, "# layout %s\t%s\t%s\t%s\t%s\n", layout_facts[i].name,
			get_layout_state_name(get_layout_state(i)), layout_facts[i].versions,
			layout_facts[i].verified_by, layout_facts[i].off);
}

/* Writes "# record CALLS RANK"; RANK -1: not known. */
static void check_totals(struct text *t)
{
	struct identity id;

	identity_read(&id);
	text_add_string(t, "# record ");
	text_add_u64(t, to_record);
	text_add_char(t, ' ');
	text_add_i64(t, session.world_rank >= 0 ? session.world_rank : id.rank);
	text_add_char(t, '\n');
}

static void write_into(void *dir)
{
	char path[4096], program[1024];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	thread_state.busy++;
	session_configure();
	log_config_now();
	api_fill();

	size_t cap = LINE_MAX_BYTES * (size_t)(api_count + ROWS_MADE);
	char *buf = malloc(cap);

	program[n > 0 ? n : 0] = 0;
	if (buf && get_wraplist() &&
		(size_t)snprintf(path, sizeof(path), "%s/%d.check", (const char *)dir,
			(int)getpid()) < sizeof(path)) {
		struct text t = text_init(buf, cap);

		text_add_string(&t, "# libprobe " PROBE_VERSION " ");
		text_add_i64(&t, getpid());
		text_add_char(&t, ' ');
		text_add_string(&t, program);
		text_add_char(&t, '\n');
		check_notes(&t);
		for (unsigned i = 0; i < api_count; i++)
			check_api(api_get(i), &t);
		if (runtime_any()) {
			bound_each(check_api, &t);
			stub_each(check_api, &t);
			stub_each_without_row(check_refused_function, &t);
			stub_each_missed(check_missed_function, &t);
		}
		check_totals(&t);
		check_layout_facts(&t);
		io_replace_file(AT_FDCWD, path, buf, t.len);
	}
	free(buf);
	thread_state.busy--;
}

START_CODE void check_write(void)
{
	static _Atomic pid_t written;
	const char *dir = check_folder();
	pid_t last;

	/*
	 * Every process of the job gets here at its end: does nothing in those that are not
	 * checked.
	 */
	if (!dir)
		return;
	last = written;
	if (last == getpid() || !atomic_compare_exchange_strong(&written, &last, getpid()))
		return;
	private_stack_call(write_into, (void *)(uintptr_t)dir);
}
