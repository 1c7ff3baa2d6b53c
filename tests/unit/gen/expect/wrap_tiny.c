/* Made by genwrap from tiny.yaml; change that file instead. Shape: preload/call/wrapper.h. */
#include "call/wrapper.h"
#include "tiny_gen.h"

struct words3 {
	uint64_t w[3];
};
WRAPPER_EXPORT int ptiny_AllReduce(const void *, void *, int, int, unsigned, handle, void *);
WRAPPER_EXPORT int ptiny_AllReduceConfig(const void *, void *, int, int, unsigned, handle, void *, const void *);
WRAPPER_EXPORT int ptiny_AllReduceConfig_c(const void *, void *, int64_t, int, unsigned, handle, void *, const void *);
WRAPPER_EXPORT int ptiny_AllReduce_c(const void *, void *, int64_t, int, unsigned, handle, void *);
WRAPPER_EXPORT uint64_t ptiny_Count(int64_t);
WRAPPER_EXPORT int ptiny_Counts(const void *, void *, const void *, int, unsigned, handle, void *);
WRAPPER_EXPORT int ptiny_Exscan(void *, void *, void *, int64_t, int, unsigned, handle);
WRAPPER_EXPORT int ptiny_Gather(const void *, uint64_t, int, void *, uint64_t, int, int, handle);
WRAPPER_EXPORT float ptiny_Gemv(int, const void *, const void *, const void *, double, const void *, int, const void *, int64_t, const void *, void *, const void *);
WRAPPER_EXPORT int8_t ptiny_GroupEnd(void);
WRAPPER_EXPORT int ptiny_GroupStart(void);
WRAPPER_EXPORT handle ptiny_Handle(handle);
WRAPPER_EXPORT int ptiny_Igather(const void *, uint64_t, int, void *, uint64_t, int, int, handle, void *);
WRAPPER_EXPORT int ptiny_Mine(void *, const void *, const void *, int, handle, void *);
WRAPPER_EXPORT void ptiny_Mix(int8_t, uint8_t, int16_t, uint16_t, unsigned, float, double, struct words3, handle, void *, void *, uint8_t);
WRAPPER_EXPORT const void *ptiny_Parent(void *);
WRAPPER_EXPORT int ptiny_Scatter(const void *, void *, uint64_t, int, int, handle);
WRAPPER_EXPORT int ptiny_Segments(const void *, const void *, const void *, int, const void *, const void *, const void *, const void *, handle, void *);
WRAPPER_EXPORT int ptiny_Send(const void *, uint64_t, int, int, handle, void *);
WRAPPER_EXPORT int ptiny_dSum(const void *, uint64_t, int, handle, void *);
WRAPPER_EXPORT int ptiny_fSum(const void *, uint64_t, int, handle, void *);
WRAPPER_EXPORT int ptinyx_AllReduce(const void *, void *, int, int, unsigned, handle, void *);
WRAPPER_EXPORT int tiny_AllReduce(const void *, void *, int, int, unsigned, handle, void *);
WRAPPER_EXPORT int tiny_AllReduceConfig(const void *, void *, int, int, unsigned, handle, void *, const void *);
WRAPPER_EXPORT int tiny_AllReduceConfig_c(const void *, void *, int64_t, int, unsigned, handle, void *, const void *);
WRAPPER_EXPORT int tiny_AllReduce_c(const void *, void *, int64_t, int, unsigned, handle, void *);
WRAPPER_EXPORT uint64_t tiny_Count(int64_t);
WRAPPER_EXPORT int tiny_Counts(const void *, void *, const void *, int, unsigned, handle, void *);
WRAPPER_EXPORT int tiny_Exscan(void *, void *, void *, int64_t, int, unsigned, handle);
WRAPPER_EXPORT int tiny_Gather(const void *, uint64_t, int, void *, uint64_t, int, int, handle);
WRAPPER_EXPORT float tiny_Gemv(int, const void *, const void *, const void *, double, const void *, int, const void *, int64_t, const void *, void *, const void *);
WRAPPER_EXPORT int8_t tiny_GroupEnd(void);
WRAPPER_EXPORT int tiny_GroupStart(void);
WRAPPER_EXPORT handle tiny_Handle(handle);
WRAPPER_EXPORT int tiny_Igather(const void *, uint64_t, int, void *, uint64_t, int, int, handle, void *);
WRAPPER_EXPORT int tiny_Mine(void *, const void *, const void *, int, handle, void *);
WRAPPER_EXPORT void tiny_Mix(int8_t, uint8_t, int16_t, uint16_t, unsigned, float, double, struct words3, handle, void *, void *, uint8_t);
WRAPPER_EXPORT const void *tiny_Parent(void *);
WRAPPER_EXPORT int tiny_Scatter(const void *, void *, uint64_t, int, int, handle);
WRAPPER_EXPORT int tiny_Segments(const void *, const void *, const void *, int, const void *, const void *, const void *, const void *, handle, void *);
WRAPPER_EXPORT int tiny_Send(const void *, uint64_t, int, int, handle, void *);
WRAPPER_EXPORT int tiny_dSum(const void *, uint64_t, int, handle, void *);
WRAPPER_EXPORT int tiny_fSum(const void *, uint64_t, int, handle, void *);
WRAPPER_EXPORT int tinyx_AllReduce(const void *, void *, int, int, unsigned, handle, void *);

struct api tiny_rows[44];

const char *const tiny_sonames[] = {"libtiny.so.1", "libtiny.so", NULL};

const struct spec_values tiny_dtypes = {3, {
	{0, DT_INT8},
	{7, DT_FLOAT32},
	{-1, DT_OTHER},
}};

const struct spec_values tiny_redops = {2, {
	{0, REDOP_SUM},
	{4, REDOP_AVG},
}};

const struct abi_const tiny_abi_dtypes[2] = {
	{"TINY_FLOAT", DT_FLOAT32, false, {{ABI_ADDRESS, 0, "tiny_float"}, {ABI_VALUE, 0x4c00040a, ""}}},
	{"TINY_PAIR", DT_OTHER, true, {{ABI_ADDRESS, 0, "tiny_pair"}, {ABI_NONE, 0, ""}}},
};

const struct abi_const tiny_abi_redops[1] = {
	{"TINY_SUM", REDOP_SUM, false, {{ABI_ADDRESS, 0, "tiny_sum"}, {ABI_VALUE, 3, ""}}},
};

const struct abi_const tiny_abi_consts[2] = {
	{"TINY_NULL", 0, false, {{ABI_ADDRESS, 0, "tiny_null"}, {ABI_VALUE, -1, ""}}},
	{"TINY_SIZE", 0, false, {{ABI_VALUE, 24, ""}, {ABI_VALUE, 20, ""}}},
};

const struct matrix_codes tiny_matrix = {.row_major = 101, .transposed = {112, 84}, .left = {76}};

int ptiny_AllReduce(const void *a0, void *a1, int a2, int a3, unsigned a4, handle a5, void *a6)
{
	typedef int fn(const void *, void *, int, int, unsigned, handle, void *);
	struct api *const f = &tiny_rows[0];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.i = a2}, {.i = a3}, {.u = a4}, {.u = a5}, {.p = a6}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, (int)v[2].i, (int)v[3].i, (unsigned)v[4].u, v[5].u, v[6].p));
}

int ptiny_AllReduceConfig(const void *a0, void *a1, int a2, int a3, unsigned a4, handle a5, void *a6, const void *a7)
{
	typedef int fn(const void *, void *, int, int, unsigned, handle, void *, const void *);
	struct api *const f = &tiny_rows[1];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.i = a2}, {.i = a3}, {.u = a4}, {.u = a5}, {.p = a6}, {.cp = a7}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, (int)v[2].i, (int)v[3].i, (unsigned)v[4].u, v[5].u, v[6].p, v[7].cp));
}

int ptiny_AllReduceConfig_c(const void *a0, void *a1, int64_t a2, int a3, unsigned a4, handle a5, void *a6, const void *a7)
{
	typedef int fn(const void *, void *, int64_t, int, unsigned, handle, void *, const void *);
	struct api *const f = &tiny_rows[2];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.i = a2}, {.i = a3}, {.u = a4}, {.u = a5}, {.p = a6}, {.cp = a7}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, v[2].i, (int)v[3].i, (unsigned)v[4].u, v[5].u, v[6].p, v[7].cp));
}

int ptiny_AllReduce_c(const void *a0, void *a1, int64_t a2, int a3, unsigned a4, handle a5, void *a6)
{
	typedef int fn(const void *, void *, int64_t, int, unsigned, handle, void *);
	struct api *const f = &tiny_rows[3];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.i = a2}, {.i = a3}, {.u = a4}, {.u = a5}, {.p = a6}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, v[2].i, (int)v[3].i, (unsigned)v[4].u, v[5].u, v[6].p));
}

uint64_t ptiny_Count(int64_t a0)
{
	typedef uint64_t fn(int64_t);
	struct api *const f = &tiny_rows[4];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0);
	union arg v[] = {{.i = a0}};
	WRAPPER_ENTER(f, v, uint64_t);
	return (uint64_t)call_leave(&c, (int64_t)real(v[0].i));
}

int ptiny_Counts(const void *a0, void *a1, const void *a2, int a3, unsigned a4, handle a5, void *a6)
{
	typedef int fn(const void *, void *, const void *, int, unsigned, handle, void *);
	struct api *const f = &tiny_rows[5];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.cp = a2}, {.i = a3}, {.u = a4}, {.u = a5}, {.p = a6}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, v[2].cp, (int)v[3].i, (unsigned)v[4].u, v[5].u, v[6].p));
}

int ptiny_Exscan(void *a0, void *a1, void *a2, int64_t a3, int a4, unsigned a5, handle a6)
{
	typedef int fn(void *, void *, void *, int64_t, int, unsigned, handle);
	struct api *const f = &tiny_rows[6];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6);
	union arg v[] = {{.p = a0}, {.p = a1}, {.p = a2}, {.i = a3}, {.i = a4}, {.u = a5}, {.u = a6}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].p, v[1].p, v[2].p, v[3].i, (int)v[4].i, (unsigned)v[5].u, v[6].u));
}

int ptiny_Gather(const void *a0, uint64_t a1, int a2, void *a3, uint64_t a4, int a5, int a6, handle a7)
{
	typedef int fn(const void *, uint64_t, int, void *, uint64_t, int, int, handle);
	struct api *const f = &tiny_rows[7];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7);
	union arg v[] = {{.cp = a0}, {.u = a1}, {.i = a2}, {.p = a3}, {.u = a4}, {.i = a5}, {.i = a6}, {.u = a7}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].u, (int)v[2].i, v[3].p, v[4].u, (int)v[5].i, (int)v[6].i, v[7].u));
}

float ptiny_Gemv(int a0, const void *a1, const void *a2, const void *a3, double a4, const void *a5, int a6, const void *a7, int64_t a8, const void *a9, void *a10, const void *a11)
{
	typedef float fn(int, const void *, const void *, const void *, double, const void *, int, const void *, int64_t, const void *, void *, const void *);
	struct api *const f = &tiny_rows[8];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11);
	union arg v[] = {{.i = a0}, {.cp = a1}, {.cp = a2}, {.cp = a3}, {.d = a4}, {.cp = a5}, {.i = a6}, {.cp = a7}, {.i = a8}, {.cp = a9}, {.p = a10}, {.cp = a11}};
	WRAPPER_ENTER(f, v, float);

	float r = real((int)v[0].i, v[1].cp, v[2].cp, v[3].cp, v[4].d, v[5].cp, (int)v[6].i, v[7].cp, v[8].i, v[9].cp, v[10].p, v[11].cp);

	call_leave(&c, 0);
	return r;
}

int8_t ptiny_GroupEnd(void)
{
	typedef int8_t fn(void);
	struct api *const f = &tiny_rows[9];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))();
	union arg v[] = {{.u = 0}};
	WRAPPER_ENTER(f, v, int8_t);
	return (int8_t)call_leave(&c, real());
}

int ptiny_GroupStart(void)
{
	typedef int fn(void);
	struct api *const f = &tiny_rows[10];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))();
	union arg v[] = {{.u = 0}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real());
}

handle ptiny_Handle(handle a0)
{
	typedef handle fn(handle);
	struct api *const f = &tiny_rows[11];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0);
	union arg v[] = {{.u = a0}};
	WRAPPER_ENTER(f, v, handle);
	return (handle)call_leave(&c, (int64_t)real(v[0].u));
}

int ptiny_Igather(const void *a0, uint64_t a1, int a2, void *a3, uint64_t a4, int a5, int a6, handle a7, void *a8)
{
	typedef int fn(const void *, uint64_t, int, void *, uint64_t, int, int, handle, void *);
	struct api *const f = &tiny_rows[12];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7, a8);
	union arg v[] = {{.cp = a0}, {.u = a1}, {.i = a2}, {.p = a3}, {.u = a4}, {.i = a5}, {.i = a6}, {.u = a7}, {.p = a8}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].u, (int)v[2].i, v[3].p, v[4].u, (int)v[5].i, (int)v[6].i, v[7].u, v[8].p));
}

int ptiny_Mine(void *a0, const void *a1, const void *a2, int a3, handle a4, void *a5)
{
	typedef int fn(void *, const void *, const void *, int, handle, void *);
	struct api *const f = &tiny_rows[13];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5);
	union arg v[] = {{.p = a0}, {.cp = a1}, {.cp = a2}, {.i = a3}, {.u = a4}, {.p = a5}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].p, v[1].cp, v[2].cp, (int)v[3].i, v[4].u, v[5].p));
}

void ptiny_Mix(int8_t a0, uint8_t a1, int16_t a2, uint16_t a3, unsigned a4, float a5, double a6, struct words3 a7, handle a8, void *a9, void *a10, uint8_t a11)
{
	typedef void fn(int8_t, uint8_t, int16_t, uint16_t, unsigned, float, double, struct words3, handle, void *, void *, uint8_t);
	struct api *const f = &tiny_rows[14];

	if (WRAPPER_OFF(f)) {
		((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11);
		return;
	}
	union arg v[] = {{.i = a0}, {.u = a1}, {.i = a2}, {.u = a3}, {.u = a4}, {.d = a5}, {.d = a6}, {.p = &a7}, {.u = a8}, {.p = a9}, {.p = a10}, {.u = a11}};
	WRAPPER_ENTER(f, v, void);
	real((int8_t)v[0].i, (uint8_t)v[1].u, (int16_t)v[2].i, (uint16_t)v[3].u, (unsigned)v[4].u, (float)v[5].d, v[6].d, *(struct words3 *)v[7].p, v[8].u, v[9].p, v[10].p, (uint8_t)v[11].u);
	call_leave(&c, 0);
}

const void *ptiny_Parent(void *a0)
{
	typedef const void * fn(void *);
	struct api *const f = &tiny_rows[15];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0);
	union arg v[] = {{.p = a0}};
	WRAPPER_ENTER(f, v, const void *);
	return (const void *)call_leave(&c, (int64_t)real(v[0].p));
}

int ptiny_Scatter(const void *a0, void *a1, uint64_t a2, int a3, int a4, handle a5)
{
	typedef int fn(const void *, void *, uint64_t, int, int, handle);
	struct api *const f = &tiny_rows[16];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.u = a2}, {.i = a3}, {.i = a4}, {.u = a5}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, v[2].u, (int)v[3].i, (int)v[4].i, v[5].u));
}

int ptiny_Segments(const void *a0, const void *a1, const void *a2, int a3, const void *a4, const void *a5, const void *a6, const void *a7, handle a8, void *a9)
{
	typedef int fn(const void *, const void *, const void *, int, const void *, const void *, const void *, const void *, handle, void *);
	struct api *const f = &tiny_rows[17];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9);
	union arg v[] = {{.cp = a0}, {.cp = a1}, {.cp = a2}, {.i = a3}, {.cp = a4}, {.cp = a5}, {.cp = a6}, {.cp = a7}, {.u = a8}, {.p = a9}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].cp, v[2].cp, (int)v[3].i, v[4].cp, v[5].cp, v[6].cp, v[7].cp, v[8].u, v[9].p));
}

int ptiny_Send(const void *a0, uint64_t a1, int a2, int a3, handle a4, void *a5)
{
	typedef int fn(const void *, uint64_t, int, int, handle, void *);
	struct api *const f = &tiny_rows[18];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5);
	union arg v[] = {{.cp = a0}, {.u = a1}, {.i = a2}, {.i = a3}, {.u = a4}, {.p = a5}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].u, (int)v[2].i, (int)v[3].i, v[4].u, v[5].p));
}

int ptiny_dSum(const void *a0, uint64_t a1, int a2, handle a3, void *a4)
{
	typedef int fn(const void *, uint64_t, int, handle, void *);
	struct api *const f = &tiny_rows[19];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4);
	union arg v[] = {{.cp = a0}, {.u = a1}, {.i = a2}, {.u = a3}, {.p = a4}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].u, (int)v[2].i, v[3].u, v[4].p));
}

int ptiny_fSum(const void *a0, uint64_t a1, int a2, handle a3, void *a4)
{
	typedef int fn(const void *, uint64_t, int, handle, void *);
	struct api *const f = &tiny_rows[20];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4);
	union arg v[] = {{.cp = a0}, {.u = a1}, {.i = a2}, {.u = a3}, {.p = a4}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].u, (int)v[2].i, v[3].u, v[4].p));
}

int ptinyx_AllReduce(const void *a0, void *a1, int a2, int a3, unsigned a4, handle a5, void *a6)
{
	typedef int fn(const void *, void *, int, int, unsigned, handle, void *);
	struct api *const f = &tiny_rows[21];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.i = a2}, {.i = a3}, {.u = a4}, {.u = a5}, {.p = a6}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, (int)v[2].i, (int)v[3].i, (unsigned)v[4].u, v[5].u, v[6].p));
}

int tiny_AllReduce(const void *a0, void *a1, int a2, int a3, unsigned a4, handle a5, void *a6)
{
	typedef int fn(const void *, void *, int, int, unsigned, handle, void *);
	struct api *const f = &tiny_rows[22];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.i = a2}, {.i = a3}, {.u = a4}, {.u = a5}, {.p = a6}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, (int)v[2].i, (int)v[3].i, (unsigned)v[4].u, v[5].u, v[6].p));
}

int tiny_AllReduceConfig(const void *a0, void *a1, int a2, int a3, unsigned a4, handle a5, void *a6, const void *a7)
{
	typedef int fn(const void *, void *, int, int, unsigned, handle, void *, const void *);
	struct api *const f = &tiny_rows[23];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.i = a2}, {.i = a3}, {.u = a4}, {.u = a5}, {.p = a6}, {.cp = a7}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, (int)v[2].i, (int)v[3].i, (unsigned)v[4].u, v[5].u, v[6].p, v[7].cp));
}

int tiny_AllReduceConfig_c(const void *a0, void *a1, int64_t a2, int a3, unsigned a4, handle a5, void *a6, const void *a7)
{
	typedef int fn(const void *, void *, int64_t, int, unsigned, handle, void *, const void *);
	struct api *const f = &tiny_rows[24];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.i = a2}, {.i = a3}, {.u = a4}, {.u = a5}, {.p = a6}, {.cp = a7}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, v[2].i, (int)v[3].i, (unsigned)v[4].u, v[5].u, v[6].p, v[7].cp));
}

int tiny_AllReduce_c(const void *a0, void *a1, int64_t a2, int a3, unsigned a4, handle a5, void *a6)
{
	typedef int fn(const void *, void *, int64_t, int, unsigned, handle, void *);
	struct api *const f = &tiny_rows[25];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.i = a2}, {.i = a3}, {.u = a4}, {.u = a5}, {.p = a6}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, v[2].i, (int)v[3].i, (unsigned)v[4].u, v[5].u, v[6].p));
}

uint64_t tiny_Count(int64_t a0)
{
	typedef uint64_t fn(int64_t);
	struct api *const f = &tiny_rows[26];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0);
	union arg v[] = {{.i = a0}};
	WRAPPER_ENTER(f, v, uint64_t);
	return (uint64_t)call_leave(&c, (int64_t)real(v[0].i));
}

int tiny_Counts(const void *a0, void *a1, const void *a2, int a3, unsigned a4, handle a5, void *a6)
{
	typedef int fn(const void *, void *, const void *, int, unsigned, handle, void *);
	struct api *const f = &tiny_rows[27];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.cp = a2}, {.i = a3}, {.u = a4}, {.u = a5}, {.p = a6}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, v[2].cp, (int)v[3].i, (unsigned)v[4].u, v[5].u, v[6].p));
}

int tiny_Exscan(void *a0, void *a1, void *a2, int64_t a3, int a4, unsigned a5, handle a6)
{
	typedef int fn(void *, void *, void *, int64_t, int, unsigned, handle);
	struct api *const f = &tiny_rows[28];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6);
	union arg v[] = {{.p = a0}, {.p = a1}, {.p = a2}, {.i = a3}, {.i = a4}, {.u = a5}, {.u = a6}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].p, v[1].p, v[2].p, v[3].i, (int)v[4].i, (unsigned)v[5].u, v[6].u));
}

int tiny_Gather(const void *a0, uint64_t a1, int a2, void *a3, uint64_t a4, int a5, int a6, handle a7)
{
	typedef int fn(const void *, uint64_t, int, void *, uint64_t, int, int, handle);
	struct api *const f = &tiny_rows[29];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7);
	union arg v[] = {{.cp = a0}, {.u = a1}, {.i = a2}, {.p = a3}, {.u = a4}, {.i = a5}, {.i = a6}, {.u = a7}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].u, (int)v[2].i, v[3].p, v[4].u, (int)v[5].i, (int)v[6].i, v[7].u));
}

float tiny_Gemv(int a0, const void *a1, const void *a2, const void *a3, double a4, const void *a5, int a6, const void *a7, int64_t a8, const void *a9, void *a10, const void *a11)
{
	typedef float fn(int, const void *, const void *, const void *, double, const void *, int, const void *, int64_t, const void *, void *, const void *);
	struct api *const f = &tiny_rows[30];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11);
	union arg v[] = {{.i = a0}, {.cp = a1}, {.cp = a2}, {.cp = a3}, {.d = a4}, {.cp = a5}, {.i = a6}, {.cp = a7}, {.i = a8}, {.cp = a9}, {.p = a10}, {.cp = a11}};
	WRAPPER_ENTER(f, v, float);

	float r = real((int)v[0].i, v[1].cp, v[2].cp, v[3].cp, v[4].d, v[5].cp, (int)v[6].i, v[7].cp, v[8].i, v[9].cp, v[10].p, v[11].cp);

	call_leave(&c, 0);
	return r;
}

int8_t tiny_GroupEnd(void)
{
	typedef int8_t fn(void);
	struct api *const f = &tiny_rows[31];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))();
	union arg v[] = {{.u = 0}};
	WRAPPER_ENTER(f, v, int8_t);
	return (int8_t)call_leave(&c, real());
}

int tiny_GroupStart(void)
{
	typedef int fn(void);
	struct api *const f = &tiny_rows[32];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))();
	union arg v[] = {{.u = 0}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real());
}

handle tiny_Handle(handle a0)
{
	typedef handle fn(handle);
	struct api *const f = &tiny_rows[33];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0);
	union arg v[] = {{.u = a0}};
	WRAPPER_ENTER(f, v, handle);
	return (handle)call_leave(&c, (int64_t)real(v[0].u));
}

int tiny_Igather(const void *a0, uint64_t a1, int a2, void *a3, uint64_t a4, int a5, int a6, handle a7, void *a8)
{
	typedef int fn(const void *, uint64_t, int, void *, uint64_t, int, int, handle, void *);
	struct api *const f = &tiny_rows[34];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7, a8);
	union arg v[] = {{.cp = a0}, {.u = a1}, {.i = a2}, {.p = a3}, {.u = a4}, {.i = a5}, {.i = a6}, {.u = a7}, {.p = a8}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].u, (int)v[2].i, v[3].p, v[4].u, (int)v[5].i, (int)v[6].i, v[7].u, v[8].p));
}

int tiny_Mine(void *a0, const void *a1, const void *a2, int a3, handle a4, void *a5)
{
	typedef int fn(void *, const void *, const void *, int, handle, void *);
	struct api *const f = &tiny_rows[35];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5);
	union arg v[] = {{.p = a0}, {.cp = a1}, {.cp = a2}, {.i = a3}, {.u = a4}, {.p = a5}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].p, v[1].cp, v[2].cp, (int)v[3].i, v[4].u, v[5].p));
}

void tiny_Mix(int8_t a0, uint8_t a1, int16_t a2, uint16_t a3, unsigned a4, float a5, double a6, struct words3 a7, handle a8, void *a9, void *a10, uint8_t a11)
{
	typedef void fn(int8_t, uint8_t, int16_t, uint16_t, unsigned, float, double, struct words3, handle, void *, void *, uint8_t);
	struct api *const f = &tiny_rows[36];

	if (WRAPPER_OFF(f)) {
		((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11);
		return;
	}
	union arg v[] = {{.i = a0}, {.u = a1}, {.i = a2}, {.u = a3}, {.u = a4}, {.d = a5}, {.d = a6}, {.p = &a7}, {.u = a8}, {.p = a9}, {.p = a10}, {.u = a11}};
	WRAPPER_ENTER(f, v, void);
	real((int8_t)v[0].i, (uint8_t)v[1].u, (int16_t)v[2].i, (uint16_t)v[3].u, (unsigned)v[4].u, (float)v[5].d, v[6].d, *(struct words3 *)v[7].p, v[8].u, v[9].p, v[10].p, (uint8_t)v[11].u);
	call_leave(&c, 0);
}

const void *tiny_Parent(void *a0)
{
	typedef const void * fn(void *);
	struct api *const f = &tiny_rows[37];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0);
	union arg v[] = {{.p = a0}};
	WRAPPER_ENTER(f, v, const void *);
	return (const void *)call_leave(&c, (int64_t)real(v[0].p));
}

int tiny_Scatter(const void *a0, void *a1, uint64_t a2, int a3, int a4, handle a5)
{
	typedef int fn(const void *, void *, uint64_t, int, int, handle);
	struct api *const f = &tiny_rows[38];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.u = a2}, {.i = a3}, {.i = a4}, {.u = a5}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, v[2].u, (int)v[3].i, (int)v[4].i, v[5].u));
}

int tiny_Segments(const void *a0, const void *a1, const void *a2, int a3, const void *a4, const void *a5, const void *a6, const void *a7, handle a8, void *a9)
{
	typedef int fn(const void *, const void *, const void *, int, const void *, const void *, const void *, const void *, handle, void *);
	struct api *const f = &tiny_rows[39];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9);
	union arg v[] = {{.cp = a0}, {.cp = a1}, {.cp = a2}, {.i = a3}, {.cp = a4}, {.cp = a5}, {.cp = a6}, {.cp = a7}, {.u = a8}, {.p = a9}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].cp, v[2].cp, (int)v[3].i, v[4].cp, v[5].cp, v[6].cp, v[7].cp, v[8].u, v[9].p));
}

int tiny_Send(const void *a0, uint64_t a1, int a2, int a3, handle a4, void *a5)
{
	typedef int fn(const void *, uint64_t, int, int, handle, void *);
	struct api *const f = &tiny_rows[40];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5);
	union arg v[] = {{.cp = a0}, {.u = a1}, {.i = a2}, {.i = a3}, {.u = a4}, {.p = a5}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].u, (int)v[2].i, (int)v[3].i, v[4].u, v[5].p));
}

int tiny_dSum(const void *a0, uint64_t a1, int a2, handle a3, void *a4)
{
	typedef int fn(const void *, uint64_t, int, handle, void *);
	struct api *const f = &tiny_rows[41];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4);
	union arg v[] = {{.cp = a0}, {.u = a1}, {.i = a2}, {.u = a3}, {.p = a4}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].u, (int)v[2].i, v[3].u, v[4].p));
}

int tiny_fSum(const void *a0, uint64_t a1, int a2, handle a3, void *a4)
{
	typedef int fn(const void *, uint64_t, int, handle, void *);
	struct api *const f = &tiny_rows[42];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4);
	union arg v[] = {{.cp = a0}, {.u = a1}, {.i = a2}, {.u = a3}, {.p = a4}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].u, (int)v[2].i, v[3].u, v[4].p));
}

int tinyx_AllReduce(const void *a0, void *a1, int a2, int a3, unsigned a4, handle a5, void *a6)
{
	typedef int fn(const void *, void *, int, int, unsigned, handle, void *);
	struct api *const f = &tiny_rows[43];

	if (WRAPPER_OFF(f))
		return ((fn *)WRAPPER_REAL(f))(a0, a1, a2, a3, a4, a5, a6);
	union arg v[] = {{.cp = a0}, {.p = a1}, {.i = a2}, {.i = a3}, {.u = a4}, {.u = a5}, {.p = a6}};
	WRAPPER_ENTER(f, v, int);
	return (int)call_leave(&c, real(v[0].cp, v[1].p, (int)v[2].i, (int)v[3].i, (unsigned)v[4].u, v[5].u, v[6].p));
}

void *tiny_wrapper(unsigned row)
{
	switch (row) {
	case 0:
		return (void *)ptiny_AllReduce;
	case 1:
		return (void *)ptiny_AllReduceConfig;
	case 2:
		return (void *)ptiny_AllReduceConfig_c;
	case 3:
		return (void *)ptiny_AllReduce_c;
	case 4:
		return (void *)ptiny_Count;
	case 5:
		return (void *)ptiny_Counts;
	case 6:
		return (void *)ptiny_Exscan;
	case 7:
		return (void *)ptiny_Gather;
	case 8:
		return (void *)ptiny_Gemv;
	case 9:
		return (void *)ptiny_GroupEnd;
	case 10:
		return (void *)ptiny_GroupStart;
	case 11:
		return (void *)ptiny_Handle;
	case 12:
		return (void *)ptiny_Igather;
	case 13:
		return (void *)ptiny_Mine;
	case 14:
		return (void *)ptiny_Mix;
	case 15:
		return (void *)ptiny_Parent;
	case 16:
		return (void *)ptiny_Scatter;
	case 17:
		return (void *)ptiny_Segments;
	case 18:
		return (void *)ptiny_Send;
	case 19:
		return (void *)ptiny_dSum;
	case 20:
		return (void *)ptiny_fSum;
	case 21:
		return (void *)ptinyx_AllReduce;
	case 22:
		return (void *)tiny_AllReduce;
	case 23:
		return (void *)tiny_AllReduceConfig;
	case 24:
		return (void *)tiny_AllReduceConfig_c;
	case 25:
		return (void *)tiny_AllReduce_c;
	case 26:
		return (void *)tiny_Count;
	case 27:
		return (void *)tiny_Counts;
	case 28:
		return (void *)tiny_Exscan;
	case 29:
		return (void *)tiny_Gather;
	case 30:
		return (void *)tiny_Gemv;
	case 31:
		return (void *)tiny_GroupEnd;
	case 32:
		return (void *)tiny_GroupStart;
	case 33:
		return (void *)tiny_Handle;
	case 34:
		return (void *)tiny_Igather;
	case 35:
		return (void *)tiny_Mine;
	case 36:
		return (void *)tiny_Mix;
	case 37:
		return (void *)tiny_Parent;
	case 38:
		return (void *)tiny_Scatter;
	case 39:
		return (void *)tiny_Segments;
	case 40:
		return (void *)tiny_Send;
	case 41:
		return (void *)tiny_dSum;
	case 42:
		return (void *)tiny_fSum;
	case 43:
		return (void *)tinyx_AllReduce;
	}
	return NULL;
}
