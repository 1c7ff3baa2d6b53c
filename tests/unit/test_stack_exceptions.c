/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ exceptions, pthread_exit() and cancellation through code that is linked as libprobe.so is: with a personality
 * routine of its own, needing libc only.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "stack_build.h"

static bool have_cxx;

static bool link_as_libprobe(const char *cc, const char *sources, const char *name)
{
	return !build_run("command -v %s >/dev/null && cd '%s' && %s -shared -fPIC -O2 -std=gnu11 "
			  "-D_GNU_SOURCE "
			  "-fvisibility=hidden -fexceptions -fno-omit-frame-pointer -Ipreload "
			  "-Wl,--exclude-libs,ALL "
			  "-o '%s/%s' %s -static-libgcc",
		cc, build_root, cc, build_dir, name, sources);
}

#define SOURCES                                                                               \
	"tests/apps/stack_cleanup.c preload/entry/personality.c preload/elf/loaded/elfsym.c " \
	"preload/elf/loaded/object_at.c preload/elf/loaded/elf_object.c"

static void check(const char *cc, const char *name)
{
	char out[256] = "";

	if (!have_cxx || !link_as_libprobe(cc, SOURCES, name))
		skip();
	/* Nothing of it is asked from outside, or offered; no other libgcc slipped in. */
	assert_false(build_output(out, sizeof(out),
		"nm -D '%s/%s' | grep -E '_dl_find_object|_Unwind|personality'", build_dir, name));
	assert_false(build_output(out, sizeof(out), "nm '%s/%s' | grep -E '_Unwind_RaiseException'",
		build_dir, name));
	assert_true(build_output(out, sizeof(out), "timeout 60 '%s/throw' '%s/%s' 2>&1", build_dir,
		build_dir, name));
	assert_string_equal(out, "ok");
}

/* A runtime that was linked into the program and exports nothing: cleanups are passed over, and that is all. */
static void runtime_linked_in(void **state)
{
	char out[256] = "";

	(void)state;
	if (!build("g++", "-O2 -pthread -static-libgcc -static-libstdc++", "stack_throw.cpp",
		    "throw_static") ||
		!link_as_libprobe("gcc", SOURCES, "cleanup_static.so"))
		skip();
	assert_true(build_output(out, sizeof(out),
		"timeout 60 '%s/throw_static' '%s/cleanup_static.so' any 2>&1", build_dir,
		build_dir));
	assert_string_equal(out, "ok");
}

static void built_by_gcc(void **state)
{
	(void)state;
	check("gcc", "cleanup_gcc.so");
}

static void built_by_clang(void **state)
{
	(void)state;
	check("clang", "cleanup_clang.so");
}

static int setup(void **state)
{
	(void)state;
	if (!build_begin())
		return -1;
	have_cxx = build("g++", "-O2 -pthread", "stack_throw.cpp", "throw");
	return 0;
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
		cmocka_unit_test(built_by_gcc),
		cmocka_unit_test(built_by_clang),
		cmocka_unit_test(runtime_linked_in),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
