/* SPDX-License-Identifier: Apache-2.0 */
/*
 * configs/apis/<library>.yaml in memory. Two programs read it: genwrap, which makes wrappers at build time, and
 * libprobe.so itself, for the functions that a user adds (custom.yaml).
 *
 *	spec_load.c   memory and reports     node.c  text -> nodes with positions
 *	spec_names.c  roles, tasks ...       type.c, sig.c  C prototypes
 *	spec.c        a library's file       variants.c  families of names
 *	row_check.c   does each row fit its kind or task?  user.c  and what of it needs an adapter?
 *	enum_value.c  the library's enums      comm_key.c  how to ask for rank and size of a communicator
 *
 * Every mistake is reported as file:line:column, what is wrong and what would be right.
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
	uint8_t elem; /* pointer to an integer: its bytes */
	uint8_t dtype; /* pointer to a number: enum dtype of it, else DT_OTHER */
	uint16_t words; /* CT_STRUCT */
	const struct api_struct *members; /* CT_STRUCT at run time */
	bool handle;
	bool object; /* a C++ object by value */
	bool points_const;
	bool points_handle;
	bool points_void;
	bool points_pointer; /* float *const * */
};

/* A name in `types`. */
struct type_name {
	const char *name;
	uint8_t ctype; /* CT_VOID: opaque */
	uint8_t dtype; /* opaque, but elements of that dtype lie behind a pointer to it */
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

/* "int (const void *send, ...)". All return false after a report. */
bool sig_read(struct spec_load *l, const struct node *n, const struct type_names *types,
	struct type *ret, struct params *args);
bool sig_read_params(struct spec_load *l, const struct node *n, const struct type_names *types,
	struct params *args);
bool sig_read_type(struct spec_load *l, const struct node *n, const struct type_names *types,
	struct type *out);
/* Adds a parameter, role by name; false after a report. */
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
	int completion; /* -1: as the row */
	bool alone; /* does not combine with widening variants */
};

/* How a row of a user's file says which functions it stands for. */
enum find {
	FIND_SYMBOL, /* `symbol` is the name in the library's symbol table */
	FIND_GLOB, /* ... a pattern of such names */
	FIND_NAME, /* ... a C++ name without arguments, or a pattern of such names */
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
	 * The name is another function's too, with other parameters: the wrapper hands every integer on as the whole register
	 * or stack slot that it came in, of which the row's type is the lower part.
	 */
	bool wide;
	struct type ret;
	struct params args;
};

/* value -> dtype or redop of a library with enums. */
struct value_map {
	struct spec_value *row;
	unsigned n;
};

struct spec {
	const char *path, *base, *library;
	const char *section; /* of the wrap list, and the `lib` column */
	const struct node *top; /* `abi` and `check` are read by genwrap only */
	struct type_names types;
	const char *twin;
	const char
		*alias; /* prefix of a second name that is not wrapped; "": none, or the twin's */
	int64_t missing, in_progress, success[4];
	unsigned nsuccess;
	const struct node *sonames;
	int completion;
	uint8_t counts; /* bytes of a count in arrays that are declared void * */
	struct variant *variant;
	unsigned nvariant;
	struct value_map dtype, redop;
	bool has_matrix;
	struct matrix_codes matrix; /* `matrix`: what values mean */
	/* `comm`. */
	struct query rank, size;
	int64_t id_bytes; /* of the unique id that communicators start from; 0: they do not, or it is a user's file */
	const struct node
		*parent; /* `how` of rows whose communicator is numbered by its parent, or NULL */
	/* Of a user's file. */
	const struct node *objects; /* patterns of file names, or NULL */
};

struct funcs {
	struct func **item;
	unsigned n;
};

/* Reads one library (a file's top map) and appends its functions, all variants and twins. NULL after a report. */
struct spec *spec_read(struct spec_load *l, const char *path, const struct node *top,
	const struct kinds *kinds, struct funcs *out);
/* Sorts by symbol and reports symbols that occur twice. */
void funcs_sort(struct spec_load *l, struct funcs *f);

const struct kind *kinds_find(const struct kinds *k, const char *name);
/* What an unknown name may have meant, or NULL: the first kind of that operation, or a name with few letters changed. */
const struct kind *kinds_nearest(const struct kinds *k, const char *name);
/* The kind of the same operation that has the function's buffers, where its own has others; else NULL. */
const struct kind *kinds_with_buffers(const struct kinds *k, const struct func *f);

/* ---- variants.c ---- */

void variants_read(struct spec_load *l, struct spec *s, const struct node *map);
/* Appends the row, its variants (list of keys, may be NULL) and their twins. */
void variants_expand(struct spec_load *l, struct spec *s, const struct func *plain,
	const struct node *v, struct funcs *out);

/* ---- row_check.c ---- */

/* Reports what a row's kind, task or completion needs and the row does not have, and what nothing uses. */
void row_check(struct spec_load *l, const struct func *f);
bool func_has(const struct func *f, uint8_t role);

/* ---- user.c ---- */

/* The keys that only a user's file has. */
void user_read(struct spec_load *l, struct spec *s);
/* The row's `name` or `symbol`; false after a report. */
bool user_row_read(struct spec_load *l, struct func *f, const struct node *row);
/* Reports what a row has that only an adapter could understand. */
void user_row_check(struct spec_load *l, const struct func *f);

/* ---- comm_key.c ---- */

/* The key `comm` of the file. */
void comm_read(struct spec_load *l, struct spec *s);

/* ---- enum_value.c ---- */

/* The key `matrix` of the file. */
void matrix_read(struct spec_load *l, struct spec *s);
void values_read(struct spec_load *l, struct value_map *m, const struct node *map, bool redop);
/* "float32" -> enum dtype; "derived" is DT_OTHER and *derived. DT_OTHER after a report. */
uint8_t value_dtype(struct spec_load *l, const struct node *n, bool *derived);
uint8_t value_redop(struct spec_load *l, const struct node *n);

#endif
