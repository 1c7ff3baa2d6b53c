/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/loaded/elf_note.h"
#include "elf/elf_read.h"

#define CHUNK 2048 /* symbols read at once */
#define SECTIONS_MAX 100000u
#define SYMBOLS_MAX ELF_SYMBOL_INDEX
#define NOTES_MAX 4096u /* bytes of a note section that are read */
#define TEXTS 32 /* maximum number of executable sections */

struct text {
	uint64_t lo, hi;
};

/* Data from the section headers. */
struct outline {
	Elf64_Shdr symtab, dynsym;
	uint32_t symtab_at, dynsym_at; /* their indices in the section table; 0: none */
	struct text text[TEXTS];
	int texts;
	uint8_t id[BUILD_ID_MAX], id_len;
};

static void read_note(int fd, const Elf64_Shdr *sh, struct outline *o)
{
	uint64_t notes[NOTES_MAX / sizeof(uint64_t)];
	size_t len = sh->sh_size < sizeof(notes) ? (size_t)sh->sh_size : sizeof(notes);

	if (!o->id_len && !elf_read(fd, sh->sh_offset, notes, len))
		o->id_len = elf_note_copy_build_id(notes, len, sh->sh_addralign, o->id);
}

static void read_section_outline(int fd, const Elf64_Shdr *sh, uint32_t i, struct outline *o)
{
	if (sh->sh_flags & SHF_EXECINSTR && o->texts < TEXTS &&
		sh->sh_addr + sh->sh_size > sh->sh_addr) {
		o->text[o->texts].lo = sh->sh_addr;
		o->text[o->texts++].hi = sh->sh_addr + sh->sh_size;
	}
	switch (sh->sh_type) {
	case SHT_NOTE:
		read_note(fd, sh, o);
		break;
	case SHT_SYMTAB:
		o->symtab = *sh;
		o->symtab_at = i;
		break;
	case SHT_DYNSYM:
		o->dynsym = *sh;
		o->dynsym_at = i;
		break;
	}
}

static int read_header(int fd, Elf64_Ehdr *eh, uint64_t *sections)
{
	Elf64_Shdr first;
	int rc = elf_read(fd, 0, eh, sizeof(*eh));

	if (rc)
		return rc;
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) || eh->e_ident[EI_CLASS] != ELFCLASS64 ||
		eh->e_ident[EI_DATA] != ELFDATA2LSB || eh->e_shentsize != sizeof(Elf64_Shdr) ||
		!eh->e_shoff)
		return -ENOEXEC;
	*sections = eh->e_shnum;
	if (!*sections) {
		rc = elf_read(fd, eh->e_shoff, &first, sizeof(first));
		if (rc)
			return rc;
		*sections = first.sh_size;
	}
	return *sections <= SECTIONS_MAX ? 0 : -ENOEXEC;
}

static int read_outline(int fd, struct outline *o)
{
	Elf64_Shdr sh[16];
	Elf64_Ehdr eh;
	uint64_t sections, i = 0;
	int rc = read_header(fd, &eh, &sections);

	memset(o, 0, sizeof(*o));
	while (!rc && i < sections) {
		uint64_t n = sections - i < 16 ? sections - i : 16;

		rc = elf_read(fd, eh.e_shoff + i * sizeof(sh[0]), sh, (size_t)n * sizeof(sh[0]));
		for (uint64_t k = 0; !rc && k < n; k++)
			read_section_outline(fd, &sh[k], (uint32_t)(i + k), o);
		i += n;
	}
	return rc;
}

static const struct text *find_text_section(const struct outline *o, uint64_t a)
{
	for (int i = 0; i < o->texts; i++)
		if (a >= o->text[i].lo && a < o->text[i].hi)
			return &o->text[i];
	return NULL;
}

static bool is_function(const struct outline *o, const Elf64_Sym *sym)
{
	int type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || !sym->st_name)
		return false;
	/*
	 * Accepts labels of assembly, except local ones: these are marks of the assembler ($x)
	 * and branch targets.
	 */
	if (type == STT_NOTYPE && ELF64_ST_BIND(sym->st_info) != STB_LOCAL)
		return find_text_section(o, sym->st_value);
	return (type == STT_FUNC || type == STT_GNU_IFUNC) && find_text_section(o, sym->st_value);
}

struct fill {
	const struct outline *o;
	struct elf_symbols *s;
	uint64_t lowest, count;
	uint32_t at;
};

/*
 * Adds a symbol. Addresses are stored in 32 bits; symbols farther from the first function are
 * skipped.
 */
static void add_elf_symbol(struct fill *f, const Elf64_Sym *sym, uint32_t index)
{
	uint64_t off = sym->st_value - f->s->base;
	struct elf_symbol *e = &f->s->v[f->at];

	if (f->at == f->s->n || off > UINT32_MAX)
		return;
	e->off = (uint32_t)off;
	e->size = sym->st_size > UINT32_MAX - e->off ? UINT32_MAX - e->off : (uint32_t)sym->st_size;
	e->index = index;
	if (ELF64_ST_BIND(sym->st_info) == STB_LOCAL)
		e->index |= ELF_SYMBOL_LOCAL;
	if (!sym->st_size)
		e->index |= ELF_SYMBOL_GUESSED;
	f->at++;
}

static int read_each_function(int fd, const Elf64_Shdr *sh, struct fill *f)
{
	Elf64_Sym *buf = malloc(CHUNK * sizeof(*buf));
	uint64_t n = sh->sh_size / sizeof(*buf), i = 0;
	int rc = buf ? 0 : -ENOMEM;

	if (n > SYMBOLS_MAX)
		n = SYMBOLS_MAX;
	while (!rc && i < n) {
		uint64_t m = n - i < CHUNK ? n - i : CHUNK;

		rc = elf_read(fd, sh->sh_offset + i * sizeof(*buf), buf, (size_t)m * sizeof(*buf));
		for (uint64_t k = 0; !rc && k < m; k++) {
			if (!is_function(f->o, &buf[k]))
				continue;
			f->count++;
			if (buf[k].st_value < f->lowest)
				f->lowest = buf[k].st_value;
			if (f->s->v)
				add_elf_symbol(f, &buf[k], (uint32_t)(i + k));
		}
		i += m;
	}
	free(buf);
	return rc;
}

/* Heap sort: in place, and never slow, whatever the order of the input. */
static void sift_symbols(struct elf_symbol *v, uint32_t root, uint32_t n)
{
	struct elf_symbol e = v[root];

	for (;;) {
		uint64_t child = 2 * (uint64_t)root + 1;

		if (child >= n)
			break;
		if (child + 1 < n && v[child + 1].off > v[child].off)
			child++;
		if (v[child].off <= e.off)
			break;
		v[root] = v[child];
		root = (uint32_t)child;
	}
	v[root] = e;
}

static void sort_symbols(struct elf_symbol *v, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift_symbols(v, i, n);
	for (uint32_t i = n; i-- > 1;) {
		struct elf_symbol e = v[0];

		v[0] = v[i];
		v[i] = e;
		sift_symbols(v, 0, i);
	}
}

/* Assumes that a function without a size extends to the next one, but not beyond its section. */
static void set_missing_sizes(struct elf_symbols *s, const struct outline *o)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = s->n; i-- > 0;) {
		struct elf_symbol *e = &s->v[i];
		uint64_t start = s->base + e->off, end;

		if (i + 1 < s->n && s->v[i + 1].off != e->off)
			next = s->base + s->v[i + 1].off;
		if (e->index & ELF_SYMBOL_GUESSED) {
			const struct text *t = find_text_section(o, start);

			end = t && t->hi < next ? t->hi : next;
			e->size = end - start > UINT32_MAX ? UINT32_MAX : (uint32_t)(end - start);
		}
	}
}

static int load_symbol_section(int fd, const struct outline *o, const Elf64_Shdr *sh,
	size_t max_bytes, struct elf_symbols *s)
{
	struct fill f = {.o = o, .s = s, .lowest = UINT64_MAX};
	Elf64_Shdr strings;
	Elf64_Ehdr eh;
	uint64_t sections;
	void *p;
	int rc = read_header(fd, &eh, &sections);

	if (rc)
		return rc;
	if (sh->sh_entsize != sizeof(Elf64_Sym) || sh->sh_link >= sections)
		return -ENOEXEC;
	rc = elf_read(fd, eh.e_shoff + (uint64_t)sh->sh_link * sizeof(strings), &strings,
		sizeof(strings));
	if (!rc && strings.sh_type != SHT_STRTAB)
		rc = -ENOEXEC;
	if (!rc)
		rc = read_each_function(fd, sh, &f);
	if (!rc && !f.count)
		rc = -ENOEXEC;
	if (!rc && f.count > max_bytes / sizeof(*s->v))
		rc = -EFBIG;
	if (rc)
		return rc;
	s->bytes = (size_t)f.count * sizeof(*s->v);
	/* Not in the job's heap, which would become fragmented. */
	p = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	s->v = p;
	s->n = (uint32_t)f.count;
	s->base = f.lowest;
	s->table = sh->sh_offset;
	s->strings = strings.sh_offset;
	s->strings_size = strings.sh_size;
	rc = read_each_function(fd, sh, &f);
	s->n = f.at; /* fewer if the file has just changed */
	sort_symbols(s->v, s->n);
	set_missing_sizes(s, o);
	return rc;
}

int elf_symbols_load(struct elf_symbols *s, const char *path, const uint8_t *id, uint8_t id_len,
	size_t max_bytes)
{
	struct outline o;
	struct stat st;
	int fd = elf_open(path, &st), rc;

	memset(s, 0, sizeof(*s));
	if (fd < 0)
		return fd;
	rc = read_outline(fd, &o);
	if (!rc && (o.id_len != id_len || memcmp(o.id, id, id_len)))
		rc = -ESTALE;
	if (!rc) {
		rc = o.symtab_at ? load_symbol_section(fd, &o, &o.symtab, max_bytes, s) : -ENOEXEC;
		s->full = !rc;
		if (rc && o.dynsym_at) {
			elf_symbols_free(s);
			rc = load_symbol_section(fd, &o, &o.dynsym, max_bytes, s);
		}
	}
	close(fd);
	if (!rc && strlen(path) >= sizeof(s->path))
		rc = -ENAMETOOLONG;
	if (rc) {
		elf_symbols_free(s);
		return rc;
	}
	strcpy(s->path, path);
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	s->file_size = st.st_size;
	s->mtime = st.st_mtim;
	return 0;
}

void elf_symbols_free(struct elf_symbols *s)
{
	if (s->v)
		munmap(s->v, s->bytes);
	s->v = NULL;
	s->n = 0;
	s->bytes = 0;
}
