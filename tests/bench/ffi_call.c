/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the libffi entry costs beyond call_enter() and call_leave(), which are empty here: taking the arguments apart and
 * putting them together again. Batches of calls through a stub alternate with direct calls of the same function.
 *
 *	ffi_call        for each signature: `entry` ns recorded, `off` ns of a row that is switched off, `direct` ns, and
 *	                `ghz`, the core's clock at these moments
 */
#include "bench.h"
#include "call/call.h"
#include "entry/stubs/ffi.h"
#include "tests/unit/stub_helper.h"

#define CALLS 5000
#define BATCHES 101

static void *target;

void *call_enter(struct call *c, struct api *f, union arg *v, uintptr_t pc, uintptr_t frame)
{
	(void)f;
	(void)v;
	(void)pc;
	(void)frame;
	c->mode = CALL_PASS;
	return target;
}

int64_t call_leave(struct call *c, int64_t ret)
{
	c->done = 1;
	return ret;
}

void call_unwind(struct call *c)
{
	(void)c;
}

struct pair {
	float a;
	int64_t b;
};

__attribute__((noinline)) static int collective(
	const void *send, void *recv, size_t n, int type, int op, void *comm)
{
	return send == recv && n && type + op && comm;
}

__attribute__((noinline)) static double reals(double a, float b, struct pair p)
{
	return a + b + p.a;
}

__attribute__((noinline)) static long many(
	long a, long b, long c, long d, long e, long f, long g, long h, long i, long k)
{
	return a + b + c + d + e + f + g + h + i + k;
}

static void collectives(void *fn)
{
	int (*f)(const void *, void *, size_t, int, int, void *) = (void *)fn;

	for (int i = 0; i < CALLS; i++)
		f(&target, &target, 1, 2, 3, NULL);
}

static void real_calls(void *fn)
{
	double (*f)(double, float, struct pair) = (void *)fn;

	for (int i = 0; i < CALLS; i++)
		f(1, 2, (struct pair){3, 4});
}

static void many_calls(void *fn)
{
	long (*f)(long, long, long, long, long, long, long, long, long, long) = (void *)fn;

	for (int i = 0; i < CALLS; i++)
		f(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
}

static double ns(void (*calls)(void *), void *fn)
{
	uint64_t t0 = now_ns(CLOCK_THREAD_CPUTIME_ID);

	calls(fn);
	return (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - t0) / CALLS;
}

static void measure(const char *name, void *fn, void (*calls)(void *), uint8_t ret, int nargs,
	const uint8_t *arg, const struct api_struct *s)
{
	static double direct[BATCHES], entry[BATCHES], off[BATCHES], ghz[BATCHES];
	struct api_ffi x = {.ret = ret};
	struct adapter lib = {.name = "bench"};
	struct api_spec spec = {.symbol = name, .lib = &lib, .ffi = &x, .nargs = (uint8_t)nargs};
	struct api *a = calloc(1, sizeof(*a));

	for (int i = 0; i < nargs; i++) {
		spec.args[i].ctype = arg[i];
		x.arg[i] = arg[i] == CT_STRUCT ? s : NULL;
	}
	a->spec = &spec;
	atomic_store(&a->real, fn);
	target = fn;
	if (ffi_entry(a, &stub_code, &stub_context))
		abort();
	for (int i = 0; i < BATCHES; i++) {
		direct[i] = ns(calls, fn);
		atomic_store(&a->word, API_ON);
		entry[i] = ns(calls, stub_at) - direct[i];
		atomic_store(&a->word, API_SKIP);
		off[i] = ns(calls, stub_at) - direct[i];
		ghz[i] = cycles_a_ns();
	}
	printf("%-12s entry %.1f  off %.1f  direct %.1f  ghz %.2f\n", name, median(entry, BATCHES),
		median(off, BATCHES), median(direct, BATCHES), median(ghz, BATCHES));
}

int main(void)
{
	static const uint8_t member[] = {CT_F32, CT_I64};
	static const struct api_struct pair = {.size = 16, .align = 8, .n = 2, .member = member};

	measure("collective", (void *)collective, collectives, CT_I32, 6,
		(const uint8_t[]){CT_P, CT_P, CT_U64, CT_I32, CT_I32, CT_P}, NULL);
	measure("reals", (void *)reals, real_calls, CT_F64, 3,
		(const uint8_t[]){CT_F64, CT_F32, CT_STRUCT}, &pair);
	measure("on the stack", (void *)many, many_calls, CT_I64, 10,
		(const uint8_t[]){CT_I64, CT_I64, CT_I64, CT_I64, CT_I64, CT_I64, CT_I64, CT_I64,
			CT_I64, CT_I64},
		NULL);
	return 0;
}
