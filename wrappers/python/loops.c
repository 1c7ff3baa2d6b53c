/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether a function's code can return from one of its instructions to an earlier one.
 * Reads the code object's own copy of the instructions, which the interpreter specialises in
 * place: an instruction is replaced by another one with equally many cache entries after it.
 */
#include "wrappers/python/python_walk.h"

#include "elf/memory.h"

#define UNITS_MAX 65536
#define SIZE 16 /* PyVarObject: ob_size, here in instructions */
#define UNKNOWN 255

/*
 * The instructions of a version. Source: the modules `opcode` and `dis` of that version
 * (_inline_cache_entries, _all_opmap, deoptmap), compared by tests/e2e/opcodes.py.
 */
struct instruction_set {
	uint8_t minor; /* 3.<minor> */
	/* EXTENDED_ARG and its specialised form; the first one twice: it has none */
	uint8_t extended[2];
	uint8_t backward[7]; /* instructions that jump back, ended by 0 */
	/*
	 * For each instruction, the number of cache entries after it; 0 also for numbers that are not
	 * used. UNKNOWN: an instruction that monitoring or a compiler has put in the place of another
	 * one, whose number of entries it has.
	 */
	uint8_t caches[256];
};

/* clang-format off */
static const struct instruction_set sets[] = {
	{.minor = 11, .extended = {144, 34}, .backward = {38, 134, 140, 173, 174, 175, 176}, .caches = {
		[3 ... 8] = 1, [13 ... 14] = 1, [16] = 1, [17 ... 25] = 4, [26 ... 29] = 2, [39 ... 43] = 4, [47 ... 48] = 5,
		[55] = 5, [56 ... 59] = 10, [60] = 1, [62 ... 63] = 10, [64 ... 67] = 1, [72 ... 73] = 1, [76 ... 81] = 1,
		[92] = 1, [95] = 4, [106] = 4, [107] = 2, [113] = 1, [116] = 5, [121 ... 122] = 1, [127] = 1, [141] = 1, [143] = 1,
		[153 ... 154] = 4, [158 ... 159] = 4, [160] = 10, [166] = 1, [168 ... 170] = 1, [171] = 4, [177 ... 180] = 1}},
	{.minor = 12, .extended = {144, 144}, .backward = {134, 140}, .caches = {
		[6 ... 8] = 1, [10] = 1, [13 ... 14] = 1, [16] = 1, [18 ... 22] = 1, [23 ... 24] = 3, [25] = 1, [28 ... 29] = 3,
		[34] = 3, [38 ... 48] = 3, [56] = 3, [57 ... 60] = 1, [62 ... 67] = 1, [70] = 9, [72 ... 73] = 9, [76 ... 82] = 9,
		[92 ... 93] = 1, [95] = 4, [106] = 9, [107] = 1, [111 ... 113] = 4, [116] = 4, [122 ... 123] = 1, [141] = 1,
		[148] = 4, [153] = 4, [159 ... 161] = 1, [166 ... 168] = 1, [171] = 3, [237 ... 254] = UNKNOWN}},
	{.minor = 13, .extended = {71, 71}, .backward = {77, 78}, .caches = {
		[3] = 1, [5] = 1, [39] = 1, [40] = 3, [45] = 1, [53] = 3, [58 ... 59] = 1, [70] = UNKNOWN, [72] = 1, [77] = 1,
		[82] = 9, [91] = 4, [93] = 1, [97 ... 100] = 1, [104] = 1, [108] = 4, [117] = 1, [150 ... 161] = 1,
		[162 ... 181] = 3, [182 ... 190] = 1, [191 ... 202] = 9, [203 ... 204] = 4, [205 ... 206] = 1, [208] = 1,
		[209 ... 211] = 4, [212 ... 213] = 1, [214 ... 219] = 3, [220 ... 222] = 1, [236 ... 254] = UNKNOWN}},
	{.minor = 14, .extended = {69, 69}, .backward = {75, 76, 175, 176}, .caches = {
		[3] = 5, [38] = 1, [39] = 3, [44] = 5, [52] = 3, [55] = 3, [56 ... 57] = 1, [70] = 1, [75] = 1, [80] = 9, [92] = 4,
		[96] = 1, [100 ... 103] = 1, [106] = 1, [110] = 4, [119] = 1, [129 ... 142] = 5, [143 ... 165] = 3,
		[166 ... 176] = 1, [177 ... 189] = 9, [192 ... 193] = 4, [194 ... 195] = 1, [197] = 1, [198 ... 200] = 4,
		[201 ... 202] = 1, [203 ... 208] = 3, [209 ... 211] = 1, [234 ... 255] = UNKNOWN}},
	{.minor = 15, .extended = {67, 67}, .backward = {74, 75, 181, 182}, .caches = {
		[3] = 5, [4] = 1, [36] = 1, [37] = 3, [42] = 5, [50] = 3, [53] = 3, [54 ... 55] = 1, [68] = 1, [70] = 1, [74] = 1,
		[79] = 9, [91] = 4, [95] = 1, [99 ... 102] = 1, [105] = 1, [109] = 4, [118] = 1, [128] = 1, [129 ... 143] = 5,
		[144 ... 150] = 3, [151 ... 152] = 1, [153 ... 168] = 3, [169 ... 182] = 1, [183 ... 195] = 9, [196 ... 197] = 4,
		[198 ... 204] = 1, [205 ... 207] = 4, [208 ... 209] = 1, [210 ... 215] = 3, [216 ... 218] = 1,
		[233 ... 255] = UNKNOWN}},
};
/* clang-format on */

static const struct instruction_set *find_instruction_set(uint8_t minor)
{
	for (unsigned i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		if (sets[i].minor == minor)
			return &sets[i];
	return NULL;
}

static bool is_backward(const struct instruction_set *s, uint8_t op)
{
	for (unsigned i = 0; i < sizeof(s->backward) && s->backward[i]; i++)
		if (s->backward[i] == op)
			return true;
	return false;
}

/*
 * The lowest target of a backward jump located at `low` or after it, at most low; -1: there is an
 * instruction whose length is not known. A jump counts from the end of its own cache entries.
 */
MEMORY_RAW static int64_t find_round_start(
	const struct instruction_set *s, const uint8_t *code, int64_t n, int64_t low)
{
	uint32_t arg = 0;
	int64_t least = low;

	for (int64_t i = 0; i < n;) {
		uint8_t op = code[2 * i];
		unsigned caches = s->caches[op];

		arg = arg << 8 | code[2 * i + 1];
		if (op == s->extended[0] || op == s->extended[1]) {
			i++;
			continue;
		}
		if (caches == UNKNOWN)
			return -1;
		if (is_backward(s, op) && i >= low &&
			i + 1 + (int64_t)caches - (int64_t)arg < least)
			least = i + 1 + (int64_t)caches - (int64_t)arg;
		arg = 0;
		i += 1 + (int64_t)caches;
	}
	return least;
}

/* clang-format off */
MEMORY_RAW bool is_py_loop(const struct py *p, uintptr_t code, uintptr_t from, uintptr_t to)
/* clang-format on */
{
	const struct instruction_set *s = find_instruction_set(p->l->minor);
	int64_t n = *(const int64_t *)(code + SIZE), low = (int64_t)from / 2, next;

	if (!s || n <= 0 || n > UNITS_MAX || low >= n)
		return true;
	for (unsigned round = 0; round < 64; round++) {
		next = find_round_start(s, (const uint8_t *)(code + p->l->start), n, low);
		if (next <= (int64_t)to / 2)
			return true;
		if (next == low)
			return false;
		low = next;
	}
	return true;
}
