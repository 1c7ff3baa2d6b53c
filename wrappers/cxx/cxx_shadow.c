/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/cxx/cxx_shadow.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "elf/loaded/elfsym.h"
#include "elf/memory.h"

#define HEAD 2 /* words before the functions: offset to the top, type information */
#define SLOTS_MAX 512
#define BASES_MAX 16 /* levels of base classes that are searched */
#define NAME_MAX_BYTES 512
#define COPIES_MAX 32 /* copies of an inline function: each library may have one */

struct table {
	void *const *original; /* the table that objects pointed to */
	uint32_t n; /* functions */
	void *word[]; /* HEAD + n */
};

/*
 * Copies of classes' tables of virtual functions, in the order in which they were made; a slot is
 * filled once.
 */
#define TABLES_MAX 32
static _Atomic(struct table *) tables[TABLES_MAX];

/* ---- type information ---- */

/* MEMORY_RAW: words that may be objects are read even in a sanitizer's red zones. */

/* Members of std::type_info and __cxxabiv1::__si_class_type_info. */
struct type_info {
	void *const *functions;
	const char *name; /* a leading * means: local to one file */
	/* for __si_class_type_info: the only base, which is not virtual */
	const struct type_info *base;
};

static bool is_readable_word(const void *p)
{
	return p && ((uintptr_t)p & (sizeof(void *) - 1)) == 0 && is_memory_readable((uintptr_t)p);
}

/* The text at s if it ends within a name's bounds and all of it is readable, otherwise NULL. */
MEMORY_RAW static const char *get_readable_name(const char *s)
{
	if (!s || !is_memory_readable((uintptr_t)s))
		return NULL;
	if (*s == '*')
		s++;
	for (unsigned i = 0; i < NAME_MAX_BYTES; i++) {
		if (((uintptr_t)&s[i] & (MEMORY_PAGE - 1)) == 0 &&
			!is_memory_readable((uintptr_t)&s[i]))
			return NULL;
		if (!s[i])
			return i ? s : NULL;
		if (s[i] <= ' ' || s[i] > '~')
			return NULL;
	}
	return NULL;
}

MEMORY_RAW static const char *get_type_name(const struct type_info *t)
{
	return is_readable_word(t) && is_readable_word(&t->name) ? get_readable_name(t->name)
								 : NULL;
}

/*
 * The class name of a type information object (its kind), from its own type information; any copy
 * of the C++ library may have made it.
 */
MEMORY_RAW static const char *get_type_kind(const struct type_info *t)
{
	if (!is_readable_word(t) || !is_readable_word(t->functions - 1))
		return "";

	const char *name = get_type_name(t->functions[-1]);

	return name ? name : "";
}

/*
 * The next base class; NULL with *root set if t has none; NULL without *root if there are several
 * bases, a virtual one, or no type information at all.
 */
MEMORY_RAW static const struct type_info *get_base_type(const struct type_info *t, bool *root)
{
	const char *kind = get_type_kind(t);

	*root = strcmp(kind, "N10__cxxabiv117__class_type_infoE") == 0;
	if (strcmp(kind, "N10__cxxabiv120__si_class_type_infoE") != 0 ||
		!is_readable_word(&t->base))
		return NULL;
	return t->base;
}

/* The table of virtual functions that an object points to, or NULL. */
MEMORY_RAW static void *const *get_virtual_functions(const void *object)
{
	void *const *functions;
	struct elf_place at;

	if (!is_readable_word(object))
		return NULL;
	functions = *(void *const *const *)object;
	if (!is_readable_word(functions) || !is_readable_word(functions - HEAD) ||
		functions[-HEAD] || !elfsym_find_place((uintptr_t)functions[0], &at) || !at.code)
		return NULL;
	return functions;
}

/*
 * True if t and all its bases up to the root have single, non-virtual bases, and one of them is
 * `class` (any class if NULL).
 */
MEMORY_RAW static bool is_type_simple(const struct type_info *t, const char *class)
{
	bool root = false, found = !class;

	for (unsigned i = 0; i < BASES_MAX; i++) {
		const char *name = get_type_name(t);

		if (!name)
			return false;
		found |= class && strcmp(name, class) == 0;
		t = get_base_type(t, &root);
		if (!t)
			return root && found;
	}
	return false;
}

MEMORY_RAW const char *cxx_read_object_class(const void *object)
{
	void *const *functions = get_virtual_functions(object);

	return functions && is_type_simple(functions[-1], NULL) ? get_type_name(functions[-1])
								: NULL;
}

MEMORY_RAW bool cxx_object_is_of(const void *object, const char *class)
{
	void *const *functions = get_virtual_functions(object);
	const char *name = functions ? get_type_name(functions[-1]) : NULL;

	return name && strcmp(name, class) == 0;
}

MEMORY_RAW bool cxx_object_is(const void *object, const char *class)
{
	void *const *functions = get_virtual_functions(object);

	return functions && is_type_simple(functions[-1], class);
}

/* ---- tables ---- */

MEMORY_RAW static bool is_code_address(const void *const *word)
{
	struct elf_place at;

	return is_readable_word(word) && elfsym_find_place((uintptr_t)*word, &at) && at.code;
}

/*
 * The number of functions in a table, up to the first word that is not a code address; 0 if there
 * is no such word.
 */
static uint32_t get_table_length(void *const *functions)
{
	uint32_t n = 0;

	while (n < SLOTS_MAX && is_code_address((const void *const *)&functions[n]))
		n++;
	return n < SLOTS_MAX ? n : 0;
}

static bool is_one_of(const struct provider *p, int n, const void *function)
{
	for (int i = 0; i < n; i++)
		if (!p[i].ifunc && p[i].addr == function)
			return true;
	return false;
}

int cxx_find_virtual_place(const char *class, const char *function)
{
	struct provider p[COPIES_MAX];
	int copies = elfsym_find_all(function, p, COPIES_MAX - 1), found = -1;
	char symbol[NAME_MAX_BYTES];
	void *const *table;

	if (copies <= 0 || snprintf(symbol, sizeof(symbol), "_ZTV%s", class) >= (int)sizeof(symbol))
		return -1;
	/* If the function has a stub, the loader has put that into the table. */
	copies += elfsym_find_stub(function, &p[copies]);
	table = elfsym_find_data(symbol);
	if (!table)
		return -1;
	table += HEAD;
	/* In an abstract class's table the destructors' entries are empty. */
	for (int i = 0; i < SLOTS_MAX && is_readable_word(&table[i]); i++) {
		if (table[i] && !is_code_address((const void *const *)&table[i]))
			break;
		if (!is_one_of(p, copies, table[i]))
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

/* libprobe's table that was made for table `functions`, or that is `functions`. */
static struct table *find_shadow_table(void *const *functions)
{
	for (unsigned i = 0; i < TABLES_MAX; i++) {
		struct table *t = atomic_load_explicit(&tables[i], memory_order_acquire);

		if (!t)
			return NULL;
		if (t->original == functions || &t->word[HEAD] == functions)
			return t;
	}
	return NULL;
}

static int add_shadow_table(struct table **out, void *const *functions, const struct cxx_shadow *s)
{
	const struct type_info *info = functions[-1];
	uint32_t n = get_table_length(functions);
	bool any = false;
	struct table *t;

	if (!n || !is_type_simple(info, s->class))
		return -EINVAL;
	for (unsigned i = 0; i < s->n; i++)
		if (s->place[i] >= (int)n)
			return -EINVAL;
	t = mmap(NULL, sizeof(*t) + (HEAD + n) * sizeof(void *), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		return -ENOMEM;
	t->original = functions;
	t->n = n;
	memcpy(t->word, functions - HEAD, (HEAD + n) * sizeof(void *));
	for (unsigned i = 0; i < s->n; i++) {
		void **at = s->place[i] >= 0 ? &t->word[HEAD + s->place[i]] : NULL, *was;

		if (!at)
			continue;
		was = functions[s->place[i]];
		*at = s->entry(i, was, get_type_name(info), s->arg);
		any |= *at != was;
	}
	if (any) {
		*out = t;
		return 0;
	}
	munmap(t, sizeof(*t) + (HEAD + n) * sizeof(void *));
	return -ENOENT;
}

/* Enters table t. If another thread was faster, its table is returned instead. */
static struct table *register_shadow_table(struct table *t)
{
	for (unsigned i = 0; i < TABLES_MAX; i++) {
		struct table *none = NULL;

		if (atomic_compare_exchange_strong(&tables[i], &none, t))
			return t;
		if (none->original == t->original)
			return none;
	}
	return NULL;
}

int cxx_set_shadow(void *object, const struct cxx_shadow *s)
{
	void *const *functions = get_virtual_functions(object);
	struct table *t = functions ? find_shadow_table(functions) : NULL;
	int err;

	if (!functions)
		return -EINVAL;
	if (!t) {
		struct table *made = NULL;

		err = add_shadow_table(&made, functions, s);
		if (err)
			return err;
		t = register_shadow_table(made);
		if (t != made)
			munmap(made, sizeof(*made) + (HEAD + made->n) * sizeof(void *));
		if (!t)
			return -ENOSPC;
	}
	if (&t->word[HEAD] != functions)
		__atomic_store_n((void *const **)object, &t->word[HEAD], __ATOMIC_RELEASE);
	return 0;
}
