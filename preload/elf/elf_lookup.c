/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the function that contains an address, and its name in the file. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf_read.h"
#include "elf/elf_symbols.h"

#define ALIASES 16 /* maximum number of names of one function to be compared */
#define NESTED 64 /* maximum number of symbols before an address that may still cover it */
#define NAME_MAX_BYTES 2048

int elf_read(int fd, uint64_t off, void *buf, size_t len)
{
	uint8_t *p = buf;

	if (off > INT64_MAX - len)
		return -ENOEXEC;
	while (len) {
		ssize_t n = pread(fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -ENOEXEC; /* the file is shorter than its headers claim */
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int elf_open(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (fstat(fd, st) || !S_ISREG(st->st_mode)) {
		close(fd);
		return -ENOEXEC;
	}
	return fd;
}

static bool is_symbol_around(const struct elf_symbol *e, uint64_t off)
{
	return off >= e->off && off - e->off < e->size;
}

/*
 * Returns the innermost function around off. A symbol without a size is only used if there is no
 * other.
 */
static const struct elf_symbol *find_symbol_around(const struct elf_symbols *s, uint64_t off)
{
	const struct elf_symbol *guess = NULL;
	uint32_t lo = 0, hi = s->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->v[mid].off <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (uint32_t i = lo, left = NESTED; i-- > 0 && left--;) {
		const struct elf_symbol *e = &s->v[i];

		if (!is_symbol_around(e, off))
			continue;
		if (!(e->index & ELF_SYMBOL_GUESSED))
			return e;
		if (!guess)
			guess = e;
	}
	return guess;
}

static int read_symbol_name(
	int fd, const struct elf_symbols *s, const struct elf_symbol *e, char *name, size_t cap)
{
	Elf64_Sym sym;
	int rc = elf_read(fd, s->table + (uint64_t)(e->index & ELF_SYMBOL_INDEX) * sizeof(sym),
		&sym, sizeof(sym));
	uint64_t left;

	if (rc)
		return rc;
	if (sym.st_name >= s->strings_size)
		return -ENOEXEC;
	left = s->strings_size - sym.st_name;
	if (left < cap)
		cap = (size_t)left;
	rc = elf_read(fd, s->strings + sym.st_name, name, cap);
	name[cap - 1] = '\0';
	/* Names in .symtab include their version: foo@@V2. */
	if (*name)
		name[1 + strcspn(name + 1, "@")] = '\0';
	return rc ? rc : *name ? 0 : -ENOENT;
}

static unsigned int count_underscores(const char *s)
{
	return (unsigned int)strspn(s, "_");
}

/* True if name a looks more like the one that programs use than name b. */
static bool is_better_name(const char *a, bool a_local, const char *b, bool b_local)
{
	size_t la = strlen(a), lb = strlen(b);

	if (a_local != b_local)
		return b_local;
	if (count_underscores(a) != count_underscores(b))
		return count_underscores(a) < count_underscores(b);
	if (la != lb)
		return la < lb;
	return strcmp(a, b) < 0;
}

/*
 * Chooses among the names of functions that begin where e begins, and whose size is equally
 * certain.
 */
static int find_best_name(
	int fd, const struct elf_symbols *s, const struct elf_symbol *e, uint64_t off, char *best)
{
	const struct elf_symbol *first = e, *end = s->v + s->n;
	uint32_t guessed = e->index & ELF_SYMBOL_GUESSED;
	bool best_local = true;
	int rc = -ENOENT, left = ALIASES;
	char name[NAME_MAX_BYTES];

	while (first > s->v && first[-1].off == e->off)
		first--;
	for (const struct elf_symbol *a = first; a < end && a->off == e->off && left; a++) {
		bool local = a->index & ELF_SYMBOL_LOCAL;
		int err;

		if (!is_symbol_around(a, off) || (a->index & ELF_SYMBOL_GUESSED) != guessed)
			continue;
		left--;
		err = read_symbol_name(fd, s, a, name, sizeof(name));
		if (err) {
			if (rc)
				rc = err;
			continue;
		}
		if (rc || is_better_name(name, local, best, best_local)) {
			strcpy(best, name);
			best_local = local;
		}
		rc = 0;
	}
	return rc;
}

static bool is_same_file(const struct elf_symbols *s, const struct stat *st)
{
	return s->dev == st->st_dev && s->ino == st->st_ino && s->file_size == st->st_size &&
	       s->mtime.tv_sec == st->st_mtim.tv_sec && s->mtime.tv_nsec == st->st_mtim.tv_nsec;
}

int elf_symbols_find_name(
	const struct elf_symbols *s, uint64_t vaddr, char *name, size_t cap, uint64_t *start)
{
	const struct elf_symbol *e =
		vaddr < s->base ? NULL : find_symbol_around(s, vaddr - s->base);
	char best[NAME_MAX_BYTES];
	struct stat st;
	size_t len;
	int fd, rc;

	if (!e || !cap)
		return -ENOENT;
	fd = elf_open(s->path, &st);
	if (fd < 0)
		return fd;
	rc = is_same_file(s, &st) ? find_best_name(fd, s, e, vaddr - s->base, best) : -ESTALE;
	close(fd);
	if (rc)
		return rc;
	len = strlen(best);
	if (len >= cap)
		len = cap - 1;
	memcpy(name, best, len);
	name[len] = '\0';
	*start = s->base + e->off;
	return 0;
}
