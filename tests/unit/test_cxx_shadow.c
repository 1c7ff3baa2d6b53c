/* SPDX-License-Identifier: Apache-2.0 */
/* Shadow vtables: objects of C++ classes that the compiler laid out, in libraries that are built here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include "stack_build.h"

#include "wrappers/cxx/cxx_shadow.c"

#define LIB "N3toy3LibE"
#define REDUCE "_ZN3toy3Lib6reduceEPKvm"
#define FIRST "_ZN3toy3Lib5firstEi"

static void *base, *backends;

static void *ask(const char *name)
{
	void *f = dlsym(backends, name);

	assert_non_null(f);
	return f;
}

static void *object(const char *name)
{
	return ((void *(*)(int))ask(name))(0);
}

static int reduce(void *o, unsigned long n)
{
	return ((int (*)(void *, const void *, unsigned long))dlsym(base, "call_reduce"))(
		o, NULL, n);
}

static int ask_int(const char *name, void *o)
{
	void *f = dlsym(base, name);

	return ((int (*)(void *))(f ? f : ask(name)))(o);
}

/* ---- our entries ---- */

static int asked, called;
static char class_asked[64];
static int (*real_reduce[4])(void *, const void *, unsigned long);

static int enter_reduce(unsigned k, void *self, const void *p, unsigned long n)
{
	called++;
	return real_reduce[k](self, p, n);
}

#define ENTRY(k)                                                                \
	static int enter_reduce_##k(void *self, const void *p, unsigned long n) \
	{                                                                       \
		return enter_reduce(k, self, p, n);                             \
	}
ENTRY(0)
ENTRY(1)
ENTRY(2)
ENTRY(3)
static void *const entries[] = {(void *)enter_reduce_0, (void *)enter_reduce_1,
	(void *)enter_reduce_2, (void *)enter_reduce_3};

static void *give_entry(unsigned i, void *function, const char *class, void *arg)
{
	assert_int_equal(i, 0);
	assert_ptr_equal(arg, &asked);
	snprintf(class_asked, sizeof(class_asked), "%s", class);
	real_reduce[asked] = function;
	return entries[asked++];
}

static void *keep_function(unsigned i, void *function, const char *class, void *arg)
{
	(void)i;
	(void)class;
	(void)arg;
	return function;
}

static int shadow(void *o)
{
	int place = cxx_find_virtual_place(LIB, REDUCE);
	struct cxx_shadow s = {
		.class = LIB, .n = 1, .place = &place, .entry = give_entry, .arg = &asked};

	assert_true(place >= 0);
	return cxx_set_shadow(o, &s);
}

/* ---- tests ---- */

static void test_places(void **state)
{
	/* Two destructors come first; of first() the backends' library has a copy of its own. */
	(void)state;
	assert_int_equal(cxx_find_virtual_place(LIB, FIRST), 2);
	assert_int_equal(cxx_find_virtual_place(LIB, REDUCE), 3);
	assert_int_equal(cxx_find_virtual_place(LIB, "_ZN3toy3Lib6gatherEPKvm"), 4);
	/* Other parameters are another function. */
	assert_int_equal(cxx_find_virtual_place(LIB, "_ZN3toy3Lib6reduceEPKvi"), -1);
	assert_int_equal(cxx_find_virtual_place("N3toy4NoneE", REDUCE), -1);
	assert_int_equal(cxx_find_virtual_place("N3toy5OtherE", REDUCE), -1);
}

static void test_classes(void **state)
{
	uint64_t no_object[4] = {0};

	(void)state;
	assert_non_null(strstr(cxx_read_object_class(object("make_direct")), "6DirectE"));
	assert_true(cxx_object_is(object("make_direct"), LIB));
	assert_true(cxx_object_is(object("make_further"), LIB));
	assert_true(cxx_object_is(object("make_stranger"), "N3toy5OtherE"));
	assert_false(cxx_object_is(object("make_stranger"), LIB));
	assert_false(cxx_object_is(object("make_several"), LIB));
	assert_false(cxx_object_is(object("make_several_other"), "N3toy5OtherE"));
	assert_false(cxx_object_is(object("make_virtually"), LIB));
	assert_false(cxx_object_is(object("make_deep"), LIB));
	assert_null(cxx_read_object_class(object("make_several")));
	assert_null(cxx_read_object_class(object("make_deep")));
	/* No objects at all. */
	assert_null(cxx_read_object_class(NULL));
	assert_null(cxx_read_object_class((void *)8));
	assert_null(cxx_read_object_class((char *)object("make_direct") + 1));
	assert_null(cxx_read_object_class(no_object));
	no_object[0] = (uintptr_t)&no_object[2];
	assert_null(cxx_read_object_class(no_object));
	no_object[0] = (uintptr_t) "a text that is no table of functions";
	assert_null(cxx_read_object_class(no_object));
}

static void test_shadow(void **state)
{
	void *one = object("make_direct"), *two = ((void *(*)(int))ask("make_direct"))(1);
	void *further = object("make_further");
	void **table = *(void ***)one, *before[16];

	(void)state;
	memcpy(before, table - 2, sizeof(before));
	asked = called = 0;
	assert_int_equal(shadow(one), 0);
	assert_int_equal(asked, 1);
	assert_non_null(strstr(class_asked, "6DirectE"));
	assert_int_equal(reduce(one, 3), 72);
	assert_int_equal(called, 1);
	/* The other object still has the library's table, which was not written to. */
	assert_int_equal(reduce(two, 3), 72);
	assert_int_equal(called, 1);
	assert_ptr_equal(*(void ***)two, table);
	assert_memory_equal(before, table - 2, sizeof(before));
	/* Again, and the next of its class: no new entry. */
	assert_int_equal(shadow(one), 0);
	assert_int_equal(shadow(two), 0);
	assert_int_equal(asked, 1);
	assert_ptr_equal(*(void ***)one, *(void ***)two);
	assert_int_equal(reduce(two, 4), 82);
	assert_int_equal(called, 2);
	/* The program's calls of its object. */
	assert_int_equal(ask_int("is_direct", one), 1);
	assert_int_equal(ask_int("is_further", one), 0);
	assert_int_equal(ask_int("call_more", one), 5);
	assert_int_equal(ask_int("call_pure", one), 1);
	assert_int_equal(((int (*)(void *, int))dlsym(base, "call_first"))(one, 9), 9);
	assert_true(cxx_object_is(one, LIB));
	/* An exception passes. */
	assert_int_equal(ask_int("catch_reduce", one), 107);
	assert_int_equal(called, 3);
	/* Another class has another entry, and what it calls of its base's is not seen. */
	assert_int_equal(shadow(further), 0);
	assert_int_equal(asked, 2);
	assert_int_equal(reduce(further, 2), 63);
	assert_int_equal(called, 4);
	assert_int_equal(ask_int("is_further", further), 1);
	assert_int_equal(ask_int("call_pure", further), 2);
	/* One that inherits the function. */
	assert_int_equal(shadow(object("make_plain")), 0);
	assert_int_equal(reduce(object("make_plain"), 2), 0);
	assert_int_equal(called, 5);
}

static void test_refused(void **state)
{
	static const char *const names[] = {"make_several", "make_several_other", "make_virtually",
		"make_deep", "make_stranger"};
	int places[] = {-1, 500};
	struct cxx_shadow s = {.class = LIB, .n = 1, .place = places, .entry = give_entry};

	(void)state;
	asked = 0;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *o = object(names[i]), *table = *(void **)o;

		assert_int_equal(shadow(o), -EINVAL);
		assert_ptr_equal(*(void **)o, table);
	}
	assert_int_equal(shadow(NULL), -EINVAL);
	assert_int_equal(asked, 0);
	/* Its class is known from the other test: a new one is needed to see that nothing is replaced. */
	s.class = "N3toy5OtherE";
	assert_int_equal(cxx_set_shadow(object("make_stranger"), &s), -ENOENT);
	places[0] = 1;
	s.entry = keep_function;
	assert_int_equal(cxx_set_shadow(object("make_stranger"), &s), -ENOENT);
	/* A place after the end of the table. */
	s.place = places + 1;
	assert_int_equal(cxx_set_shadow(object("make_stranger"), &s), -EINVAL);
}

/* A table that ends with its page, at memory that cannot be read; and one that has no end. */
static void test_end_of_table(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), words = 2 * page / sizeof(void *);
	void *was = *(void **)object("make_stranger"), **real = was;
	void **p = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void **table = p + words - 3, *fake[1] = {table};
	int place = 0;
	struct cxx_shadow s = {.n = 1, .place = &place, .entry = keep_function};

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect((char *)p + 2 * page, page, PROT_NONE), 0);
	table[-2] = NULL;
	table[-1] = real[-1];
	table[0] = table[1] = table[2] = real[0];
	assert_int_equal(cxx_set_shadow(fake, &s), -ENOENT);
	place = 3;
	assert_int_equal(cxx_set_shadow(fake, &s), -EINVAL);
	/* SLOTS_MAX functions and more. */
	for (unsigned i = 0; i < words; i++)
		p[i] = real[0];
	fake[0] = p + 2;
	p[0] = NULL;
	p[1] = real[-1];
	place = 0;
	assert_int_equal(cxx_set_shadow(fake, &s), -EINVAL);
	/* An offset to the top: a base that is not the first. */
	p[0] = (void *)-8;
	assert_int_equal(cxx_set_shadow(fake, &s), -EINVAL);
	munmap(p, 3 * page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_shadow),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_end_of_table),
	};
	char path[128];
	int rc;

	if (system("command -v g++ >/dev/null 2>&1") || !build_begin() ||
		!build("g++", "-O2 -fvisibility=hidden -fPIC -shared -DBASE", "shadow_classes.cpp",
			"libbase.so") ||
		!build("g++", "-O2 -fvisibility=hidden -fPIC -shared -DBACKENDS",
			"shadow_classes.cpp", "libbackends.so")) {
		printf("1..0 # SKIP no C++ compiler\n");
		build_end();
		return 0;
	}
	snprintf(path, sizeof(path), "%s/libbase.so", build_dir);
	base = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	snprintf(path, sizeof(path), "%s/libbackends.so", build_dir);
	backends = dlopen(path, RTLD_NOW);
	rc = base && backends ? cmocka_run_group_tests_name("cxx_set_shadow", tests, NULL, NULL)
			      : 1;
	if (!base || !backends)
		fprintf(stderr, "%s\n", dlerror());
	build_end();
	return rc;
}
