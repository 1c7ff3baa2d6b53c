/* SPDX-License-Identifier: Apache-2.0 */
/* link: -ldl -lpthread */
/*
 * The libffi entry against the compiler: random signatures are written as C, compiled, and each function is called
 * directly and through the entry. What arrives, what comes back and the contents of v[] must be what C says. Then
 * exceptions, threads that end in the middle, and what cannot be called. CC, CXX: the compilers (cc, c++).
 */
#include "core_helper.h"

#include <dlfcn.h>
#include <ffi.h>
#include <pthread.h>
#include <sys/wait.h>

#include "call/call.h"
#include "call/wrapper.h"
#include "entry/stubs/ffi.h"
#include "ffi_signatures.h"
#include "stub_helper.h"

/* ---- the life of a call, as seen from here ---- */

static void *target; /* what call_enter() says is the real function */
static union arg seen[API_ARGS_MAX];
static bool (*same_struct)(int row, int arg, const void *p);
static int row_now;
static unsigned entered, left, unwound, wrong;
static int64_t left_with;
static uintptr_t entered_pc, entered_fp;

void *call_enter(struct call *c, struct api *f, union arg *v, uintptr_t pc, uintptr_t frame)
{
	c->mode = CALL_NESTED;
	c->done = 0;
	entered++;
	entered_pc = pc;
	entered_fp = *(uintptr_t *)frame;
	wrong += ((uintptr_t *)frame)[1] != pc;
	memcpy(seen, v, f->spec->nargs * sizeof(*v));
	for (int i = 0; i < f->spec->nargs; i++)
		if (f->spec->args[i].ctype == CT_STRUCT && same_struct)
			wrong += !same_struct(row_now, i, v[i].p);
	return target;
}

int64_t call_leave(struct call *c, int64_t ret)
{
	c->done = 1;
	left++;
	left_with = ret;
	return ret;
}

void call_unwind(struct call *c)
{
	unwound += !c->done;
}

/* ---- random signatures ---- */

static char dir[] = "/tmp/probe-test-ffi-XXXXXX";

/* NULL: there is no such compiler. */
static void *build(const char *compiler, const char *fallback, const char *name)
{
	const char *cc = getenv(compiler);
	char line[1024], path[256];
	int status;
	void *h;

	snprintf(path, sizeof(path), "%s/%s.so", dir, name);
	snprintf(line, sizeof(line), "%s -w -O1 -fPIC -shared -o %s %s/%s",
		cc && *cc ? cc : fallback, path, dir, name);
	status = system(line);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return NULL;
	if (status)
		fail_msg("%s: does not compile", name);
	h = dlopen(path, RTLD_NOW);
	if (!h)
		fail_msg("%s", dlerror());
	return h;
}

static FILE *source(const char *name)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	return f;
}

typedef void caller_fn(void *fn, int64_t *v, const void **p);

static unsigned miscalled; /* what libffi would call wrongly */

static void one_row(void *h, int r, bool off)
{
	const struct api_spec *s = &rows[r].spec;
	unsigned char *out = dlsym(h, "out"), direct[4096];
	size_t *n = dlsym(h, "n"), len;
	int64_t want[API_ARGS_MAX] = {0};
	char name[16];
	caller_fn *call;
	void *f;
	int err;

	sprintf(name, "c%d", r);
	call = (caller_fn *)dlsym(h, name);
	sprintf(name, "f%d", r);
	f = dlsym(h, name);
	assert_true(call && f);
	call(f, want, arg_at);
	len = *n;
	memcpy(direct, out, len);
	memset(out, 0xa5, sizeof(direct));

	target = f;
	row_now = r;
	wrong = entered = left = unwound = 0;
	err = ffi_entry(&rows[r].api, &stub_code, &stub_context);
	miscalled += err == -ENOTSUP;
	if (err == -ENOTSUP)
		return;
	assert_int_equal(err, 0);
	atomic_store(&rows[r].api.word, off ? API_SKIP : API_NEW);
	atomic_store(&rows[r].api.real, off ? f : NULL);
	call((void *)stub, want, arg_at);
	if (*n != len || memcmp(out, direct, len))
		fail_msg("row %d (%d arguments) differs", r, s->nargs);
	assert_int_equal(entered, !off);
	assert_int_equal(left, !off);
	assert_int_equal(unwound, 0);
	assert_int_equal(wrong, 0);
	for (int i = 0; i < s->nargs && !off; i++)
		if (s->args[i].ctype != CT_STRUCT)
			assert_int_equal(seen[i].i, want[i]);
	if (off)
		return;
	/* The caller's own return address. */
	assert_true(entered_pc > (uintptr_t)call && entered_pc < (uintptr_t)call + 65536);
	if (!rows[r].ffi.code)
		assert_int_equal(left_with, 7);
}

static void random_signatures(void **st)
{
	FILE *f = source("rows.c");
	void *h;

	(void)st;
	fprintf(f, "#include <stdint.h>\n#include <string.h>\nunsigned char out[4096];\nsize_t n;\n"
		   "static void put(const void *p, size_t k)\n{\n\tmemcpy(out + n, p, k);\n\tn += "
		   "k;\n}\n");
	make_structs(f);
	for (int r = 0; r < ROWS; r++)
		make_signature_row(f, r);
	fclose(f);
	h = build("CC", "cc", "rows.c");
	assert_non_null(h);
	same_struct = compare_struct;
	for (int r = 0; r < ROWS; r++) {
		one_row(h, r, false);
		one_row(h, r, true);
	}
	assert_in_range(miscalled, 0, 2 * ROWS / 50);
	same_struct = NULL;
}

/* ---- what the success code is taken from ---- */

static struct api_ffi simple_ffi;
static struct api_spec simple_spec;
static struct adapter simple_lib = {.name = "test", .missing = -5};

static struct api *simple(uint8_t ret, bool code, bool hidden)
{
	static struct api rows_of_tests[16]; /* they are kept for ever */
	static unsigned n;
	struct api *a = &rows_of_tests[n++];

	assert_true(n <= sizeof(rows_of_tests) / sizeof(rows_of_tests[0]));
	simple_ffi = (struct api_ffi){.ret = ret, .code = code, .hidden = hidden};
	simple_spec = (struct api_spec){
		.symbol = "f", .lib = &simple_lib, .ffi = &simple_ffi, .nargs = 1};
	simple_spec.args[0].ctype = CT_I32;
	a->spec = &simple_spec;
	wrong = entered = left = unwound = 0;
	return a;
}

static int8_t minus(int v)
{
	return (int8_t)-v;
}

static void results(void **st)
{
	struct api *a = simple(CT_I8, true, false);

	(void)st;
	assert_int_equal(ffi_entry(a, &stub_code, &stub_context), 0);
	target = (void *)minus;
	assert_int_equal(((int8_t(*)(int))stub_at)(3), -3);
	assert_int_equal(left_with, -3);
	/* No real function. */
	target = NULL;
	assert_int_equal(((int8_t(*)(int))stub_at)(3), -5);
	assert_int_equal(left, 1);
}

static void idempotent(void **st)
{
	struct api *a = simple(CT_I8, true, false), *b = simple(CT_I8, true, false);
	void *code, *context, *other;

	(void)st;
	assert_int_equal(ffi_entry(a, &code, &context), 0);
	assert_int_equal(ffi_entry(b, &code, &other), 0);
	assert_ptr_not_equal(context, other);
	assert_int_equal(ffi_entry(a, &code, &other), 0);
	assert_ptr_equal(context, other);
}

#define RACERS 8
#define RACED 200

static struct api raced[RACED];
static void *raced_context[RACERS][RACED];
static pthread_barrier_t start;

static void *race(void *arg)
{
	void *code;

	pthread_barrier_wait(&start);
	for (int i = 0; i < RACED; i++)
		if (ffi_entry(&raced[i], &code, (void **)arg + i))
			return arg;
	return NULL;
}

/* The first thread makes the entry, and all get the same. */
static void at_once(void **st)
{
	pthread_t t[RACERS];
	void *failed;

	(void)st;
	simple(CT_I8, true, false);
	for (int i = 0; i < RACED; i++)
		raced[i].spec = &simple_spec;
	pthread_barrier_init(&start, NULL, RACERS);
	for (int i = 0; i < RACERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, race, raced_context[i]), 0);
	for (int i = 0; i < RACERS; i++) {
		assert_int_equal(pthread_join(t[i], &failed), 0);
		assert_null(failed);
	}
	for (int i = 0; i < RACERS; i++)
		for (int k = 0; k < RACED; k++)
			assert_ptr_equal(raced_context[i][k], raced_context[0][k]);
	pthread_barrier_destroy(&start);
}

static void refused(void **st)
{
	static const uint8_t member[] = {CT_I32, CT_VOID};
	static const struct api_struct bad = {.size = 8, .align = 4, .n = 2, .member = member};
	struct api *a = simple(CT_STRUCT, false, false);
	void *code, *context;

	(void)st;
	assert_int_equal(ffi_entry(a, &code, &context), -EINVAL);
	a = simple(CT_VOID, false, false);
	simple_spec.args[0].ctype = CT_VOID;
	assert_int_equal(ffi_entry(a, &code, &context), -EINVAL);
	a = simple(CT_VOID, false, false);
	simple_spec.args[0].ctype = CT_STRUCT;
	simple_ffi.arg[0] = &bad;
	assert_true(ffi_entry(a, &code, &context) < 0);
	a = simple(CT_VOID, false, false);
	simple_spec.ffi = NULL;
	assert_int_equal(ffi_entry(a, &code, &context), -EINVAL);
}

/* ---- leaving in the middle ---- */

static void *ends(void *arg)
{
	((void (*)(int))stub_at)(1);
	return arg;
}

static void end_thread(int v)
{
	(void)v;
	pthread_exit(NULL);
}

static void thread_ends(void **st)
{
	struct api *a = simple(CT_VOID, false, false);
	pthread_t t;

	(void)st;
	assert_int_equal(ffi_entry(a, &stub_code, &stub_context), 0);
	target = (void *)end_thread;
	assert_int_equal(pthread_create(&t, NULL, ends, NULL), 0);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(entered, 1);
	assert_int_equal(left, 0);
	assert_int_equal(unwound, 1);
}

static void exceptions(void **st)
{
	struct api *a = simple(CT_VOID, false, true);
	FILE *f = source("throws.cpp");
	int (*catches)(void *);
	void *h;

	(void)st;
	fputs("#include <string>\n#include <stdexcept>\n"
	      "struct object { object(const object &o) : v(o.v) {} object(int i) : v(i) {} "
	      "~object() {} "
	      "int v; };\n"
	      "extern \"C\" object makes(int i) { if (i == 0) throw std::runtime_error(\"none\"); "
	      "return object(i); }\n"
	      "extern \"C\" int catches(void *fn) { try { object a = ((object (*)(int))fn)(41); "
	      "if (a.v != 41) return 1; object b = ((object (*)(int))fn)(0); } "
	      "catch (const std::exception &e) { return e.what() == std::string(\"none\") ? 42 : "
	      "2; } "
	      "return 3; }\n",
		f);
	fclose(f);
	h = build("CXX", "c++", "throws.cpp");
	if (!h)
		skip();
	catches = (int (*)(void *))dlsym(h, "catches");
	target = dlsym(h, "makes");
	assert_int_equal(catches(target), 42);
	assert_int_equal(ffi_entry(a, &stub_code, &stub_context), 0);
	assert_int_equal(catches((void *)stub), 42);
	assert_int_equal(entered, 2);
	assert_int_equal(left, 1);
	assert_int_equal(unwound, 1);
	atomic_store(&a->real, target);
	atomic_store(&a->word, API_SKIP);
	assert_int_equal(catches((void *)stub), 42);
	assert_int_equal(entered, 2);
}

/* ---- no memory that is writable and executable ---- */

static void no_rwx(void **st)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4096], perms[8];

	(void)st;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %7s", perms) == 1 && perms[1] == 'w' && perms[2] == 'x')
			fail_msg("%s", line);
	fclose(f);
}

static int setup(void **st)
{
	(void)st;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **st)
{
	char line[128];

	(void)st;
	snprintf(line, sizeof(line), "rm -rf %s", dir);
	return system(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_signatures),
		cmocka_unit_test(results),
		cmocka_unit_test(idempotent),
		cmocka_unit_test(at_once),
		cmocka_unit_test(refused),
		cmocka_unit_test(thread_ends),
		cmocka_unit_test(exceptions),
		cmocka_unit_test(no_rwx),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
