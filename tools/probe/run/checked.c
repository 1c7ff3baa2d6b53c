/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/run/checked.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"

#define FUNCTIONS_MAX 65536u

/* Returns the next field and moves *line after it. Returns "" if there is none. */
static char *read_next_field(char **line)
{
	char *p = *line, *tab = strchr(p, '\t');

	*line = tab ? tab + 1 : p + strlen(p);
	if (tab)
		*tab = 0;
	return p;
}

static void add_checked_function(struct checked *c, struct checked_process *p, char *line)
{
	char *name = read_next_field(&line), *lib = read_next_field(&line),
	     *state = read_next_field(&line), *hits = read_next_field(&line);
	char *where = read_next_field(&line), *note = read_next_field(&line);
	struct checked_function *f;
	enum checked_state s = strcmp(state, "ok") == 0	       ? CHECKED_OK
			       : strcmp(state, "skipped") == 0 ? CHECKED_SKIPPED
			       : strcmp(state, "refused") == 0 ? CHECKED_REFUSED
							       : CHECKED_MISSING;
	uint64_t n = strtoull(hits, NULL, 10);

	if (!*name)
		return;
	f = table_get(&c->functions, hash_str(0, name), hash_str(1, lib));
	if (!f)
		return;
	if (!f->name) {
		f->name = intern_add_text(name, strlen(name));
		f->lib = intern_add_text(lib, strlen(lib));
		f->where = tool_strdup("");
		f->note = tool_strdup("");
	}
	if (s > f->state)
		f->state = s;
	f->found |= *where != 0;
	f->hits += n;
	p->hits += n;
	if (*where && !*f->where) {
		free(f->where);
		f->where = tool_strdup(where);
	}
	if (*note && !*f->note) {
		free(f->note);
		f->note = tool_strdup(note);
	}
}

/* Parses "# libprobe 0.1.0 123 /usr/bin/python3". */
static bool parse_first_line(struct checked_process *p, const char *line)
{
	char version[32];
	int n = 0;

	*p = (struct checked_process){.rank = -1};
	if (sscanf(line, "# libprobe %31s %ld %n", version, &p->pid, &n) < 2)
		return false;
	p->version = tool_strdup(version);
	p->program = tool_strdup(n ? line + n : "");
	return true;
}

static void add_checked_note(struct checked *c, const char *text)
{
	for (unsigned i = 0; i < c->nnote; i++)
		if (strcmp(c->note[i], text) == 0)
			return;
	TOOL_GROW(c->note, c->nnote, c->notecap);
	c->note[c->nnote++] = tool_strdup(text);
}

/* Adds a fact. If it failed in one process and held in others, the failure is kept. */
static void add_checked_fact(struct checked *c, char *line)
{
	char *name = read_next_field(&line), *state = read_next_field(&line),
	     *versions = read_next_field(&line), *verified_by = read_next_field(&line),
	     *off = read_next_field(&line);
	struct checked_fact *f;
	unsigned i = 0;

	while (i < c->nfact && strcmp(c->fact[i].name, name))
		i++;
	if (i == c->nfact) {
		TOOL_GROW(c->fact, c->nfact, c->factcap);
		c->fact[c->nfact++] =
			(struct checked_fact){tool_strdup(name), tool_strdup(versions),
				tool_strdup(verified_by), tool_strdup(off), tool_strdup(state)};
		return;
	}
	f = &c->fact[i];
	if (strcmp(f->state, "failed") == 0 || strcmp(state, "unseen") == 0)
		return;
	free(f->state);
	f->state = tool_strdup(state);
}

static bool read_checked_file(struct checked *c, const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t cap = 0;
	struct checked_process p;
	bool ok = false;

	while (f && getline(&line, &cap, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (!ok) {
			ok = parse_first_line(&p, line);
			if (!ok)
				break;
			continue;
		}
		if (strncmp(line, "# note ", 7) == 0)
			add_checked_note(c, line + 7);
		else if (strncmp(line, "# layout ", 9) == 0)
			add_checked_fact(c, line + 9);
		else if (strncmp(line, "# record ", 9) == 0)
			p.told = sscanf(line + 9, "%" SCNu64 " %d", &p.record, &p.rank) == 2;
		else if (line[0] != '#')
			add_checked_function(c, &p, line);
	}
	if (f)
		fclose(f);
	free(line);
	if (!ok)
		return false;
	TOOL_GROW(c->process, c->n, c->cap);
	c->process[c->n++] = p;
	return true;
}

static int compare_pids(const void *x, const void *y)
{
	const struct checked_process *a = x, *b = y;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

void checked_read(struct checked *c, const char *dir)
{
	DIR *d = opendir(dir);

	*c = (struct checked){0};
	table_init(&c->functions, sizeof(struct checked_function), FUNCTIONS_MAX);
	for (struct dirent *e; d && (e = readdir(d));) {
		size_t n = strlen(e->d_name);
		char *path;

		if (n < 7 || strcmp(e->d_name + n - 6, ".check"))
			continue;
		path = tool_format("%s/%s", dir, e->d_name);
		c->unreadable += !read_checked_file(c, path);
		free(path);
	}
	if (d)
		closedir(d);
	if (c->n)
		qsort(c->process, c->n, sizeof(*c->process), compare_pids);
}

void checked_free(struct checked *c)
{
	for (uint32_t i = 0; i < c->functions.n; i++) {
		struct checked_function *f = table_at(&c->functions, i);

		free(f->where);
		free(f->note);
	}
	for (unsigned i = 0; i < c->n; i++) {
		free(c->process[i].program);
		free(c->process[i].version);
	}
	free(c->process);
	for (unsigned i = 0; i < c->nfact; i++) {
		free(c->fact[i].name);
		free(c->fact[i].versions);
		free(c->fact[i].verified_by);
		free(c->fact[i].off);
		free(c->fact[i].state);
	}
	free(c->fact);
	for (unsigned i = 0; i < c->nnote; i++)
		free(c->note[i]);
	free(c->note);
	table_free(&c->functions);
}

/* ---- exports ---- */

static int compare_strings(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static char **find_exported_symbols(Elf *e, unsigned *n)
{
	char **list = NULL;
	unsigned cap = 0;

	for (Elf_Scn *s = NULL; (s = elf_nextscn(e, s));) {
		GElf_Shdr sh;
		Elf_Data *data;
		GElf_Sym sym;

		if (!gelf_getshdr(s, &sh) || sh.sh_type != SHT_DYNSYM || !sh.sh_entsize ||
			!(data = elf_getdata(s, NULL)))
			continue;
		for (size_t i = 1; i < sh.sh_size / sh.sh_entsize; i++) {
			const char *name;

			if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF ||
				GELF_ST_TYPE(sym.st_info) != STT_FUNC)
				continue;
			name = elf_strptr(e, sh.sh_link, sym.st_name);
			if (!name || !*name)
				continue;
			TOOL_GROW(list, *n, cap);
			list[(*n)++] = tool_strdup(name);
		}
	}
	if (*n)
		qsort(list, *n, sizeof(*list), compare_strings);
	return list;
}

char **read_library_exports(const char *library, unsigned *n)
{
	int fd = io_open_regular(AT_FDCWD, library, O_RDONLY, 0);
	char **list = NULL;
	Elf *e;

	*n = 0;
	if (fd < 0) {
		tool_error("%s: %s", library, io_error_text(fd));
		return NULL;
	}
	elf_version(EV_CURRENT);
	e = elf_begin(fd, ELF_C_READ, NULL);
	if (e)
		list = find_exported_symbols(e, n);
	if (!list)
		tool_error("%s: exports no functions", library);
	if (e)
		elf_end(e);
	close(fd);
	return list;
}
