/* SPDX-License-Identifier: Apache-2.0 */
/*
 * genwrap: turns configs/apis/ into the wrappers and tables of libprobe.so. It runs at build time only. preload/spec/, which is
 * shared with libprobe.so, reads the files; this folder has
 *
 *	kinds.c   kinds.yaml
 *	abi.c     constants that differ between implementations, and the headers to compare a file with
 *	emit_*.c  the output; emit.c writes it, and only if no error was found
 *
 * Every error in a file is reported as file:line:column, with the error and the accepted form; then nothing is written. Memory
 * is never freed: the process lives for milliseconds.
 */
#ifndef PROBE_GEN_H
#define PROBE_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "spec/spec.h"
#include "wrappers/tables.h"

/* ---- mem.c ---- */

/* The only load of the run: errors go to stderr. */
extern struct spec_load gen;

#define fail(...) load_fail(&gen, __VA_ARGS__)
#define mem_new(size) load_new(&gen, size)
#define mem_text(s, n) load_text(&gen, s, n)
#define mem_print(...) load_print(&gen, __VA_ARGS__)
#define mem_grow(array, n, size) load_grow(&gen, array, n, size)

/* Ends the process with 2: wrong usage, unreadable file, no memory. */
_Noreturn void gen_die(const char *fmt, ...) LOAD_PRINTF(1, 2);
int gen_exit_status(void); /* the exit status: 1 after a report */

const char *gen_base_name(const char *path);
char *gen_read_file(const char *path, size_t *len); /* dies */
/* The top map of a file; NULL after a report. */
struct node *yaml_read(const char *path);

/* ---- kinds.c ---- */

void kinds_read(struct kinds *k, const char *path);

/* ---- abi.c ---- */

/* A constant: expr gives it in C, with the library's header. */
struct abi_row {
	const char *expr;
	struct abi_const c;
};

struct abi_table {
	struct abi_row *row;
	unsigned n;
};

struct abi {
	unsigned nflavour;
	const char *flavour[ABI_FLAVOURS_MAX],
		*when[ABI_FLAVOURS_MAX]; /* when: preprocessor condition */
	struct abi_table dtype, redop, constant;
};

/* Data for the comparison with a header (key `check`). */
struct check {
	const struct node *headers, *names;
	const struct node *dtypes, *redops; /* enumerators and their meanings */
	const char *start, *stop, *dtype_size, *dtype_null;
};

struct library {
	struct spec *spec;
	struct abi abi;
	struct check check;
};

void library_read(struct library *lib, struct spec *s);

/* ---- emit_*.c ---- */

struct out;
struct out *out_new(const char *name);
void put_format(struct out *o, const char *fmt, ...) LOAD_PRINTF(2, 3);
void put_c_text(
	struct out *o, const char *s, size_t n); /* escaped for the inside of a C string literal */
void put_head(struct out *o, const char *from, const char *what);
/* Writes every file that has changed into dir (NULL: `name` is the path). */
void out_write(const char *dir);

/* How many functions of f belong to s. */
unsigned get_row_count(const struct spec *s, const struct funcs *f);
void emit_wrappers(const struct library *lib, const struct funcs *f);
void emit_prototype(struct out *o, const struct func *f, bool names);
/* <library>_gen.h and the definitions of its tables, in wrap_<library>.c */
void emit_tables(const struct library *lib);
void emit_table_rows(struct out *o, const struct library *lib);
void emit_api_table(
	const struct library *libs, unsigned nlib, const struct kinds *k, const struct funcs *f);
void emit_map(const struct funcs *f, const char *const *hooks, unsigned nhook);
void emit_builtin(const char *const *texts, unsigned ntext);

/* ---- check_names.c, emit_check.c ---- */

/* Writes a C program that compares the spec with a header; `preprocessed` is that header after cc -E. */
void emit_check(const struct library *lib, const struct funcs *f, const char *preprocessed,
	const char *path);
/*
 * Compares the roles of f with the parameter names of its prototype in `text`. Returns how many agree, -1 if the
 * text does not declare f.
 */
int check_param_names(const struct library *lib, const struct func *f, const char *text);
/* True if `word` occurs in the text as a whole word. */
bool has_word(const char *text, const char *word);

#endif
