/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_symbols.h"
#include "elf/symbols.h"

#define DEBUG_DIR "/usr/lib/debug"
#define NAME_BYTES 2048
#define READABLE_BYTES 4096
/*
 * Loading a table takes up to a second: a table that was dropped this often for lack of memory is
 * not loaded again.
 */
#define LOADS_MAX 3
#define KEPT_NAMES 4096
#define KEPT_BYTES_MAX ((size_t)1 << 20)

enum table_state { TABLE_NOT_TRIED = 0, TABLE_LOADED, TABLE_NONE };

struct known {
	uint64_t lo, hi, bias;
	char *path;
	struct elf_symbols *table; /* NULL unless TABLE_LOADED */
	uint8_t id[BUILD_ID_MAX], id_len;
	uint8_t state; /* enum table_state */
	uint8_t loads;
};

/*
 * Cache of finished texts by address. When it is full, all texts are dropped: the same few stacks
 * occur repeatedly.
 */
struct kept_names {
	struct {
		uint64_t pc; /* 0: free */
		uint32_t at, len;
	} slot[KEPT_NAMES];
	char *text;
	size_t used, cap;
};

struct symbols {
	struct known *v; /* sorted by lo */
	size_t n, cap;
	size_t limit, used; /* used: bytes of tables, and of everything that is always in memory */
	const char *debug_dir;
	int (*demangle)(const char *name, char *buf, size_t cap);
	struct kept_names *names; /* NULL: no cache */
};

static void names_remove_all(struct symbols *s)
{
	if (!s->names)
		return;
	memset(s->names->slot, 0, sizeof(s->names->slot));
	s->names->used = 0;
}

static void names_init(struct symbols *s)
{
	size_t cap = s->limit / 4 < KEPT_BYTES_MAX ? s->limit / 4 : KEPT_BYTES_MAX;

	if (s->limit / 4 < sizeof(*s->names))
		return;
	s->names = calloc(1, sizeof(*s->names));
	if (!s->names)
		return;
	s->names->text = malloc(cap);
	s->names->cap = cap;
	if (!s->names->text) {
		free(s->names);
		s->names = NULL;
		return;
	}
	s->used += sizeof(*s->names) + cap;
}

struct symbols *symbols_init(size_t limit_bytes)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->limit = limit_bytes;
	s->debug_dir = DEBUG_DIR;
	names_init(s);
	return s;
}

static void remove_table(struct symbols *s, struct known *k)
{
	if (!k->table)
		return;
	s->used -= k->table->bytes + sizeof(*k->table);
	elf_symbols_free(k->table);
	free(k->table);
	k->table = NULL;
	k->state = TABLE_NOT_TRIED;
}

static size_t get_known_bytes(const struct known *k)
{
	return sizeof(*k) + strlen(k->path) + 1;
}

static void remove_module(struct symbols *s, struct known *k)
{
	remove_table(s, k);
	s->used -= get_known_bytes(k);
	free(k->path);
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		remove_module(s, &s->v[i]);
	free(s->v);
	if (s->names)
		free(s->names->text);
	free(s->names);
	free(s);
}

void symbols_set_demangler(struct symbols *s, int (*fn)(const char *name, char *buf, size_t cap))
{
	s->demangle = fn;
	names_remove_all(s);
}

void symbols_set_debug_dir(struct symbols *s, const char *dir)
{
	s->debug_dir = dir;
	names_remove_all(s);
}

/* Returns the number of modules that begin at or before address a. */
static size_t count_modules_before(const struct symbols *s, uint64_t a)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v[mid].lo <= a)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool is_same_module(const struct known *k, const struct module *m)
{
	return k->lo == m->lo && k->hi == m->hi && k->bias == m->bias &&
	       k->id_len == m->build_id_len && !memcmp(k->id, m->build_id, k->id_len) &&
	       !strcmp(k->path, m->path);
}

static bool add_module_space(struct symbols *s)
{
	size_t cap = s->cap ? s->cap * 2 : 64;
	struct known *v = realloc(s->v, cap * sizeof(*v));

	if (!v)
		return false;
	s->v = v;
	s->cap = cap;
	return true;
}

void symbols_add_module(struct symbols *s, const struct module *m)
{
	struct known k = {.lo = m->lo, .hi = m->hi, .bias = m->bias, .id_len = m->build_id_len};
	size_t first = count_modules_before(s, m->lo), last;

	if (m->hi <= m->lo || m->build_id_len > BUILD_ID_MAX ||
		memchr(m->path, 0, sizeof(m->path)) == NULL)
		return;
	if (first && s->v[first - 1].hi > m->lo)
		first--;
	for (last = first; last < s->n && s->v[last].lo < m->hi; last++)
		;
	if (last - first == 1 && is_same_module(&s->v[first], m))
		return;
	names_remove_all(s);
	if (last > first) {
		for (size_t i = first; i < last; i++)
			remove_module(s, &s->v[i]);
		memmove(&s->v[first], &s->v[last], (s->n - last) * sizeof(*s->v));
		s->n -= last - first;
	}

	memcpy(k.id, m->build_id, k.id_len);
	k.path = strdup(m->path);
	if (!k.path || s->used + get_known_bytes(&k) > s->limit ||
		(s->n == s->cap && !add_module_space(s))) {
		free(k.path);
		return; /* the module's addresses are printed as numbers */
	}
	s->used += get_known_bytes(&k);
	memmove(&s->v[first + 1], &s->v[first], (s->n - first) * sizeof(*s->v));
	s->v[first] = k;
	s->n++;
}

/* Frees `need` bytes for a table, by dropping the largest other tables. */
static bool remove_largest_tables(struct symbols *s, const struct known *keep, size_t need)
{
	while (s->used + need > s->limit) {
		struct known *largest = NULL;

		for (size_t i = 0; i < s->n; i++)
			if (s->v[i].table && &s->v[i] != keep &&
				(!largest || s->v[i].table->bytes > largest->table->bytes))
				largest = &s->v[i];
		if (!largest)
			return false;
		remove_table(s, largest);
	}
	return true;
}

static bool format_debug_path(
	const struct symbols *s, const struct known *k, char *path, size_t cap)
{
	int n = snprintf(path, cap, "%s/.build-id/%02x/", s->debug_dir, k->id[0]);

	for (unsigned int i = 1; i < k->id_len && n > 0 && (size_t)n + 3 < cap; i++)
		n += snprintf(path + n, cap - (size_t)n, "%02x", k->id[i]);
	if (n < 0 || (size_t)n + sizeof(".debug") > cap)
		return false;
	strcpy(path + n, ".debug");
	return true;
}

/* Loads the best table: the module's own .symtab, or that of a separate file, or .dynsym. */
static bool load_best(
	const struct symbols *s, const struct known *k, size_t space, struct elf_symbols *t)
{
	int rc = elf_symbols_load(t, k->path, k->id, k->id_len, space);
	struct elf_symbols separate;
	char path[MODULE_PATH_MAX];

	if ((!rc && t->full) || rc == -ESTALE || k->id_len < 2 ||
		!format_debug_path(s, k, path, sizeof(path)))
		return !rc;
	if (elf_symbols_load(&separate, path, k->id, k->id_len, space))
		return !rc;
	if (separate.full) {
		elf_symbols_free(t);
		*t = separate;
		return true;
	}
	elf_symbols_free(&separate);
	return !rc;
}

static void load_module_table(struct symbols *s, struct known *k)
{
	struct elf_symbols *t;
	size_t always = s->used;

	k->state = TABLE_NONE;
	if (k->loads == LOADS_MAX || k->path[0] != '/')
		return;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].table)
			always -= s->v[i].table->bytes + sizeof(*t);
	if (always + sizeof(*t) >= s->limit)
		return;
	t = malloc(sizeof(*t));
	if (!t)
		return;
	k->loads++;
	if (!load_best(s, k, s->limit - always - sizeof(*t), t) ||
		!remove_largest_tables(s, k, t->bytes + sizeof(*t))) {
		elf_symbols_free(t);
		free(t);
		return;
	}
	s->used += t->bytes + sizeof(*t);
	k->table = t;
	k->state = TABLE_LOADED;
}

/* Replaces control characters, because the text becomes part of a line. */
static void format_printable(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
}

static int write_in_module(struct symbols *s, struct known *k, uint64_t pc, char *buf, size_t cap)
{
	const char *slash = strrchr(k->path, '/'), *base = slash ? slash + 1 : k->path;
	char name[NAME_BYTES], readable[READABLE_BYTES];
	char *shown = name;
	uint64_t start = 0;
	int n;

	if (k->state == TABLE_NOT_TRIED)
		load_module_table(s, k);
	if (!k->table ||
		elf_symbols_find_name(k->table, pc - 1 - k->bias, name, sizeof(name), &start))
		return snprintf(buf, cap, "%s+0x%llx", base, (unsigned long long)(pc - k->bias));
	n = s->demangle ? s->demangle(name, readable, sizeof(readable)) : -1;
	if (n >= 0 && (size_t)n < sizeof(readable))
		shown = readable;
	format_printable(shown);
	return snprintf(
		buf, cap, "%s!%s+0x%llx", base, shown, (unsigned long long)(pc - k->bias - start));
}

static size_t get_slot(uint64_t pc)
{
	return (size_t)(pc * 0x9e3779b97f4a7c15u >> 32) % KEPT_NAMES;
}

static void names_add(struct symbols *s, uint64_t pc, const char *text, size_t len)
{
	struct kept_names *k = s->names;
	size_t i = get_slot(pc);

	if (!k || len >= k->cap)
		return;
	if (k->used + len > k->cap)
		names_remove_all(s);
	memcpy(k->text + k->used, text, len);
	k->slot[i].pc = pc;
	k->slot[i].at = (uint32_t)k->used;
	k->slot[i].len = (uint32_t)len;
	k->used += len;
}

static int copy_out(const char *text, size_t len, char *buf, size_t cap)
{
	size_t n = len < cap ? len : cap ? cap - 1 : 0;

	if (cap) {
		memcpy(buf, text, n);
		buf[n] = '\0';
	}
	return (int)len;
}

int symbols_format_name(struct symbols *s, uint64_t pc, char *buf, size_t cap)
{
	size_t i = get_slot(pc), at = pc ? count_modules_before(s, pc - 1) : 0;
	int n;

	if (s->names && pc && s->names->slot[i].pc == pc)
		return copy_out(
			s->names->text + s->names->slot[i].at, s->names->slot[i].len, buf, cap);
	if (!at || pc - 1 >= s->v[at - 1].hi)
		return snprintf(buf, cap, "0x%llx", (unsigned long long)pc);
	n = write_in_module(s, &s->v[at - 1], pc, buf, cap);
	if (n > 0 && (size_t)n < cap)
		names_add(s, pc, buf, (size_t)n);
	return n;
}
