/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/stubs/stub_elf.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "elf/loaded/elfsym.h"

#define ENTRY_SYMBOL "probe_stub_entry"
#define FIRST 2 /* symbols 0 (none) and 1 (ENTRY_SYMBOL, undefined) are not in the hash table */
#define PHDRS 5
#define DYNS 17
#define VERSION_NAME "LIBPROBE"
#define VERSIONED_HIDDEN 0x8002 /* see stub_elf.h */
#define VERSION_BASE 1
#define HASH_SHIFT 26

struct machine {
	uint64_t page; /* largest page size of kernels for this machine */
	uint32_t relative, absolute; /* relocation types */
	void (*code)(uint8_t *out, uint64_t at, uint64_t entry);
};

static const struct machine x86_64 = {0x1000, R_X86_64_RELATIVE, R_X86_64_64, stub_code_x86_64};
static const struct machine aarch64 = {
	0x10000, R_AARCH64_RELATIVE, R_AARCH64_ABS64, stub_code_aarch64};

/* A function of the object, in the order of the hash table. */
struct item {
	uint32_t hash, bucket, name; /* name: index */
};

/* Offsets in the image, which are also its addresses. */
struct layout {
	uint64_t hash, sym, rela, versym, verdef, str, readable, text, text_end, data, entries, end;
	uint64_t strsz;
	uint32_t n, buckets, words;
};

int stub_elf_machine(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#endif
}

static uint64_t align_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

static uint32_t power_of_two(uint32_t v)
{
	uint32_t p = 1;

	while (p < v)
		p *= 2;
	return p;
}

static void lay_out(struct layout *l, const struct machine *m, const struct stub_name *name,
	uint32_t n, const char *needed)
{
	l->n = n;
	l->buckets = n / 2 + 1;
	l->words = power_of_two(n / 8 + 1);
	l->strsz = 1 + sizeof(ENTRY_SYMBOL) + sizeof(VERSION_NAME) + sizeof(STUB_SONAME) +
		   (needed ? strlen(needed) + 1 : 0);
	for (uint32_t i = 0; i < n; i++)
		l->strsz += strlen(name[i].text) + 1;
	l->hash = align_up(sizeof(Elf64_Ehdr) + PHDRS * sizeof(Elf64_Phdr), 8);
	l->sym =
		align_up(l->hash + 16 + 8 * (uint64_t)l->words + 4 * ((uint64_t)l->buckets + n), 8);
	l->rela = l->sym + (FIRST + (uint64_t)n) * sizeof(Elf64_Sym);
	l->versym = l->rela + 2 * (uint64_t)n * sizeof(Elf64_Rela);
	l->verdef = align_up(l->versym + (FIRST + (uint64_t)n) * sizeof(Elf64_Half), 8);
	l->str = l->verdef + sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux);
	l->readable = l->str + l->strsz;
	l->text = align_up(l->readable, m->page);
	l->text_end = l->text + (uint64_t)STUB_BYTES * n;
	l->data = align_up(l->text_end, m->page);
	l->entries = align_up(l->data + DYNS * sizeof(Elf64_Dyn), 64);
	l->end = l->entries + (uint64_t)n * sizeof(struct stub_entry);
}

static void write_heads(
	uint8_t *image, const struct layout *l, const struct machine *m, int machine)
{
	Elf64_Ehdr *e = (Elf64_Ehdr *)image;
	Elf64_Phdr *p = (Elf64_Phdr *)(e + 1);

	memcpy(e->e_ident, ELFMAG, SELFMAG);
	e->e_ident[EI_CLASS] = ELFCLASS64;
	e->e_ident[EI_DATA] = ELFDATA2LSB;
	e->e_ident[EI_VERSION] = EV_CURRENT;
	e->e_type = ET_DYN;
	e->e_machine = (Elf64_Half)machine;
	e->e_version = EV_CURRENT;
	e->e_phoff = sizeof(*e);
	e->e_ehsize = sizeof(*e);
	e->e_phentsize = sizeof(*p);
	e->e_phnum = PHDRS;
	e->e_shentsize = sizeof(Elf64_Shdr);
	p[0] = (Elf64_Phdr){PT_LOAD, PF_R, 0, 0, 0, l->readable, l->readable, m->page};
	p[1] = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, l->text, l->text, l->text, l->text_end - l->text,
		l->text_end - l->text, m->page};
	p[2] = (Elf64_Phdr){PT_LOAD, PF_R | PF_W, l->data, l->data, l->data, l->end - l->data,
		l->end - l->data, m->page};
	p[3] = (Elf64_Phdr){PT_DYNAMIC, PF_R | PF_W, l->data, l->data, l->data,
		DYNS * sizeof(Elf64_Dyn), DYNS * sizeof(Elf64_Dyn), 8};
	p[4] = (Elf64_Phdr){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16};
}

static uint32_t add_string(uint8_t *image, const struct layout *l, uint64_t *at, const char *s)
{
	uint64_t here = *at;

	memcpy(image + l->str + here, s, strlen(s) + 1);
	*at += strlen(s) + 1;
	return (uint32_t)here;
}

static void write_dynamic(
	uint8_t *image, const struct layout *l, uint32_t soname, uint32_t needed, bool has_needed)
{
	Elf64_Dyn *d = (Elf64_Dyn *)(image + l->data);

	if (has_needed)
		*d++ = (Elf64_Dyn){DT_NEEDED, {needed}};
	*d++ = (Elf64_Dyn){DT_SONAME, {soname}};
	*d++ = (Elf64_Dyn){DT_GNU_HASH, {l->hash}};
	*d++ = (Elf64_Dyn){DT_STRTAB, {l->str}};
	*d++ = (Elf64_Dyn){DT_STRSZ, {l->strsz}};
	*d++ = (Elf64_Dyn){DT_SYMTAB, {l->sym}};
	*d++ = (Elf64_Dyn){DT_SYMENT, {sizeof(Elf64_Sym)}};
	*d++ = (Elf64_Dyn){DT_RELA, {l->rela}};
	*d++ = (Elf64_Dyn){DT_RELASZ, {2 * (uint64_t)l->n * sizeof(Elf64_Rela)}};
	*d++ = (Elf64_Dyn){DT_RELAENT, {sizeof(Elf64_Rela)}};
	*d++ = (Elf64_Dyn){DT_RELACOUNT, {l->n}};
	*d++ = (Elf64_Dyn){DT_VERSYM, {l->versym}};
	*d++ = (Elf64_Dyn){DT_VERDEF, {l->verdef}};
	*d++ = (Elf64_Dyn){DT_VERDEFNUM, {1}};
	*d++ = (Elf64_Dyn){DT_FLAGS_1, {DF_1_NODELETE}};
}

static uint32_t hash_sysv(const char *s)
{
	uint32_t h = 0;

	for (; *s; s++) {
		h = (h << 4) + (unsigned char)*s;
		h ^= (h & 0xf0000000) >> 24;
		h &= 0x0fffffff;
	}
	return h;
}

/*
 * Writes the version definitions, without one for the base version: with it, references that have
 * a version would not be satisfied.
 */
static void write_version(uint8_t *image, const struct layout *l, uint32_t version)
{
	Elf64_Verdef *d = (Elf64_Verdef *)(image + l->verdef);

	*d = (Elf64_Verdef){.vd_version = VER_DEF_CURRENT,
		.vd_ndx = VERSIONED_HIDDEN & 0x7fff,
		.vd_cnt = 1,
		.vd_hash = hash_sysv(VERSION_NAME),
		.vd_aux = sizeof(*d)};
	*(Elf64_Verdaux *)(d + 1) = (Elf64_Verdaux){.vda_name = version};
}

/*
 * Writes symbol, stub, entry and relocations of the k-th function in the order of the hash table.
 */
static void write_function(
	uint8_t *image, const struct layout *l, const struct machine *m, uint32_t k, uint32_t str)
{
	uint64_t at = l->text + (uint64_t)k * STUB_BYTES;
	uint64_t entry = l->entries + (uint64_t)k * sizeof(struct stub_entry);
	uint64_t first = entry + offsetof(struct stub_entry, first);
	Elf64_Rela *r = (Elf64_Rela *)(image + l->rela);
	uint64_t *name = (uint64_t *)(image + entry + offsetof(struct stub_entry, name));

	m->code(image + at, at, entry);
	*name = entry - (l->str + str);
	r[k] = (Elf64_Rela){entry + offsetof(struct stub_entry, target),
		ELF64_R_INFO(0, m->relative), (Elf64_Sxword)first};
	r[l->n + k] = (Elf64_Rela){
		first + offsetof(struct stub_target, code), ELF64_R_INFO(1, m->absolute), 0};
}

static void write_symbol(
	uint8_t *image, const struct layout *l, uint32_t i, uint32_t str, uint64_t at, bool defined)
{
	Elf64_Sym *s = (Elf64_Sym *)(image + l->sym) + i;

	s->st_name = str;
	s->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	s->st_other = STV_DEFAULT;
	s->st_shndx = defined ? 1 : SHN_UNDEF; /* the image has no sections: any number except 0 */
	s->st_value = at;
	s->st_size = defined ? STUB_BYTES : 0;
}

static void write_hash(uint8_t *image, const struct layout *l, const struct item *item)
{
	uint32_t *t = (uint32_t *)(image + l->hash), *bucket, *chain;
	uint64_t *bloom = (uint64_t *)(t + 4);

	t[0] = l->buckets;
	t[1] = FIRST;
	t[2] = l->words;
	t[3] = HASH_SHIFT;
	bucket = (uint32_t *)(bloom + l->words);
	chain = bucket + l->buckets;
	for (uint32_t k = 0; k < l->n; k++) {
		uint32_t h = item[k].hash;
		bool last = k + 1 == l->n || item[k + 1].bucket != item[k].bucket;

		bloom[h / 64 % l->words] |=
			UINT64_C(1) << h % 64 | UINT64_C(1) << (h >> HASH_SHIFT) % 64;
		if (!bucket[item[k].bucket])
			bucket[item[k].bucket] = FIRST + k;
		chain[k] = (h & ~1u) | last;
	}
}

static int by_bucket(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	if (a->bucket != b->bucket)
		return a->bucket < b->bucket ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static void fill_stub_image(uint8_t *image, const struct layout *l, const struct machine *m,
	const struct stub_name *name, const struct item *item, const char *needed)
{
	uint64_t at = 1;
	uint32_t soname = add_string(image, l, &at, STUB_SONAME);
	uint32_t version = add_string(image, l, &at, VERSION_NAME);
	uint32_t lib = needed ? add_string(image, l, &at, needed) : 0;
	Elf64_Half *versym = (Elf64_Half *)(image + l->versym);

	write_symbol(image, l, 1, add_string(image, l, &at, ENTRY_SYMBOL), 0, false);
	write_dynamic(image, l, soname, lib, needed);
	write_version(image, l, version);
	for (uint32_t i = 0; i < l->n; i++) {
		const struct stub_name *n = &name[item[i].name];
		uint32_t str = add_string(image, l, &at, n->text);

		write_symbol(image, l, FIRST + i, str, l->text + (uint64_t)STUB_BYTES * i, true);
		write_function(image, l, m, i, str);
		versym[FIRST + i] = n->versioned ? VERSION_BASE : VERSIONED_HIDDEN;
	}
	write_hash(image, l, item);
}

void *stub_elf_build(
	int machine, const struct stub_name *name, uint32_t n, const char *needed, size_t *size)
{
	const struct machine *m = machine == EM_X86_64	  ? &x86_64
				  : machine == EM_AARCH64 ? &aarch64
							  : NULL;
	struct layout l;
	struct item *item;
	uint8_t *image;

	*size = 0;
	if (!m || !n || n > STUB_MAX)
		return NULL;
	lay_out(&l, m, name, n, needed);
	/* Offsets of strings, and distances between code and entries, must fit into 32 bits. */
	if (l.end > INT32_MAX)
		return NULL;
	item = malloc((size_t)n * sizeof(*item));
	image = mmap(NULL, l.end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!item || image == MAP_FAILED) {
		free(item);
		if (image != MAP_FAILED)
			munmap(image, l.end);
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++) {
		item[i].hash = compute_gnu_hash(name[i].text);
		item[i].bucket = item[i].hash % l.buckets;
		item[i].name = i;
	}
	qsort(item, n, sizeof(*item), by_bucket);
	write_heads(image, &l, m, machine);
	fill_stub_image(image, &l, m, name, item, needed);
	free(item);
	*size = l.end;
	return image;
}
