/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites of calls: whatever differs between two calls, the rows of a call whose site is known are those of the call by
 * itself, in both formats.
 */
#include "core_helper.h"

#include <stdlib.h>

#include "formats/compact/block.h"
#include "sink/call_site.h"
#include "sink/calls_csv.h"
#include "sink/row_memory.h"

#define ENTRIES 24
#define ENTRY_WORDS 128
#define TENSORS 5

static const struct clock_base clock_of_test = {
	.tick = 0, .real_ns = UINT64_C(1700000000000000000), .ns_per_tick = 0.3};
static const struct row_api apis[] = {{"mpi", "MPI_Allreduce", "all_reduce"},
	{"nccl", "ncclAllGather", "all_gather"}, {"", "", ""}};

struct entry {
	uint64_t word[ENTRY_WORDS];
};

static uint32_t draw(uint32_t below)
{
	static uint64_t x = 7;

	x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(x >> 33) % below;
}

static struct journal_call *get_call(struct entry *e)
{
	return (struct journal_call *)e->word;
}

/* Number of words that are in use; the tensors follow one another. */
static unsigned find_tensors(struct entry *e, struct journal_tensor **tensor)
{
	char *p = (char *)(get_call(e) + 1);

	for (unsigned i = 0; i < get_call(e)->e.n; i++) {
		tensor[i] = (struct journal_tensor *)p;
		p += journal_get_tensor_bytes(tensor[i]->ndim);
	}
	return (unsigned)(p - (char *)e->word) / 8;
}

static void make_values(struct journal_tensor *t)
{
	if (!t->stats.n)
		return;
	t->stats.zeros = draw(8) ? 0 : draw(3);
	t->stats.nans = draw(50) ? 0 : 1;
	t->stats.infs = draw(50) ? 0 : 1;
	if (!draw(3))
		return;
	t->stats.min.f = draw(2) ? -(double)draw(1000) : -(double)draw(1u << 30) / 1e9;
	t->stats.max.f = draw(1000);
	t->stats.mean = (double)draw(1u << 30) / 3e5;
	t->stats.norm = (double)draw(1u << 30) / 7;
}

static void make_entry(struct entry *e)
{
	static const uint8_t types[] = {DT_FLOAT32, DT_FLOAT32, DT_FLOAT64, DT_INT64, DT_BFLOAT16};
	struct journal_call *c = get_call(e);
	struct journal_tensor *tensor[TENSORS];

	memset(e, 0, sizeof(*e));
	*c = (struct journal_call){
		.e = {.type = JE_CALL, .state = JCS_CLOSED, .n = (uint16_t)draw(TENSORS + 1)},
		.comm = draw(3),
		.comm_rank = (int32_t)draw(3) - 1,
		.comm_size = 4,
		.micro_step = UINT32_MAX,
		.root = draw(2) ? JOURNAL_NONE : 1,
		.peer = draw(4) ? JOURNAL_NONE : 3,
		.tag = draw(4) ? JOURNAL_NONE : 5,
		.flags = draw(6)   ? 0
			 : draw(4) ? CF_INPLACE
				   : CF_ASYNC,
		.parent = draw(8) ? 0 : 3,
		.wait = draw(8) ? 0 : 70,
		.stack = draw(4),
		.tid = 100 + draw(2),
		.api = (uint16_t)draw(8) ? (uint16_t)draw(2) : 2,
		.redop = (uint8_t)draw(3),
		.phase = (uint8_t)draw(2),
	};
	for (unsigned i = 0; i < c->e.n; i++) {
		find_tensors(e, tensor);

		struct journal_tensor *t = tensor[i];

		*t = (struct journal_tensor){.count = 1 + draw(3),
			.bytes = 16,
			.comm_seq = draw(12) ? JOURNAL_NONE64 : 4,
			.peer = draw(12) ? JOURNAL_NONE : 1,
			.tag = JOURNAL_NONE,
			.index = (uint16_t)i,
			.dtype = types[draw(5)],
			.io = i * 2 >= c->e.n ? IO_OUT : IO_IN,
			.flags = draw(8)   ? 0
				 : draw(2) ? TF_NOSTATS
					   : TF_CRC,
			.ndim = draw(3) ? JOURNAL_NDIM_NONE : (uint8_t)draw(3)};
		t->stats.n = t->flags & TF_NOSTATS ? 0 : t->count;
		for (unsigned k = 0; t->ndim != JOURNAL_NDIM_NONE && k < t->ndim; k++)
			((uint64_t *)(t + 1))[k] = 1 + draw(5);
	}
	c->e.bytes = 8 * find_tensors(e, tensor);
}

/* A call that can have a site: the rows depend on nothing but the entry. */
static bool can_have_site(struct entry *e)
{
	const struct journal_call *c = get_call(e);
	struct journal_tensor *tensor[TENSORS];
	bool plain = is_plain_call(c, NULL, false) && !c->parent && apis[c->api % 3].lib[0];

	find_tensors(e, tensor);
	for (unsigned i = 0; i < c->e.n; i++)
		plain &= is_plain_tensor(tensor[i]) && !(tensor[i]->flags & TF_CRC);
	return plain && c->e.n && c->e.n <= CALL_SITE_TENSORS;
}

/*
 * Sets what differs from call to call. Now and then changes any other word, which makes it another call: returns true
 * then.
 */
static bool change_entry(struct entry *e, const struct entry *base, uint64_t seq)
{
	struct journal_call *c = get_call(e);
	struct journal_tensor *tensor[TENSORS];
	unsigned words;

	*e = *base;
	words = find_tensors(e, tensor);
	c->seq = seq;
	c->start = seq * 1000 + draw(900);
	c->end = c->start + draw(1000);
	c->comm_seq = draw(30) ? (int64_t)seq : JOURNAL_NONE64;
	c->step = (uint32_t)(seq / 50);
	c->micro_step = seq / 1000 % 2 ? UINT32_MAX : (uint32_t)(seq / 25 % 2);
	for (unsigned i = 0; i < c->e.n; i++)
		make_values(tensor[i]);
	if (draw(4) || words <= 14)
		return false;
	if (draw(2)) {
		/* From the fifth word on, so that the size and the number of tensors stay. */
		unsigned at = 4 + draw(10);

		if (at != 5)
			e->word[at] ^= UINT64_C(1) << draw(at == 13 ? 32 : 64);
	} else {
		struct journal_tensor *t = tensor[draw(c->e.n)];
		unsigned which = draw(6);

		t->count += which == 0;
		t->bytes += which == 1;
		t->peer = which == 2 ? 9 : t->peer;
		t->index = (uint16_t)(t->index + (which == 3));
		t->dtype = which == 4 ? DT_INT32 : t->dtype;
		if (t->ndim != JOURNAL_NDIM_NONE && t->ndim && which == 5)
			((uint64_t *)(t + 1))[0]++;
	}
	return true;
}

static void check_same_blocks(struct compact_block *a, struct compact_block *b)
{
	size_t bytes = compact_block_measure(a);
	unsigned char *have = malloc(bytes), *want = malloc(bytes);

	assert_int_equal(compact_block_measure(b), bytes);
	compact_block_write(a, have);
	compact_block_write(b, want);
	assert_memory_equal(have, want, bytes);
	free(have);
	free(want);
}

static void rows_of_a_known_site_are_those_of_the_call_alone(void **state)
{
	static char have[(TENSORS + 1) * ROW_MAX], want[(TENSORS + 1) * ROW_MAX];
	static struct entry base[ENTRIES];
	struct row_memory *memory = row_memory_new();
	struct call_sites *sites = open_call_sites();
	struct compact_block *known = compact_block_open(), *alone = compact_block_open();
	unsigned found = 0, due = 0, calls = 60000, equal_calls[ENTRIES] = {0};

	(void)state;
	for (unsigned i = 0; i < ENTRIES; i++)
		make_entry(&base[i]);
	for (unsigned i = 0; i < calls; i++) {
		static const char *const no_names[TENSORS] = {"", "", "", "", ""};
		const struct journal_tensor *tensor[TENSORS];
		struct entry e;
		struct journal_call *c = get_call(&e);
		struct call_site *s;
		struct record r = {.clock = &clock_of_test, .call = c, .name = no_names};

		/* In a loop, as programs call, with other calls in between. */
		unsigned from = draw(9) ? i % ENTRIES : draw(ENTRIES);
		bool is_due = !change_entry(&e, &base[from], i + 1) && can_have_site(&e) &&
			      equal_calls[from]++ >= 2;

		due += is_due;
		if (!draw(2000)) {
			unsigned replaced = draw(ENTRIES);

			make_entry(&base[replaced]);
			equal_calls[replaced] = 0;
		}
		r.api = apis[c->api % 3];
		r.n = c->e.n;
		r.tensor = tensor;
		find_tensors(&e, (struct journal_tensor **)tensor);
		s = find_expected_site(sites, c);
		if (!s)
			s = find_call_site(sites, c, &r.api);
		want[rows_format(want, &r, NULL)] = 0;
		assert_int_equal(compact_block_add(alone, &r), 0);
		found += is_due && s;
		if (s) {
			s->record.clock = &clock_of_test;
			s->record.call = c;
			assert_int_equal(s->record.n, r.n);
			for (unsigned k = 0; k < r.n; k++) {
				s->tensor[k] = (const void *)((const char *)c + s->at[k]);
				assert_ptr_equal(s->tensor[k], tensor[k]);
			}
			r = s->record;
		}
		have[rows_format(have, &r, memory)] = 0;
		if (s && c->comm_seq >= 0)
			assert_true(memory->known[s->slot].serial == s->serial ||
				    memory->known[s->slot].refused == s->serial);
		assert_string_equal(have, want);
		assert_int_equal(compact_block_add(known, &r), 0);
		if (compact_block_get_calls(known) == 1000 || i == calls - 1) {
			bool forget = draw(3) == 0;

			check_same_blocks(known, alone);
			compact_block_reset(known, forget);
			compact_block_reset(alone, forget);
		}
	}
	/* Of the sites that were seen twice a few lose their place in the table to another one. */
	assert_true(due > calls / 10);
	assert_in_range(found, due * 95 / 100, due);
	compact_block_free(known);
	compact_block_free(alone);
	row_memory_free(memory);
	free(sites);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_a_known_site_are_those_of_the_call_alone),
	};

	return cmocka_run_group_tests_name("site", tests, NULL, NULL);
}
