/* SPDX-License-Identifier: Apache-2.0 */
/* link: -ldl -rdynamic */
/*
 * Symbols found by the objects' own hash tables, against the dynamic linker: functions of libc and libm, IFUNCs,
 * versioned ones, and libraries built for the purpose with each kind of hash table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/loaded/elfsym.h"

int elfsym_test_exported(void);

int elfsym_test_exported(void)
{
	return 1;
}

static void *address(const struct provider *p)
{
	return p->ifunc ? ((void *(*)(void))p->addr)() : p->addr;
}

static const struct provider *in_object(const struct provider *p, int n, const char *part)
{
	for (int i = 0; i < n; i++)
		if (strstr(p[i].path, part))
			return &p[i];
	return NULL;
}

/* Names that a sanitizer's runtime defines too; the first provider is then that one, for both. */
static void test_libc_and_libm(void **state)
{
	static const char *const names[] = {"malloc", "free", "printf", "getpid", "write", "openat",
		"pthread_create", "sin", "cos", "pow", "strlen", "memcpy", "memmove", "strcmp",
		"qsort", "setlocale", "dlsym", "dl_iterate_phdr", "exit", "__cxa_finalize",
		"environ_is_no_function", "no_such_function_anywhere", ""};
	unsigned found = 0, ifuncs = 0;

	(void)state;
	assert_non_null(dlopen("libm.so.6", RTLD_LAZY | RTLD_GLOBAL));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct provider p[16] = {{0}};
		int n = elfsym_find_all(names[i], p, 16);
		void *want = dlsym(RTLD_NEXT, names[i]);

		assert_int_equal(n > 0, want != NULL);
		if (!n)
			continue;
		found++;
		ifuncs += p[0].ifunc;
		assert_ptr_equal(address(&p[0]), want);
		assert_true((uintptr_t)p[0].addr >= p[0].lo && (uintptr_t)p[0].addr < p[0].hi);
	}
	assert_true(found >= 18);
	assert_true(ifuncs > 0); /* memcpy and its like, on every processor with vectors */
}

/* A function with several versions resolves to the default one, as a new reference does; hidden ones are skipped. */
static void test_versions(void **state)
{
	static const char *const names[] = {"pthread_cond_wait", "realpath", "fopen", "regexec",
		"posix_spawn", "timer_settime"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct provider p[16] = {{0}};
		int n = elfsym_find_all(names[i], p, 16);
		const struct provider *c = in_object(p, n, "libc.so.6");
		void *h = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

		assert_non_null(c);
		assert_ptr_equal(address(c), dlsym(h, names[i]));
		dlclose(h);
	}
}

/* The whole table of libc, by way of the linker's own answers. */
static void test_every_symbol_of_libm(void **state)
{
	void *h = dlopen("libm.so.6", RTLD_LAZY);
	FILE *nm;
	char path[512] = "", line[512], cmd[600], name[256];
	struct link_map *map;
	unsigned n = 0;

	(void)state;
	assert_non_null(h);
	assert_int_equal(dlinfo(h, RTLD_DI_LINKMAP, &map), 0);
	snprintf(path, sizeof(path), "%.500s", map->l_name);
	snprintf(cmd, sizeof(cmd), "nm -D --defined-only %s 2>/dev/null", path);
	nm = popen(cmd, "r");
	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm)) {
		char type, *at;

		if (sscanf(line, "%*s %c %255s", &type, name) != 2 || !strchr("TWiV", type))
			continue;
		at = strchr(name, '@');
		if (at && at[1] != '@')
			continue; /* an old version */
		if (at)
			*at = 0;

		struct provider p[16] = {{0}};
		const struct provider *m = in_object(p, elfsym_find_all(name, p, 16), "libm.so");

		if (type == 'V')
			continue;
		if (!m)
			fail_msg("%s is not found", name);
		assert_ptr_equal(address(m), dlsym(h, name));
		n++;
	}
	if (pclose(nm) || !n)
		skip(); /* no nm */
	assert_true(n > 500);
	dlclose(h);
}

static void test_data_and_ourselves(void **state)
{
	struct provider p[4];

	(void)state;
	assert_ptr_equal(elfsym_find_data("stdout"), dlsym(RTLD_DEFAULT, "stdout"));
	assert_null(elfsym_find_data("no_such_data_anywhere"));
	assert_null(elfsym_find_data("errno")); /* thread-local: no address */
	/* This program is "libprobe.so" here. */
	for (int i = 0; i < 2; i++) {
		assert_true(elfsym_is_own("elfsym_test_exported"));
		assert_false(elfsym_is_own("getpid"));
		assert_false(elfsym_is_own(""));
	}
	assert_non_null(dlsym(RTLD_DEFAULT, "elfsym_test_exported"));
	assert_int_equal(elfsym_find_all("elfsym_test_exported", p, 4), 0);
	assert_int_equal(elfsym_find_after_us("getpid", p, 4), elfsym_find_all("getpid", p, 4));
	/* No function. */
	assert_int_equal(elfsym_find_all("stdout", p, 4), 0);
}

static bool build(const char *path, const char *source, const char *flags)
{
	char cmd[1024];
	FILE *cc;

	snprintf(cmd, sizeof(cmd), "cc -shared -fPIC -x c %s -o %s - 2>/dev/null", flags, path);
	cc = popen(cmd, "w");
	if (cc)
		fputs(source, cc);
	return cc && pclose(cc) == 0;
}

static void check_built(const char *dir, const char *name, const char *flags, unsigned functions)
{
	static char source[65536];
	char path[256], f[32];
	size_t n = 0;
	void *h;

	for (unsigned i = 0; i < functions; i++)
		n += (size_t)snprintf(source + n, sizeof(source) - n,
			"int built_%s_%u(void) { return %u; } ", name, i, i);
	n += (size_t)snprintf(source + n, sizeof(source) - n,
		"static int hidden_%s(void) { return 1; } int (*use_%s)(void) = hidden_%s; extern "
		"int undefined_%s(void);",
		name, name, name, name);
	snprintf(path, sizeof(path), "%s/lib%s.so", dir, name);
	if (!build(path, source, flags))
		skip();
	h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(h);
	for (unsigned i = 0; i < functions + 3; i++) {
		struct provider p[4] = {{0}};
		int found;

		snprintf(f, sizeof(f), "built_%s_%u", name, i);
		found = elfsym_find_all(f, p, 4);
		assert_int_equal(found, i < functions);
		if (found) {
			assert_ptr_equal(p[0].addr, dlsym(h, f));
			assert_string_equal(p[0].path, path);
		}
	}
	snprintf(f, sizeof(f), "undefined_%s", name);
	assert_int_equal(elfsym_find_all(f, (struct provider[4]){{0}}, 4), 0);
	snprintf(f, sizeof(f), "hidden_%s", name);
	assert_int_equal(elfsym_find_all(f, (struct provider[4]){{0}}, 4), 0);
	dlclose(h);
	snprintf(f, sizeof(f), "built_%s_0", name);
	assert_int_equal(elfsym_find_all(f, (struct provider[4]){{0}}, 4), 0);
}

static void test_hash_tables(void **state)
{
	char dir[] = "/tmp/probe-unit-elf-XXXXXX", cmd[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	check_built(dir, "gnu", "-Wl,--hash-style=gnu", 300);
	check_built(dir, "sysv", "-Wl,--hash-style=sysv", 300);
	check_built(dir, "both", "-Wl,--hash-style=both -Wl,-z,relro,-z,now", 50);
	check_built(dir, "one", "-Wl,--hash-style=gnu", 1);
	check_built(dir, "none", "-Wl,--hash-style=gnu", 0);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	assert_int_equal(system(cmd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libc_and_libm),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_every_symbol_of_libm),
		cmocka_unit_test(test_data_and_ourselves),
		cmocka_unit_test(test_hash_tables),
	};

	return cmocka_run_group_tests_name("elfsym", tests, NULL, NULL);
}
