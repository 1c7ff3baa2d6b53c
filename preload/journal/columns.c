/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/columns.h"

const char call_columns[] =
#define ROW_COLUMN(name, type, source, help) "," #name
#include "journal/columns.def"
	"\n";

const char stack_columns[] =
#define STACK_COLUMN(name, type, source, help) "," #name
#include "journal/columns.def"
	"\n";

const char comm_columns[] =
#define COMM_COLUMN(name, type, source, help) "," #name
#include "journal/columns.def"
	"\n";

const char module_columns[] =
#define MODULE_COLUMN(name, type, source, help) "," #name
#include "journal/columns.def"
	"\n";

const char name_columns[] =
#define NAME_COLUMN(name, type, source, help) "," #name
#include "journal/columns.def"
	"\n";

const char scalar_columns[] =
#define SCALAR_COLUMN(name, type, source, help) "," #name
#include "journal/columns.def"
	"\n";

const struct call_flag_word call_flag_words[CALL_FLAGS] = {
#define CALL_FLAG(id, word, value, help) {word, value},
#include "journal/flags.def"
};

const struct call_count_word call_count_words[JC_COUNT] = {
#define CALL_COUNT(id, group, name, help) {COUNTS_##group, name},
#include "journal/counts.def"
};

const char name_flag_words[JN_FLAGS][12] = {
	"frozen", "unnamed", "flat", "shard", "tied", "grad", "unowned", "nan", "inf"};

static const char phase_words[PHASES][12] = {
#define CALL_PHASE(id, word, help) word,
#include "journal/flags.def"
};

const char *get_phase_word(unsigned phase)
{
	return phase_words[phase < PHASES ? phase : PHASE_NONE];
}
