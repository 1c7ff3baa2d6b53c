/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/where.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "elf/demangle/demangle.h"
#include "journal/columns.h"
#include "journal/journal.h"
#include "tools/lib/tool.h"

struct where_symbol {
	char *name;
	uint64_t at, bytes;
};

void where_init(struct where *w, const struct gather *g)
{
	*w = (struct where){.g = g, .read = tool_alloc(g->folders.n * sizeof(bool))};
}

void where_free(struct where *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		for (unsigned k = 0; k < w->file[i].nsymbol; k++)
			free(w->file[i].symbol[k].name);
		free(w->file[i].symbol);
		free(w->file[i].name);
	}
	free(w->file);
	free(w->read);
	if (w->lines)
		lines_free(w->lines);
}

/* ---- the file of a module ---- */

static const char *where_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static struct where_file *find_where_file(const struct where *w, const char *name, size_t n)
{
	for (unsigned i = 0; i < w->n; i++)
		if (strlen(w->file[i].name) == n && memcmp(w->file[i].name, name, n) == 0)
			return &w->file[i];
	return NULL;
}

/* id: in hexadecimal; "" if not known. */
static void add_file(struct where *w, const char *path, const char *id)
{
	const char *name = where_base_name(path);
	struct where_file *f;

	if (!*name || strlen(path) >= MODULE_PATH_MAX || find_where_file(w, name, strlen(name)))
		return;
	TOOL_GROW(w->file, w->n, w->cap);
	f = &w->file[w->n++];
	*f = (struct where_file){.name = tool_strdup(name), .module = {.hi = UINT64_MAX}};
	strcpy(f->module.path, path);
	for (unsigned b; f->module.build_id_len < BUILD_ID_MAX && id[0] &&
			 sscanf(id, "%2x", &b) == 1 && id[1];
		id += 2)
		f->module.build_id[f->module.build_id_len++] = (uint8_t)b;
}

/* Reads modules.csv. */
static void from_table(struct where *w, const char *dir)
{
	char *path = tool_format("%s/modules.csv", dir);
	struct csv c;

	if (csv_open(&c, path, UINT64_MAX, true, 65536) == 0) {
		int col[MODULE_COLUMNS];

		csv_find_columns(&c, MODULES_HEADER, col);
		while (csv_read_row(&c)) {
			char *p = csv_copy_field(csv_get_field(&c, col[MODULE_COL_path]));
			char *b = csv_copy_field(csv_get_field(&c, col[MODULE_COL_build_id]));

			add_file(w, p, b);
			free(p);
			free(b);
		}
	}
	csv_close(&c);
	free(path);
}

static void from_journal(struct where *w, const char *path)
{
	struct journal j;
	const struct dict_entry *e;
	uint64_t at = 0;
	bool gap;
	char id[64];

	if (journal_open(&j, AT_FDCWD, path, true))
		return;
	while ((e = journal_dict_read_next(&j, &at, &gap))) {
		const char *text = (const char *)(e + 1);

		if (e->kind == DICT_MODULE && sscanf(text, "%*s %*s %*s %63s", id) == 1)
			add_file(w, text + strlen(text) + 1, strcmp(id, "-") ? id : "");
	}
	journal_close(&j);
}

/* Returns the build id of the file as text, or "". */
static char *build_id(const char *path)
{
	int fd = io_open_regular(AT_FDCWD, path, O_RDONLY, 0);
	char *text = tool_alloc(2 * BUILD_ID_MAX + 1);
	const unsigned char *id;
	Elf *e;

	if (fd < 0)
		return text;
	elf_version(EV_CURRENT);
	e = elf_begin(fd, ELF_C_READ, NULL);

	ssize_t n = e ? dwelf_elf_gnu_build_id(e, (const void **)&id) : 0;

	for (ssize_t i = 0; i < n && i < BUILD_ID_MAX; i++)
		sprintf(text + 2 * i, "%02x", id[i]);
	if (e)
		elf_end(e);
	close(fd);
	return text;
}

/*
 * Adds the program itself. No build id shows whether its file has changed, so the file must be
 * older than the run.
 */
static void from_command_line(struct where *w, const struct rank_dir *d)
{
	const char *program = d->meta.program;
	char *copy = tool_strndup(program, strcspn(program, " ")), *full = realpath(copy, NULL),
	     *id;
	struct stat st;

	if (full && copy[0] == '/' && stat(full, &st) == 0 &&
		(uint64_t)st.st_mtime * 1000000000u < d->start_ns) {
		id = build_id(full);
		add_file(w, full, id);
		free(id);
	}
	free(full);
	free(copy);
}

static void learn_modules_of_rank(struct where *w, uint32_t rank)
{
	const struct rank_dir *d = &w->g->folders.dir[rank];

	if (w->read[rank])
		return;
	w->read[rank] = true;
	from_table(w, d->path);
	if (d->journal)
		from_journal(w, d->journal);
	from_command_line(w, d);
}

/* ---- functions in the file ---- */

static int by_symbol_name(const void *x, const void *y)
{
	const struct where_symbol *a = x, *b = y;
	int c = strcmp(a->name, b->name);

	return c ? c : a->at < b->at ? -1 : a->at > b->at;
}

static void read_where_symbols(struct where_file *f, Elf *e, GElf_Word type)
{
	unsigned cap = f->nsymbol;
	char plain[4096];

	for (Elf_Scn *s = NULL; (s = elf_nextscn(e, s));) {
		GElf_Shdr sh;
		GElf_Sym sym;
		Elf_Data *data;

		if (!gelf_getshdr(s, &sh) || sh.sh_type != type || !sh.sh_entsize ||
			!(data = elf_getdata(s, NULL)))
			continue;
		for (size_t i = 1; i < sh.sh_size / sh.sh_entsize && i < INT32_MAX; i++) {
			const char *name;

			if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF)
				continue;
			name = GELF_ST_TYPE(sym.st_info) == STT_FUNC
				       ? elf_strptr(e, sh.sh_link, sym.st_name)
				       : NULL;
			if (!name || !*name)
				continue;
			TOOL_GROW(f->symbol, f->nsymbol, cap);
			f->symbol[f->nsymbol++] = (struct where_symbol){
				tool_strdup(format_frame_symbol(name, plain, sizeof(plain)) > 0
						    ? plain
						    : name),
				sym.st_value, sym.st_size};
		}
	}
}

static void look_at_file(struct where_file *f)
{
	int fd = io_open_regular(AT_FDCWD, f->module.path, O_RDONLY, 0);
	Elf *e;

	f->looked = true;
	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	e = elf_begin(fd, ELF_C_READ, NULL);
	if (e) {
		read_where_symbols(f, e, SHT_SYMTAB);
		if (!f->nsymbol)
			read_where_symbols(f, e, SHT_DYNSYM);
		elf_end(e);
	}
	close(fd);
	if (f->nsymbol)
		qsort(f->symbol, f->nsymbol, sizeof(*f->symbol), by_symbol_name);
}

#define STARTS_MAX 32

/*
 * Finds the starts of the functions with this name that are large enough: static functions,
 * overloads and instances of a template may share it. Returns their number, or 0 if there are too
 * many to decide.
 */
static unsigned function_starts_of(
	const struct where_file *f, const char *name, uint64_t offset, uint64_t start[STARTS_MAX])
{
	unsigned lo = 0, hi = f->nsymbol, found = 0;

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (strcmp(f->symbol[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < f->nsymbol && strcmp(f->symbol[lo].name, name) == 0; lo++) {
		const struct where_symbol *s = &f->symbol[lo];

		if ((s->bytes && offset > s->bytes) || (found && s->at == start[found - 1]))
			continue;
		if (found == STARTS_MAX)
			return 0;
		start[found++] = s->at;
	}
	return found;
}

/* Reads the `n` bytes of the file before an address. */
static bool read_code_before(int fd, uint64_t address, uint8_t *code, size_t n)
{
	Elf *e = elf_begin(fd, ELF_C_READ, NULL);
	size_t count = 0;
	bool found = false;

	if (e)
		elf_getphdrnum(e, &count);
	for (size_t i = 0; i < count && !found; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(e, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X &&
			address >= p.p_vaddr + n && address - p.p_vaddr <= p.p_filesz)
			found = pread(fd, code, n, (off_t)(p.p_offset + address - n - p.p_vaddr)) ==
				(ssize_t)n;
	}
	if (e)
		elf_end(e);
	return found;
}

/* Returns false if no call instruction ends at the address, so that it is not a return address. */
static bool follows_call(const char *path, uint64_t address)
{
	enum { LONGEST = 7 };
	uint8_t code[LONGEST];
	int fd = io_open_regular(AT_FDCWD, path, O_RDONLY, 0);
	bool read = fd >= 0 && read_code_before(fd, address, code, LONGEST), call = !read;

	if (fd >= 0)
		close(fd);
#if defined(__x86_64__)
	call |= read && code[LONGEST - 5] == 0xe8;
	/* A call through a register or memory: ff /2, 2 to 7 bytes. */
	for (int n = 2; read && n <= LONGEST; n++)
		call |= code[LONGEST - n] == 0xff && (code[LONGEST - n + 1] >> 3 & 7) == 2;
#elif defined(__aarch64__)
	uint32_t word;

	memcpy(&word, code + LONGEST - 4, 4);
	call |= read && ((word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000);
#else
	call = true;
#endif
	return call;
}

/*
 * Sets the line of the return address at an offset from the start of function `name`; "" if
 * functions with this name differ.
 */
static void find_function_line(struct where *w, struct where_file *f, const char *name,
	uint64_t offset, char *buf, size_t cap)
{
	uint64_t start[STARTS_MAX];
	unsigned n = function_starts_of(f, name, offset, start);
	char *first = NULL;

	for (unsigned i = 0; i < n; i++) {
		if (n > 1 && !follows_call(f->module.path, start[i] + offset))
			continue;
		if (lines_find(w->lines, &f->module, start[i] + offset, buf, cap) < 0)
			buf[0] = 0;
		if (first && strcmp(first, buf)) {
			buf[0] = 0;
			break;
		}
		if (!first)
			first = tool_strdup(buf);
	}
	free(first);
}

const char *where_find(
	struct where *w, uint32_t rank, const char *frame, size_t n, char *buf, size_t cap)
{
	char *text = tool_strndup(frame, n), *bang = strchr(text, '!'), *plus = strrchr(text, '+'),
	     *end;
	struct where_file *f = NULL;
	uint64_t offset = 0;

	buf[0] = 0;
	learn_modules_of_rank(w, rank);
	if (plus && (!bang || bang < plus)) {
		*plus = 0;
		offset = strtoull(plus + 1, &end, 16);
		f = *end ? NULL
			 : find_where_file(w, text, bang ? (size_t)(bang - text) : strlen(text));
	}
	if (f && !f->looked)
		look_at_file(f);
	if (f && !w->lines)
		w->lines = lines_open();
	if (f && bang)
		find_function_line(w, f, bang + 1, offset, buf, cap);
	else if (f && lines_find(w->lines, &f->module, offset, buf, cap) < 0)
		buf[0] = 0;
	free(text);
	return buf;
}
