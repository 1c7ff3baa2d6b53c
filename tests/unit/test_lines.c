/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines, against addr2line: every function of a program built with -g, and files without or with other
 * debugging information.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <errno.h>
#include <stdint.h>

#include <cmocka.h>

#include "stack_build.h"
#include "tools/probe/model/read/lines.h"

static const char *built(const char *name)
{
	static char path[4][256];
	static int i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", build_dir, name);
	return path[i];
}

static void module_of(struct module *m, const char *path, uint64_t bias)
{
	char hex[128] = "";
	unsigned int b;

	memset(m, 0, sizeof(*m));
	m->lo = m->bias = bias;
	m->hi = bias + 0x100000;
	snprintf(m->path, sizeof(m->path), "%s", path);
	build_output(hex, sizeof(hex),
		"LC_ALL=C readelf -nW '%s' 2>/dev/null | sed -n 's/.*Build ID: //p'", path);
	for (size_t i = 0; hex[i] && m->build_id_len < BUILD_ID_MAX; i += 2) {
		sscanf(hex + i, "%2x", &b);
		m->build_id[m->build_id_len++] = (uint8_t)b;
	}
}

/* Each address of .text at which addr2line sees a line; readelf knows the section. */
static void check_file(const char *name, uint64_t bias)
{
	char section[128] = "", truth[1024], got[1024];
	struct lines *l = lines_open();
	unsigned long at, size;
	struct module m;
	int lines = 0;

	module_of(&m, built(name), bias);
	build_output(section, sizeof(section),
		"LC_ALL=C readelf -SW '%s' | sed -n 's/.* \\.text  *PROGBITS  *//p'", built(name));
	assert_int_equal(sscanf(section, "%lx %*x %lx", &at, &size), 2);
	for (unsigned long a = at; a < at + size; a += 2) {
		int rc = lines_find(l, &m, bias + a + 1, got, sizeof(got));
		char *tail;

		assert_true(build_output(
			truth, sizeof(truth), "addr2line -e '%s' %lx", built(name), a));
		tail = strstr(truth, " (discriminator");
		if (tail)
			*tail = '\0';
		if (truth[0] == '?' || strstr(truth, ":?") || strstr(truth, ":0")) {
			assert_int_equal(rc, -ENOENT);
			continue;
		}
		assert_int_equal(rc, 0);
		assert_string_equal(got, truth);
		lines++;
	}
	assert_true(lines > 20);
	lines_free(l);
}

static void lines_as_addr2line_has_them(void **state)
{
	(void)state;
	check_file("names.so", 0x7f1200000000);
	check_file("program", 0);
}

static void none(const char *path, const struct module *like, int expect)
{
	struct lines *l = lines_open();
	struct module m = *like;
	char got[64];

	snprintf(m.path, sizeof(m.path), "%s", path);
	assert_int_equal(lines_find(l, &m, m.bias + 0x1121, got, sizeof(got)), expect);
	assert_int_equal(lines_find(l, &m, m.bias + 0x1121, got, sizeof(got)), expect);
	lines_free(l);
}

static void files_without(void **state)
{
	struct module m;
	char id;

	(void)state;
	module_of(&m, built("names.so"), 0x5550000);
	none(built("stripped.so"), &m, -ENOENT);
	none(built("gone.so"), &m, -ENOENT);
	none("[vdso]", &m, -ENOENT);
	none("", &m, -ENOENT);
	none("/", &m, -ENOENT);
	build_run("head -c 3000 '%s' > '%s'", built("names.so"), built("short.so"));
	none(built("short.so"), &m, -ENOENT);
	id = (char)m.build_id[0];
	m.build_id[0] ^= 1;
	none(built("names.so"), &m, -ESTALE);
	m.build_id[0] = (uint8_t)id;
	m.build_id_len = 0;
	none(built("names.so"), &m, -ESTALE);
}

static void no_room(void **state)
{
	struct lines *l = lines_open();
	struct module m;
	char at[64] = "", got[1024], small[8];
	uint64_t pc;

	(void)state;
	module_of(&m, built("names.so"), 0x10000);
	build_output(at, sizeof(at), "nm '%s' | sed -n 's/ T names_main//p'", built("names.so"));
	pc = m.bias + strtoull(at, NULL, 16) + 1;
	assert_int_equal(lines_find(l, &m, pc, got, sizeof(got)), 0);
	assert_non_null(strstr(got, "tests/apps/stack_names.c:"));
	assert_int_equal(lines_find(l, &m, pc, small, sizeof(small)), -ENOBUFS);
	assert_int_equal(lines_find(l, &m, pc, NULL, 0), -ENOBUFS);
	assert_int_equal(lines_find(l, &m, m.bias + 0x80000, got, sizeof(got)), -ENOENT);
	lines_free(l);
}

/* The servers of debuginfod are not asked. */
static void no_network(void **state)
{
	struct lines *l;

	(void)state;
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1/", 1);
	l = lines_open();
	assert_null(getenv("DEBUGINFOD_URLS"));
	lines_free(l);
	lines_free(NULL);
}

static int setup(void **state)
{
	(void)state;
	if (!build_begin() ||
		!build("gcc", "-shared -fPIC -O2 -g -Wl,--build-id", "stack_names.c", "names.so") ||
		!build("gcc", "-O1 -g -no-pie -Wl,--build-id -Wl,-e,names_main -nostartfiles",
			"stack_names.c", "program"))
		return -1;
	return build_run("strip -o '%s' '%s'", built("stripped.so"), built("names.so"));
}

static int teardown(void **state)
{
	(void)state;
	build_end();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_as_addr2line_has_them),
		cmocka_unit_test(files_without),
		cmocka_unit_test(no_room),
		cmocka_unit_test(no_network),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
