/* SPDX-License-Identifier: Apache-2.0 */
/* Header lines of the files, and words used in their rows, from columns.def and flags.def. */
#ifndef PROBE_JOURNAL_COLUMNS_H
#define PROBE_JOURNAL_COLUMNS_H

#include "journal/layout.h"

/*
 * Arrays, because pointers would be relocated in every process. Each text begins with a comma
 * that is not part of the header.
 */
extern const char call_columns[], stack_columns[], comm_columns[], module_columns[], name_columns[],
	scalar_columns[];

#define ROW_HEADER (call_columns + 1)
#define STACK_HEADER (stack_columns + 1)
#define COMM_HEADER (comm_columns + 1)
#define MODULES_HEADER (module_columns + 1)
#define NAMES_HEADER (name_columns + 1)
#define SCALAR_HEADER (scalar_columns + 1)

/* Index of each column in its table, and the number of columns. */
enum column {
#define ROW_COLUMN(name, type, source, help) COL_##name,
#include "journal/columns.def"
	COLUMNS
};
enum stack_column {
#define STACK_COLUMN(name, type, source, help) STACK_COL_##name,
#include "journal/columns.def"
	STACK_COLUMNS
};
enum comm_column {
#define COMM_COLUMN(name, type, source, help) COMM_COL_##name,
#include "journal/columns.def"
	COMM_COLUMNS
};
enum module_column {
#define MODULE_COLUMN(name, type, source, help) MODULE_COL_##name,
#include "journal/columns.def"
	MODULE_COLUMNS
};

enum name_column {
#define NAME_COLUMN(name, type, source, help) NAME_COL_##name,
#include "journal/columns.def"
	NAME_COLUMNS
};

/* For each bit of the `flags` column: the word, and the kind of value that follows it. */
struct call_flag_word {
	char word[12], value[8];
};
extern const struct call_flag_word call_flag_words[CALL_FLAGS];

/* For each bit of journal_name.flags. */
extern const char name_flag_words[JN_FLAGS][12];

const char *get_phase_word(unsigned phase); /* "" if phase is not valid */

/* Objects inside `calls` of meta.json. */
enum count_group { COUNTS_TOP, COUNTS_DROPPED, COUNTS_SKIPPED };

/* For each enum journal_count. */
struct call_count_word {
	uint8_t group;
	char word[23];
};
extern const struct call_count_word call_count_words[JC_COUNT];

#endif
