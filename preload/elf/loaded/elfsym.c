/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/loaded/elf_object.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/at_start.h"

START_CODE static int search_loaded_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	struct object o;
	uintptr_t lo, hi;

	(void)size;
	get_object_bounds(info, &lo, &hi);
	if (object_get_self() >= lo && object_get_self() < hi) {
		s->passed_us = true;
		return s->only_before;
	}
	if ((s->only_after && !s->passed_us) || !object_read(info, &o))
		return 0;

	const ElfW(Sym) *sym = object_find(&o, s);

	if (!sym || object_is_stubs(&o) != s->stubs)
		return 0;
	if (s->found < s->max)
		s->out[s->found] = (struct provider){
			.addr = (void *)(o.base + sym->st_value),
			.lo = o.lo,
			.hi = o.hi,
			.path = info->dlpi_name,
			.ifunc = ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC,
		};
	s->found++;
	return 0;
}

static int search_loaded_objects(struct search *s)
{
	s->gnu = compute_gnu_hash(s->name);
	s->sysv = compute_sysv_hash(s->name);
	dl_iterate_phdr(search_loaded_object, s);
	return s->found;
}

int elfsym_find_after_us(const char *name, struct provider *out, int max)
{
	struct search s = {.name = name, .out = out, .max = max, .only_after = true};

	return search_loaded_objects(&s);
}

int elfsym_find_all(const char *name, struct provider *out, int max)
{
	struct search s = {.name = name, .out = out, .max = max};

	return search_loaded_objects(&s);
}

START_CODE void *elfsym_find_data(const char *name)
{
	struct provider p;
	struct search s = {.name = name, .out = &p, .max = 1, .any_type = true};

	return search_loaded_objects(&s) ? p.addr : NULL;
}

bool elfsym_is_before_us(const char *name)
{
	struct search s = {.name = name, .only_before = true};

	return search_loaded_objects(&s);
}

bool elfsym_find_stub(const char *name, struct provider *out)
{
	struct search s = {.name = name, .out = out, .max = 1, .stubs = true};

	return search_loaded_objects(&s);
}

struct own {
	struct object o;
	bool ok;
};

static void copy_own_object(const struct loaded_object *at, void *arg)
{
	struct own *us = arg;

	us->ok = object_read(at->info, &us->o);
}

/* *kept: the name in libprobe.so's own string table. */
static const ElfW(Sym) * find_own_symbol(const char *name, const char **kept)
{
	/*
	 * libprobe.so's own tables. It is never unloaded, and all threads that run this for the
	 * first time find the same values.
	 */
	static struct own us;
	static _Atomic int known; /* 1: a thread is filling in `us`, 2: complete */
	struct search s = {
		.name = name, .gnu = compute_gnu_hash(name), .sysv = compute_sysv_hash(name)};
	struct own mine = {.ok = false};
	const struct own *o = &us;
	const ElfW(Sym) * sym;
	int none = 0;

	if (known != 2) {
		elf_handle_object_at(object_get_self(), copy_own_object, &mine);
		o = &mine;
		if (__builtin_expect(atomic_compare_exchange_strong(&known, &none, 1), 1)) {
			us = mine;
			known = 2;
		}
	}
	sym = o->ok ? object_find(&o->o, &s) : NULL;
	if (sym && kept)
		*kept = o->o.str + sym->st_name;
	return sym;
}

bool elfsym_is_own(const char *name)
{
	return find_own_symbol(name, NULL) != NULL;
}

/* ---- exports that are hidden ---- */

#define HIDDEN_MAX 1024u

/*
 * The loader ignores a symbol without a value (elf/dl-lookup.c, check_match). Entries are only
 * added; value 0: the symbol is visible. If two threads hide or show the same name at once, both
 * write the same.
 */
static struct {
	_Atomic(ElfW(Sym) *) sym;
	_Atomic(ElfW(Addr)) value;
	_Atomic(const char *) name; /* in libprobe.so's string table */
} hidden[HIDDEN_MAX];

static int set_pages_writable(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t at = (uintptr_t)arg, page = (uintptr_t)sysconf(_SC_PAGESIZE);

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + p->p_vaddr, from;
		int flags = (p->p_flags & PF_R ? PROT_READ : 0) |
			    (p->p_flags & PF_X ? PROT_EXEC : 0) | PROT_WRITE;

		if (p->p_type != PT_LOAD || at < lo || at >= lo + p->p_memsz)
			continue;
		from = at & ~(page - 1);
		/* The pages stay writable: another thread may be changing a symbol of the same page. */
		return mprotect((void *)from, at + sizeof(ElfW(Sym)) - from, flags) == 0 ? 1 : -1;
	}
	return 0;
}

bool elfsym_hide_own(const char *name)
{
	const char *kept;
	ElfW(Sym) *sym = (ElfW(Sym) *)(uintptr_t)find_own_symbol(name, &kept);
	ElfW(Addr) value;

	if (!sym || dl_iterate_phdr(set_pages_writable, sym) != 1)
		return false;
	value = sym->st_value;
	for (unsigned i = 0; value && i < HIDDEN_MAX; i++) {
		ElfW(Sym) *none = NULL;

		if (!atomic_compare_exchange_strong(&hidden[i].sym, &none, sym) && none != sym)
			continue;
		atomic_store(&hidden[i].name, kept);
		atomic_store(&hidden[i].value, value);
		__atomic_store_n(&sym->st_value, 0, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

void elfsym_show_own(bool (*wanted)(const char *name, void *arg), void *arg)
{
	for (unsigned i = 0; i < HIDDEN_MAX; i++) {
		ElfW(Sym) *sym = atomic_load(&hidden[i].sym);
		ElfW(Addr) value;

		if (!sym)
			return;
		if (!atomic_load(&hidden[i].value) || !wanted(atomic_load(&hidden[i].name), arg))
			continue;
		/*
		 * The value is taken first: if a thread hides the name again meanwhile, it finds
		 * either a symbol with its value, or a hidden one.
		 */
		value = atomic_exchange(&hidden[i].value, 0);
		if (value)
			__atomic_store_n(&sym->st_value, value, __ATOMIC_RELEASE);
	}
}
