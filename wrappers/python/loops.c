/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether a function's code can return from one of its instructions to an earlier one.
 * Reads the code object's own copy of the instructions, which the interpreter specialises in
 * place: an instruction is replaced by another one with equally many cache entries after it.
 * Numbers are those of opcode.h of 3.11, the only version that this is used for.
 */
#include "wrappers/python/python_walk.h"

#include "elf/memory.h"

#define UNITS_MAX 65536
#define SIZE 16 /* PyVarObject: ob_size, here in instructions */

/* Ranges of instructions that are followed by cache entries, and their number. */
static const struct {
	uint8_t first, last, caches;
} cached[] = {
	/* clang-format off */
	{3, 8, 1}, {13, 14, 1}, {16, 16, 1}, {122, 122, 1}, /* BINARY_OP */
	{17, 21, 4}, {25, 25, 4}, /* BINARY_SUBSCR */
	{22, 24, 4}, {171, 171, 4}, /* CALL */
	{26, 29, 2}, {107, 107, 2}, /* COMPARE_OP */
	{39, 43, 4}, {106, 106, 4}, /* LOAD_ATTR */
	{47, 48, 5}, {55, 55, 5}, {116, 116, 5}, /* LOAD_GLOBAL */
	{56, 59, 10}, {62, 63, 10}, {160, 160, 10}, /* LOAD_METHOD */
	{64, 67, 1}, {72, 73, 1}, {76, 80, 1}, {113, 113, 1}, {121, 121, 1}, {127, 127, 1}, {141, 141, 1},
	{143, 143, 1}, {166, 166, 1}, /* PRECALL */
	{95, 95, 4}, {153, 154, 4}, {158, 159, 4}, /* STORE_ATTR */
	{60, 60, 1}, {168, 170, 1}, /* STORE_SUBSCR */
	{92, 92, 1}, {177, 180, 1}, /* UNPACK_SEQUENCE */
	/* clang-format on */
};

static unsigned get_cache_count(uint8_t op)
{
	for (unsigned i = 0; i < sizeof(cached) / sizeof(*cached); i++)
		if (op >= cached[i].first && op <= cached[i].last)
			return cached[i].caches;
	return 0;
}

static bool is_extension(uint8_t op)
{
	return op == 144 || op == 34;
}

/* JUMP_BACKWARD, its two other forms, and POP_JUMP_BACKWARD_IF_... */
static bool is_backward(uint8_t op)
{
	return op == 140 || op == 38 || op == 134 || (op >= 173 && op <= 176);
}

/* The lowest target of a backward jump located at `low` or after it, at most low. */
MEMORY_RAW static int64_t find_round_start(const uint8_t *code, int64_t n, int64_t low)
{
	uint32_t arg = 0;
	int64_t least = low;

	for (int64_t i = 0; i < n;) {
		uint8_t op = code[2 * i];
		int64_t target;

		arg = arg << 8 | code[2 * i + 1];
		if (is_extension(op)) {
			i++;
			continue;
		}
		target = i + 1 - (int64_t)arg;
		if (is_backward(op) && i >= low && target < least)
			least = target;
		arg = 0;
		i += 1 + (int64_t)get_cache_count(op);
	}
	return least;
}

/* clang-format off */
MEMORY_RAW bool is_py_loop(const struct py *p, uintptr_t code, uintptr_t from, uintptr_t to)
/* clang-format on */
{
	int64_t n = *(const int64_t *)(code + SIZE), low = (int64_t)from / 2, next;

	if (p->l->minor != 11 || n <= 0 || n > UNITS_MAX || low >= n)
		return true;
	for (unsigned round = 0; round < 64; round++) {
		next = find_round_start((const uint8_t *)(code + p->l->start), n, low);
		if (next <= (int64_t)to / 2)
			return true;
		if (next == low)
			return false;
		low = next;
	}
	return true;
}
