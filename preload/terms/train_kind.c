/* SPDX-License-Identifier: Apache-2.0 */
#include "terms/train_kind.h"

#include <stdbool.h>
#include <string.h>

const struct train_kind_info train_kinds[TRAIN_KINDS] = {
#define TRAIN_KIND(id, word, form, help) [TK_##id] = {word, form},
#define TRAIN_KIND_INNER(id, form) [TK_##id] = {"", form},
#include "terms/train_kind.def"
};

const struct train_form_info train_forms[KIND_BINS] = {
	[KIND_OPS] = {0, ""},
	[KIND_VALUE] = {1, "value,"},
	[KIND_BOUNDS] = {2, "upper,lower,"},
	[KIND_SAMPLE] = {3, "value,rows,rows_total,"},
	[KIND_EVENT] = {EVENT_VALUES, "call,address,bytes,allocated,reserved,at_ns,"},
};

const char train_op_words[TRAIN_OPS_END][8] = {
#define TRAIN_OP(id, word, help) [TO_##id] = word,
#include "terms/train_kind.def"
};

/* TK_STATE has no word of its own: it is written together with other kinds. */
const char *const train_kind_names[] = {
#define TRAIN_KIND(id, word, form, help) sizeof(word) > 1 ? word : "exp_avg",
#define TRAIN_KIND_SET(word, kinds) word,
#include "terms/train_kind.def"
	NULL,
};

const char *const train_op_names[] = {
#define TRAIN_OP(id, word, help) word,
#include "terms/train_kind.def"
	"shape",
	"dtype", /* always written, as the last columns */
	NULL,
};

static bool is_word(const char *text, size_t len, const char *word)
{
	return len && strlen(word) == len && memcmp(text, word, len) == 0;
}

uint32_t find_kind_mask(const char *word, size_t len)
{
	static const struct {
		char word[20];
		uint32_t kinds;
	} sets[] = {
#define TRAIN_KIND_SET(word, kinds) {word, kinds},
#include "terms/train_kind.def"
	};

	for (unsigned i = 0; i < TRAIN_KINDS; i++)
		if (is_word(word, len, train_kinds[i].word))
			return UINT32_C(1) << i;
	for (unsigned i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		if (is_word(word, len, sets[i].word))
			return sets[i].kinds;
	return 0;
}

uint32_t parse_kinds(const char *words)
{
	uint32_t kinds = 0;

	for (size_t n; *words; words += n + (words[n] == '\n')) {
		n = strcspn(words, "\n");
		kinds |= find_kind_mask(words, n);
	}
	return kinds;
}

uint32_t parse_ops(const char *words)
{
	uint32_t ops = 0, seen = 0;
	unsigned used = 0;

	for (size_t n; *words; words += n + (words[n] == '\n')) {
		n = strcspn(words, "\n");
		for (unsigned i = 1; i < TRAIN_OPS_END; i++)
			if (is_word(words, n, train_op_words[i]) && !(seen >> i & 1)) {
				seen |= UINT32_C(1) << i;
				ops |= (uint32_t)i << 4 * used++;
			}
	}
	return ops;
}
