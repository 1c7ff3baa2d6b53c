/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of this process, against /proc/self/maps and readelf; and with symbols.c, names of its own functions.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <dlfcn.h>
#include <stdint.h>

#include <cmocka.h>

#include "elf/loaded/elf_note.h"
#include "elf/symbols.h"
#include "stack_build.h"

struct seen {
	int n, exe, vdso, libc, bad;
	uint64_t here;
};

static void see(void *arg, const struct module *m)
{
	struct seen *s = arg;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long a, b;
	bool mapped = false;
	char id[128] = "", mine[64] = "";

	s->n++;
	s->exe += s->here >= m->lo && s->here < m->hi;
	s->vdso += !strcmp(m->path, "[vdso]");
	s->libc += strstr(m->path, "/libc.so.6") != NULL;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &a, &b) == 2 && m->lo >= a && m->lo < b)
			mapped = m->path[0] != '/' || strstr(line, strrchr(m->path, '/')) ||
				 strstr(line, ".so");
	if (f)
		fclose(f);
	for (int i = 0; i < m->build_id_len; i++)
		sprintf(mine + 2 * i, "%02x", m->build_id[i]);
	if (m->path[0] == '/')
		build_output(id, sizeof(id),
			"readelf -nW '%s' 2>/dev/null | sed -n 's/.*Build ID: //p'", m->path);
	else
		strcpy(id, mine);
	if (!mapped || strcmp(id, mine)) {
		s->bad++;
		fprintf(stderr, "%s: %lx, build id %s, readelf says %s\n", m->path,
			(unsigned long)m->lo, mine, id);
	}
}

static struct module listed[64];
static int listed_n;

static void list(void *arg, const struct module *m)
{
	(void)arg;
	if (listed_n < 64)
		listed[listed_n++] = *m;
}

static void modules(void **state)
{
	struct seen s = {.here = (uint64_t)(uintptr_t)modules};
	struct symbols *names = symbols_init((size_t)64 << 20);
	uint64_t g = modules_get_generation();
	char self[PATH_MAX], path[128], got[256];
	void *h;

	(void)state;
	assert_int_equal(g, modules_get_generation());
	snprintf(path, sizeof(path), "%s/names.so", build_dir);
	h = dlopen(path, RTLD_NOW);
	assert_non_null(h);
	assert_true(modules_get_generation() != g);
	listed_n = 0;
	modules_handle_each(list, NULL);
	/* Outside of the loader's lock, since popen() forks. */
	for (int i = 0; i < listed_n; i++) {
		see(&s, &listed[i]);
		symbols_add_module(names, &listed[i]);
	}
	assert_int_equal(s.bad, 0);
	assert_int_equal(s.exe, 1);
	assert_int_equal(s.libc, 1);
	assert_true(s.vdso <= 1);
	assert_non_null(realpath("/proc/self/exe", self));
	assert_string_equal(listed[0].path, self);
	/* All together: the name of a function in this process. */
	symbols_format_name(names, (uint64_t)(uintptr_t)modules + 1, got, sizeof(got));
	assert_non_null(strstr(got, "!modules+0x1"));
	symbols_format_name(
		names, (uint64_t)(uintptr_t)dlsym(h, "names_weak") + 1, got, sizeof(got));
	assert_string_equal(got, "names.so!names_weak+0x1");
	dlclose(h);
	symbols_free(names);
}

/* One note: name and description padded to `align`. */
static size_t put_note(uint8_t *p, uint32_t type, const char *name, uint32_t desc, size_t align)
{
	uint32_t head[3] = {(uint32_t)strlen(name) + 1, desc, type};
	size_t at = (sizeof(head) + head[0] + align - 1) / align * align;

	memcpy(p, head, sizeof(head));
	memcpy(p + sizeof(head), name, head[0]);
	for (uint32_t i = 0; i < desc; i++)
		p[at + i] = (uint8_t)(i + 1);
	return (at + desc + align - 1) / align * align;
}

static void build_ids_among_notes(void **state)
{
	(void)state;
	for (size_t align = 4; align <= 8; align += 4) {
		uint8_t notes[256] = {0}, id[BUILD_ID_MAX] = {0};
		size_t n = put_note(notes, 1, "Other", 5, align);

		n += put_note(notes + n, NT_GNU_BUILD_ID, "GNX", 20, align);
		n += put_note(notes + n, 5, "GNU", 13, align);
		assert_int_equal(elf_note_copy_build_id(notes, n, align, id), 0);
		n += put_note(notes + n, NT_GNU_BUILD_ID, "GNU", 20, align);
		assert_int_equal(elf_note_copy_build_id(notes, n, align, id), 20);
		assert_true(id[0] == 1 && id[19] == 20);
		for (size_t cut = 0; cut < n - 4; cut++) {
			uint8_t *exact = malloc(cut + !cut);

			/* So that a sanitizer sees what is read after the end. */
			memcpy(exact, notes, cut);
			assert_int_equal(elf_note_copy_build_id(exact, cut, align, id), 0);
			free(exact);
		}
		n = put_note(notes, NT_GNU_BUILD_ID, "GNU", BUILD_ID_MAX + 1, align);
		assert_int_equal(elf_note_copy_build_id(notes, n, align, id), 0);
	}
}

static int setup(void **state)
{
	(void)state;
	return build_begin() && build("gcc", "-shared -fPIC -O2 -Wl,--build-id", "stack_names.c",
					"names.so")
		       ? 0
		       : -1;
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
		cmocka_unit_test(modules),
		cmocka_unit_test(build_ids_among_notes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
