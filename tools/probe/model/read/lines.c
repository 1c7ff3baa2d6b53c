/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/lines.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/lib/tool.h"

/* A file that was opened, or could not be opened: each is tried once. */
struct file {
	char *path;
	uint8_t id[BUILD_ID_MAX], id_len;
	Dwfl_Module *mod; /* NULL: the file cannot be used */
	GElf_Addr bias; /* value that libdwfl added to the file's addresses */
	int error; /* error of the file as a whole */
};

struct lines {
	Dwfl *dwfl;
	struct file *v;
	unsigned n, cap;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

struct lines *lines_open(void)
{
	struct lines *l = tool_alloc(sizeof(*l));

	unsetenv("DEBUGINFOD_URLS");
	l->dwfl = dwfl_begin(&callbacks);
	return l;
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	dwfl_end(l->dwfl);
	for (unsigned i = 0; i < l->n; i++)
		free(l->v[i].path);
	free(l->v);
	free(l);
}

static bool has_same_build_id(Dwfl_Module *mod, const struct module *m)
{
	const unsigned char *id;
	GElf_Addr at;
	int len = dwfl_module_build_id(mod, &id, &at);

	if (len <= 0)
		return !m->build_id_len;
	return len == m->build_id_len && !memcmp(id, m->build_id, (size_t)len);
}

static void open_file(struct lines *l, struct file *f, const struct module *m)
{
	Dwfl_Module *mod = NULL;
	struct stat st;

	f->error = -ENOENT;
	/* libdw opens files by path, and would wait for a FIFO. */
	if (!l->dwfl || m->path[0] != '/' || stat(m->path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	dwfl_report_begin_add(l->dwfl);
	mod = dwfl_report_offline(l->dwfl, m->path, m->path, -1);
	dwfl_report_end(l->dwfl, NULL, NULL);
	if (!mod || !dwfl_module_getelf(mod, &f->bias))
		return;
	if (!has_same_build_id(mod, m)) {
		f->error = -ESTALE;
		return;
	}
	f->mod = mod;
	f->error = 0;
}

static struct file *find_debug_file(struct lines *l, const struct module *m)
{
	struct file *f;

	for (unsigned i = 0; i < l->n; i++) {
		f = &l->v[i];
		if (f->id_len == m->build_id_len && !memcmp(f->id, m->build_id, f->id_len) &&
			!strcmp(f->path, m->path))
			return f;
	}
	TOOL_GROW(l->v, l->n, l->cap);
	f = &l->v[l->n++];
	memset(f, 0, sizeof(*f));
	f->path = tool_strdup(m->path);
	memcpy(f->id, m->build_id, sizeof(f->id));
	f->id_len = m->build_id_len;
	open_file(l, f, m);
	return f;
}

int lines_find(struct lines *l, const struct module *m, uint64_t pc, char *buf, size_t cap)
{
	const struct file *f = find_debug_file(l, m);
	const char *path, *dir;
	Dwfl_Line *line;
	int n, number = 0;

	if (f->error)
		return f->error;
	line = dwfl_module_getsrc(f->mod, pc - 1 - m->bias + f->bias);
	path = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	if (!path || number <= 0)
		return -ENOENT;
	dir = path[0] == '/' ? NULL : dwfl_line_comp_dir(line);
	n = snprintf(buf, cap, "%s%s%s:%d", dir ? dir : "", dir ? "/" : "", path, number);
	return n >= 0 && (size_t)n < cap ? 0 : -ENOBUFS;
}
