/* SPDX-License-Identifier: Apache-2.0 */
/* link: -ldl */
/*
 * Libraries on disk: exported functions against readelf, the search order against the loader itself (ldd), the cache
 * against ldconfig, and files that are cut short or damaged anywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "elf/elf_search.h"

static char dir[64];

static void shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *fmt, ...)
{
	char cmd[2048];
	int n = snprintf(cmd, sizeof(cmd), "cd %s && ", dir);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd + n, sizeof(cmd) - (size_t)n, fmt, ap);
	va_end(ap);
	if (system(cmd))
		fail_msg("failed: %s", cmd);
}

static char *in_dir(const char *name)
{
	static char paths[4][128];
	static unsigned n;
	char *path = paths[n++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

/* ---- functions ---- */

static bool print_name(const struct elf_function *fn, void *arg)
{
	fprintf(arg, "%s%s%s\n", fn->name, fn->versioned ? "@" : "", fn->old ? "old" : "");
	return true;
}

/* Names and versions as readelf has them, sorted. */
static void same_functions(const char *path)
{
	struct elf_file f;
	FILE *out = fopen(in_dir("have"), "w");

	assert_int_equal(elf_file_open(&f, path), 0);
	elf_file_handle_functions(&f, print_name, out);
	fclose(out);
	elf_file_close(&f);
	shell("sort have >have.s; readelf -W --dyn-syms %s | awk '($4 == \"FUNC\" || $4 == "
	      "\"IFUNC\") && "
	      "($5 == \"GLOBAL\" || $5 == \"WEAK\") && ($6 == \"DEFAULT\" || $6 == \"PROTECTED\") "
	      "&& $7 != "
	      "\"UND\" {n = $8; if (n ~ /@@/) sub(/@@.*/, \"@\", n); else sub(/@.*/, \"@old\", n); "
	      "print n}' | "
	      "sort >want.s; test -s want.s && diff have.s want.s | head -5 && cmp have.s want.s",
		path);
}

static void test_functions(void **state)
{
	static const char *const names[] = {"libc.so.6", "libm.so.6", "libyaml-0.so.2"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct elf_file f;
		char path[ELF_PATH_MAX];

		assert_true(elf_find_file(&f, names[i], NULL, NULL, path));
		elf_file_close(&f);
		same_functions(path);
	}
	shell("printf 'int a(void) { return 1; } __attribute__((visibility(\"protected\"))) int "
	      "b(void) { return 2; }"
	      " __attribute__((visibility(\"hidden\"))) int c(void) { return 3; } int data = 4; "
	      "extern int "
	      "undefined(void); int (*d(void))(void) { return undefined; }' >x.c");
	shell("cc -shared -fPIC -o gnu.so x.c -Wl,--hash-style=gnu");
	shell("cc -shared -fPIC -o sysv.so x.c -Wl,--hash-style=sysv");
	same_functions(in_dir("gnu.so"));
	same_functions(in_dir("sysv.so"));
}

static void test_defines(void **state)
{
	static const char *const files[] = {"gnu.so", "sysv.so"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct elf_file f;

		assert_int_equal(elf_file_open(&f, in_dir(files[i])), 0);
		assert_true(elf_file_has_function(&f, "a"));
		assert_true(elf_file_has_function(&f, "b"));
		assert_true(elf_file_has_function(&f, "d"));
		assert_false(elf_file_has_function(&f, "c"));
		assert_false(elf_file_has_function(&f, "data"));
		assert_false(elf_file_has_function(&f, "undefined"));
		assert_false(elf_file_has_function(&f, ""));
		elf_file_close(&f);
	}
}

static void test_no_library(void **state)
{
	struct elf_file f;

	(void)state;
	assert_int_equal(elf_file_open(&f, in_dir("none")), -ENOENT);
	assert_int_equal(elf_file_open(&f, dir), -ENOEXEC);
	assert_int_equal(elf_file_open(&f, "/dev/null"), -ENOEXEC);
	assert_int_equal(elf_file_open(&f, in_dir("x.c")), -ENOEXEC);
	shell("mkfifo pipe");
	assert_int_equal(elf_file_open(&f, in_dir("pipe")), -ENOEXEC);
	elf_file_close(&f);
}

/* ---- damage ---- */

static bool touch(const struct elf_function *fn, void *arg)
{
	*(size_t *)arg += strlen(fn->name);
	return true;
}

static void read_all(const void *bytes, size_t size)
{
	struct elf_file f;
	size_t at = 0, sum = 0;
	const char *s;

	if (elf_file_open_memory(&f, bytes, size))
		return;
	elf_file_handle_functions(&f, touch, &sum);
	while ((s = elf_file_needed(&f, &at)))
		sum += strlen(s);
	sum += (f.soname ? strlen(f.soname) : 0) + (f.rpath ? strlen(f.rpath) : 0) +
	       (f.runpath ? strlen(f.runpath) : 0);
	elf_file_has_function(&f, "a");
	elf_file_close(&f);
}

/* In a block of exactly that size, so that a sanitizer sees any byte read after it. */
static void damaged(const uint8_t *whole, size_t size, uint32_t *seed, unsigned changes)
{
	uint8_t *copy = malloc(size);

	memcpy(copy, whole, size);
	for (unsigned i = 0; i < changes; i++) {
		*seed = *seed * 1664525 + 1013904223;

		size_t at = *seed % (*seed & 1 ? size : size < 4096 ? size : 4096);

		*seed = *seed * 1664525 + 1013904223;
		copy[at] = *seed >> 28 ? (uint8_t)(*seed >> 16) : 0xff;
	}
	read_all(copy, size);
	free(copy);
}

static void test_damage(void **state)
{
	static const char *const files[] = {"gnu.so", "sysv.so"};
	uint32_t seed = 7;

	(void)state;
	for (int i = 0; i < 2; i++) {
		FILE *f = fopen(in_dir(files[i]), "r");
		uint8_t *whole = malloc(1 << 20);
		size_t size = fread(whole, 1, 1 << 20, f);

		fclose(f);
		for (size_t n = 0; n < size; n += n < 1024 ? 1 : 97)
			damaged(whole, n ? n : 1, &seed, 0);
		for (unsigned k = 0; k < 20000; k++)
			damaged(whole, size, &seed, 1 + k % 8);
		free(whole);
	}
}

/* ---- the search ---- */

/* The loader's answer for a program's library. */
static void loader_says(const char *program, const char *library, char *path)
{
	char cmd[512];
	FILE *p;

	snprintf(cmd, sizeof(cmd), "cd %s && ldd ./%s | awk '$1 == \"%s\" {print $3}'", dir,
		program, library);
	p = popen(cmd, "r");
	path[0] = 0;
	if (fgets(path, ELF_PATH_MAX, p))
		path[strcspn(path, "\n")] = 0;
	pclose(p);
}

static void as_loader(const char *program, const char *library_path)
{
	char path[ELF_PATH_MAX], want[ELF_PATH_MAX], real[ELF_PATH_MAX], self[128];
	struct elf_file p, f;
	struct elf_asker asker;

	if (library_path)
		setenv("LD_LIBRARY_PATH", library_path, 1);
	loader_says(program, "libx.so", want);
	unsetenv("LD_LIBRARY_PATH");
	strcpy(self, in_dir(program));
	assert_int_equal(elf_file_open(&p, self), 0);
	asker = (struct elf_asker){self, p.rpath, p.runpath, p.no_default, NULL};
	if (!elf_find_file(&f, "libx.so", &asker, library_path, path)) {
		path[0] = 0;
		if (strcmp(want, "not") == 0)
			want[0] = 0;
	}
	elf_file_close(&f);
	elf_file_close(&p);
	if (*path) {
		if (access(want, F_OK))
			fail_msg("%s, LD_LIBRARY_PATH=%s: found %s, the loader says '%s'", program,
				library_path ? library_path : "", path, want);
		assert_non_null(realpath(path, real));
		assert_non_null(realpath(want, path));
		assert_string_equal(real, path);
	} else {
		assert_string_equal(want, "");
	}
}

static void test_search(void **state)
{
	char env[256];

	(void)state;
	shell("echo 'int x(void) { return 1; }' >l.c; echo 'int x(void); int main(void) { return "
	      "x(); }' >p.c; "
	      "mkdir -p run env rp 'with space'; for d in run env rp; do cc -shared -fPIC -o "
	      "$d/libx.so l.c "
	      "-Wl,-soname,libx.so; done; cc -o plain p.c run/libx.so; cc -o runpath p.c "
	      "run/libx.so "
	      "-Wl,--enable-new-dtags,-rpath,'$ORIGIN/none:$ORIGIN/run'; cc -o braces p.c "
	      "run/libx.so "
	      "-Wl,--enable-new-dtags,-rpath,'${ORIGIN}/run'; cc -o rpath p.c run/libx.so "
	      "-Wl,--disable-new-dtags,-rpath,'$ORIGIN/rp'");
	snprintf(env, sizeof(env), "%s/none:%s/env", dir, dir);
	as_loader("plain", NULL);
	as_loader("plain", env);
	as_loader("runpath", NULL);
	as_loader("runpath", env);
	as_loader("braces", NULL);
	as_loader("rpath", NULL);
	as_loader("rpath", env);
	/* A file for another machine is passed over. */
	shell("cp env/libx.so env/good; printf '\\267' | dd of=env/libx.so bs=1 seek=18 "
	      "conv=notrunc 2>&1 "
	      "| tail -1 >/dev/null");
	as_loader("runpath", env);
	shell("echo text >env/libx.so");
	as_loader("plain", env);
}

/* The RPATH of an object also applies to the libraries that its own libraries need. */
static void test_search_chain(void **state)
{
	struct elf_asker program = {.path = in_dir("rpath"), .rpath = "$ORIGIN/rp"};
	struct elf_asker middle = {.path = "/usr/lib/libmiddle.so", .by = &program};
	struct elf_asker own = {
		.path = "/usr/lib/libmiddle.so", .runpath = "/nowhere", .by = &program};
	char path[ELF_PATH_MAX];
	struct elf_file f;

	(void)state;
	assert_true(elf_find_file(&f, "libx.so", &middle, NULL, path));
	elf_file_close(&f);
	assert_false(elf_find_file(&f, "libx.so", &own, NULL, path));
}

/* ---- ld.so.cache ---- */

static bool keep(const char *path, void *arg)
{
	snprintf(arg, ELF_PATH_MAX, "%s", path);
	return true;
}

static void test_cache(void **state)
{
	char line[1024], name[256], want[512], have[ELF_PATH_MAX], last[256] = "";
	FILE *p = popen(
		"/sbin/ldconfig -p 2>/dev/null | grep -E '(x86-64|AArch64)' | grep -v hwcap", "r");
	unsigned n = 0;

	(void)state;
	while (p && fgets(line, sizeof(line), p)) {
		if (sscanf(line, " %255s %*[^=]=> %511s", name, want) != 2 || !strcmp(name, last))
			continue;
		strcpy(last, name);
		assert_true(ld_cache_find(name, keep, have));
		assert_string_equal(have, want);
		n++;
	}
	if (p)
		pclose(p);
	if (!n) {
		print_message("skipped: ldconfig lists nothing\n");
		skip();
	}
	assert_false(ld_cache_find("libno-such-library.so.77", keep, have));
}

static void test_cache_damage(void **state)
{
	FILE *f = fopen("/etc/ld.so.cache", "r");
	uint8_t *whole = malloc(1 << 20), *copy;
	size_t size = f ? fread(whole, 1, 1 << 20, f) : 0;
	char have[ELF_PATH_MAX];
	uint32_t seed = 3;

	(void)state;
	if (f)
		fclose(f);
	if (!size) {
		free(whole);
		print_message("skipped: /etc/ld.so.cache is missing or empty\n");
		skip();
	}
	/* Undamaged it is read: else the 3000 damaged ones would show nothing. */
	assert_true(size < 1 << 20);
	assert_true(ld_cache_find_in(whole, size, "libc.so.6", keep, have));
	for (unsigned k = 0; k < 3000; k++) {
		size_t n = k % 3 ? size : (seed >> 8) % size;

		copy = malloc(n ? n : 1);
		memcpy(copy, whole, n);
		for (unsigned i = 0; i < 4 && n; i++) {
			seed = seed * 1664525 + 1013904223;
			copy[(seed >> 4) % (k & 1 ? n : n < 256 ? n : 256)] = (uint8_t)(seed >> 24);
		}
		ld_cache_find_in(copy, n, "libc.so.6", keep, have);
		free(copy);
	}
	free(whole);
}

static int make_dir(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%s/probe-elf-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_defines),
		cmocka_unit_test(test_no_library),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_search_chain),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_cache_damage),
	};

	unsetenv("LD_LIBRARY_PATH");
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
