/* SPDX-License-Identifier: Apache-2.0 */
/*
 * configs/apis/<library>.yaml in memory. Two programs read it: genwrap, which makes wrappers at build time, and libprobe.so
 * itself, for the functions that a user adds (custom.yaml).     spec_load.c   memory and reports     node.c  text -> nodes with
 * positions       spec_names.c  roles, tasks ...       type.c, sig.c  C prototypes        spec.c        a library's file
 * variants.c  families of names      row_check.c   checks rows against kind or task     user.c  which parts need an adapter
 * enum_value.c  the library's enums      comm_key.c  how to query rank and size of a communicator  Every mistake is reported as
 * file:line:column, what is wrong and what would be right.
 */
#ifndef PROBE_SPEC_SPEC_H
#define PROBE_SPEC_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "api/query.h"
#include "spec/spec_load.h"
#include "spec/spec_names.h"
#include "spec/node.h"
#include "spec/enum_value.h"

/* ---- type.c, sig.c ---- */

struct type {
	const char *spelling; /* as C writes it: const MPI_Count * */
	uint8_t ctype; /* enum ctype */
	uint8_t elem_bytes; /* pointer to an integer: the integer's size in bytes */
	uint8_t dtype; /* pointer to a number: its enum dtype, else DT_OTHER */
	uint16_t words; /* CT_STRUCT: number of 8-byte words */
	const struct api_struct *members; /* CT_STRUCT at run time */
	bool handle;
	bool object; /* a C++ object by value */
	bool points_const;
	bool points_handle;
	bool points_void;
	bool points_pointer; /* float *const * */
};

/* A name in key `types`. */
struct type_name {
	const char *name;
	uint8_t ctype; /* CT_VOID: opaque */
	uint8_t dtype; /* opaque, but a pointer to this type points to elements of this dtype */
	uint16_t words;
	const struct api_struct *members;
	bool handle;
	bool object;
};

struct type_names {
	struct type_name *item;
	unsigned n;
};

void types_read(struct spec_load *l, struct type_names *t, const struct node *map);

struct param {
	struct type type;
	const char *name;
	uint8_t role;
	struct pos at;
};

struct params {
	struct param item[API_ARGS_MAX];
	unsigned n;
};

/*
 * Read a signature such as "int (const void *send, ...)". All return false if an error was
 * reported.
 */
bool sig_read(struct spec_load *l, const struct node *n, const struct type_names *types,
	struct type *ret, struct params *args);
bool sig_read_params(struct spec_load *l, const struct node *n, const struct type_names *types,
	struct params *args);
bool sig_read_type(struct spec_load *l, const struct node *n, const struct type_names *types,
	struct type *out);
/* Adds a parameter, with the role that its name gives. Returns false if an error was reported. */
bool params_add(struct spec_load *l, struct params *args, const struct param *p);
struct param *params_role(struct params *args, uint8_t role); /* NULL: none */

/* ---- spec.c ---- */

/* The kinds that rows may have. */
struct kinds {
	const struct kind *item;
	unsigned n;
};

struct variant {
	const char *key, *name;
	struct params add;
	bool widens;
	struct widen {
		int role; /* -1: none */
		const char *name;
		struct type type;
	} * widen;
	unsigned nwiden;
	int completion; /* -1: as in the row */
	bool alone; /* cannot be combined with widening variants */
};

/* How a row of a user's file names its functions. */
enum find {
	FIND_SYMBOL, /* `symbol` is the name in the library's symbol table */
	FIND_GLOB, /* `symbol` is a pattern of such names */
	FIND_NAME, /* `name` is a C++ name without arguments, or a pattern of such names */
};

struct func {
	const char *symbol, *list, *how;
	struct pos at;
	const struct spec *spec;
	const struct kind *kind;
	unsigned kind_id;
	uint8_t task, sub, completion;
	uint8_t find; /* enum find */
	/*
	 * Another function has the same name and other parameters. The wrapper passes every
	 * integer on as the whole register or stack slot in which it arrived; the row's type is
	 * the lower part.
	 */
	bool wide;
	struct type ret;
	struct params args;
};

/* Value of a library's enum -> dtype or redop. */
struct value_map {
	struct spec_value *row;
	unsigned n;
};

struct spec {
	const char *path, *base, *library;
	const char *section; /* of the wrap list, and the `lib` column */
	const struct node *top; /* genwrap also reads its keys `abi` and `check` */
	struct type_names types;
	const char *twin;
	/* prefix of alternative names that are not wrapped; "": none, or the twin's names */
	const char *alias;
	int64_t missing, in_progress, success[4];
	unsigned nsuccess;
	const struct node *sonames;
	int completion;
	uint8_t counts; /* bytes of a count in arrays declared as void * */
	struct variant *variant;
	unsigned nvariant;
	struct value_map dtype, redop;
	bool has_matrix;
	struct matrix_codes matrix; /* `matrix`: meaning of the values */
	/* Key `comm`. */
	struct query rank, size;
	/* bytes of the unique id from which communicators are made; 0: none, or a user's file */
	int64_t id_bytes;
	const struct node
		/* `how` of the rows whose communicator is numbered by its parent, or NULL */
		*parent;
	/* Only in a user's file. */
	const struct node *objects; /* patterns of file names, or NULL */
};

struct funcs {
	struct func **item;
	unsigned n;
};

/*
 * Reads one library (a file's top map) and appends its functions with all variants and twins. Returns NULL if an error
 * was reported.
 */
struct spec *spec_read(struct spec_load *l, const char *path, const struct node *top,
	const struct kinds *kinds, struct funcs *out);
/* Sorts the functions by symbol and reports duplicate symbols. */
void funcs_sort(struct spec_load *l, struct funcs *f);

const struct kind *kinds_find(const struct kinds *k, const char *name);
/*
 * Returns the kind that was probably meant, or NULL: the first kind of the operation `name`, or a
 * kind with a similar name.
 */
const struct kind *kinds_nearest(const struct kinds *k, const char *name);
/*
 * Returns the kind of the same operation that has the function's buffers, if its own kind has
 * others; else NULL.
 */
const struct kind *kinds_with_buffers(const struct kinds *k, const struct func *f);

/* ---- variants.c ---- */

void variants_read(struct spec_load *l, struct spec *s, const struct node *map);
/* Appends the row `plain`, its variants (list of keys v, may be NULL) and their twins. */
void variants_expand(struct spec_load *l, struct spec *s, const struct func *plain,
	const struct node *v, struct funcs *out);

/* ---- row_check.c ---- */

/* Reports what a row's kind, task or completion needs and the row lacks, and unused parameters. */
void row_check(struct spec_load *l, const struct func *f);
bool func_has(const struct func *f, uint8_t role);

/* ---- user.c ---- */

/* Reads the keys that only a user's file has. */
void user_read(struct spec_load *l, struct spec *s);
/* Reads key `name` or `symbol` of the row. Returns false if an error was reported. */
bool user_row_read(struct spec_load *l, struct func *f, const struct node *row);
/* Reports parts of a row that only an adapter could use. */
void user_row_check(struct spec_load *l, const struct func *f);

/* ---- comm_key.c ---- */

/* Reads the key `comm` of the file. */
void comm_read(struct spec_load *l, struct spec *s);

/* ---- enum_value.c ---- */

/* Reads the key `matrix` of the file. */
void matrix_read(struct spec_load *l, struct spec *s);
void values_read(struct spec_load *l, struct value_map *m, const struct node *map, bool redop);
/*
 * Returns the enum dtype for "float32". For "derived" returns DT_OTHER and sets *derived. Returns
 * DT_OTHER if an error was reported.
 */
uint8_t value_dtype(struct spec_load *l, const struct node *n, bool *derived);
uint8_t value_redop(struct spec_load *l, const struct node *n);

#endif
