/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python frames: interpreters made by hand, laid out as each version's headers say, so that what goes wrong only in a
 * broken or unknown interpreter can be tried. Real ones are in tests/e2e/test_python_stacks.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "wrappers/python/python_layout.c"
#include "wrappers/python/loops.c"
#include "wrappers/python/python_walk.c"

#define FRAMES 5

static uint64_t str_type_object[8], code_type_object[8];

/* A process with one thread that has FRAMES frames, the last one outermost. */
static struct {
	_Alignas(16) char tstate[256], inner[64];
	_Alignas(16) char frame[FRAMES][256], code[FRAMES][512], globals[FRAMES][8];
	_Alignas(16) char file[FRAMES][128], name[FRAMES][128];
} m;
static const struct py_layout *l;
static struct py py;
static void *holder_is, *globals_are;

static void put(char *at, size_t offset, uintptr_t v)
{
	memcpy(at + offset, &v, sizeof(v));
}

static void put32(char *at, size_t offset, int32_t v)
{
	memcpy(at + offset, &v, sizeof(v));
}

static void make_str(char *at, const void *chars, int64_t n, unsigned width, bool ascii)
{
	put(at, TYPE, (uintptr_t)str_type_object);
	put(at, 16, (uintptr_t)n);
	/* The bits after the low byte are garbage in 3.14. */
	put(at, 32, 0xdeadbe00u | width << 2 | 1u << 5 | (unsigned)ascii << 6);
	memcpy(at + (ascii ? l->ascii_data : l->other_data), chars, (size_t)n * width);
}

static void set_at(int i, int32_t bytes)
{
	if (l->at_form == PY_AT_POINTER)
		put(m.frame[i], l->at, (uintptr_t)m.code[i] + l->start + (uintptr_t)bytes);
	else
		put32(m.frame[i], l->at, l->at_form == PY_AT_UNITS ? bytes / 2 : bytes);
}

static void *this_thread(void)
{
	return m.tstate;
}

static void *holder(void)
{
	return holder_is;
}

static void *globals(void)
{
	return globals_are;
}

static int line(void *code, int at)
{
	return *(int32_t *)((char *)code + l->firstline) + at / 10;
}

static int initialized(void)
{
	return 1;
}

static void make(const char *version)
{
	memset(&m, 0, sizeof(m));
	l = py_find_layout(version);
	assert_non_null(l);
	py = (struct py){.l = l,
		.api = {this_thread, holder, globals, line, initialized,
			(uintptr_t)code_type_object, (uintptr_t)str_type_object}};
	holder_is = globals_are = NULL;
	if (l->inner >= 0) {
		put(m.tstate, l->frame, (uintptr_t)m.inner);
		put(m.inner, (size_t)l->inner, (uintptr_t)m.frame[0]);
	} else {
		put(m.tstate, l->frame, (uintptr_t)m.frame[0]);
	}
	for (int i = 0; i < FRAMES; i++) {
		char text[32];

		put(m.frame[i], l->back, i + 1 < FRAMES ? (uintptr_t)m.frame[i + 1] : 0);
		/* 3.14 keeps tags in the low bits. */
		put(m.frame[i], l->code, (uintptr_t)m.code[i] | (l->minor >= 14 ? 1 : 0));
		put(m.frame[i], l->globals, (uintptr_t)m.globals[i]);
		put(m.code[i], TYPE, (uintptr_t)code_type_object);
		put(m.code[i], l->file, (uintptr_t)m.file[i]);
		put(m.code[i], l->name, (uintptr_t)m.name[i]);
		put32(m.code[i], l->firstline, 100 * i + 1);
		if (l->traceable)
			put32(m.code[i], l->traceable, 3);
		set_at(i, 20 + 10 * i);
		make_str(m.file[i], text, snprintf(text, sizeof(text), "/a/f%d.py", i), 1, true);
		make_str(m.name[i], text, snprintf(text, sizeof(text), "C.m%d", i), 1, true);
	}
}

static const char *const versions[] = {"3.8.18 (default, Jan 1 2024)", "3.9.1 (", "3.10.13 (main",
	"3.11.7 (main", "3.12.1 (main", "3.13.0 (main", "3.14.2 (main", "3.15.2 (main"};
#define EACH_VERSION \
	for (size_t v = 0; v < sizeof(versions) / sizeof(*versions) && (make(versions[v]), 1); v++)

static int walked(struct foreign_frame *f)
{
	return py_read_stack(&py, (uintptr_t)m.tstate, f, FOREIGN_FRAMES_MAX);
}

static const char *verified(void)
{
	int frames;
	bool held;

	return py_check_layout(&py, (uintptr_t)m.tstate, &frames, &held);
}

static void test_versions(void **state)
{
	(void)state;
	assert_null(py_find_layout("2.7.18 (default"));
	assert_null(py_find_layout("3.7.16 (default"));
	assert_null(py_find_layout("3.16.0 (main"));
	assert_null(py_find_layout("3.15.0b2 (main"));
	assert_null(py_find_layout("3.15.2 free-threading build (main"));
	assert_null(py_find_layout("3.14.0b1 (main"));
	assert_null(py_find_layout("3.14.0a7+ (main"));
	assert_null(py_find_layout("3.13.0 experimental free-threading build (main"));
	assert_null(py_find_layout("3.14.0 free-threading build (main"));
	assert_null(py_find_layout("3"));
	assert_null(py_find_layout("3.x"));
	assert_null(py_find_layout(""));
	assert_int_equal(py_find_layout("3.14.0rc2 (main")->minor, 14);
	assert_int_equal(py_find_layout("3.9.18+ (heads")->minor, 9);
}

/* As _PyStackRef of 3.14 and 3.15 has them (internal/pycore_stackref.h); before, addresses are as they are. */
static void test_referred_objects(void **state)
{
	static const uint64_t object[2];
	uintptr_t o = (uintptr_t)object;

	(void)state;
	assert_int_equal(py_referred_object(o), o); /* owned */
	assert_int_equal(
		py_referred_object(o | 1), o); /* borrowed, or an object that is never freed */
	assert_int_equal(py_referred_object(0), 0); /* no value before 3.14 */
	assert_int_equal(py_referred_object(1), 0); /* ... and since */
	assert_int_equal(py_referred_object(o | 2), 0); /* an address of C */
	assert_int_equal(py_referred_object(2), 0); /* an error */
	assert_int_equal(py_referred_object(5 << 2 | 3), 0); /* the integer 5 */
}

static void test_walk(void **state)
{
	struct foreign_frame f[FOREIGN_FRAMES_MAX];
	struct foreign_name n;

	(void)state;
	EACH_VERSION
	{
		assert_null(verified());
		assert_int_equal(walked(f), FRAMES);
		for (int i = 0; i < FRAMES; i++) {
			char want[16];

			assert_int_equal(f[i].code, (uintptr_t)m.code[i]);
			assert_int_equal(f[i].at, 20 + 10 * i);
			assert_true(py_read_frame_name(&py, &f[i], &n));
			snprintf(want, sizeof(want), "/a/f%d.py", i);
			assert_string_equal(n.file, want);
			snprintf(want, sizeof(want), "C.m%d", i);
			assert_string_equal(n.function, want);
			assert_int_equal(n.line, 100 * i + 1 + 2 + i);
		}
		assert_int_equal(py_read_stack(&py, (uintptr_t)m.tstate, f, 2), 2);
	}
}

static void test_frames_that_are_not_shown(void **state)
{
	struct foreign_frame f[FOREIGN_FRAMES_MAX];

	(void)state;
	EACH_VERSION
	{
		if (!l->owner)
			continue;
		m.frame[1][l->owner] = 3; /* C code; it may have no code object at all */
		put(m.frame[1], l->code, 0);
		set_at(2, 4); /* still being prepared */
		set_at(3, 4); /* the same place, in a generator: it has been running */
		m.frame[3][l->owner] = 1;
		assert_null(verified());
		assert_int_equal(walked(f), 3);
		assert_int_equal(f[1].code, (uintptr_t)m.code[3]);
		assert_int_equal(f[2].code, (uintptr_t)m.code[4]);
	}
}

/* A code object that is made where another one was. */
static void test_check(void **state)
{
	struct foreign_frame a[FOREIGN_FRAMES_MAX], b[FOREIGN_FRAMES_MAX];

	(void)state;
	EACH_VERSION
	{
		walked(a);
		walked(b);
		assert_memory_equal(a, b, FRAMES * sizeof(*a));
		put(m.code[0], l->name, (uintptr_t)m.name[1]);
		put(m.code[1], l->file, (uintptr_t)m.file[0]);
		put32(m.code[2], l->firstline, 7);
		walked(b);
		for (int i = 0; i < FRAMES; i++)
			assert_int_equal(a[i].check != b[i].check, i < 3);
	}
}

static void test_refused(void **state)
{
	(void)state;
	EACH_VERSION
	{
		put(m.code[3], TYPE, (uintptr_t)str_type_object);
		assert_string_equal(verified(), "a frame has no code object");
		make(versions[v]);
		put(m.frame[2], l->code, 0x1230);
		assert_string_equal(verified(), "a frame has no code object");
		make(versions[v]);
		put(m.frame[3], l->back, 0x777000);
		assert_string_equal(verified(), "a frame cannot be read");
		make(versions[v]);
		put(m.code[4], l->file, (uintptr_t)m.code[4]);
		assert_string_equal(verified(), "a code object has no names");
		make(versions[v]);
		put(m.code[4], l->name, 8);
		assert_string_equal(verified(), "a code object has no names");
		make(versions[v]);
		set_at(2, -400);
		if (!l->traceable)
			assert_string_equal(verified(), "a frame is not in its code");
		make(versions[v]);
		put(m.tstate, l->frame, 0x1000);
		assert_non_null(verified());
	}
}

/* While the thread holds the GIL the interpreter is queried as well. */
static void test_held(void **state)
{
	(void)state;
	EACH_VERSION
	{
		holder_is = m.tstate;
		globals_are = m.globals[0];
		assert_null(verified());
		globals_are = m.globals[1];
		assert_non_null(verified());
		holder_is = &py; /* another thread holds it */
		assert_null(verified());
	}
}

static void test_text(void **state)
{
	struct foreign_frame f[FOREIGN_FRAMES_MAX];
	struct foreign_name n;
	static const uint16_t two[] = {0x20ac, 'x', 0xdc80, 0x7ff};
	static const uint32_t four[] = {0x1f600, 'y', 0x10ffff};
	static const uint8_t one[] = {0xe9, '\n', 'z'};
	char file[sizeof(m.file[0])];

	(void)state;
	EACH_VERSION
	{
		make_str(m.name[0], two, 4, 2, false);
		make_str(m.name[1], four, 3, 4, false);
		make_str(m.name[2], one, 3, 1, false);
		walked(f);
		assert_true(py_read_frame_name(&py, &f[0], &n));
		assert_string_equal(n.function, "\xe2\x82\xacx?\xdf\xbf");
		assert_true(py_read_frame_name(&py, &f[1], &n));
		assert_string_equal(n.function, "\xf0\x9f\x98\x80y\xf4\x8f\xbf\xbf");
		assert_true(py_read_frame_name(&py, &f[2], &n));
		assert_string_equal(n.function, "\xc3\xa9?z");
		m.name[3][32] = 0; /* not compact */
		assert_false(py_read_frame_name(&py, &f[3], &n));
		/* Longer than there is room: the end is what tells. */
		memset(file, 'a', sizeof(file));
		memcpy(m.file[4] + l->ascii_data, file, 60);
		put(m.file[4], 16, 60);

		char small[11];

		assert_true(py_copy_text(&py, (uintptr_t)m.file[4], small, sizeof(small)));
		assert_string_equal(small, "aaaaaaaaaa");
	}
}

static void test_no_frames(void **state)
{
	struct foreign_frame f[FOREIGN_FRAMES_MAX];

	(void)state;
	EACH_VERSION
	{
		put(l->inner < 0 ? m.tstate : m.inner, (size_t)(l->inner < 0 ? l->frame : l->inner),
			0);
		assert_int_equal(walked(f), 0);
		assert_null(verified());
	}
}

/* Instructions by hand: opcode, argument, and what lies in the cache entries after it. */
static void test_loops(void **state)
{
	static const uint8_t code[] = {
		151, 0, /* 0: RESUME */
		171, 0, 140, 9, 140, 9, 140, 9, 140,
		9, /* 1: CALL, and caches that look like jumps */
		22, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 6: CALL_ADAPTIVE */
		171, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 11 */
		144, 0, 140, 11, /* 16: EXTENDED_ARG, JUMP_BACKWARD to 18 - 11 = 7 */
		171, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 18 */
		176, 20, /* 23: POP_JUMP_BACKWARD_IF_TRUE to 24 - 20 = 4 */
		100, 0, 83, 0, /* 24: LOAD_CONST, RETURN_VALUE */
	};
	uintptr_t at = (uintptr_t)m.code[0];

	(void)state;
	make("3.11.7 (main");
	memcpy(m.code[0] + l->start, code, sizeof(code));
	put(m.code[0], SIZE, sizeof(code) / 2);
	/* No jump leads to the first call's place; the one of the loop's head can be come back to. */
	assert_false(is_py_loop(&py, at, 2 * 11, 2 * 1));
	assert_false(is_py_loop(&py, at, 2 * 18, 2 * 1));
	assert_true(is_py_loop(&py, at, 2 * 11, 2 * 7));
	/* 18 -> 4 by the last jump alone. */
	assert_true(is_py_loop(&py, at, 2 * 18, 2 * 4));
	/* After both jumps. */
	assert_false(is_py_loop(&py, at, 2 * 24, 2 * 4));
	/* A jump that is reached by another one: from the outer end into the inner loop. */
	memcpy(m.code[0] + l->start + 2 * 23, (const uint8_t[]){140, 8}, 2); /* to 16 */
	assert_true(is_py_loop(&py, at, 2 * 18, 2 * 7));
	assert_false(is_py_loop(&py, at, 2 * 18, 2 * 6));
	/* An argument of two bytes: 257 instructions back would be before the start. */
	memcpy(m.code[0] + l->start + 2 * 23, (const uint8_t[]){34, 1, 38, 1}, 4);
	assert_true(is_py_loop(&py, at, 2 * 21, 0));
	/* Not known. */
	put(m.code[0], SIZE, 0);
	assert_true(is_py_loop(&py, at, 2 * 11, 2 * 1));
	make("3.12.1 (main");
	assert_true(is_py_loop(&py, at, 2 * 11, 2 * 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_referred_objects),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_frames_that_are_not_shown),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_no_frames),
		cmocka_unit_test(test_loops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
