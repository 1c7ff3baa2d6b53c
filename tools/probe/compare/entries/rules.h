/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The differences between two calls and their verdicts: msprobe's columns and its rules for pass,
 * warning and error, as in its manual (mindstudio-probe 26.2.0,
 * msprobe/core/compare/indicator_analysis/algorithm.py).
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_RULES_H
#define PROBE_TOOLS_PROBE_COMPARE_RULES_H

#include <stdint.h>

#include "tools/probe/compare/entries/entry.h"

enum compare_mode {
	COMPARE_STATISTICS,
	COMPARE_CHECKSUM,
	COMPARE_TENSOR, /* compares the elements */
};

enum verdict { VERDICT_PASS, VERDICT_WARNING, VERDICT_ERROR, VERDICTS };
extern const char *const verdict_words[VERDICTS];

/* The reasons why a row does not pass, one bit each. */
enum rule {
	RULE_NOT_FINITE,
	RULE_RELATIVE,
	RULE_THOUSANDTH,
	RULE_GRAD,
	RULE_SCALAR,
	RULE_DTYPE,
	RULE_SHAPE,
	RULE_CRC,
	RULE_EXACT, /* not a rule of msprobe: --exact without checksums */
	RULE_UNPAIRED,
	RULE_TENFOLD,
	RULE_COSINE,
	RULES
};
extern const char *const rule_texts[RULES];

enum {
	METRIC_COSINE,
	METRIC_DISTANCE,
	METRIC_MAX_ABS,
	METRIC_MAX_RELATIVE,
	METRIC_THOUSANDTH,
	METRIC_FIVE_THOUSANDTHS,
	METRICS
};

/* A row of the table: an item of A and its partner in B. */
struct row {
	const struct item *a, *b; /* b NULL: no partner */
	const char *diff[STATS_COUNT], *relative[STATS_COUNT]; /* strings of the columns */
	double norm_relative; /* 0.1 is 10 %; NaN: not a number */
	const char *metric[METRICS]; /* strings; NULL: not compared */
	double metric_value[METRICS]; /* NaN: not a number */
	const char *note; /* about the metrics; NULL: none */
	const char *measured; /* result of the user's own command; NULL: no command */
	enum verdict verdict;
	uint32_t rules;
	bool differs; /* there is any difference */
	/* One run did not record the values (max_overhead), so only type and shape are compared. */
	bool unrecorded;
};

/* Returns true if the types of a and b are equal, or both floating-point. */
bool is_dtype_comparable(const struct item *a, const struct item *b);

/* Sets diff, relative and differs. The strings are in the pool p. */
void compute_row_differences(struct row *r, enum compare_mode mode, struct pool *p);

/* Computes the verdicts of the n rows of a call. exact: any difference is an error. */
void check_call_rows(struct row *row, unsigned n, enum compare_mode mode, bool exact);

#endif
