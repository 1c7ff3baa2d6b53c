/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for addresses, against what readelf says of the same files; files that are not what they should be; limits.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "elf/elf_symbols.h"
#include "elf/symbols.h"
#include "stack_build.h"

#define TRUTHS 100000
/* Length of one of the assembly's functions, and one more. */
#if defined(__x86_64__)
#define LABEL_END "0x5"
#define LABEL_BEHIND "0x6"
#else
#define LABEL_END "0xc"
#define LABEL_BEHIND "0xd"
#endif

#define ROOM ((size_t)64 << 20)

struct truth {
	uint64_t at, size;
	char name[1000];
};

static struct truth *truth;
static int truths;

static int by_address(const void *a, const void *b)
{
	const struct truth *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* The functions that readelf lists. */
static void read_truth(const char *path, const char *table)
{
	char cmd[1024], line[4096], type[32], bind[32], vis[32], ndx[32], name[2048];
	unsigned long at;
	char size[32];
	FILE *f;

	truths = 0;
	snprintf(cmd, sizeof(cmd), "LC_ALL=C readelf -W %s '%s'", table, path);
	f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct truth *t = &truth[truths];

		if (sscanf(line, "%*d: %lx %31s %31s %31s %31s %31s %2047s", &at, size, type, bind,
			    vis, ndx, name) != 7)
			continue;
		if ((strcmp(type, "FUNC") && strcmp(type, "IFUNC")) || !strcmp(ndx, "UND") ||
			truths == TRUTHS)
			continue;
		name[strcspn(name, "@")] = '\0';
		t->at = at;
		t->size = strtoull(size, NULL, 0);
		snprintf(t->name, sizeof(t->name), "%.999s", name);
		truths++;
	}
	pclose(f);
	qsort(truth, (size_t)truths, sizeof(*truth), by_address);
}

static void module_of(struct module *m, const char *path, uint64_t bias)
{
	char hex[128] = "";
	unsigned int b;

	memset(m, 0, sizeof(*m));
	m->lo = bias;
	m->hi = bias + ((uint64_t)1 << 31);
	m->bias = bias;
	snprintf(m->path, sizeof(m->path), "%s", path);
	build_output(hex, sizeof(hex),
		"LC_ALL=C readelf -nW '%s' 2>/dev/null | sed -n 's/.*Build ID: //p'", path);
	for (size_t i = 0; hex[i] && m->build_id_len < BUILD_ID_MAX; i += 2) {
		sscanf(hex + i, "%2x", &b);
		m->build_id[m->build_id_len++] = (uint8_t)b;
	}
}

/* Is "file!name+0x.." right for the address? The innermost function around it, by any of its names. */
static bool right(const char *got, const char *file, uint64_t vaddr)
{
	char expect[1200];
	uint64_t start = 0;
	bool any = false;

	for (int i = 0; i < truths; i++)
		if (truth[i].at <= vaddr - 1 && vaddr - 1 - truth[i].at < truth[i].size &&
			truth[i].at >= start) {
			start = truth[i].at;
			any = true;
		}
	if (!any)
		return true; /* a gap: whatever is there has no size */
	for (int i = 0; i < truths; i++) {
		if (truth[i].at != start || vaddr - 1 - start >= truth[i].size)
			continue;
		snprintf(expect, sizeof(expect), "%s!%s+0x%llx", file, truth[i].name,
			(unsigned long long)(vaddr - start));
		if (!strcmp(got, expect))
			return true;
	}
	fprintf(stderr, "%llx is %s\n", (unsigned long long)vaddr, got);
	return false;
}

static void check_file(const char *path, const char *table, int step)
{
	const uint64_t bias = 0x7f0000000000;
	const char *file = strrchr(path, '/') + 1;
	struct symbols *s = symbols_init(ROOM);
	struct module m;
	char got[1200];

	read_truth(path, table);
	assert_true(truths > 0);
	module_of(&m, path, bias);
	symbols_add_module(s, &m);
	for (int i = 0; i < truths; i += step) {
		uint64_t ends[] = {truth[i].at + 1, truth[i].at + truth[i].size / 2 + 1,
			truth[i].at + truth[i].size};

		for (int k = 0; truth[i].size && k < 3; k++) {
			symbols_format_name(s, bias + ends[k], got, sizeof(got));
			assert_true(right(got, file, ends[k]));
			symbols_format_name(s, bias + ends[k], got, sizeof(got)); /* kept */
			assert_true(right(got, file, ends[k]));
		}
	}
	symbols_free(s);
}

static const char *built(const char *name)
{
	static char path[4][256];
	static int i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", build_dir, name);
	return path[i];
}

static void names_as_readelf_has_them(void **state)
{
	char self[256];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	Dl_info libc;

	(void)state;
	assert_true(n > 0);
	self[n] = '\0';
	check_file(built("names.so"), "-s", 1);
	check_file(built("names_stripped.so"), "--dyn-syms", 1);
	check_file(self, "-s", 1);
	assert_true(dladdr((void *)(uintptr_t)printf, &libc));
	check_file(libc.dli_fname, "-s", 7);
}

static void named(
	struct symbols *s, const char *path, const char *symbol, int off, const char *expect)
{
	char at[64] = "", got[256];
	struct module m;

	build_output(at, sizeof(at), "nm '%s' | sed -n 's/^\\([0-9a-f]*\\) [tTWwi] %s$/\\1/p'",
		path, symbol);
	assert_true(at[0]);
	module_of(&m, path, 0x10000000);
	symbols_add_module(s, &m);
	symbols_format_name(
		s, 0x10000000 + strtoull(at, NULL, 16) + (uint64_t)off, got, sizeof(got));
	assert_string_equal(got, expect);
}

static void which_of_several_names(void **state)
{
	struct symbols *s = symbols_init(ROOM);
	const char *so = built("names.so");

	(void)state;
	/* Fewest underscores, then shortest, then by alphabet. */
	named(s, so, "names_global", 1, "names.so!names_alias+0x1");
	named(s, so, "names_static", 1, "names.so!names_static+0x1");
	named(s, so, "names_weak", 2, "names.so!names_weak+0x2");
	/* No size: up to the next. */
	named(s, so, "names_label", 1, "names.so!names_label+0x1");
	named(s, so, "names_after", 0, "names.so!names_label+" LABEL_END);
	named(s, so, "names_after", 1, "names.so!names_after+0x1");
	/* A label without a size is no function where there is one around it. */
	named(s, so, "names_inner", 1, "names.so!names_outer+" LABEL_BEHIND);
	symbols_free(s);
}

static int shout(const char *name, char *buf, size_t cap)
{
	return strncmp(name, "names_w", 7) ? -1 : snprintf(buf, cap, "readable(%s)", name);
}

static void readable_names(void **state)
{
	struct symbols *s = symbols_init(ROOM);

	(void)state;
	symbols_set_demangler(s, shout);
	named(s, built("names.so"), "names_weak", 2, "names.so!readable(names_weak)+0x2");
	named(s, built("names.so"), "names_static", 2, "names.so!names_static+0x2");
	symbols_free(s);
}

static void no_name(const char *path, struct module *m, const char *expect)
{
	struct symbols *s = symbols_init(ROOM);
	char got[256];

	snprintf(m->path, sizeof(m->path), "%s", path);
	symbols_add_module(s, m);
	assert_int_equal(
		symbols_format_name(s, m->bias + 0x1120, got, sizeof(got)), strlen(expect));
	assert_string_equal(got, expect);
	symbols_free(s);
}

static void files_that_are_not_it(void **state)
{
	struct module m;

	(void)state;
	module_of(&m, built("names.so"), 0x5550000);
	m.build_id[3] ^= 1;
	no_name(built("names.so"), &m, "names.so+0x1120");
	m.build_id_len = 0;
	no_name(built("names.so"), &m, "names.so+0x1120");
	no_name(built("gone.so"), &m, "gone.so+0x1120");
	no_name("/dev/zero", &m, "zero+0x1120");
	no_name("/", &m, "+0x1120");
	no_name("[vdso]", &m, "[vdso]+0x1120");
	no_name("names.so", &m, "names.so+0x1120");
	assert_int_equal(mkfifo(built("fifo"), 0600), 0);
	no_name(built("fifo"), &m, "fifo+0x1120");
	build_run("head -c 3000 '%s' > '%s'", built("names.so"), built("short.so"));
	no_name(built("short.so"), &m, "short.so+0x1120");
	build_run(": > '%s'", built("empty.so"));
	no_name(built("empty.so"), &m, "empty.so+0x1120");
}

static void addresses_outside(void **state)
{
	struct symbols *s = symbols_init(ROOM);
	struct module m;
	char got[64], two[2] = "xx";

	(void)state;
	assert_int_equal(symbols_format_name(s, 0x1234, got, sizeof(got)), 6);
	assert_string_equal(got, "0x1234");
	assert_int_equal(symbols_format_name(s, 0x1234, two, 2), 6);
	assert_string_equal(two, "0");
	assert_int_equal(symbols_format_name(s, 0x1234, NULL, 0), 6);
	assert_int_equal(symbols_format_name(s, 0, got, sizeof(got)), 3);
	module_of(&m, built("names.so"), 0x10000);
	m.hi = m.lo + 0x4000;
	symbols_add_module(s, &m);
	symbols_format_name(s, m.lo, got,
		sizeof(got)); /* a call that ends where the module begins is not in it */
	assert_string_equal(got, "0x10000");
	symbols_format_name(
		s, m.hi, got, sizeof(got)); /* the last call of the module may return after it */
	assert_string_equal(got, "names.so+0x4000");
	symbols_format_name(s, m.hi + 1, got, sizeof(got));
	assert_string_equal(got, "0x14001");
	symbols_free(s);
}

/* The file is replaced after its table was read: no name from the new one. */
static void changed_meanwhile(void **state)
{
	struct symbols *s = symbols_init(ROOM);
	const char *path = built("changing.so"), *weak = "changing.so!names_weak+0x2";
	char got[256], at[64] = "";
	uint64_t pc;

	(void)state;
	build_run("cp '%s' '%s'", built("names.so"), path);
	named(s, path, "names_weak", 2, weak);
	build_output(at, sizeof(at), "nm '%s' | sed -n 's/ W names_weak//p'", path);
	/* The same size, the same offsets, other names; in the same file, a moment later. */
	usleep(20000);
	build_run("sed 's/names_weak/names_fake/g' '%s' > '%s.new' && cat '%s.new' > '%s'", path,
		path, path, path);
	pc = 0x10000000 + strtoull(at, NULL, 16) + 3;
	symbols_format_name(s, pc, got, sizeof(got));
	assert_non_null(strstr(got, "changing.so+0x"));
	build_run("head -c 5000 '%s' > '%s'", built("names.so"), path);
	symbols_format_name(s, pc + 1, got, sizeof(got));
	assert_non_null(strstr(got, "changing.so+0x"));
	symbols_free(s);
}

static void separate_debug_file(void **state)
{
	struct symbols *s = symbols_init(ROOM);
	char id[64] = "", at[64] = "", got[256];
	struct module m;

	(void)state;
	build_output(
		id, sizeof(id), "readelf -nW '%s' | sed -n 's/.*Build ID: //p'", built("names.so"));
	assert_true(strlen(id) > 8);
	build_run("mkdir -p '%s/debug/.build-id/%.2s' && objcopy --only-keep-debug '%s' "
		  "'%s/debug/.build-id/%.2s/%s.debug'",
		build_dir, id, built("names.so"), build_dir, id, id + 2);
	build_output(at, sizeof(at), "nm '%s' | sed -n 's/ t names_static//p'", built("names.so"));
	module_of(&m, built("names_stripped.so"), 0x10000000);
	symbols_add_module(s, &m);
	symbols_set_debug_dir(s, built("debug"));
	symbols_format_name(s, 0x10000000 + strtoull(at, NULL, 16) + 1, got, sizeof(got));
	assert_string_equal(got, "names_stripped.so!names_static+0x1");
	symbols_free(s);
}

static void modules_replace_each_other(void **state)
{
	struct symbols *s = symbols_init(ROOM);
	struct module m;
	char got[256];

	(void)state;
	module_of(&m, "/no/a.so", 0x100000);
	m.hi = m.lo + 0x10000;
	symbols_add_module(s, &m);
	symbols_add_module(s, &m);
	symbols_format_name(s, 0x100100, got, sizeof(got));
	assert_string_equal(got, "a.so+0x100");
	module_of(&m, "/no/b.so", 0x108000);
	m.hi = m.lo + 0x1000;
	symbols_add_module(s, &m);
	symbols_format_name(s, 0x100100, got, sizeof(got));
	assert_string_equal(got, "0x100100");
	symbols_format_name(s, 0x108100, got, sizeof(got));
	assert_string_equal(got, "b.so+0x100");
	module_of(&m, "/no/c.so", 0x109000); /* beside b */
	m.hi = m.lo + 0x1000;
	symbols_add_module(s, &m);
	module_of(&m, "/no/d.so", 0x107000); /* over b, and half of c */
	m.hi = m.lo + 0x2800;
	symbols_add_module(s, &m);
	symbols_format_name(s, 0x109900, got, sizeof(got));
	assert_string_equal(got, "0x109900");
	symbols_format_name(s, 0x108100, got, sizeof(got));
	assert_string_equal(got, "d.so+0x1100");
	symbols_free(s);
}

static long resident(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d %ld", &pages), 1);
	fclose(f);
	return pages * 4096;
}

/* 200000 functions take 2.4 MB; with less room there are fewer names, not more memory. */
static void large_tables(void **state)
{
	static const size_t limits[] = {0, 1000, 100000, 1 << 20, 3 << 20, 4 << 20, 8 << 20};
	char expect[64], got[128];
	struct elf_symbols t;
	struct module many;

	(void)state;
	module_of(&many, built("many.so"), 0);
	assert_int_equal(
		elf_symbols_load(&t, many.path, many.build_id, many.build_id_len, 1 << 20), -EFBIG);
	assert_int_equal(
		elf_symbols_load(&t, many.path, many.build_id, many.build_id_len, 3 << 20), 0);
	assert_int_equal(t.n, 200000);
	elf_symbols_free(&t);
	for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
		struct symbols *s = symbols_init(limits[l]);
		long before = resident();
		int names = 0;
		struct module m;

		module_of(&m, built("many.so"), (uint64_t)1 << 40);
		symbols_add_module(s, &m);
		module_of(&m, built("more.so"), (uint64_t)2 << 40);
		symbols_add_module(s, &m);
		for (int i = 0; i < 200000; i += 9973) {
			for (uint64_t k = 1; k < 3; k++) {
				symbols_format_name(s, (k << 40) + 0x2000000 + (uint64_t)i * 16 + 1,
					got, sizeof(got));
				snprintf(expect, sizeof(expect), "%s.so!function_%d+0x1",
					k == 1 ? "many" : "more", i);
				if (!strcmp(got, expect))
					names++;
				else
					assert_int_equal(
						strncmp(got, k == 1 ? "many.so+0x" : "more.so+0x",
							10) == 0 ||
							got[0] == '0',
						1);
			}
		}
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		assert_true(resident() - before < (long)limits[l] + (1 << 20));
#else
		(void)before;
#endif
		/* Both tables fit; one at a time, until changing them has become too dear; none. */
		if (limits[l] >= (size_t)8 << 20)
			assert_int_equal(names, 42);
		else if (limits[l] >= (size_t)4 << 20)
			assert_in_range(names, 3, 41);
		else if (limits[l] < (size_t)2 << 20)
			assert_int_equal(names, 0);
		symbols_free(s);
	}
}

static int setup(void **state)
{
	FILE *f;
	bool ok;

	(void)state;
	truth = calloc(TRUTHS, sizeof(*truth));
	if (!truth || !build_begin())
		return -1;
	ok = build("gcc", "-shared -fPIC -O2 -g -Wl,--build-id", "stack_names.c", "names.so");
	ok = ok && !build_run("strip -o '%s' '%s'", built("names_stripped.so"), built("names.so"));
	f = fopen(built("many.s"), "w");
	if (!ok || !f)
		return -1;
	fprintf(f, ".text\n");
	for (int i = 0; i < 200000; i++)
		fprintf(f,
			".globl function_%d\n.type function_%d,%%function\nfunction_%d:\n.fill "
			"4,4,0\n.size function_%d,16\n",
			i, i, i, i);
	fclose(f);
	ok = !build_run("gcc -shared -nostdlib -Wl,--build-id -Wl,--section-start=.text=0x2000000 "
			"-Wl,-Bsymbolic -o '%s' '%s' && cp '%s' '%s'",
		built("many.so"), built("many.s"), built("many.so"), built("more.so"));
	return ok ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(truth);
	build_end();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_as_readelf_has_them),
		cmocka_unit_test(which_of_several_names),
		cmocka_unit_test(readable_names),
		cmocka_unit_test(files_that_are_not_it),
		cmocka_unit_test(addresses_outside),
		cmocka_unit_test(changed_meanwhile),
		cmocka_unit_test(separate_debug_file),
		cmocka_unit_test(modules_replace_each_other),
		cmocka_unit_test(large_tables),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
