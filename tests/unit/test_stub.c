/* SPDX-License-Identifier: Apache-2.0 */
/* link: -ldl -rdynamic */
/*
 * Stub objects as files: accepted by the dynamic linker, every stub reachable by its name and jumping through its own
 * entry, nothing writable and executable; for both processors the code is what the assembler makes of the same lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "elf/loaded/elfsym.h"
#include "entry/stubs/stub_elf.h"

/* The initial targets of these objects' stubs: here they only note which one it was. */
uintptr_t came_from;
uintptr_t came_with;
#if defined(__x86_64__)
__asm__(".globl probe_stub_entry\n.type probe_stub_entry, @function\nprobe_stub_entry:\n"
	"movq %r11, came_from(%rip)\nmovq %r10, came_with(%rip)\nmovl $42, %eax\nret\n"
	".size probe_stub_entry, . - probe_stub_entry\n");
#elif defined(__aarch64__)
__asm__(".globl probe_stub_entry\n.type probe_stub_entry, %function\nprobe_stub_entry:\n"
	"adrp x9, came_from\nstr x16, [x9, :lo12:came_from]\n"
	"adrp x9, came_with\nstr x18, [x9, :lo12:came_with]\nmov w0, #42\nret\n"
	".size probe_stub_entry, . - probe_stub_entry\n");
#endif

static char dir[64];
static bool versioned = true; /* so that dlsym finds the stubs */

static char *write_object(const char *file, const char *const *name, uint32_t n, const char *needed)
{
	static char path[128];
	size_t size;
	struct stub_name *list = calloc(n, sizeof(*list));
	void *image;
	FILE *f;

	for (uint32_t i = 0; i < n; i++)
		list[i] = (struct stub_name){(char *)(uintptr_t)name[i], versioned, false};
	image = stub_elf_build(stub_elf_machine(), list, n, needed, &size);
	free(list);

	assert_non_null(image);
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(image, 1, size, f), size);
	fclose(f);
	munmap(image, size);
	return path;
}

static void test_loads_and_jumps(void **state)
{
	static const char *const names[] = {
		"alpha", "_ZN2at4_ops10add_Tensor4callERKNS_6TensorES4_", "g"};
	void *h = dlopen(write_object("a.so", names, 3, NULL), RTLD_NOW | RTLD_LOCAL);
	struct stub_entry *e[3];

	(void)state;
	if (!h)
		fail_msg("%s", dlerror());
	for (int i = 0; i < 3; i++) {
		int (*f)(void) = (int (*)(void))dlsym(h, names[i]);

		assert_non_null(f);
		assert_int_equal((uintptr_t)f % 16, 0);
		assert_int_equal(f(), 42);
		e[i] = (void *)(came_from - offsetof(struct stub_entry, first));
		assert_ptr_equal(e[i]->target, &e[i]->first);
		assert_string_equal(stub_entry_name(e[i]), names[i]);
	}
	assert_null(dlsym(h, "beta"));

	/* Another target: code and context arrive together. */
	struct stub_target t = {(void *)getpid, &t};
	struct stub_target noted = {e[1]->first.code, &noted};

	e[0]->target = &t;
	assert_int_equal(((int (*)(void))dlsym(h, names[0]))(), getpid());
	e[1]->target = &noted;
	assert_int_equal(((int (*)(void))dlsym(h, names[1]))(), 42);
	assert_ptr_equal(came_with, &noted);
	assert_ptr_equal(came_from, &noted);
}

/* References bind to a stub without version, dlsym does not see it; with one both do. */
static void test_seen_by_references_only(void **state)
{
	static const char *const names[] = {"probe_test_only_ref"};
	char cmd[512];

	(void)state;
	for (int i = 0; i < 2; i++) {
		versioned = i;
		write_object(i ? "yes.so" : "no.so", names, 1, NULL);
		versioned = true;

		void *h;
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", dir, i ? "yes.so" : "no.so");
		h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		assert_non_null(h);
		assert_int_equal(dlsym(h, names[0]) != NULL, i);
		snprintf(cmd, sizeof(cmd),
			"cd %s && echo 'int probe_test_only_ref(void); int probe_stub_entry(void) "
			"{ "
			"return 42; } int main(void) { return probe_test_only_ref() != 42; }' "
			">ref.c "
			"&& cc -rdynamic -o ref ref.c -Wl,--unresolved-symbols=ignore-all && "
			"LD_PRELOAD=./%s ./ref",
			dir, i ? "yes.so" : "no.so");
		assert_int_equal(system(cmd), 0);
	}
}

static void test_many(void **state)
{
	enum { N = 30000 };
	char **names = malloc(N * sizeof(*names));
	struct elf_file f;
	char *path;
	void *h;

	(void)state;
	for (int i = 0; i < N; i++)
		assert_true(asprintf(&names[i], "many_%d_%x", i, i * 2654435761u) > 0);
	path = write_object("many.so", (const char *const *)names, N, NULL);
	h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(h);
	assert_int_equal(elf_file_open(&f, path), 0);
	assert_string_equal(f.soname, STUB_SONAME);
	for (int i = 0; i < N; i++) {
		void *p = dlsym(h, names[i]);

		assert_non_null(p);
		if (i % 97 == 0) {
			((int (*)(void))p)();
			assert_string_equal(
				stub_entry_name(
					(void *)(came_from - offsetof(struct stub_entry, first))),
				names[i]);
		}
		assert_true(elf_file_has_function(&f, names[i]));
		free(names[i]);
	}
	assert_false(elf_file_has_function(&f, "many_30000_"));
	elf_file_close(&f);
	free(names);
}

static void test_nothing_writable_and_executable(void **state)
{
	static const char *const names[] = {"x"};
	void *h = dlopen(write_object("w.so", names, 1, NULL), RTLD_NOW);
	char line[512];
	unsigned ours = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	(void)state;
	assert_non_null(h);
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/w.so"))
			continue;
		ours++;
		assert_false(strstr(line, " rwx") || strstr(line, " -wx"));
	}
	fclose(f);
	assert_true(ours >= 3);
}

static void test_needed_and_limits(void **state)
{
	static const char *const names[] = {"n"};
	const struct stub_name one = {(char *)(uintptr_t) "n", false, false};
	size_t size = 1, at = 0;
	struct elf_file f;

	(void)state;
	assert_int_equal(elf_file_open(&f, write_object("n.so", names, 1, "libm.so.6")), 0);
	assert_string_equal(elf_file_needed(&f, &at), "libm.so.6");
	assert_null(elf_file_needed(&f, &at));
	elf_file_close(&f);
	assert_null(stub_elf_build(EM_X86_64, &one, 0, NULL, &size));
	assert_int_equal(size, 0);
	assert_null(stub_elf_build(EM_386, &one, 1, NULL, &size));
	assert_null(stub_elf_build(EM_X86_64, &one, STUB_MAX + 1, NULL, &size));
}

/* ---- the code, against the assembler ---- */

static bool have(const char *tool)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "command -v %s >/dev/null 2>&1", tool);
	return system(cmd) == 0;
}

/* Assembles and links `source` with .text at 0x10000 and the data at 0x34508; the code of .text. */
static void assembled(const char *prefix, const char *source, uint8_t *out, size_t n)
{
	char path[128], cmd[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/c.s", dir);
	f = fopen(path, "w");
	fputs(source, f);
	fclose(f);
	snprintf(cmd, sizeof(cmd),
		"cd %s && %sas c.s -o c.o && %sld -e 0x10000 -Ttext=0x10000 "
		"--section-start=.slot=0x34508 "
		"c.o -o c.elf && %sobjcopy -O binary -j .text c.elf c.bin",
		dir, prefix, prefix, prefix);
	assert_int_equal(system(cmd), 0);
	snprintf(path, sizeof(path), "%s/c.bin", dir);
	f = fopen(path, "r");
	assert_int_equal(fread(out, 1, n, f), n);
	fclose(f);
}

static void test_code_x86_64(void **state)
{
	static const char source[] = ".text\nendbr64\nmovq slot(%rip), %r11\nmovq 8(%r11), %r10\n"
				     "jmp *(%r11)\n.section .slot,\"aw\"\nslot: .quad 0\n";
	uint8_t want[STUB_BYTES], code[STUB_BYTES];

	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	assembled("", source, want, 18);
	stub_code_x86_64(code, 0x10000, 0x34508);
	assert_memory_equal(code, want, 18);
}

static void test_code_aarch64(void **state)
{
	static const char source[] =
		".text\nhint #34\nadrp x16, slot\nldr x16, [x16, :lo12:slot]\nldp x17, x18, [x16]\n"
		"br x17\n.section .slot,\"aw\"\nslot: .quad 0\n";
	uint8_t want[STUB_BYTES], code[STUB_BYTES];

	(void)state;
	if (!have("aarch64-linux-gnu-as")) {
		print_message("skipped: no aarch64-linux-gnu-as\n");
		skip();
	}
	assembled("aarch64-linux-gnu-", source, want, 20);
	stub_code_aarch64(code, 0x10000, 0x34508);
	assert_memory_equal(code, want, 20);
}

/* The whole object under the loader of that processor. */
static void test_object_aarch64(void **state)
{
	static const char source[] =
		"#include <dlfcn.h>\n#include <stdint.h>\n"
		"uintptr_t from, with;\n"
		"__asm__(\".text\\n.globl probe_stub_entry\\n.type probe_stub_entry, %function\\n"
		"probe_stub_entry:\\nadrp x9, from\\nstr x16, [x9, :lo12:from]\\nmov w0, #42\\n"
		"ret\\n\");\n"
		"struct entry { void **target; void *code, *context; uint64_t name; };\n"
		"int main(int c, char **v) { void *h = dlopen(v[1], RTLD_NOW);\n"
		"if (!h) return 2;\nint (*f)(void) = (int (*)(void))dlsym(h, \"two\");\n"
		"if (!f || f() != 42) return 3;\n"
		"struct entry *e = (void *)(from - 8);\n"
		"const char *n = (const char *)e - e->name;\n"
		"return n[0] != 't' || n[1] != 'w' || n[3] || e->target != (void **)from; }\n";
	static const struct stub_name names[] = {{(char *)(uintptr_t) "one", true, false},
		{(char *)(uintptr_t) "two", true, false},
		{(char *)(uintptr_t) "three", true, false}};
	char path[128], cmd[1024];
	size_t size;
	void *image;
	FILE *f;

	(void)state;
	if (!have("aarch64-linux-gnu-gcc") || !have("qemu-aarch64")) {
		print_message("skipped: no aarch64-linux-gnu-gcc or no qemu-aarch64\n");
		skip();
	}
	image = stub_elf_build(EM_AARCH64, names, 3, NULL, &size);
	assert_non_null(image);
	snprintf(path, sizeof(path), "%s/arm.so", dir);
	f = fopen(path, "w");
	fwrite(image, 1, size, f);
	fclose(f);
	munmap(image, size);
	snprintf(path, sizeof(path), "%s/arm.c", dir);
	f = fopen(path, "w");
	fputs(source, f);
	fclose(f);
	snprintf(cmd, sizeof(cmd),
		"cd %s && aarch64-linux-gnu-gcc -rdynamic -o arm arm.c && "
		"qemu-aarch64 -L /usr/aarch64-linux-gnu ./arm ./arm.so",
		dir);
	assert_int_equal(system(cmd), 0);
}

/* Both ways through stub_entry.S: a stub called for the first time, and a stub that dlsym gave out. */
static void test_entry_aarch64(void **state)
{
	static const char source[] =
		"#include <stdint.h>\n#include <stdio.h>\n#include \"entry/stubs/bound_stub.h\"\n"
		"#include \"entry/stubs/stub_elf.h\"\n#include \"entry/stubs/hook_jump.h\"\n"
		"struct stub_target *bound_targets[BOUND_MAX];\n"
		"__thread const struct bound *bound_now;\n"
		"extern char bound_stubs[];\nvoid bound_enter(void);\nvoid "
		"probe_stub_entry(void);\n"
		"const void *saw; uintptr_t pc;\n"
		"double real(int a, double b, int c) { return a + b * c; }\n"
		"struct tail stub_first(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, "
		"const struct stub_target *t, uintptr_t from) "
		"{ (void)a, (void)b, (void)c, (void)d; saw = t; pc = from; "
		"return (struct tail){(void *)real, 0}; }\n"
		"typedef double fn(int, double, int);\n"
		"int main(void) {\n"
		"struct stub_target first = {(void *)probe_stub_entry, 0};\n"
		"struct bound b = {(void *)real, 0, 0};\n"
		"struct stub_target bound = {(void *)bound_enter, &b};\n"
		"fn *f = (fn *)(bound_stubs + 3 * STUB_BYTES);\n"
		"bound_targets[3] = &first;\n"
		"if (f(1, 2.5, 4) != 11 || saw != &first) return 2;\n"
		"if (pc < (uintptr_t)main || pc > (uintptr_t)main + 4096) return 3;\n"
		"bound_targets[3] = &bound;\n"
		"if (f(2, 2.5, 4) != 12 || bound_now != &b) return 4;\n"
		"return 0; }\n";
	char path[128], cmd[1024];
	FILE *f;

	(void)state;
	if (!have("aarch64-linux-gnu-gcc") || !have("qemu-aarch64")) {
		print_message("skipped: no aarch64-linux-gnu-gcc or no qemu-aarch64\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/entry.c", dir);
	f = fopen(path, "w");
	fputs(source, f);
	fclose(f);
	snprintf(cmd, sizeof(cmd),
		"aarch64-linux-gnu-gcc -O1 -Ipreload -o %s/entry %s/entry.c "
		"preload/entry/stubs/stub_entry.S && "
		"qemu-aarch64 -L /usr/aarch64-linux-gnu %s/entry",
		dir, dir, dir);
	assert_int_equal(system(cmd), 0);
}

static int make_dir(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%s/probe-stub-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
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
		cmocka_unit_test(test_loads_and_jumps),
		cmocka_unit_test(test_seen_by_references_only),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_nothing_writable_and_executable),
		cmocka_unit_test(test_needed_and_limits),
		cmocka_unit_test(test_code_x86_64),
		cmocka_unit_test(test_code_aarch64),
		cmocka_unit_test(test_object_aarch64),
		cmocka_unit_test(test_entry_aarch64),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
