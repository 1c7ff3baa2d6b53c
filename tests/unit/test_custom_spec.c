/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom.yaml: which symbols its rows stand for, what a row becomes, and what is reported about mistakes. Mangled names are
 * those that g++ makes.
 */
#include "custom_helper.h"
#include "session/generation_pair.h"

#include <time.h>

#define HEAD "notation: 1\n"
#define LIST(x) "custom:\n" x

static const struct runtime_provider *const c = &custom_provider;

static const char finding[] = HEAD
	"types: {my_comm: handle}\n"
	"functions:\n"
	"  my_sum: {kind: allreduce_inplace, sig: \"int (float *buf, size_t count)\"}\n"
	"  'my_all*': {kind: allreduce_inplace, sig: \"void (double *buf, int count)\"}\n"
	"  ns::Reducer::sum: {kind: allreduce_inplace, sig: \"void (void *_this, float *buf, long "
	"count)\"}\n"
	"  any: {name: 'ns::*::reduce', kind: allreduce_inplace, sig: \"void (void *_this, float "
	"*buf, int count)\"}\n"
	"  free: {name: 'ns::free_sum', kind: allreduce_inplace, sig: \"void (float *buf, int "
	"count)\"}\n"
	"  picked: {symbol: '_ZN2ns7Reducer5otherE*', kind: barrier, sig: \"void (void *_this, "
	"double "
	"_x)\"}\n"
	"  unlisted: {kind: barrier, sig: \"void ()\"}\n";

static void find_them(void)
{
	CHECK(c->wants("my_sum", "/lib/libmine.so"));
	CHECK(!c->wants("my_su", "/lib/libmine.so"));
	CHECK(!c->wants("my_sum2", "/lib/libmine.so"));
	CHECK(c->wants("my_all", "x") && c->wants("my_allsum", "x"));
	CHECK(!c->wants("unlisted", "x"));
	CHECK(!c->wants("not_there", "x") && !c->wants("", "x"));
	/* ns::Reducer::sum(float*, long) and its const twin, an overload, a thunk */
	CHECK(c->wants("_ZN2ns7Reducer3sumEPfl", "x"));
	CHECK(c->wants("_ZNK2ns7Reducer3sumEPfl", "x"));
	CHECK(c->wants("_ZThn8_N2ns7Reducer3sumEPfl", "x"));
	CHECK(!strstr(heard(), "its parameters"));
	CHECK(!c->wants("_ZN2ns7Reducer3sumEPdll", "x"));
	CHECK(hears("custom-"));
	CHECK(hears(".yaml:6:3: _ZN2ns7Reducer3sumEPdll is not recorded: its parameters"));
	CHECK(!c->wants("_ZN2ns7Reducer3sumEfl", "x")); /* by value */
	CHECK(!c->wants("_ZN2ns7Reducer3sumEPfz", "x")); /* ... */
	CHECK(!c->wants("_ZN2ns7Reducer4sumsEPfl", "x"));
	CHECK(!c->wants("_ZN3nsx7Reducer3sumEPfl", "x"));
	/* a pattern of names; templates count without their arguments */
	CHECK(c->wants("_ZN2ns3VecIfE6reduceEPfi", "x"));
	CHECK(c->wants("_ZN2ns1a1b6reduceEPfi", "x"));
	CHECK(!c->wants("_ZN2ns6reduceEPfi", "x"));
	CHECK(c->wants("_ZN2ns8free_sumEPfi", "x"));
	CHECK(!c->wants("_ZNK2ns8free_sumEPfi", "x")); /* a method: where is this? */
	CHECK(c->wants("_ZN2ns7Reducer5otherEd", "x"));
	CHECK(!c->wants("_ZN2ns7Reducer5otherEf", "x"));
}

static void found(void **state)
{
	(void)state;
	with(finding,
		LIST("  - my_sum\n  - my_all*\n  - ns::Reducer::sum\n  - any\n  - free\n  - "
		     "picked\n"),
		find_them);
}

static void make_them(void)
{
	struct api *a = c->make("_ZN2ns7Reducer3sumEPfl", "x"), *b;
	const struct api_spec *s;

	CHECK(a && !(a->word & API_STATES) && !a->real);
	s = a->spec;
	CHECK(strcmp(s->symbol, "ns::Reducer::sum") == 0);
	CHECK(strcmp(s->link_name, "_ZN2ns7Reducer3sumEPfl") == 0);
	CHECK(strcmp(s->list_name, "ns::Reducer::sum") == 0);
	CHECK(strcmp(s->lib->name, "custom") == 0 && s->lib->nsuccess == 0);
	CHECK(s->kind == &test_kinds[3] && s->task == TASK_DATA && s->nargs == 3);
	CHECK(s->args[0].role == ROLE_NONE && s->args[1].role == ROLE_BUF);
	CHECK(s->args[1].ctype == CT_P && s->args[2].ctype == CT_I64);
	CHECK(s->at[ROLE_BUF] == 2 && s->at[ROLE_COUNT] == 3);
	CHECK(s->buf_dtype[ROLE_BUF] == DT_FLOAT32);
	CHECK(s->ffi && s->ffi->ret == CT_VOID && !s->ffi->hidden && !s->ffi->code);
	b = c->make("_ZN2ns3VecIfE6reduceEPfi", "x");
	CHECK(b && b != a && strcmp(b->spec->symbol, "ns::Vec::reduce") == 0);
	CHECK(strcmp(b->spec->list_name, "any") == 0);
	b = c->make("my_allsum", "x");
	CHECK(b && strcmp(b->spec->symbol, "my_allsum") == 0);
	CHECK(strcmp(b->spec->list_name, "my_all*") == 0);
	CHECK(!c->make("not_there", "x"));
}

static void made(void **state)
{
	(void)state;
	with(finding, LIST("  - my_*\n  - ns::Reducer::sum\n  - any\n"), make_them);
}

/* ---- types, results, several documents ---- */

static const char two_libraries[] = HEAD
	"objects: ['liba.so*']\n"
	"success: [0, 3]\n"
	"types: {pair: [f32, i64], vec: object, big: struct(64), half_t: bfloat16}\n"
	"functions:\n"
	"  one: {kind: barrier, sig: \"int (pair _p, vec _v, big _b, half_t *_h)\"}\n"
	"  two: {kind: barrier, sig: \"vec (double _d)\"}\n"
	"  three: {kind: allreduce_inplace, sig: \"pair (half_t *buf, unsigned char count)\"}\n"
	"  four: {kind: barrier, sig: \"void *(void)\"}\n"
	"---\n" HEAD "objects: ['*/b/lib*']\n"
	"functions:\n"
	"  one: {kind: barrier, sig: \"void ()\"}\n"
	"  end: {task: comm_end, sig: \"int (void *comm)\"}\n"
	"---\n" HEAD "functions:\n"
	"  never: {kind: barrier, sig: \"void ()\"}\n"
	"  end2: {task: comm_end, sig: \"int (void *comm)\"}\n";

static void two_of_them(void)
{
	struct api *a = c->make("one", "/x/liba.so.1"), *b = c->make("one", "/x/b/libz.so");
	const struct api_ffi *f;

	CHECK(a && b && a->spec->lib != b->spec->lib);
	CHECK(a->spec->lib->nsuccess == 2 && a->spec->lib->success[1] == 3);
	CHECK(!c->wants("one", "/x/libb.so") && !c->wants("two", "/x/b/libz.so"));
	f = a->spec->ffi;
	CHECK(f->code && f->ret == CT_I32);
	CHECK(a->spec->args[0].ctype == CT_STRUCT && f->arg[0]->n == 2 && f->arg[0]->size == 16);
	CHECK(a->spec->args[1].ctype == CT_P && !f->arg[1]);
	CHECK(a->spec->args[2].ctype == CT_STRUCT && f->arg[2]->size == 64 && f->arg[2]->n == 8);
	CHECK(a->spec->args[3].ctype == CT_P);
	a = c->make("two", "liba.so");
	CHECK(a && a->spec->ffi->hidden && a->spec->ffi->ret == CT_VOID && !a->spec->ffi->code);
	a = c->make("three", "liba.so");
	CHECK(a && a->spec->ffi->ret == CT_STRUCT && a->spec->ffi->ret_struct->size == 16);
	CHECK(a && a->spec->buf_dtype[ROLE_BUF] == DT_BFLOAT16);
	CHECK(a && a->spec->args[1].ctype == CT_U8);
	a = c->make("four", "liba.so");
	CHECK(a && a->spec->ffi->ret == CT_P && !a->spec->ffi->code);
	/* Communicators are followed with the functions of their library only. */
	CHECK(c->wants("end", "/b/libz.so") && !c->wants("end2", "/b/libz.so"));
	CHECK(!*heard());
}

static void two(void **state)
{
	(void)state;
	with(two_libraries, LIST("  - one\n  - two\n  - three\n  - four\n"), two_of_them);
}

/* ---- mistakes ---- */

static const char mistakes[] =
	HEAD "functions:\n"
	     "  good: {kind: barrier, sig: \"void ()\"}\n"
	     "  a: {kind: barier, sig: \"void ()\"}\n"
	     "  b: {kind: allreduce_inplace, sig: \"void (float *buff, size_t count)\"}\n"
	     "  c: {kind: allreduce_inplace, sig: \"void (float *buf)\"}\n"
	     "  d: {kind: barrier, sig: \"int (const char *_f, ...)\"}\n"
	     "  e: {kind: barrier, completion: stream, sig: \"int (void *stream)\"}\n"
	     "  f: {kind: allgather, sig: \"int (float *send, float *recv, int count)\"}\n"
	     "  g: {kind: allreduce_inplace, sig: \"int (void *buf, int count, int dtype)\"}\n"
	     "  'ns::h(int)': {kind: barrier, sig: \"void ()\"}\n"
	     "  i: {kind: barrier, sig: \"void (foo _x)\"}\n"
	     "  j: {kind: barrier, sig: \"void (int request)\"}\n"
	     "  k: {task: wait_one, sig: \"void (int *request)\"}\n"
	     "  l: {kind: barrier}\n"
	     "  m: {kind: barrier, sig: \"void ()\", nmae: x}\n"
	     "  'n*[': {kind: barrier, sig: \"void ()\"}\n"
	     "  good2: {kind: barrier, sig: \"void ()\"}\n"
	     "  o: {kind: all_reduce, sig: \"void (float *buf, int count)\"}\n"
	     "  p: {kind: allreduce, sig: \"void (float *buf, int count)\"}\n"
	     "  q: {kind: something_else, sig: \"void ()\"}\n";

static void all_said(void)
{
	static const char *const lines[] = {
		":4:13: unknown kind 'barier'; did you mean 'barrier'? all kinds are in "
		"share/libprobe/apis/kinds.yaml",
		":19:13: unknown kind 'all_reduce'; did you mean 'allreduce'?",
		":20:13: 'p': kind 'allreduce_inplace' is the same operation",
		":21:13: unknown kind 'something_else'; all kinds",
		":5:51: unknown role 'buff'; known are", ":6:3: 'c' has no 'count'",
		":7:49: functions with variable arguments (...) cannot",
		":8:3: 'e': completion must be return",
		":9:3: 'f': the buffers of kind 'allgather' depend",
		":10:3: 'g' has 'dtype': say what its values mean, dtype: {0: float32}",
		":11:3: 'ns::h(int)' has arguments: write the name without",
		":12:34: unknown type 'foo'; name it in 'types'",
		":13:38: role 'request' needs an adapter", ":14:3: 'k': this task needs an adapter",
		":15:3: 'l' has no sig", ":16:38: 'm' has no key 'nmae'; known are sig",
		":17:3: 'n*['"};

	CHECK(c->wants("good", "x") && c->wants("good2", "x"));
	for (char s[] = "a"; s[0] <= 'q'; s[0]++)
		CHECK(!c->wants(s, "x"));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CHECK(hears(lines[i]));
	CHECK(hears("custom: \"nothing\": unknown name"));
	CHECK(!strstr(heard(), "\"a\": unknown name")); /* enough was said */
}

static void said(void **state)
{
	(void)state;
	with(mistakes, LIST("  - good*\n  - a\n  - nothing\n"), all_said);
}

static void nothing(void)
{
	CHECK(!c->wants("good", "x") && !c->make("good", "x"));
}

static void nothing_said(void)
{
	nothing();
	CHECK(!*heard());
}

static void head_said(void)
{
	nothing();
	CHECK(hears(":2:11: 'handel' is no type; known are handle") || hears("is no type"));
	CHECK(hears("no function of this library is recorded until"));
}

static void syntax_said(void)
{
	nothing();
	CHECK(hears(".yaml:"));
}

static void missing_said(void)
{
	static char none[] = "/nonexistent/custom.yaml";

	generation_first.cfg.custom_apis = none;
	nothing();
	CHECK(hears("/nonexistent/custom.yaml: No such file"));
}

static void whole_file(void **state)
{
	(void)state;
	with(NULL, "custom: []\nmpi: [MPI_Send]\n", nothing_said);
	with("", "custom: []\nmpi: [MPI_Send]\n", nothing_said);
	with("# nothing but words\n", "mpi: [MPI_Send]\n", nothing_said);
	with(finding, "mpi:\n  - MPI_Send\n", nothing_said);
	with(HEAD "types: {t: handel}\nfunctions:\n  good: {kind: barrier, sig: \"void ()\"}\n",
		LIST("  - '*'\n"), head_said);
	with(HEAD "functions: {good: {kind: barrier", LIST("  - '*'\n"), syntax_said);
	with(NULL, LIST("  - '*'\n"), missing_said);
}

/* ---- 100,000 symbols ---- */

static void many(void)
{
	char symbol[128];
	struct timespec a, b;
	double ms;
	unsigned n = 0;

	CHECK(!c->wants("x", "x"));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	for (unsigned i = 0; i < 100000; i++) {
		snprintf(symbol, sizeof(symbol),
			"_ZN2at6native12_GLOBAL__N_1%u%0*u4callERKNS_6TensorES3_RKN3c106ScalarE",
			10 + i % 20, (int)(10 + i % 20), i);
		n += c->wants(symbol, "/usr/lib/libtorch_cpu.so");
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
	printf("100000 symbols: %.1f ms\n", ms);
	CHECK(n == 0);
	CHECK(ms < 1000);
}

static void quick(void **state)
{
	(void)state;
	with(finding, LIST("  - '*'\n"), many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found),
		cmocka_unit_test(made),
		cmocka_unit_test(two),
		cmocka_unit_test(said),
		cmocka_unit_test(whole_file),
		cmocka_unit_test(quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
