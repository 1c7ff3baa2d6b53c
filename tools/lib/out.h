/* SPDX-License-Identifier: Apache-2.0 */
/* Text for people: numbers with units, lists of ranks, tables, colour on terminals. */
#ifndef PROBE_TOOLS_LIB_OUT_H
#define PROBE_TOOLS_LIB_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum style { STYLE_NONE, STYLE_HEAD, STYLE_BAD, STYLE_WARN, STYLE_GOOD, STYLE_FAINT };

/* when: "auto", "always" or "never". False: it is none of these. */
bool out_color(const char *when);
const char *out_style(enum style s); /* "" without colour */
const char *out_plain(void);

/* Short texts for numbers, in a ring of buffers: valid for the next dozen calls. */
const char *out_time(double ns); /* 1.23 ms */
const char *out_bytes(double bytes); /* 1.23 GB */
const char *out_rate(double bytes, double ns);
const char *out_count(uint64_t n); /* 1,234,567 */
const char *out_percent(double part); /* 0.123 -> 12.3 % */
const char *out_date(uint64_t ns); /* 2026-09-21 10:31:47 UTC */
const char *out_plural(uint64_t n, const char *one, const char *many); /* 1 rank, 2 ranks */

/* "rank 3", "ranks 0-3,8". Sorts rank[]. A list longer than a line is replaced by a count. malloc'd. */
char *out_ranks(int *rank, unsigned n);
/* The same without the word in front: "0-3,8". */
char *out_range(int *rank, unsigned n);

/* A table: cells are added row by row; columns of numbers to the right. */
struct out_table {
	unsigned ncol;
	const char *const *head;
	const char *align; /* 'l' or 'r' per column */
	char **cell;
	unsigned n, cap;
};

void out_table_begin(
	struct out_table *t, unsigned ncol, const char *const *head, const char *align);
void out_cell(struct out_table *t, const char *text);
/* Prints it, each line indented by two spaces, and frees it. Empty columns are skipped. */
void out_table_end(struct out_table *t);

/*
 * Text wrapped to the terminal's width (COLUMNS, else the terminal's own answer), not at all if stdout is no terminal. indent: for the
 * lines after the first.
 */
void out_wrap(const char *text, unsigned first, unsigned indent);

/* A heading in front of a section. */
void out_heading(const char *text);

/* Prints s, control characters as blanks: names come from the recorded program. */
void out_clean(const char *s);

#endif
