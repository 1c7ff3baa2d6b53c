/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls wrappers made from tiny.yaml with the three answers that call_enter() can give. test_gen.c compiles it with
 * what the generator wrote and runs it; it prints what went wrong and exits with the number of faults.
 */
#include <stdio.h>
#include <string.h>

#include "api/enabled.h"
#include "config/builtin.h"
#include "wrap_tiny.c"

_Atomic uint32_t pass_states = API_SKIP; /* of api/enabled.c: recording is on */

const struct adapter adapter_tiny = {LIB_TINY_SPEC};

static unsigned faults;
static void *next_real;
static int entered, left, unwound;
static int64_t left_with;
static const struct api *entered_api;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	faults++;
	printf("driver: %s\n", what);
}
#define CHECK(x) check(x, #x)

void *call_enter(struct call *c, struct api *f, union arg *v, uintptr_t pc, uintptr_t frame)
{
	c->done = 0;
	c->v = v;
	entered++;
	entered_api = f;
	CHECK(pc != 0 && frame != 0);
	return next_real;
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
	(void)c;
	unwound++;
}

static struct {
	int8_t c;
	uint8_t uc, b;
	int16_t s;
	uint16_t us;
	unsigned u;
	float f;
	double d;
	struct words3 id;
	handle comm;
	void *newcomm, *argv;
} got;

static void real_mix(int8_t c, uint8_t uc, int16_t s, uint16_t us, unsigned u, float f, double d,
	struct words3 id, handle comm, void *newcomm, void *argv, uint8_t b)
{
	got.c = c;
	got.uc = uc;
	got.s = s;
	got.us = us;
	got.u = u;
	got.f = f;
	got.d = d;
	got.id = id;
	got.comm = comm;
	got.newcomm = newcomm;
	got.argv = argv;
	got.b = b;
}

static void mix_once(void)
{
	struct words3 id = {{1, UINT64_MAX, 3}};
	int x, y;

	memset(&got, 0, sizeof(got));
	tiny_Mix(-5, 200, -30000, 60000, 4000000000u, 1.5f, -2.25, id, (handle)0xfffffffffffffff0u,
		&x, &y, 1);
	CHECK(got.c == -5 && got.uc == 200 && got.s == -30000 && got.us == 60000 &&
		got.u == 4000000000u);
	CHECK(got.f == 1.5f && got.d == -2.25 && got.b == 1);
	CHECK(memcmp(&got.id, &id, sizeof(id)) == 0);
	CHECK(got.comm == (handle)0xfffffffffffffff0u && got.newcomm == &x && got.argv == &y);
}

static const void *real_parent(void *newcomm)
{
	return newcomm;
}

static uint64_t real_count(int64_t n)
{
	return (uint64_t)n;
}

static int8_t real_end(void)
{
	return -1;
}

/* Sees what an adapter put into v[] in place of the caller's argument. */
static int real_reduce(
	const void *send, void *recv, int count, int dtype, unsigned op, handle comm, void *stream)
{
	(void)send;
	(void)recv;
	(void)stream;
	return count * 1000 + dtype * 100 + (int)op * 10 + (int)comm;
}

static void on(const char *symbol, void *real)
{
	struct api *a = api_find(symbol);

	atomic_store(&a->word, API_ON);
	next_real = real;
	entered = left = unwound = 0;
	entered_api = NULL;
}

static void recorded(void)
{
	on("tiny_Mix", (void *)real_mix);
	mix_once();
	CHECK(entered == 1 && left == 1 && unwound == 0 && left_with == 0);
	CHECK(entered_api == api_find("tiny_Mix"));

	on("tiny_Parent", (void *)real_parent);
	CHECK(tiny_Parent(&faults) == &faults && left_with == (int64_t)&faults);
	on("tiny_Count", (void *)real_count);
	CHECK(tiny_Count(-7) == (uint64_t)-7 && left_with == -7);
	on("ptiny_GroupEnd", (void *)real_end);
	CHECK(ptiny_GroupEnd() == -1 && left_with == -1);
	on("tinyx_AllReduce", (void *)real_reduce);
	CHECK(tinyx_AllReduce(NULL, NULL, 1, 2, 3, 4, NULL) == 1234);
	CHECK(entered_api == api_find("tinyx_AllReduce"));
}

static void absent(void)
{
	on("tiny_Mix", NULL);
	tiny_Mix(0, 0, 0, 0, 0, 0, 0, (struct words3){{0}}, 0, NULL, NULL, 0);
	CHECK(entered == 1 && left == 0 && unwound == 1);
	on("tiny_GroupStart", NULL);
	CHECK(tiny_GroupStart() == -3);
	on("tiny_Parent", NULL);
	CHECK(tiny_Parent(NULL) == (void *)-3);
}

static void skipped(void)
{
	struct api *a = api_find("tiny_Mix");

	on("tiny_Mix", NULL);
	atomic_store(&a->real, (void *)real_mix);
	atomic_store(&a->word, API_SKIP);
	mix_once();
	a = api_find("tiny_Count");
	atomic_store(&a->real, (void *)real_count);
	atomic_store(&a->word, API_SKIP);
	CHECK(tiny_Count(5) == 5 && entered == 0 && unwound == 0);
}

static void table(void)
{
	for (unsigned i = 0; i < api_count; i++) {
		const char *s = api_get(i)->spec->symbol;

		CHECK(api_find(s) == api_get(i));
		CHECK(i == 0 || strcmp(api_get(i - 1)->spec->symbol, s) < 0);
		for (unsigned r = 1; r < ROLE_NROLES; r++)
			if (api_get(i)->spec->at[r])
				CHECK(api_get(i)->spec->args[api_get(i)->spec->at[r] - 1].role ==
					r);
	}
	CHECK(!api_find("") && !api_find("tiny") && !api_find("zzz") &&
		!api_find("tiny_AllReduceX"));
	CHECK(api_wrapper(api_find("tiny_Mix")) == (void *)tiny_Mix);
	CHECK(api_wrapper(api_find("ptiny_Mix")) == (void *)ptiny_Mix);
	CHECK(!api_wrapper(&(struct api){.spec = NULL}));
}

int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
	char text[256];
	size_t n = f ? fread(text, 1, sizeof(text), f) : 0;

	/* Nothing is written before the first hit. */
	CHECK(!api_find("zzz") && !api_get(0)->spec && !kind_table[0].name);
	recorded();
	CHECK(api_get(0)->spec && kind_table[0].name);
	absent();
	skipped();
	table();
	CHECK(n > 0 && strlen(builtin_texts[0].text) == n &&
		memcmp(builtin_texts[0].text, text, n) == 0);
	CHECK(strcmp(builtin_texts[0].name, "text.yaml") == 0 && !builtin_texts[1].name);
	if (f)
		fclose(f);
	return (int)faults;
}
