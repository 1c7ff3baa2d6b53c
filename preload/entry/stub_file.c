/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries loaded at program start are bound before any code of libprobe runs, so their stubs
 * must exist before, in a file after libprobe.so in LD_PRELOAD. `probe stub` and `probe run`
 * start themselves under libprobe.so with PROBE_STUB_FILE and PROBE_STUB_FOR, so that the names
 * are chosen by the same code and configuration as in the job.
 *
 * This file also lists functions that cannot be recorded because that was not done.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/at_start.h"
#include "base/private_stack.h"
#include "base/environment.h"
#include "base/io.h"
#include "base/log.h"
#include "base/thread.h"
#include "elf/elf_search.h"
#include "elf/loaded/elfsym.h"
#include "elf/loaded/object_at.h"
#include "entry/stubs/provider.h"
#include "entry/stubs/stub.h"
#include "entry/stubs/stub_elf.h"
#include "session/state.h"

static void write_file(const char *path, const struct stub_names *names)
{
	size_t size;
	void *image =
		stub_elf_build(stub_elf_machine(), names->item, names->n, own_path_get(), &size);
	int err = image ? io_replace_file(AT_FDCWD, path, image, size) : -ENOMEM;

	if (err)
		log_loss(LOSS_ENTRY, "%s: %s; %u functions are not recorded", path, strerror(-err),
			names->n);
	if (image)
		munmap(image, size);
}

struct wanted_file {
	const char *file, *program;
};

static void collect_and_write(void *arg)
{
	const struct wanted_file *w = arg;
	struct stub_names names = {0};

	thread_state.busy++;
	log_config_now();
	if (session_configure() && runtime_any()) {
		stub_collect(&names, w->program, startup_find_variable("LD_LIBRARY_PATH"));
		if (names.n && !names.failed)
			write_file(w->file, &names);
	}
	stub_names_free(&names);
	thread_state.busy--;
}

START_CODE void stub_file_write(void)
{
	static START_CONST const char file[] = "PROBE_STUB_FILE", program[] = "PROBE_STUB_FOR";
	struct wanted_file w = {startup_find_variable(file), startup_find_variable(program)};

	if (w.file && w.program)
		private_stack_call(collect_and_write, &w);
}

/* ---- functions that cannot be intercepted ---- */

#define OBJECTS_MAX 1024

struct paths {
	char *item[OBJECTS_MAX];
	unsigned n;
};

/* Adds the path of an object after libprobe.so; the program's own functions cannot be wrapped. */
static int add_path(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct paths *p = arg;

	(void)size;
	if (p->n < OBJECTS_MAX && info->dlpi_name[0] == '/') {
		p->item[p->n] = strdup(info->dlpi_name);
		p->n += p->item[p->n] != NULL;
	}
	return 0;
}

struct look {
	void (*visit)(const char *name, const char *object, void *arg);
	void *arg;
	const char *object;
};

static bool visit_unstubbed(const struct elf_function *fn, void *arg)
{
	struct look *l = arg;
	struct provider stub;

	if (runtime_wants(fn->name, l->object) && !elfsym_find_stub(fn->name, &stub))
		l->visit(fn->name, l->object, l->arg);
	return true;
}

void stub_each_missed(void (*visit)(const char *name, const char *object, void *arg), void *arg)
{
	struct paths *p = calloc(1, sizeof(*p));
	struct look l = {.visit = visit, .arg = arg};

	if (!p)
		return;
	dl_iterate_phdr(add_path, p);
	for (unsigned i = 0; i < p->n; i++) {
		struct elf_file f;

		if (elf_file_open(&f, p->item[i]) == 0) {
			l.object = p->item[i];
			if (!f.soname || strcmp(f.soname, STUB_SONAME))
				elf_file_handle_functions(&f, visit_unstubbed, &l);
			elf_file_close(&f);
		}
		free(p->item[i]);
	}
	free(p);
}

static void log_first_unstubbed(const char *name, const char *object, void *arg)
{
	bool *reported = arg;

	if (*reported)
		return;
	*reported = true;
	log_loss(LOSS_ENTRY,
		"%s in %s was loaded at program start, before a wrapper could be put in front of "
		"it: it is not recorded; start the program with `probe run`",
		name, object);
}

void stub_report_missed(void)
{
	static _Atomic bool done;
	bool reported = false;

	if (!atomic_exchange(&done, true))
		stub_each_missed(log_first_unstubbed, &reported);
}
