/* SPDX-License-Identifier: Apache-2.0 */
/* link: -ldl */
/*
 * Whole calls of functions that only custom.yaml knows, of a C and a C++ library compiled here: what arrives in the
 * rows, communicators by the library's own queries, and a job that does not notice. CC, CXX: the compilers.
 */
#include "custom_helper.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include "entry/stubs/ffi.h"
#include "session/generation_pair.h"
#include "stub_helper.h"

static char dir[] = "/tmp/probe-test-custom-XXXXXX";

static const char c_source[] =
	"#include <errno.h>\n#include <stddef.h>\n"
	"struct comm { int rank, size; };\n"
	"int asked;\n"
	"int my_rank(struct comm *c, int *out) { asked++; *out = c->rank; return 0; }\n"
	"long my_size(struct comm *c) { return c->size; }\n"
	"int my_sum(const void *send, void *recv, size_t n, int type, int op, struct comm *c) {\n"
	"  if (n == 13) { errno = 77; return 5; }\n"
	"  for (size_t i = 0; i < n; i++) if (type == 1) ((double *)recv)[i] = 2 * ((const double "
	"*)send)[i]; else ((float *)recv)[i] = 2 * ((const float *)send)[i];\n"
	"  return 0; }\n"
	"int my_gather(const float *send, float *recv, int n, struct comm *c) {\n"
	"  for (int r = 0; r < c->size; r++) for (int i = 0; i < n; i++) recv[r * n + i] = send[i] "
	"+ r;\n"
	"  return 0; }\n"
	"void my_nothing(float *p, int n) {}\n"
	"int my_free(struct comm *c) { return 0; }\n";

static const char cxx_source[] =
	"#include <stdexcept>\n"
	"namespace ns { struct Reducer { virtual ~Reducer() {} virtual float sum(float *p, long "
	"n);\n"
	"  int times = 0; };\n"
	"float Reducer::sum(float *p, long n) { times++; if (n == 0) throw "
	"std::runtime_error(\"n\");\n"
	"  float s = 0; for (long i = 0; i < n; i++) { s += p[i]; } for (long i = 0; i < n; i++) "
	"p[i] = s;"
	" return s; } }\n"
	"extern \"C\" void *new_reducer() { return new ns::Reducer; }\n"
	"extern \"C\" int catches(float (*f)(void *, float *, long), void *r) { float x = 1;\n"
	"  try { f(r, &x, 0); } catch (std::exception &) { return 1; } return 0; }\n";

static const char yaml[] =
	"notation: 1\n"
	"success: [0]\n"
	"comm: {rank: \"my_rank(comm, int *out)\", size: \"long my_size(comm)\"}\n"
	"types: {my_comm: opaque}\n"
	"dtype: {0: float32, 1: float64}\n"
	"redop: {0: sum, 1: max}\n"
	"functions:\n"
	"  my_sum: {kind: allreduce, sig: \"int (const void *send, void *recv, size_t count, int "
	"dtype, "
	"int op, my_comm *comm)\"}\n"
	"  my_gather: {kind: allgather, sig: \"int (const float *send, float *recv, int count, "
	"my_comm "
	"*comm)\"}\n"
	"  my_nothing: {kind: allreduce_inplace, sig: \"void (float *buf, int count)\"}\n"
	"  my_free: {task: comm_end, sig: \"int (my_comm *comm)\"}\n"
	"---\n"
	"notation: 1\n"
	"functions:\n"
	"  ns::Reducer::sum: {kind: allreduce_inplace, sig: \"float (void *_this, float *buf, long "
	"count)\"}\n";

static void *library(
	const char *name, const char *source, const char *variable, const char *compiler)
{
	char path[128], line[512];
	const char *cc = getenv(variable);

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	write_text(path, source);
	snprintf(line, sizeof(line), "%s -O1 -g -fPIC -shared -o %s.so %s",
		cc && *cc ? cc : compiler, path, path);
	if (system(line))
		return NULL;
	strcat(path, ".so");
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The stub jumps to this function's row from now on. */
static struct api *point(void *lib, const char *symbol)
{
	struct api *a = custom_provider.make(symbol, "libmine.so");

	if (!a || ffi_entry(a, &stub_code, &stub_context)) {
		printf("no row for %s: %s\n", symbol, heard());
		failures++;
		return NULL;
	}
	atomic_store(&a->real, dlsym(lib, symbol));
	a->word = API_BOUND;
	return a;
}

static const char *field(const struct csv_row *r, const char *name)
{
	char header[1024];
	unsigned i = 0;

	snprintf(header, sizeof(header), "%s", ROW_HEADER);
	for (char *p = strtok(header, ",\n"); p; p = strtok(NULL, ",\n"), i++)
		if (strcmp(p, name) == 0)
			return r->field[i];
	return "?";
}

#define IS(row, name, value) CHECK(strcmp(field(row, name), value) == 0)

struct my_comm {
	int rank, size;
};

static void c_calls(void)
{
	typedef int sum_fn(const void *, void *, size_t, int, int, struct my_comm *);
	typedef int gather_fn(const float *, float *, int, struct my_comm *);
	void *lib = library("libmine.c", c_source, "CC", "cc");
	struct my_comm world = {1, 3}, other = {0, 2};
	float f[26] = {1, 2, 3}, g[26], *edge;
	double d[2] = {1, -1}, e[2];
	struct table t;

	CHECK(lib);
	session_on(1 << 20);
	generation_first.cfg.custom_apis = custom_file;
	session.world_rank = 1;
	session.world_size = 3;
	CHECK(!custom_provider.wants("malloc", "libmine.so"));
	if (!lib || !point(lib, "my_sum"))
		return;
	CHECK(((sum_fn *)stub_at)(f, g, 3, 0, 0, &world) == 0 && g[2] == 6);
	CHECK(((sum_fn *)stub_at)(d, e, 2, 1, 1, &other) == 0 && e[1] == -2);
	errno = 3;
	CHECK(((sum_fn *)stub_at)(f, g, 13, 0, 0, &world) == 5 && errno == 77);
	CHECK(((sum_fn *)stub_at)(f, g, 2, 9, 0, &world) == 0);
	CHECK(hears("dtype has no value 9"));
	point(lib, "my_gather");
	CHECK(((gather_fn *)stub_at)(f, g, 2, &world) == 0 && g[5] == 4);
	CHECK(*(int *)dlsym(lib, "asked") == 2); /* once for each communicator */
	/* A count in bytes: there is nothing after the buffer. */
	edge = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(munmap(edge + 1024, 4096) == 0);
	for (int i = 0; i < 2; i++)
		edge[1020 + i] = 1;
	point(lib, "my_nothing");
	((void (*)(float *, int))stub_at)(edge + 1022, 8);
	((void (*)(float *, int))stub_at)((float *)8, 8);
	((void (*)(float *, int))stub_at)(edge + 1022, 2);
	/* The same handle, another communicator. */
	point(lib, "my_free");
	CHECK(((int (*)(struct my_comm *))stub_at)(&world) == 0);
	world.size = 2;
	point(lib, "my_gather");
	CHECK(((gather_fn *)stub_at)(f, g, 2, &world) == 0);
	CHECK(*(int *)dlsym(lib, "asked") == 3);

	t = session_rows(true);
	CHECK(t.n == 17 && !t.bad);
	if (t.n == 17) {
		const struct csv_row *r = t.row;

		IS(&r[0], "lib", "custom");
		IS(&r[0], "api", "my_sum");
		IS(&r[0], "op", "all_reduce");
		IS(&r[0], "comm_seq", "0");
		IS(&r[0], "rank", "1");
		IS(&r[0], "size", "3");
		IS(&r[0], "redop", "sum");
		IS(&r[0], "io", "in");
		IS(&r[0], "dtype", "float32");
		IS(&r[0], "count", "3");
		IS(&r[0], "max", "3");
		IS(&r[0], "flags", "guessed");
		IS(&r[1], "io", "out");
		IS(&r[1], "max", "6");
		IS(&r[2], "dtype", "float64");
		IS(&r[2], "redop", "max");
		IS(&r[2], "size", "2");
		IS(&r[2], "comm_seq", "0");
		CHECK(strstr(field(&r[2], "flags"), "localcomm"));
		CHECK(strcmp(field(&r[2], "comm"), field(&r[0], "comm")));
		CHECK(strstr(field(&r[4], "flags"), "error:5")); /* no out row */
		IS(&r[4], "io", "in");
		IS(&r[5], "dtype", "other");
		IS(&r[5], "comm_seq", "2");
		IS(&r[7], "api", "my_gather");
		IS(&r[7], "count", "2");
		IS(&r[8], "count", "6");
		IS(&r[8], "max", "4");
		for (int i = 9; i < 13; i++) {
			IS(&r[i], "api", "my_nothing");
			IS(&r[i], "max", "");
			CHECK(strstr(field(&r[i], "flags"), "nostats"));
		}
		IS(&r[13], "count", "2");
		IS(&r[13], "max", "0");
		IS(&r[16], "count", "4");
		IS(&r[16], "comm_seq", "0");
	}
	free_test_table(&t);
	session_over();
}

static void c_library(void **state)
{
	(void)state;
	with(yaml, "custom:\n  - my_*\n", c_calls);
}

static void cxx_calls(void)
{
	typedef float sum_fn(void *, float *, long);
	void *lib = library("libmine.cpp", cxx_source, "CXX", "c++");
	int (*catches)(void *, void *);
	float f[3] = {1, 2, 3};
	struct table t;
	void *r;

	if (!lib)
		return; /* no C++ compiler */
	session_on(1 << 20);
	generation_first.cfg.custom_apis = custom_file;
	r = ((void *(*)(void))dlsym(lib, "new_reducer"))();
	catches = (int (*)(void *, void *))dlsym(lib, "catches");
	if (!point(lib, "_ZN2ns7Reducer3sumEPfl"))
		return;
	CHECK(((sum_fn *)stub_at)(r, f, 3) == 6 && f[0] == 6);
	CHECK(catches(stub_at, r) == 1);
	CHECK(((int *)r)[2] == 2);
	CHECK(thread_state.depth == 0);
	t = session_rows(true);
	CHECK(t.n == 3 && !t.bad);
	if (t.n == 3) {
		IS(&t.row[0], "api", "ns::Reducer::sum");
		IS(&t.row[0], "comm", "");
		IS(&t.row[0], "mean", "2");
		IS(&t.row[1], "io", "out");
		IS(&t.row[1], "mean", "6");
		IS(&t.row[2], "flags", "unwound");
		IS(&t.row[2], "io", "in");
	}
	free_test_table(&t);
	session_over();
}

static void cxx_library(void **state)
{
	(void)state;
	with(yaml, "custom:\n  - ns::Reducer::sum\n", cxx_calls);
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	remove_tree(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c_library),
		cmocka_unit_test(cxx_library),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
