/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/loaded/elfsym.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "no machine number for this processor"
#endif

#define DYN_MAX 4096 /* maximum number of entries of the dynamic section that are read */

/*
 * Returns n items of `size` bytes at file offset `at`, or NULL if they are not inside the file or
 * not aligned.
 */
static const void *get_items_at_offset(
	const struct elf_file *f, uint64_t at, uint64_t n, size_t size, size_t align)
{
	if (at > f->size || n > (f->size - at) / size || ((uintptr_t)f->map + at) % align)
		return NULL;
	return f->map + at;
}

/*
 * Returns the file offset of an address, UINT64_MAX if no segment has it in the file. *room:
 * bytes from this offset to the end of the segment's part in the file.
 */
static uint64_t get_offset_of_address(const struct elf_file *f, uint64_t addr, uint64_t *space)
{
	for (unsigned i = 0; i < f->nphdr; i++) {
		const ElfW(Phdr) *p = &f->phdr[i];
		uint64_t in = addr - p->p_vaddr;

		if (p->p_type != PT_LOAD || addr < p->p_vaddr || in >= p->p_filesz ||
			p->p_offset > f->size)
			continue;
		if (in >= f->size - p->p_offset)
			continue;
		*space = p->p_filesz - in;
		if (*space > f->size - p->p_offset - in)
			*space = f->size - p->p_offset - in;
		return p->p_offset + in;
	}
	return UINT64_MAX;
}

static const void *get_items_at_address(
	const struct elf_file *f, uint64_t addr, uint64_t n, size_t size, size_t align)
{
	uint64_t space = 0, at = get_offset_of_address(f, addr, &space);

	if (at == UINT64_MAX || n > space / size)
		return NULL;
	return get_items_at_offset(f, at, n, size, align);
}

static const char *get_elf_string(const struct elf_file *f, uint64_t at)
{
	return f->str && at < f->strsz ? f->str + at : NULL;
}

/* ---- number of symbols ---- */

/*
 * Finds the number of symbols from the GNU hash table: the end of the longest chain. Returns
 * false if the table is damaged.
 */
static bool read_gnu_count(struct elf_file *f, uint64_t addr)
{
	uint64_t space = 0, at = get_offset_of_address(f, addr, &space);
	const uint32_t *t = at == UINT64_MAX ? NULL : get_items_at_offset(f, at, 4, 4, 8);
	uint64_t words = space / 4, last = 0, bucket, chain;

	if (!t || words < 4 || !t[0] || !t[2] || (t[2] & (t[2] - 1)))
		return false;
	bucket = 4 + (uint64_t)t[2] * (sizeof(ElfW(Addr)) / 4);
	chain = bucket + t[0];
	if (chain > words)
		return false;
	for (uint32_t i = 0; i < t[0]; i++)
		if (t[bucket + i] > last)
			last = t[bucket + i];
	f->first = t[1];
	f->nsym = t[1];
	if (last >= t[1]) {
		while (chain + (last - t[1]) < words && !(t[chain + (last - t[1])] & 1))
			last++;
		if (chain + (last - t[1]) >= words || last >= UINT32_MAX)
			return false;
		f->nsym = (uint32_t)last + 1;
	}
	f->gnu_hash = t;
	f->gnu_words = words;
	return true;
}

static bool read_sysv_count(struct elf_file *f, uint64_t addr)
{
	const uint32_t *t = get_items_at_address(f, addr, 2, 4, 4);

	if (!t || !get_items_at_address(f, addr, 2 + (uint64_t)t[0] + t[1], 4, 4))
		return false;
	f->first = 1;
	f->nsym = t[1];
	return true;
}

/* ---- the dynamic section ---- */

struct tables {
	uint64_t sym, str, strsz, gnu, sysv, versym;
	uint64_t soname, rpath, runpath;
};

static void read_tags(struct elf_file *f, struct tables *t)
{
	for (size_t i = 0; i < f->ndyn; i++) {
		uint64_t v = f->dyn[i].d_un.d_val;

		switch (f->dyn[i].d_tag) {
		case DT_SYMTAB:
			t->sym = v;
			break;
		case DT_STRTAB:
			t->str = v;
			break;
		case DT_STRSZ:
			t->strsz = v;
			break;
		case DT_GNU_HASH:
			t->gnu = v;
			break;
		case DT_HASH:
			t->sysv = v;
			break;
		case DT_VERSYM:
			t->versym = v;
			break;
		case DT_SONAME:
			t->soname = v;
			break;
		case DT_RPATH:
			t->rpath = v;
			break;
		case DT_RUNPATH:
			t->runpath = v;
			break;
		case DT_FLAGS_1:
			f->no_default = v & DF_1_NODEFLIB;
			break;
		}
	}
}

static void read_strings(struct elf_file *f, const struct tables *t)
{
	uint64_t space = 0, at = get_offset_of_address(f, t->str, &space);

	if (at == UINT64_MAX)
		return;
	f->str = (const char *)f->map + at;
	f->strsz = t->strsz < space ? t->strsz : space;
	/* The last string must end inside the table. */
	while (f->strsz && f->str[f->strsz - 1])
		f->strsz--;
	if (!f->strsz)
		f->str = NULL;
	f->soname = t->soname ? get_elf_string(f, t->soname) : NULL;
	f->rpath = t->rpath ? get_elf_string(f, t->rpath) : NULL;
	f->runpath = t->runpath ? get_elf_string(f, t->runpath) : NULL;
}

static bool read_dynamic_symbols(struct elf_file *f, const struct tables *t)
{
	if (!(t->gnu && read_gnu_count(f, t->gnu)) && !(t->sysv && read_sysv_count(f, t->sysv)))
		return false;
	f->sym = get_items_at_address(f, t->sym, f->nsym, sizeof(*f->sym), sizeof(ElfW(Addr)));
	if (t->versym)
		f->versym = get_items_at_address(f, t->versym, f->nsym, sizeof(*f->versym), 2);
	return f->sym;
}

static void read_dynamic(struct elf_file *f)
{
	struct tables t = {0};

	for (unsigned i = 0; i < f->nphdr; i++) {
		const ElfW(Phdr) *p = &f->phdr[i];
		uint64_t n = p->p_filesz / sizeof(*f->dyn);

		if (p->p_type != PT_DYNAMIC)
			continue;
		f->dyn =
			get_items_at_offset(f, p->p_offset, n, sizeof(*f->dyn), sizeof(ElfW(Addr)));
		f->ndyn = !f->dyn ? 0 : n < DYN_MAX ? n : DYN_MAX;
		break;
	}
	for (size_t i = 0; i < f->ndyn; i++)
		if (f->dyn[i].d_tag == DT_NULL)
			f->ndyn = i;
	read_tags(f, &t);
	read_strings(f, &t);
	if (!f->str || !read_dynamic_symbols(f, &t)) {
		f->sym = NULL;
		f->nsym = f->first = 0;
		f->gnu_hash = NULL;
		f->versym = NULL;
	}
}

int elf_file_open_memory(struct elf_file *f, const void *bytes, size_t size)
{
	*f = (struct elf_file){.map = bytes, .size = size};

	const ElfW(Ehdr) *e = get_items_at_offset(f, 0, 1, sizeof(*e), sizeof(ElfW(Addr)));

	if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64 ||
		e->e_ident[EI_DATA] != ELFDATA2LSB || e->e_machine != MACHINE ||
		(e->e_type != ET_DYN && e->e_type != ET_EXEC) || e->e_phentsize != sizeof(*f->phdr))
		return -ENOEXEC;
	f->phdr = get_items_at_offset(
		f, e->e_phoff, e->e_phnum, sizeof(*f->phdr), sizeof(ElfW(Addr)));
	if (!f->phdr)
		return -ENOEXEC;
	f->nphdr = e->e_phnum;
	read_dynamic(f);
	return 0;
}

/*
 * Valgrind (3.19) assumes that every mapping of an ELF file is the loader's, and ends the program when two overlapping ones
 * follow each other. Under Valgrind the file is read instead.
 */
static void *map_elf_file(int fd, size_t size)
{
	const char *preload = getenv("LD_PRELOAD");
	void *map;

	if (!preload || !strstr(preload, "/vgpreload_"))
		return mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return map;
	for (size_t at = 0; at < size;) {
		ssize_t n = pread(fd, (char *)map + at, size - at, (off_t)at);

		if (n <= 0) {
			munmap(map, size);
			errno = n ? errno : ENOEXEC;
			return MAP_FAILED;
		}
		at += (size_t)n;
	}
	return map;
}

int elf_file_open(struct elf_file *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = 0;
	struct stat st;
	void *map;

	*f = (struct elf_file){0};
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(ElfW(Ehdr)))
		err = -ENOEXEC;
	map = err ? MAP_FAILED : map_elf_file(fd, (size_t)st.st_size);
	if (!err && map == MAP_FAILED)
		err = -errno;
	close(fd);
	if (err)
		return err;
	err = elf_file_open_memory(f, map, (size_t)st.st_size);
	if (err) {
		munmap(map, (size_t)st.st_size);
		*f = (struct elf_file){0};
		return err;
	}
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return 0;
}

void elf_file_close(struct elf_file *f)
{
	if (f->ino)
		munmap((void *)(uintptr_t)f->map, f->size);
	*f = (struct elf_file){0};
}

const char *elf_file_needed(const struct elf_file *f, size_t *at)
{
	while (*at < f->ndyn) {
		const ElfW(Dyn) *d = &f->dyn[(*at)++];
		const char *name = d->d_tag == DT_NEEDED ? get_elf_string(f, d->d_un.d_val) : NULL;

		if (name && *name)
			return name;
	}
	return NULL;
}

static const char *exported_function_name(const struct elf_file *f, uint32_t i)
{
	const ElfW(Sym) *s = &f->sym[i];
	int type = ELF64_ST_TYPE(s->st_info), bind = ELF64_ST_BIND(s->st_info);
	int visible = ELF64_ST_VISIBILITY(s->st_other);

	if (s->st_shndx == SHN_UNDEF || !s->st_value ||
		(type != STT_FUNC && type != STT_GNU_IFUNC) ||
		(bind != STB_GLOBAL && bind != STB_WEAK) ||
		(visible != STV_DEFAULT && visible != STV_PROTECTED))
		return NULL;
	return get_elf_string(f, s->st_name);
}

void elf_file_handle_functions(const struct elf_file *f,
	bool (*visit)(const struct elf_function *fn, void *arg), void *arg)
{
	for (uint32_t i = f->first; i < f->nsym; i++) {
		struct elf_function fn = {.name = exported_function_name(f, i),
			.versioned = f->versym && (f->versym[i] & 0x7fff) >= 2,
			.old = f->versym && f->versym[i] & 0x8000};

		if (fn.name && !visit(&fn, arg))
			return;
	}
}

void elf_file_handle_weak_names(
	const struct elf_file *f, bool (*visit)(const char *name, void *arg), void *arg)
{
	for (uint32_t i = 0; i < f->nsym; i++) {
		const ElfW(Sym) *s = &f->sym[i];
		const char *name;

		if (s->st_shndx != SHN_UNDEF || ELF64_ST_BIND(s->st_info) != STB_WEAK)
			continue;
		name = get_elf_string(f, s->st_name);
		if (name && !visit(name, arg))
			return;
	}
}

struct wanted {
	const char *name;
	bool found;
};

static bool match_wanted_name(const struct elf_function *fn, void *arg)
{
	struct wanted *w = arg;

	w->found = strcmp(fn->name, w->name) == 0;
	return !w->found;
}

bool elf_file_has_function(const struct elf_file *f, const char *name)
{
	const uint32_t *t = f->gnu_hash;

	if (!t) {
		struct wanted w = {name, false};

		elf_file_handle_functions(f, match_wanted_name, &w);
		return w.found;
	}

	/*
	 * read_gnu_count() has checked that bloom filter and buckets are inside the file, and that the
	 * longest chain ends inside it.
	 */
	const unsigned bits = 8 * sizeof(ElfW(Addr));
	const ElfW(Addr) *bloom = (const void *)(t + 4);
	uint64_t bucket = 4 + (uint64_t)t[2] * (sizeof(ElfW(Addr)) / 4), chain = bucket + t[0];
	uint32_t h = compute_gnu_hash(name);
	ElfW(Addr) w = bloom[h / bits % t[2]];

	if (!(w >> h % bits & w >> (h >> (t[3] & 31)) % bits & 1))
		return false;
	for (uint64_t i = t[bucket + h % t[0]]; i >= t[1] && i < f->nsym; i++) {
		uint32_t c = t[chain + (i - t[1])];

		if ((c | 1) == (h | 1)) {
			const char *s = exported_function_name(f, (uint32_t)i);

			if (s && strcmp(s, name) == 0)
				return true;
		}
		if (c & 1)
			break;
	}
	return false;
}
