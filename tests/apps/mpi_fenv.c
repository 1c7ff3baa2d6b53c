/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floating-point environment belongs to the program. Calls that only copy are made with exceptions unmasked, on
 * data that would raise them if a library calculated with it, with denormals flushed to zero, and with other rounding;
 * after each call the control and status words must be what they were. A tool that looks at the data and does not
 * put them away ends in SIGFPE or is reported here.
 *
 * On MPI_COMM_SELF nothing is transferred, and everything must hold. Transfers make MPIs calculate now and then
 * (clocks, sizes), with no other exception than "inexact": there it stays masked, and may be raised in fewer than
 * half of the calls.
 *
 * `mpi_fenv poison` calculates itself and must fail: so one sees that the check works.
 */
#include "app.h"
#include <fenv.h>
#include <float.h>
#include <math.h>

#if defined(__x86_64__)
#define FLUSH_TO_ZERO 0x8040u /* FTZ and DAZ of MXCSR */
#define DENORMAL_MASK 0x100u /* feenableexcept() cannot unmask this one */
#define INEXACT 0x20u /* in MXCSR and in the x87 status */

struct fp_words {
	uint64_t vector; /* MXCSR */
	uint16_t x87_control, x87_status;
};

static struct fp_words fp_read(void)
{
	struct fp_words w = {__builtin_ia32_stmxcsr(), 0, 0};

	__asm__ volatile("fnstcw %0" : "=m"(w.x87_control));
	__asm__ volatile("fnstsw %0" : "=m"(w.x87_status));
	w.x87_status &= (uint16_t)~0x4700u; /* condition codes: no call has to keep them */
	return w;
}

static void fp_mode(int flush, int trap)
{
	uint32_t w = __builtin_ia32_stmxcsr();

	w = flush ? w | FLUSH_TO_ZERO : w & ~FLUSH_TO_ZERO;
	__builtin_ia32_ldmxcsr(trap ? w & ~DENORMAL_MASK : w | DENORMAL_MASK);
}
#elif defined(__aarch64__)
#define FLUSH_TO_ZERO (1ull << 24) /* FZ of FPCR */
#define INEXACT 0x10u /* in FPSR */

struct fp_words {
	uint64_t vector; /* FPCR and FPSR */
	uint16_t x87_control, x87_status;
};

static struct fp_words fp_read(void)
{
	struct fp_words w = {0, 0, 0};
	uint64_t control, status;

	__asm__ volatile("mrs %0, fpcr" : "=r"(control));
	__asm__ volatile("mrs %0, fpsr" : "=r"(status));
	w.vector = control << 32 | (status & 0xffffffffu);
	return w;
}

static void fp_mode(int flush, int trap)
{
	uint64_t w;

	(void)trap;
	__asm__ volatile("mrs %0, fpcr" : "=r"(w));
	w = flush ? w | FLUSH_TO_ZERO : w & ~FLUSH_TO_ZERO;
	__asm__ volatile("msr fpcr, %0" : : "r"(w));
}
#else
#error "say how the floating-point control and status words of this processor are read"
#endif

enum { LEN = 4000 };

static float floats[LEN], got_floats[8 * LEN];
static double doubles[LEN], got_doubles[LEN];
static int right, left, poison;
static volatile float zero;

/* Quiet and signalling NaN, infinities, denormals, largest: a calculation with them raises a flag. */
static void fill(void)
{
	static const uint32_t f[] = {0x7fc00000, 0x7fa00001, 0x7f800000, 0xff800000, 1, 0x807fffff,
		0x7f7fffff, 0x3f800001};
	static const uint64_t d[] = {0x7ff8000000000000, 0x7ff4000000000001, 0x7ff0000000000000,
		0xfff0000000000000, 1, 0x800fffffffffffff, 0x7fefffffffffffff, 0x3ff0000000000001};

	for (int i = 0; i < LEN; i++) {
		memcpy(&floats[i], &f[i % 8], 4);
		memcpy(&doubles[i], &d[i % 8], 8);
	}
}

static void bcast(void)
{
	MPI_Bcast(app_rank == 0 ? floats : got_floats, LEN, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static void send_recv(void)
{
	MPI_Sendrecv(doubles, LEN, MPI_DOUBLE, right, 1, got_doubles, LEN, MPI_DOUBLE, left, 1,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void isend_irecv(void)
{
	MPI_Request req[2];

	MPI_Irecv(got_floats, LEN, MPI_FLOAT, left, 2, MPI_COMM_WORLD, &req[0]);
	MPI_Isend(floats, LEN, MPI_FLOAT, right, 2, MPI_COMM_WORLD, &req[1]);
	MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
}

static void allgather(void)
{
	MPI_Allgather(floats, LEN, MPI_FLOAT, got_floats, LEN, MPI_FLOAT, MPI_COMM_WORLD);
}

static void alltoall(void)
{
	MPI_Alltoall(
		doubles, LEN / 8, MPI_DOUBLE, got_doubles, LEN / 8, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void gather(void)
{
	MPI_Gather(
		floats, LEN, MPI_FLOAT, got_floats, LEN, MPI_FLOAT, app_size - 1, MPI_COMM_WORLD);
}

static void integers(void)
{
	int x = app_rank, y;

	MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(y == app_size * (app_size - 1) / 2, "sum %d", y);
}

static void self_bcast(void)
{
	MPI_Bcast(floats, LEN, MPI_FLOAT, 0, MPI_COMM_SELF);
}

static void self_allreduce(void)
{
	MPI_Allreduce(floats, got_floats, LEN, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF);
}

static void self_allgather(void)
{
	MPI_Allgather(doubles, LEN, MPI_DOUBLE, got_doubles, LEN, MPI_DOUBLE, MPI_COMM_SELF);
}

static const struct {
	const char *name;
	void (*call)(void);
	int alone; /* on MPI_COMM_SELF */
} calls[] = {{"Bcast alone", self_bcast, 1}, {"Allreduce alone", self_allreduce, 1},
	{"Allgather alone", self_allgather, 1}, {"Bcast", bcast, 0}, {"Sendrecv", send_recv, 0},
	{"Isend, Irecv", isend_irecv, 0}, {"Allgather", allgather, 0}, {"Alltoall", alltoall, 0},
	{"Gather", gather, 0}, {"Allreduce of int", integers, 0}};
enum { N_CALLS = sizeof(calls) / sizeof(calls[0]), TURNS = 20, MODES = 6 };

static int inexact; /* calls of one kind that raised it */

static void see_unchanged(int k, struct fp_words a, struct fp_words b)
{
	if (!calls[k].alone) {
		inexact += ((b.vector | b.x87_status) & INEXACT) != 0;
		b.vector &= ~(uint64_t)INEXACT;
		b.x87_status &= (uint16_t)~INEXACT;
	}
	CHECK(a.vector == b.vector && a.x87_control == b.x87_control &&
			a.x87_status == b.x87_status,
		"%s: words were %llx %x %x, are %llx %x %x", calls[k].name,
		(unsigned long long)a.vector, a.x87_control, a.x87_status,
		(unsigned long long)b.vector, b.x87_control, b.x87_status);
}

/* What a careless tool does. A call, or the compiler would move it out of what is watched. */
__attribute__((noinline)) static void divide(void)
{
	got_doubles[0] = 1 / (zero + 3);
	__asm__ volatile("" : : : "memory");
}

/* Call number k in a clean environment, which must be clean and in the same mode afterwards. */
static void run(int k, int trap, int flush, int round)
{
	struct fp_words before, after;

	feclearexcept(FE_ALL_EXCEPT);
	fesetround(round);
	fp_mode(flush, trap);
	if (trap)
		feenableexcept(calls[k].alone ? FE_ALL_EXCEPT : FE_ALL_EXCEPT & ~FE_INEXACT);
	before = fp_read();
	calls[k].call();
	if (poison && !trap)
		divide();
	after = fp_read();
	fedisableexcept(FE_ALL_EXCEPT);
	fp_mode(0, 0);
	fesetround(FE_TONEAREST);
	see_unchanged(k, before, after);
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_need_ranks(2);
	poison = argc > 1;
	right = (app_rank + 1) % app_size;
	left = (app_rank + app_size - 1) % app_size;
	fill();
	for (int k = 0; k < N_CALLS; k++) {
		calls[k].call(); /* what an MPI sets up at a first call is its own affair */
		inexact = 0;
		for (int turn = 0; turn < TURNS; turn++) {
			run(k, 0, 0, FE_TONEAREST);
			run(k, 1, 0, FE_TONEAREST);
			run(k, 0, 1, FE_TONEAREST);
			run(k, 1, 1, FE_TONEAREST);
			run(k, 0, 0, FE_UPWARD);
			run(k, 1, 1, FE_TOWARDZERO);
		}
		CHECK(inexact < TURNS * MODES / 2, "%s: %d of %d calls raised inexact",
			calls[k].name, inexact, TURNS * MODES);
		app_say("%s", calls[k].name);
	}
	bcast();
	CHECK(app_rank == 0 || !memcmp(floats, got_floats, sizeof(floats)), "Bcast changed bits");
	send_recv();
	CHECK(!memcmp(doubles, got_doubles, sizeof(doubles)), "Sendrecv changed bits");
	app_mix(got_doubles, sizeof(got_doubles));
	return app_done();
}
