/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts that `probe report` is made of: percentiles, tables, joining the ranks, ranks that arrive last, bad values, the
 * slowest. What the whole prints is compared with an independent count in tests/e2e/test_report.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tools/probe/model/join/signature.h"
#include "tools/probe/model/gather.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"

static int by_value(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return a < b ? -1 : a > b;
}

static uint64_t random64(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* ---- percentiles ---- */

static void quantiles(void **state)
{
	static uint64_t v[20001];
	static const double q[] = {0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1};
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (unsigned shape = 0; shape < 6; shape++) {
		struct hist h = {0}, parts[3] = {{0}}, sum = {0};
		unsigned n = shape == 5 ? 1 : 20001;
		double total = 0;

		for (unsigned i = 0; i < n; i++) {
			uint64_t r = random64(&seed);

			v[i] = shape == 0   ? r % 40
			       : shape == 1 ? r % 1000000
			       : shape == 2 ? r >> (r % 64)
			       : shape == 3 ? 7
					    : r;
			total += (double)v[i];
			hist_add(&h, v[i]);
			hist_add(&parts[i % 3], v[i]);
		}
		for (int k = 0; k < 3; k++)
			hist_merge(&sum, &parts[k]);
		qsort(v, n, sizeof(*v), by_value);
		assert_int_equal(h.n, n);
		assert_true(h.min == v[0] && h.max == v[n - 1]);
		assert_true(h.sum == total);
		for (unsigned i = 0; i < sizeof(q) / sizeof(*q); i++) {
			double want = (double)v[(unsigned)(q[i] * (n - 1))],
			       have = (double)hist_quantile(&h, q[i]);

			assert_true(have >= want * (1 - 1.0 / 63) - 1 &&
				    have <= want * (1 + 1.0 / 63) + 1);
			assert_true(hist_quantile(&sum, q[i]) == hist_quantile(&h, q[i]));
		}
		for (int k = 0; k < 3; k++)
			hist_free(&parts[k]);
		hist_free(&sum);
		hist_free(&h);
	}
	assert_int_equal(hist_quantile(&(struct hist){0}, 0.5), 0);
}

static void tables(void **state)
{
	struct thing {
		struct table_key key;
		uint64_t n;
	} * t;
	struct table all;
	uint64_t seed = 1;

	(void)state;
	table_init(&all, sizeof(struct thing), 5000);
	assert_null(table_find(&all, 1, 2));
	for (int round = 0; round < 3; round++) {
		seed = 99;
		for (unsigned i = 0; i < 5000; i++) {
			t = table_get(&all, random64(&seed), i);
			assert_non_null(t);
			assert_int_equal(t->n, round);
			t->n++;
		}
	}
	assert_int_equal(all.n, 5000);
	assert_null(table_get(&all, 1, 1));
	assert_null(table_find(&all, 1, 1));
	seed = 99;
	for (unsigned i = 0; i < 5000; i++) {
		t = table_find(&all, random64(&seed), i);
		assert_ptr_equal(t, table_at(&all, i));
	}
	table_free(&all);
}

/* ---- joining ---- */

#define RANKS 5

static struct comms comms;
static struct late late;
static struct clock_fix skew[RANKS];
static unsigned met, complete;
static struct meeting last_met;

static void met_one(void *arg, const struct meeting *m, bool whole)
{
	(void)arg;
	met++;
	complete += whole;
	last_met = *m;
	late_meeting(&late, m, whole);
}

static uint32_t word(const char *s)
{
	return intern_add_text(s, strlen(s));
}

static struct call make_report_call(
	uint32_t rank, int64_t seq, const char *op, uint64_t start, uint64_t dur)
{
	return (struct call){.rank = rank,
		.lib = word("mpi"),
		.api = word(op),
		.op = word(op),
		.redop = word("sum"),
		.dtype = word("float32"),
		.rows = 2,
		.comm = 7,
		.comm_seq = seq,
		.size = RANKS,
		.root = NO_NUMBER,
		.peer = NO_NUMBER,
		.tag = NO_NUMBER,
		.start = start,
		.dur = dur,
		.in_bytes = 400,
		.out_bytes = 400,
		.seq = (uint64_t)seq + 1};
}

static void begin(struct meet *m)
{
	comms_init(&comms);
	late_init(&late, skew);
	memset(skew, 0, sizeof(skew));
	met = complete = 0;
	meet_init(m, &comms, RANKS, met_one, NULL);
}

static void end(struct meet *m)
{
	meet_end(m);
	late_free(&late);
	comms_free(&comms);
}

static void who_is_last(void **state)
{
	static const uint64_t start[RANKS] = {1000, 1010, 5000, 1020, 1005};
	struct meet m;
	const struct late_comm *c;

	(void)state;
	begin(&m);
	/* All leave at 6000; in every fourth operation no rank is special and rank 4 is last by a little. */
	for (int64_t seq = 0; seq < 100; seq++)
		for (uint32_t r = 0; r < RANKS; r++) {
			uint64_t at = seq % 4 == 3 ? 1000 + r : start[r];
			struct call k = make_report_call(
				r, seq, "all_reduce", (uint64_t)seq * 10000 + at, 6000 - at);

			meet_add(&m, &k);
		}
	assert_int_equal(met, 100);
	assert_int_equal(complete, 100);
	assert_null(m.oldest);
	c = table_find(&late.comms, 7, 0);
	assert_int_equal(c->meetings, 100);
	assert_int_equal(c->ranks, RANKS);
	assert_int_equal(c->most->key.b, 2);
	assert_int_equal(c->most->last, 75);
	assert_int_equal(c->most->lag.max, 5000 - 1010);
	assert_int_equal(c->lag.min, 2); /* 1004 after 1002 */
	assert_int_equal(c->spread.max, 4000);
	/* From one ordinary operation: 4000 + 3990 + 0 + 3980 + 3995; from the others: 4 + 3 + 2 + 1 + 0. */
	assert_true(c->wait_ns == 75 * 15965.0 + 25 * 10);
	end(&m);
}

/* The sender of a broadcast does not wait for ranks that come later; an operation that a rank never left decides nothing. */
static void who_waits(void **state)
{
	struct meet m;
	struct call k;
	const struct late_comm *c;

	(void)state;
	begin(&m);
	for (uint32_t r = 0; r < RANKS; r++) {
		k = make_report_call(r, 0, "broadcast", r == 0 ? 1000 : 2000, r == 0 ? 30 : 500);
		meet_add(&m, &k);
		k = make_report_call(r, 1, "broadcast", 3000 + r, 100);
		k.bits = r == 2 ? CALL_OPEN : 0;
		meet_add(&m, &k);
	}
	c = table_find(&late.comms, 7, 0);
	assert_int_equal(c->meetings, 1);
	assert_int_equal(c->incomplete, 1);
	assert_true(c->wait_ns == 30);
	assert_int_equal(complete, 2);
	end(&m);
}

/* A clock that is ahead makes its rank look late; set right it is not. */
static void wrong_clock(void **state)
{
	struct meet m;
	const struct late_comm *c;

	(void)state;
	for (int right = 0; right < 2; right++) {
		begin(&m);
		skew[3].ahead = right ? 50000 : 0;
		for (int64_t seq = 0; seq < 20; seq++)
			for (uint32_t r = 0; r < RANKS; r++) {
				uint64_t at = 1000000 + (r == 1 ? 900 : 0);
				struct call k = make_report_call(
					r, seq, "barrier", at + (r == 3 ? 50000 : 0), 60000);

				meet_add(&m, &k);
			}
		c = table_find(&late.comms, 7, 0);
		assert_int_equal(c->most->key.b, right ? 1 : 3);
		assert_int_equal(c->most->lag.max, right ? 900 : 50000);
		end(&m);
	}
}

/* A collective that every rank had left before the last one came is no wait for it: of 20, 5 count. */
static void nobody_waited(void **state)
{
	struct meet m;
	const struct late_comm *c;

	(void)state;
	begin(&m);
	for (int64_t seq = 0; seq < 20; seq++)
		for (uint32_t r = 0; r < RANKS; r++) {
			struct call k = make_report_call(r, seq, "all_gather",
				1000000 + (r == 2 ? 5000 : 0), seq % 4 ? 10 : 6000);

			meet_add(&m, &k);
		}
	c = table_find(&late.comms, 7, 0);
	assert_int_equal(c->meetings, 20);
	assert_int_equal(c->held, 5);
	assert_int_equal(c->most->key.b, 2);
	assert_int_equal(c->most->last, 5);
	end(&m);
}

/* Ranks may come in any order and far apart; incomplete operations at the end are marked so. */
static void out_of_order(void **state)
{
	struct meet m;
	uint64_t seed = 5;

	(void)state;
	begin(&m);
	for (uint32_t r = 0; r < RANKS; r++)
		for (int64_t i = 0; i < 1000; i++) {
			int64_t seq = r & 1 ? 999 - i : i;
			struct call k =
				make_report_call(r, seq, "barrier", random64(&seed) % 1000, 10);

			if (r == 4 && seq >= 990)
				continue;
			meet_add(&m, &k);
		}
	assert_int_equal(complete, 990);
	meet_end(&m);
	assert_int_equal(met, 1000);
	assert_int_equal(complete, 990);
	assert_int_equal(((struct late_comm *)table_find(&late.comms, 7, 0))->incomplete, 10);
	late_free(&late);
	comms_free(&comms);
}

static void not_joined(void **state)
{
	struct meet m;
	struct call k;

	(void)state;
	begin(&m);
	for (uint32_t r = 0; r < RANKS; r++) {
		k = make_report_call(r, 0, "send", 1, 1);
		k.bits = CALL_P2P;
		meet_add(&m, &k);
		k = make_report_call(r, 1, "barrier", 1, 1);
		k.bits = CALL_LOCAL;
		meet_add(&m, &k);
		k = make_report_call(r, NO_NUMBER, "barrier", 1, 1);
		meet_add(&m, &k);
		k = make_report_call(r, 2, "barrier", 1, 1);
		k.comm = 0;
		meet_add(&m, &k);
		k = make_report_call(r, 3, "barrier", 1, 1);
		k.bits = CALL_NESTED;
		meet_add(&m, &k);
		/* Twice the same number from one rank is not two ranks. */
		k = make_report_call(0, 4, "barrier", 1, 1);
		meet_add(&m, &k);
	}
	assert_int_equal(met, 0);
	end(&m);
	assert_int_equal(met, 1);
	assert_int_equal(complete, 0);
}

static void unlike(void **state)
{
	static const struct {
		enum meet_mismatch what;
		const char *op;
		struct call other;
	} cases[] = {
		{MISMATCH_NOTHING, "all_reduce", {0}},
		{MISMATCH_OP, "all_reduce", {.op = 1}},
		{MISMATCH_REDOP, "all_reduce", {.redop = 1}},
		{MISMATCH_ROOT, "broadcast", {.root = 1}},
		{MISMATCH_DTYPE, "all_reduce", {.dtype = 1}},
		{MISMATCH_BYTES, "all_reduce", {.in_bytes = 1}},
		{MISMATCH_BYTES, "gather", {.in_bytes = 1}},
		{MISMATCH_NOTHING, "gather_v",
			{.in_bytes = 1}}, /* each rank may give another amount */
		{MISMATCH_DTYPE, "gather_v", {.dtype = 1}},
		{MISMATCH_NOTHING, "all_to_all_v", {.in_bytes = 1, .dtype = 1}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct meet m;

		begin(&m);
		for (uint32_t r = 0; r < RANKS; r++) {
			struct call k = make_report_call(r, 0, cases[i].op, 100, 100);

			/* It is not the root that has an output. */
			if (strcmp(cases[i].op, "gather") == 0)
				k.out_bytes = 0;
			if (r == 3 && cases[i].other.op)
				k.op = word("reduce");
			if (r == 3 && cases[i].other.redop)
				k.redop = word("max");
			if (cases[i].other.root)
				k.root = r == 3 ? 2 : 0;
			if (r == 3 && cases[i].other.dtype)
				k.dtype = word("int32");
			if (r == 3 && cases[i].other.in_bytes)
				k.in_bytes = 404;
			meet_add(&m, &k);
		}
		assert_int_equal(last_met.mismatch, cases[i].what);
		if (cases[i].what) {
			assert_int_equal(last_met.other.rank, 3);
			assert_int_equal(last_met.first.rank, 0);
		}
		end(&m);
	}
}

/* What one rank sends is compared with what another one receives from it. */
static void parts_of_both_sides(void **state)
{
	static const struct {
		const char *op;
		uint64_t in, out, bytes, received;
	} cases[] = {
		{"gather", 400, 2000, 400, 400},
		{"gather", 400, 1000, 400, 200},
		{"gather", 400, 0, 400, 0}, /* not the root */
		{"scatter", 2000, 400, 400, 400},
		{"scatter", 0, 400, 400, 400},
		{"all_gather", 400, 2000, 400, 400},
		{"all_to_all", 2000, 1000, 400, 200},
		{"broadcast", 0, 400, 400, 400},
		{"all_reduce", 400, 800, 400, 0}, /* a sparse one */
		{"reduce_scatter", 2000, 400, 2000, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct call k = make_report_call(0, 0, cases[i].op, 100, 100);
		struct part p;

		k.size = 5;
		k.in_bytes = cases[i].in;
		k.out_bytes = cases[i].out;
		p = compute_part(&k, false);
		assert_true(p.sized && p.typed);
		assert_int_equal(p.bytes, cases[i].bytes);
		assert_int_equal(p.received, cases[i].received);
		/* Each of two groups has a size of its own. */
		assert_int_equal(compute_part(&k, true).received, 0);
	}
}

static void copied_types(void **state)
{
	(void)state;
	assert_true(is_copied_alike(word("gather"), word("float32"), word("uint8")));
	assert_true(is_copied_alike(word("broadcast"), word("int32"), word("uint32")));
	assert_true(is_copied_alike(word("scatter"), word("complex64"), word("float32")));
	assert_false(is_copied_alike(word("gather"), word("float32"), word("int32")));
	assert_false(is_copied_alike(word("scatter"), word("float32"), word("float64")));
	assert_false(is_copied_alike(word("all_reduce"), word("int32"), word("uint32")));
}

/* An open call of a running job, from its journal: no reduction, dtype or bytes. Only known terms are compared. */
static void mismatch_open(void **state)
{
	static const struct {
		enum meet_mismatch what;
		uint32_t open; /* bit per rank */
		int64_t root;
		const char *op, *redop; /* of rank 3 */
	} cases[] = {
		{MISMATCH_NOTHING, 1 << 3, NO_NUMBER, "all_reduce", "sum"},
		{MISMATCH_NOTHING, 1 << 0, NO_NUMBER, "all_reduce", "sum"},
		{MISMATCH_NOTHING, 0x1f, NO_NUMBER, "all_reduce", "sum"},
		{MISMATCH_OP, 1 << 3, NO_NUMBER, "reduce", "sum"},
		{MISMATCH_ROOT, 1 << 3, 2, "all_reduce", "sum"},
		{MISMATCH_REDOP, 1 << 0, NO_NUMBER, "all_reduce", "max"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct meet m;

		begin(&m);
		for (uint32_t r = 0; r < RANKS; r++) {
			struct call k = make_report_call(r, 0, "all_reduce", 100, 100);

			if (cases[i].root != NO_NUMBER)
				k.root = 1;
			if (r == 3) {
				k.op = word(cases[i].op);
				k.redop = word(cases[i].redop);
				k.root = cases[i].root;
			}
			if (cases[i].open >> r & 1) {
				k.bits = CALL_OPEN;
				k.redop = k.dtype = k.rows = 0;
				k.in_bytes = k.out_bytes = 0;
			}
			meet_add(&m, &k);
		}
		assert_int_equal(last_met.mismatch, cases[i].what);
		if (cases[i].what) {
			assert_int_equal(last_met.other.rank, 3);
			assert_int_equal(last_met.first.rank, cases[i].open & 1);
		}
		end(&m);
	}
}

/* A member that has no tensor of its own has no size, and no root where none is reported. */
static void mismatch_known(void **state)
{
	struct meet m;

	(void)state;
	begin(&m);
	for (uint32_t r = 0; r < RANKS; r++) {
		struct call k = make_report_call(r, 0, "reduce", 100, 100);

		k.root = r == 1 ? NO_NUMBER : 0;
		if (r == 2)
			k.redop = 0;
		meet_add(&m, &k);
	}
	assert_int_equal(last_met.mismatch, MISMATCH_NOTHING);
	end(&m);
}

/* ---- the slowest ---- */

static void slowest(void **state)
{
	static uint64_t v[5000];
	uint64_t seed = 77;
	struct slow s;

	(void)state;
	for (unsigned max = 0; max < 60; max += 7) {
		slow_init(&s, max);
		for (unsigned i = 0; i < 5000; i++) {
			v[i] = random64(&seed) % 100000;
			slow_add(&s, &(struct slow_call){.call = {.dur = v[i], .start = i}});
		}
		slow_sort(&s);
		qsort(v, 5000, sizeof(*v), by_value);
		assert_int_equal(s.n, max);
		for (unsigned i = 0; i < max; i++)
			assert_int_equal(s.top[i].call.dur, v[4999 - i]);
		slow_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles),
		cmocka_unit_test(tables),
		cmocka_unit_test(who_is_last),
		cmocka_unit_test(who_waits),
		cmocka_unit_test(wrong_clock),
		cmocka_unit_test(nobody_waited),
		cmocka_unit_test(out_of_order),
		cmocka_unit_test(not_joined),
		cmocka_unit_test(unlike),
		cmocka_unit_test(parts_of_both_sides),
		cmocka_unit_test(copied_types),
		cmocka_unit_test(mismatch_open),
		cmocka_unit_test(mismatch_known),
		cmocka_unit_test(slowest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
