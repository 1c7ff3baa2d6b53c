/* SPDX-License-Identifier: Apache-2.0 */
/* Output for people: numbers with units, lists of ranks, tables, colour on terminals. */
#ifndef PROBE_TOOLS_LIB_OUT_H
#define PROBE_TOOLS_LIB_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum style { STYLE_NONE, STYLE_HEAD, STYLE_BAD, STYLE_WARN, STYLE_GOOD, STYLE_FAINT };

/* Switches colour. mode: "auto", "always" or "never". Returns false for any other value. */
bool out_set_color(const char *mode);
const char *out_get_style(enum style s); /* "" if colour is off */
const char *out_get_plain(void);

/*
 * Short strings for numbers. Each is valid for the next dozen calls, because they share a ring of
 * buffers.
 */
const char *out_format_duration(double ns); /* 1.23 ms */
const char *out_format_bytes(double bytes); /* 1.23 GB */
const char *out_format_rate(double bytes, double ns);
const char *out_format_count(uint64_t n); /* 1,234,567 */
const char *out_format_percent(double part); /* 0.123 -> 12.3 % */
const char *out_format_date(uint64_t ns); /* 2026-09-21 10:31:47 UTC */
const char *out_format_plural(
	uint64_t n, const char *singular, const char *plural); /* 1 rank, 2 ranks */

/*
 * Formats "rank 3", "ranks 0-3,8". A list longer than a line is replaced by the number of ranks.
 * Sorts rank[]. malloc'd.
 */
char *out_format_ranks(int *rank, unsigned n);
/* Like out_format_ranks() without the word "ranks": "0-3,8". */
char *out_format_rank_range(int *rank, unsigned n);

/* A table. Cells are added row by row. Numbers are aligned to the right. */
struct out_table {
	unsigned ncol;
	const char *const *head;
	const char *align; /* 'l' or 'r' per column */
	char **cell;
	unsigned n, cap;
};

void out_start_table(
	struct out_table *t, unsigned ncol, const char *const *head, const char *align);
void out_add_cell(struct out_table *t, const char *text);
/* Prints the table, indented by two spaces, without its empty columns, and frees it. */
void out_print_table(struct out_table *t);

/*
 * Prints text wrapped to the width of the terminal (variable COLUMNS, else the width that the
 * terminal reports). If stdout is not a terminal, the text is not wrapped. first: columns already
 * used in the first line. indent: spaces before each later line.
 */
void out_print_wrapped(const char *text, unsigned first, unsigned indent);

/* Prints the heading of a section. */
void out_print_heading(const char *text);

/*
 * Prints s with control characters replaced by blanks, because names come from the recorded
 * program.
 */
void out_print_clean(const char *s);

#endif
