/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_search.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#define PLATFORM "x86_64"
#define LIB_TRIPLET "lib/x86_64-linux-gnu"
static const char *const hwcaps[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2"};
#elif defined(__aarch64__)
#define PLATFORM "aarch64"
#define LIB_TRIPLET "lib/aarch64-linux-gnu"
static const char *const hwcaps[] = {""};
#endif
#define NHWCAPS (sizeof(hwcaps) / sizeof(*hwcaps))

/* The value of $LIB differs between distributions. */
static const char *const lib_names[] = {LIB_TRIPLET, "lib64", "lib"};
#define NLIBS (sizeof(lib_names) / sizeof(*lib_names))

static const char *const standard[] = {
	"/" LIB_TRIPLET, "/usr/" LIB_TRIPLET, "/lib64", "/usr/lib64", "/lib", "/usr/lib"};

struct find {
	struct elf_file *f;
	const char *name;
	char *path; /* buffer of ELF_PATH_MAX bytes */
};

#if defined(__x86_64__)
/*
 * Returns the CPU's glibc-hwcaps level. __builtin_cpu_supports() is avoided: libgcc's constructor
 * for it would run at every process start.
 */
static int read_cpu_level(void)
{
	const uint32_t v2 = bit_SSE4_2 | bit_POPCNT, v3 = bit_OSXSAVE | bit_AVX | bit_FMA;
	const uint32_t v3_more = bit_AVX2 | bit_BMI2;
	const uint32_t v4 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
	uint32_t a, b, c, d, saved, high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || (c & v2) != v2)
		return 1;
	if ((c & v3) != v3 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & v3_more) != v3_more)
		return 2;
	/* Registers that the kernel saves: XMM and YMM; mask and ZMM too. */
	__asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
	if ((saved & 0x06) != 0x06)
		return 2;
	return (b & v4) == v4 && (saved & 0xe6) == 0xe6 ? 4 : 3;
}
#endif

bool elf_has_hwcaps(const char *name, size_t len)
{
#if defined(__x86_64__)
	int level = len == 9 && strncmp(name, "x86-64-v", 8) == 0 ? name[8] - '0' : 0;

	if (level < 2 || level > 4)
		return false;
	return level <= read_cpu_level();
#else
	(void)name;
	(void)len;
	return false;
#endif
}

static bool open_path(const char *path, void *arg)
{
	struct find *s = arg;
	size_t n = strlen(path);

	if (n >= ELF_PATH_MAX || elf_file_open(s->f, path))
		return false;
	memmove(s->path, path, n + 1);
	return true;
}

static bool find_in_folder(struct find *s, const char *dir)
{
	char path[ELF_PATH_MAX];

	/* An empty element means the working directory. */
	if (!*dir)
		dir = ".";
	if ((size_t)snprintf(path, sizeof(path), "%s/glibc-hwcaps", dir) < sizeof(path) &&
		*hwcaps[0] && access(path, F_OK) == 0) {
		for (size_t i = 0; i < NHWCAPS; i++)
			if (elf_has_hwcaps(hwcaps[i], strlen(hwcaps[i])) &&
				(size_t)snprintf(path, sizeof(path), "%s/glibc-hwcaps/%s/%s", dir,
					hwcaps[i], s->name) < sizeof(path) &&
				open_path(path, s))
				return true;
	}
	return (size_t)snprintf(path, sizeof(path), "%s/%s", dir, s->name) < sizeof(path) &&
	       open_path(path, s);
}

/* Writes the value of $ORIGIN, the folder of the object's file. */
static bool write_origin(const char *object, char *out)
{
	char *slash;

	if (!object || !realpath(object, out))
		return false;
	slash = strrchr(out, '/');
	if (!slash)
		return false;
	slash[slash == out] = 0;
	return true;
}

/* Returns the length of $NAME or ${NAME} at p, 0 if p is something else. */
static size_t match_path_token(const char *p, const char *name)
{
	size_t n = strlen(name);

	if (p[0] == '$' && p[1] == '{' && strncmp(p + 2, name, n) == 0 && p[2 + n] == '}')
		return n + 3;
	return p[0] == '$' && strncmp(p + 1, name, n) == 0 ? n + 1 : 0;
}

static bool add_path_text(char *out, size_t *at, const char *s, size_t n)
{
	if (n >= ELF_PATH_MAX - *at)
		return false;
	memcpy(out + *at, s, n);
	*at += n;
	out[*at] = 0;
	return true;
}

/*
 * Replaces $ORIGIN, $LIB and $PLATFORM in s[0..n). Returns false if that is not possible.
 * *any_lib: s contains $LIB.
 */
static bool format_search_path(
	const char *s, size_t n, const char *object, const char *lib, char *out, bool *any_lib)
{
	char where[ELF_PATH_MAX];
	size_t at = 0, len;
	bool ok = true;

	out[0] = 0;
	for (size_t i = 0; i < n && ok; i += len) {
		len = match_path_token(s + i, "ORIGIN");
		if (len) {
			ok = write_origin(object, where) &&
			     add_path_text(out, &at, where, strlen(where));
			continue;
		}
		len = match_path_token(s + i, "LIB");
		if (len) {
			*any_lib = true;
			ok = add_path_text(out, &at, lib, strlen(lib));
			continue;
		}
		len = match_path_token(s + i, "PLATFORM");
		if (len) {
			ok = add_path_text(out, &at, PLATFORM, strlen(PLATFORM));
			continue;
		}
		len = 1;
		ok = add_path_text(out, &at, s + i, 1);
	}
	return ok;
}

/* Searches a list of folders. */
static bool find_in_list(
	struct find *s, const char *list, const char *separators, const char *object)
{
	char dir[ELF_PATH_MAX];

	if (!list || !*list)
		return false;
	for (;;) {
		size_t n = strcspn(list, separators);
		bool any_lib = false;

		for (size_t i = 0; i < NLIBS && (i == 0 || any_lib); i++)
			if (format_search_path(list, n, object, lib_names[i], dir, &any_lib) &&
				find_in_folder(s, dir))
				return true;
		if (!list[n])
			return false;
		list += n + 1;
	}
}

static bool find_by_search_path(struct find *s, const struct elf_asker *by)
{
	char path[ELF_PATH_MAX];
	bool any_lib = false;

	for (size_t i = 0; i < NLIBS && (i == 0 || any_lib); i++)
		if (format_search_path(s->name, strlen(s->name), by ? by->path : NULL, lib_names[i],
			    path, &any_lib) &&
			open_path(path, s))
			return true;
	return false;
}

bool elf_find_file(struct elf_file *f, const char *name, const struct elf_asker *by,
	const char *library_path, char path[ELF_PATH_MAX])
{
	struct find s = {f, name, path};

	*f = (struct elf_file){0};
	path[0] = 0;
	if (!*name)
		return false;
	if (strchr(name, '/'))
		return find_by_search_path(&s, by);
	if (by && !by->runpath)
		for (const struct elf_asker *a = by; a; a = a->by)
			if (!a->runpath && find_in_list(&s, a->rpath, ":", a->path))
				return true;
	if (find_in_list(&s, library_path, ":;", by ? by->path : NULL))
		return true;
	if (by && find_in_list(&s, by->runpath, ":", by->path))
		return true;
	if (by && by->no_default)
		return false;
	if (ld_cache_find(name, open_path, &s))
		return true;
	for (size_t i = 0; i < sizeof(standard) / sizeof(*standard); i++)
		if (find_in_folder(&s, standard[i]))
			return true;
	return false;
}
