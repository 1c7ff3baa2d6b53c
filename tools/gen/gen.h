/* SPDX-License-Identifier: Apache-2.0 */
/*
 * genwrap: turns configs/apis/ into the wrappers and tables of libprobe.so. It runs only when
 * libprobe.so is built. preload/spec/, which libprobe.so also uses, reads the files. In this
 * folder:
 *
 *	kinds.c   kinds.yaml
 *	abi.c     constants that differ between implementations, and the headers for the comparison
 *	emit_*.c  the output; emit.c writes it, and only if no error was found
 *
 * Every error in a file is reported as file:line:column, with the error and the accepted form.
 * After an error nothing is written. Memory is never freed, because the process lives for
 * milliseconds.
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

/* The load of this run. It prints errors to stderr. */
extern struct spec_load gen;

#define fail(...) load_fail(&gen, __VA_ARGS__)
#define mem_new(size) load_new(&gen, size)
#define mem_text(s, n) load_text(&gen, s, n)
#define mem_print(...) load_print(&gen, __VA_ARGS__)
#define mem_grow(array, n, size) load_grow(&gen, array, n, size)

/* Ends the process with status 2: wrong usage, unreadable file, no memory. */
_Noreturn void gen_die(const char *fmt, ...) LOAD_PRINTF(1, 2);
int gen_get_exit_status(void); /* 1 if an error was reported, else 0 */

const char *gen_get_base_name(const char *path);
char *gen_read_file(const char *path, size_t *len); /* calls gen_die() if that fails */
/* Returns the top mapping of a YAML file, or NULL if an error was reported. */
struct node *yaml_read(const char *path);

/* ---- kinds.c ---- */

void kinds_read(struct kinds *k, const char *path);

/* ---- abi.c ---- */

/* A constant. expr: its value in C, with the library's header included. */
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
	/* Preprocessor condition under which the flavour is used. */
	const char *flavour[ABI_FLAVOURS_MAX], *when[ABI_FLAVOURS_MAX];
	struct abi_table dtype, redop, constant;
};

/* Data for the comparison with a library's header (key `check`). */
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
struct out *add_output(const char *name);
void write_format(struct out *o, const char *fmt, ...) LOAD_PRINTF(2, 3);
/* Writes s escaped for the inside of a C string literal. */
void write_c_text(struct out *o, const char *s, size_t n);
void write_file_header(struct out *o, const char *source, const char *note);
/*
 * Writes every output file whose contents have changed into dir. dir NULL: their names are paths.
 */
void out_write(const char *dir);

/* Returns the number of functions of f that belong to s. */
unsigned get_row_count(const struct spec *s, const struct funcs *f);
void emit_wrappers(const struct library *lib, const struct funcs *f);
void emit_prototype(struct out *o, const struct func *f, bool names);
/* Writes <library>_gen.h and the definitions of its tables for wrap_<library>.c. */
void emit_tables(const struct library *lib);
void emit_table_rows(struct out *o, const struct library *lib);
void emit_api_table(
	const struct library *libs, unsigned nlib, const struct kinds *k, const struct funcs *f);
void emit_version_script(const struct funcs *f, const char *const *hooks, unsigned nhook);
void emit_builtin(const char *const *texts, unsigned ntext);
void emit_name_texts(const struct kinds *k, const struct funcs *f);

/* ---- check_names.c, emit_check.c ---- */

/*
 * Writes a C program to `path` that compares the spec with a header. preprocessed: the header after
 * cc -E.
 */
void emit_check(const struct library *lib, const struct funcs *f, const char *preprocessed,
	const char *path);
/*
 * Compares the roles of f with the parameter names of its prototype in `text`. Returns how many
 * agree, or -1 if the text does not declare f.
 */
int check_param_names(const struct library *lib, const struct func *f, const char *text);
/* Returns true if `word` occurs in the text as a whole word. */
bool has_word(const char *text, const char *word);

#endif
