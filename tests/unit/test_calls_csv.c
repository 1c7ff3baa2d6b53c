/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of calls_*.csv, column by column, against docs/reference/calls.md and not against the code that writes them. */
#include "core_helper.h"

#include <math.h>

#include "journal/columns.h"
#include "terms/redop.h"
#include "locale_helper.h"

static const struct clock_base clock_of_test = {
	.tick = 0, .real_ns = UINT64_C(1700000000000000000), .ns_per_tick = 2.0};

static const char contract[] = "step,micro_step,seq,lib,api,op,comm,comm_seq,rank,size,redop,root,"
			       "peer,io,index,dtype,shape,"
			       "count,bytes,min,max,mean,norm,zeros,nans,infs,start_ns,dur_ns,"
			       "thread,stack_id,flags,parent,"
			       "phase,name,tag,wait_ns,dev_ns,crc32\n";

struct sample {
	struct journal_call c;
	struct journal_end e;
	struct {
		struct journal_tensor t;
		uint64_t dim[80];
	} tensor;
	struct row_api api;
	bool has_end, has_tensor, open;
};

static struct sample sample(void)
{
	struct sample s = {
		.c = {.seq = 7,
			.start = 100,
			.end = 150,
			.comm_seq = JOURNAL_NONE64,
			.comm_rank = -1,
			.comm_size = -1,
			.step = 3,
			.micro_step = UINT32_MAX,
			.root = JOURNAL_NONE,
			.peer = JOURNAL_NONE,
			.tag = JOURNAL_NONE,
			.tid = 4711},
		.e = {.end = 400,
			.comm_seq = JOURNAL_NONE64,
			.peer = JOURNAL_NONE,
			.tag = JOURNAL_NONE},
		.api = {.lib = "mpi", .symbol = "MPI_Send", .op = "send"},
	};

	put_test_tensor(&s.tensor.t, IO_IN, 0, 10);
	s.tensor.t.flags = 0;
	return s;
}

static void format(const struct sample *s, char *buf)
{
	const struct journal_tensor *tensor = &s->tensor.t;
	const char *name = "";
	struct record r = {.api = s->api,
		.clock = &clock_of_test,
		.call = &s->c,
		.end = s->has_end ? &s->e : NULL,
		.open = s->open,
		.n = s->has_tensor,
		.tensor = &tensor,
		.name = &name};

	struct row_memory *memory = row_memory_new();
	static char again[2 * ROW_MAX];

	buf[rows_format(buf, &r, NULL)] = 0;
	/* Cached data makes the same row the first and the second time. */
	for (int i = 0; i < 2; i++) {
		again[rows_format(again, &r, memory)] = 0;
		assert_string_equal(again, buf);
	}
	row_memory_free(memory);
}

/* Columns that were appended to those of the contract. */
static unsigned count_appended(void)
{
	unsigned n = 0;

	for (const char *p = ROW_HEADER + strlen(contract) - 1; *p; p++)
		n += *p == ',';
	return n;
}

/* want: the columns of the contract. */
static void check_row(const struct sample *s, const char *want)
{
	char buf[ROW_MAX];
	unsigned more = 0;

	format(s, buf);
	if (strncmp(buf, want, strlen(want)))
		assert_string_equal(buf, want);
	for (const char *p = buf + strlen(want); *p; p++)
		more += *p == ',';
	assert_int_equal(more, count_appended());
	assert_int_equal(buf[strlen(want)], more ? ',' : '\n');
}

/* A column by its name in the header. */
static void check_column(const struct sample *s, const char *name, const char *want)
{
	char buf[ROW_MAX], head[ROW_MAX], *h = head, *r = buf, *field = NULL, *key;

	strcpy(head, ROW_HEADER);
	format(s, buf);
	while ((key = strsep(&h, ",\n")) && (field = strsep(&r, ",\n")) && strcmp(key, name))
		;
	assert_non_null(key);
	if (strcmp(field, want))
		fail_msg("%s is '%s', not '%s'", name, field, want);
}

/* Columns are only appended: whatever there is, it begins like this. */
static void test_header(void **state)
{
	(void)state;
	assert_memory_equal(ROW_HEADER, contract, strlen(contract) - 1);
	assert_string_equal(STACK_HEADER, "stack_id,api,first_step,python_stack,native_stack\n");
	assert_string_equal(COMM_HEADER, "comm,lib,size,rank,kind,parent,name,world_ranks\n");
	assert_string_equal(MODULES_HEADER, "path,build_id\n");
}

static void test_bare_call(void **state)
{
	struct sample s = sample();

	(void)state;
	check_row(&s, "3,,7,mpi,MPI_Send,send,,,,,,,,,,,,,,,,,,,,,1700000000000000200,100,4711,,,,,"
		      ",,,,");
	s.open = true;
	check_row(&s, "3,,7,mpi,MPI_Send,send,,,,,,,,,,,,,,,,,,,,,1700000000000000200,,4711,,open,,"
		      ",,,,,");
}

static void test_every_column(void **state)
{
	struct sample s = sample();

	(void)state;
	s.c.micro_step = 2;
	s.c.comm = 0xabc;
	s.c.comm_seq = 12;
	s.c.comm_rank = 1;
	s.c.comm_size = 4;
	s.c.redop = REDOP_MAX;
	s.c.root = 3;
	s.c.peer = 2;
	s.c.tag = 99;
	s.c.wait = 5;
	s.c.stack = 6;
	s.c.flags = CF_INPLACE | CF_LOCALCOMM | CF_ERROR;
	s.c.error = -16;
	s.c.parent = 5;
	s.c.phase = 2;
	s.has_tensor = true;
	s.tensor.t.crc = 0xbeef;
	s.tensor.t.flags = TF_CRC;
	s.tensor.t.ndim = 2;
	s.tensor.dim[0] = 8;
	s.tensor.dim[1] = 512;
	s.tensor.t.stats = (struct stats){.n = 10,
		.zeros = 1,
		.nans = 2,
		.infs = 3,
		.min.f = -1.5,
		.max.f = 2,
		.mean = 0.1,
		.norm = 3};
	check_row(&s, "3,2,7,mpi,MPI_Send,send,0000000000000abc,12,1,4,max,3,2,in,0,float32,8x512,"
		      "10,40,-1.5,2,0.1,3,0.1,2,3,"
		      "1700000000000000200,100,4711,6,inplace;localcomm;error:-16,5,backward,"
		      ",99,,,0000beef");
	check_column(&s, "issue_ns", "10"); /* of a blocking call: in the probe before it */
	/* Properties that a tensor has instead of its call's, and an end instead of both. */
	s.tensor.t.peer = 8;
	s.tensor.t.tag = 9;
	s.tensor.t.comm_seq = 10;
	s.tensor.t.io = IO_OUT;
	s.tensor.t.index = 1;
	check_column(&s, "peer", "8");
	check_column(&s, "tag", "9");
	check_column(&s, "comm_seq", "10");
	check_column(&s, "io", "out");
	check_column(&s, "index", "1");
	s.tensor.t.peer = s.tensor.t.tag = JOURNAL_NONE;
	s.tensor.t.comm_seq = JOURNAL_NONE64;
	s.has_end = true;
	s.e.peer = 5;
	s.e.tag = 6;
	s.e.comm_seq = 7;
	s.e.wait = 10;
	s.e.flags = CF_CANCELLED;
	check_column(&s, "peer", "5");
	check_column(&s, "tag", "6");
	check_column(&s, "comm_seq", "7");
	check_column(&s, "wait_ns", "");
	check_column(&s, "issue_ns", "30");
	s.c.flags |= CF_ASYNC;
	check_column(&s, "wait_ns", "30");
	s.c.flags &= ~CF_ASYNC;
	check_column(&s, "dur_ns", "600");
	check_column(&s, "flags", "inplace;cancelled;localcomm;error:-16");
}

static void test_flags(void **state)
{
	static const char *const names[] = {"inplace", "async", "captured", "nostats", "unwound",
		"cancelled", "guessed", "localcomm", "inprogress", "freed", "derived"};
	struct sample s = sample();

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		s.c.flags = 1u << i;
		check_column(&s, "flags", names[i]);
	}
	s.c.flags = CF_UNTRACKED | CF_ASYNC;
	check_column(&s, "flags", "async;untracked");
	s.open = true;
	check_column(&s, "flags", "async;untracked;open");
	/* Killed while it was being closed with an error: open it is, and no more is known. */
	s.c.flags = CF_ERROR;
	check_column(&s, "flags", "open");
	s = sample();
	s.has_tensor = true;
	s.tensor.t.flags = TF_NOSTATS;
	check_column(&s, "flags", "nostats");
}

/* Numbers of nodes are in the column of a collective's number. */
static void test_nodes(void **state)
{
	struct sample s = sample();

	(void)state;
	s.c.flags = CF_NODE | CF_MORE;
	s.c.comm_seq = JOURNAL_NODE(UINT64_C(0), UINT64_C(0));
	check_column(&s, "flags", "more;node:0");
	check_column(&s, "comm_seq", "");
	s.c.flags = CF_NODE | CF_INPLACE;
	s.c.comm_seq = JOURNAL_NODE(UINT64_C(4294967296), UINT64_C(2));
	check_column(&s, "flags", "inplace;node:4294967296-4294967298");
	s.c.comm_seq = JOURNAL_NODE(UINT64_C(7), UINT64_C(70000));
	check_column(&s, "flags", "inplace;node:7-65542");
	s.c.comm_seq = JOURNAL_NODE((UINT64_C(1) << 47) - 1, UINT64_C(1));
	check_column(&s, "flags", "inplace;node:140737488355327-140737488355328");
	s.open = true;
	s.c.comm_seq = JOURNAL_NODE(UINT64_C(5), UINT64_C(0));
	check_column(&s, "flags", "inplace;open;node:5");
	/* Killed between the number and its flag. */
	s.c.flags = 0;
	check_column(&s, "flags", "open");
	check_column(&s, "comm_seq", "");
	s.c.comm = 1;
	s.c.comm_seq = 9;
	check_column(&s, "comm_seq", "9");
}

static void test_redops_and_phases(void **state)
{
	static const char *const redops[] = {"", "sum", "prod", "min", "max", "avg", "land", "lor",
		"lxor", "band", "bor", "bxor", "minloc", "maxloc", "replace", "user"};
	static const char *const phases[] = {"", "forward", "backward", "optimizer", "evaluation"};
	struct sample s = sample();

	(void)state;
	assert_int_equal(REDOP_COUNT, 16);
	for (unsigned i = 0; i < 256; i++) {
		s.c.redop = (uint8_t)i;
		check_column(&s, "redop", i < 16 ? redops[i] : "");
		s.c.phase = (uint8_t)i;
		check_column(&s, "phase", i < 5 ? phases[i] : "");
	}
}

static void test_dtypes(void **state)
{
	static const struct {
		const char *name, *min, *max, *mean;
	} want[] = {{"other", "-0.333333333", "0.333333333", "0.666666667"},
		{"bool", "7", "9", "0.666666667"}, {"int8", "-7", "9", "0.666666667"},
		{"int16", "-7", "9", "0.666666667"}, {"int32", "-7", "9", "0.666666667"},
		{"int64", "-7", "9", "0.66666666666666663"}, {"uint8", "7", "9", "0.666666667"},
		{"uint16", "7", "9", "0.666666667"}, {"uint32", "7", "9", "0.666666667"},
		{"uint64", "7", "9", "0.66666666666666663"},
		{"float8_e4m3fn", "-0.333333333", "0.333333333", "0.666666667"},
		{"float8_e5m2", "-0.333333333", "0.333333333", "0.666666667"},
		{"bfloat16", "-0.333333333", "0.333333333", "0.666666667"},
		{"float16", "-0.333333333", "0.333333333", "0.666666667"},
		{"float32", "-0.333333333", "0.333333333", "0.666666667"},
		{"float64", "-0.33333333333333331", "0.33333333333333331", "0.66666666666666663"},
		{"complex64", "-0.333333333", "0.333333333", "0.666666667"},
		{"complex128", "-0.33333333333333331", "0.33333333333333331",
			"0.66666666666666663"},
		{"float8_e8m0fnu", "-0.333333333", "0.333333333", "0.666666667"},
		{"float8_e4m3fnuz", "-0.333333333", "0.333333333", "0.666666667"},
		{"float8_e5m2fnuz", "-0.333333333", "0.333333333", "0.666666667"},
		{"float4_e2m1fn_x2", "-0.333333333", "0.333333333", "0.666666667"}};
	struct sample s = sample();

	(void)state;
	s.has_tensor = true;
	assert_int_equal(DT_COUNT, sizeof(want) / sizeof(*want));
	for (unsigned dt = 0; dt < DT_COUNT; dt++) {
		struct stats *st = &s.tensor.t.stats;

		s.tensor.t.dtype = (uint8_t)dt;
		*st = (struct stats){.n = 4, .zeros = 1, .mean = 2.0 / 3, .norm = 2.0 / 3};
		if (strncmp(want[dt].name, "int", 3) == 0)
			st->min.i = -7, st->max.i = 9;
		else if (want[dt].name[0] == 'u' || dt == DT_BOOL)
			st->min.u = 7, st->max.u = 9;
		else
			st->min.f = -1.0 / 3, st->max.f = 1.0 / 3;
		check_column(&s, "dtype", want[dt].name);
		check_column(&s, "min", want[dt].min);
		check_column(&s, "max", want[dt].max);
		check_column(&s, "mean", want[dt].mean);
		check_column(&s, "norm", want[dt].mean);
		check_column(&s, "zeros", "0.25");
	}
	s.tensor.t.dtype = 255;
	check_column(&s, "dtype", "other");
	s.tensor.t.dtype = DT_INT64;
	s.tensor.t.stats.min.i = INT64_MIN;
	check_column(&s, "min", "-9223372036854775808");
	s.tensor.t.dtype = DT_UINT64;
	s.tensor.t.stats.max.u = UINT64_MAX;
	check_column(&s, "max", "18446744073709551615");
}

static void test_odd_numbers(void **state)
{
	struct sample s = sample();
	struct stats *st = &s.tensor.t.stats;

	(void)state;
	s.has_tensor = true;
	*st = (struct stats){.n = 3,
		.nans = 3,
		.min.f = NAN,
		.max.f = INFINITY,
		.mean = -INFINITY,
		.norm = -(double)NAN};
	check_column(&s, "min", "nan");
	check_column(&s, "max", "inf");
	check_column(&s, "mean", "-inf");
	check_column(&s, "norm", "nan");
	/* No element: no statistics, but a count. */
	*st = (struct stats){0};
	s.tensor.t.count = 0;
	check_row(&s, "3,,7,mpi,MPI_Send,send,,,,,,,,in,0,float32,,0,40,,,,,,,,1700000000000000200,"
		      "100,4711,,,,,,,,,");
	s.c.end = 99;
	check_column(&s, "dur_ns", "0");
}

static void test_shapes(void **state)
{
	struct sample s = sample();

	(void)state;
	s.has_tensor = true;
	s.tensor.t.ndim = 0;
	check_column(&s, "shape", "-");
	s.tensor.t.ndim = 1;
	s.tensor.dim[0] = UINT64_MAX;
	check_column(&s, "shape", "18446744073709551615");
	s.tensor.t.ndim = 3;
	s.tensor.dim[1] = 0;
	s.tensor.dim[2] = 5;
	check_column(&s, "shape", "18446744073709551615x0x5");
	s.tensor.t.ndim = JOURNAL_NDIM_NONE;
	check_column(&s, "shape", "");
}

static void test_quoting(void **state)
{
	struct sample s = sample();

	(void)state;
	s.api.symbol = "at::add(int, int)";
	s.api.op = "a \"b\"\nc";
	check_row(&s, "3,,7,mpi,\"at::add(int, int)\",\"a \"\"b\"\"\nc\","
		      ",,,,,,,,,,,,,,,,,,,,1700000000000000200,100,4711,,,,,,,,,");
}

/* Everything as long as it can be: the row still ends, with all its columns. */
static void test_longest(void **state)
{
	static char quotes[3000], umlauts[3000];
	struct sample s = sample();
	char buf[ROW_MAX];
	unsigned commas = 0;
	bool quoted = false;

	(void)state;
	memset(quotes, '"', sizeof(quotes) - 1);
	for (int i = 0; i < 2998; i += 2)
		memcpy(umlauts + i, "\xc3\xa4", 2);
	memset(&s.c, 0xff, sizeof(s.c));
	s.c.flags = ~0u;
	s.c.root = s.c.peer = s.c.tag = INT32_MIN + 1;
	s.c.comm_rank = s.c.comm_size = INT32_MAX;
	s.c.error = INT32_MIN;
	s.c.micro_step = UINT32_MAX - 1;
	s.api = (struct row_api){.lib = quotes, .symbol = quotes, .op = quotes};
	s.has_tensor = true;
	memset(&s.tensor, 0xff, sizeof(s.tensor));
	s.tensor.t.ndim = ROW_DIMS_MAX;
	s.tensor.t.dtype = DT_COMPLEX128;
	s.tensor.t.stats.min.f = s.tensor.t.stats.max.f = -1.7976931348623157e308;
	s.tensor.t.stats.mean = s.tensor.t.stats.norm = -2.2250738585072014e-308;
	for (int turn = 0; turn < 2; turn++) {
		format(&s, buf);
		assert_true(strlen(buf) < ROW_MAX - 1);
		for (const char *p = buf; *p; p++) {
			quoted ^= *p == '"';
			commas += !quoted && *p == ',';
		}
		assert_false(quoted);
		assert_int_equal(commas, (37 + count_appended()) * (unsigned)(turn + 1));
		assert_int_equal(buf[strlen(buf) - 1], '\n');
		s.api.symbol = umlauts; /* cut between characters */
	}
}

static void test_comma_locale(void **state)
{
	struct sample s = sample();

	(void)state;
	if (!comma_locale())
		skip();
	s.has_tensor = true;
	s.tensor.t.stats = (struct stats){
		.n = 2, .zeros = 1, .min.f = -1.5, .max.f = 1234567.5, .mean = 0.5, .norm = 1e-9};
	check_row(&s, "3,,7,mpi,MPI_Send,send,,,,,,,,in,0,float32,,10,40,-1.5,1234567.5,0.5,1e-09,"
		      "0.5,0,0,"
		      "1700000000000000200,100,4711,,,,,,,,,");
	setlocale(LC_ALL, "C");
}

/* ---- rows that have most in common ---- */

static uint64_t odd_number(void)
{
	static uint64_t seed = UINT64_C(88172645463325252);

	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Some value of few, and mostly the first. */
static int64_t few_values(int64_t first)
{
	return odd_number() % 4 ? first : first + (int64_t)(odd_number() % 3);
}

static void make_any_tensor(struct sample *s)
{
	struct journal_tensor *t = &s->tensor.t;

	put_test_tensor(t, odd_number() & 1, (uint16_t)(odd_number() % 12), odd_number() % 5000);
	t->dtype = (uint8_t)(odd_number() % DT_COUNT);
	t->comm_seq = few_values(JOURNAL_NONE64);
	t->peer = (int32_t)few_values(0) ? 3 : JOURNAL_NONE;
	t->tag = (int32_t)few_values(0) ? 900 : JOURNAL_NONE;
	t->flags = (uint8_t)((few_values(0) ? TF_NOSTATS : 0) | (few_values(0) ? TF_CRC : 0));
	t->crc = (uint32_t)odd_number();
	t->ndim = few_values(0) ? 2 : JOURNAL_NDIM_NONE;
	s->tensor.dim[0] = odd_number() % 100;
	s->tensor.dim[1] = odd_number() % 1000000;
	if (odd_number() & 1)
		t->stats = (struct stats){.n = 8,
			.zeros = odd_number() % 8,
			.min.u = odd_number() >> (odd_number() % 64),
			.max.u = odd_number(),
			.mean = 0.1,
			.norm = (double)odd_number()};
}

/* Whatever the rows of a call have in common: they are what each is by itself. */
static void test_rows_of_a_call(void **state)
{
	static char all[6 * ROW_MAX], alone[6 * ROW_MAX];
	static const char *const some[] = {"", "", "", "fc.weight", "a,b"};
	struct row_memory *memory = row_memory_new();

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct sample s[6];
		const struct journal_tensor *tensor[6];
		const char *name[6];
		unsigned n = 1 + (unsigned)(odd_number() % 6);
		struct record r = {.clock = &clock_of_test, .tensor = tensor, .name = name, .n = n};
		size_t bytes = 0;

		for (unsigned k = 0; k < n; k++) {
			s[k] = sample();
			make_any_tensor(&s[k]);
			tensor[k] = &s[k].tensor.t;
			name[k] = some[odd_number() % (i % 2 ? 3 : 5)];
		}
		s[0].c.comm_seq = few_values(5);
		s[0].c.flags = (uint32_t)few_values(0);
		s[0].c.seq = odd_number() >> (odd_number() % 64);
		s[0].c.start += odd_number() % 4 ? odd_number() % 1000 : odd_number() >> 8;
		s[0].c.step = (uint32_t)few_values(3);
		s[0].c.comm = odd_number() % 3;
		s[0].c.comm_rank = (int32_t)(odd_number() % 3) - 1;
		s[0].c.root = (int32_t)(odd_number() % 2);
		s[0].c.tid = (uint32_t)(odd_number() % 2);
		s[0].c.parent = odd_number() % 8 ? 0 : odd_number();
		s[0].c.stack = (uint32_t)(odd_number() % 1000);
		s[0].c.phase = (uint8_t)(odd_number() % PHASES);
		/* A function is known by its number. */
		s[0].c.api = (uint16_t)(odd_number() % 3);
		s[0].api = (struct row_api[]){{"mpi", "MPI_Send", "send"}, {"c10d", "a,b", "=c"},
			{"", "", ""}}[s[0].c.api];
		r.api = s[0].api;
		r.call = &s[0].c;
		r.open = few_values(0) != 0;
		r.end = few_values(0) ? &s[0].e : NULL;
		all[rows_format(all, &r, memory)] = 0;
		for (unsigned k = 0; k < n; k++) {
			struct record one = r;

			one.n = 1;
			one.tensor = &tensor[k];
			one.name = &name[k];
			bytes += rows_format(alone + bytes, &one, NULL);
		}
		alone[bytes] = 0;
		assert_string_equal(all, alone);
	}
	row_memory_free(memory);
}

/* Calls as nearly all are, whose text is cached and whose numbers grow by one: the row is the one without a cache. */
static void usual_rows_do_not_depend_on_the_cache(void **state)
{
	static char have[2 * ROW_MAX], want[2 * ROW_MAX];
	static const uint64_t jumps[] = {0, 9, 99, 12345678, UINT64_C(9999999998), 999999999999998};
	static const uint8_t types[] = {DT_FLOAT32, DT_FLOAT32, DT_FLOAT64, DT_INT64, DT_UINT8};
	struct row_memory *memory = row_memory_new();
	uint64_t seq = 1, comm_seq = 0;
	struct stats last[2] = {{0}, {0}};

	(void)state;
	for (int i = 0; i < 50000; i++) {
		struct sample s[2] = {sample(), sample()};
		const struct journal_tensor *tensor[2] = {&s[0].tensor.t, &s[1].tensor.t};
		const char *name[2] = {"", ""};
		struct record r = {.api = {"mpi", "MPI_Allreduce", "all_reduce"},
			.clock = &clock_of_test,
			.call = &s[0].c,
			.n = 1 + (unsigned)(odd_number() % 2),
			.tensor = tensor,
			.name = name};

		for (unsigned k = 0; k < 2; k++) {
			struct journal_tensor *t = &s[k].tensor.t;

			put_test_tensor(t, k, 0, 1 + odd_number() % 2);
			t->dtype = types[odd_number() % 5];
			t->bytes += odd_number() % 2;
			t->index = (uint16_t)(odd_number() % 2);
			t->comm_seq = JOURNAL_NONE64;
			t->peer = t->tag = JOURNAL_NONE;
			t->flags = odd_number() % 50 ? 0 : TF_NOSTATS;
			t->ndim = JOURNAL_NDIM_NONE;
			t->stats = (struct stats){.n = odd_number() % 50 ? 8 : 0,
				.zeros = odd_number() % 4 ? 0 : odd_number() % 8,
				.nans = odd_number() % 50 ? 0 : 3,
				.min.f = odd_number() % 8 ? -(double)odd_number() / 0x1p60 : 0,
				.max.u = odd_number(),
				.mean = (double)odd_number() / 0x1p64,
				.norm = (double)(odd_number() % 100000)};
			/* As in the last call, or nearly. */
			if (odd_number() % 3)
				t->stats = last[k];
			if (odd_number() % 4 == 0)
				((uint64_t *)&t->stats)[odd_number() % 8]++;
			last[k] = t->stats;
		}
		seq = odd_number() % 40 ? seq + 1 : jumps[odd_number() % 6];
		comm_seq = odd_number() % 40 ? comm_seq + 1 : jumps[odd_number() % 6];
		s[0].c.seq = seq;
		s[0].c.comm_seq =
			odd_number() % 40 ? (int64_t)comm_seq : few_values(JOURNAL_NONE64);
		s[0].c.wait = 0;
		s[0].c.flags = odd_number() % 40 ? 0 : CF_ASYNC;
		s[0].c.start += odd_number() % 1000000;
		s[0].c.end = s[0].c.start + odd_number() % 100000;
		s[0].c.peer = odd_number() % 40 ? JOURNAL_NONE : 2;
		s[0].c.tag = odd_number() % 40 ? JOURNAL_NONE : 9;
		s[0].c.stack = (uint32_t)(odd_number() % 5 ? 7 : odd_number() % 1000);
		s[0].c.parent = odd_number() % 40 ? 0 : 3;
		s[0].c.micro_step = odd_number() % 40 ? UINT32_MAX : 1;
		have[rows_format(have, &r, memory)] = 0;
		want[rows_format(want, &r, NULL)] = 0;
		assert_string_equal(have, want);
	}
	row_memory_free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_bare_call),
		cmocka_unit_test(test_every_column),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_redops_and_phases),
		cmocka_unit_test(test_dtypes),
		cmocka_unit_test(test_odd_numbers),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_quoting),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_comma_locale),
		cmocka_unit_test(test_rows_of_a_call),
		cmocka_unit_test(usual_rows_do_not_depend_on_the_cache),
	};

	return cmocka_run_group_tests_name("row", tests, NULL, NULL);
}
