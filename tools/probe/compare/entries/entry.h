/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of one of the two runs, from any kind of file: its tensors and scalars in the form that the
 * table of differences needs.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_ENTRY_H
#define PROBE_TOOLS_PROBE_COMPARE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that is freed all at once. */
struct pool {
	char **block;
	unsigned n, cap, at;
	size_t used, size; /* bytes of block[at] */
};

void *pool_alloc(struct pool *p, size_t bytes);
char *pool_copy(struct pool *p, const char *s, size_t n);
char *pool_copy_text(struct pool *p, const char *s); /* returns NULL for NULL */
char *pool_format(struct pool *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void pool_reset(struct pool *p);
void pool_free(struct pool *p);

/* The kind of a statistic, as in msprobe's rules. A number in a string counts as a number. */
enum cell_kind {
	CELL_NUMBER,
	CELL_NAN,
	CELL_INF,
	CELL_MINUS_INF,
	CELL_DEVICE, /* a string that contains npu, cpu or cuda */
	CELL_NONE, /* N/A: this run does not have the statistic */
	CELL_OTHER,
	CELL_KINDS
};

struct cell {
	enum cell_kind kind;
	double v;
	const char *text; /* as printed in the file */
};

/* Determines the kind of a value. `text` must stay valid as long as the cell. */
struct cell parse_cell(const char *text);

enum item_state { ITEM_INPUT, ITEM_PARAM, ITEM_OUTPUT, ITEM_PARAM_GRAD };

enum { STAT_MAX, STAT_MIN, STAT_MEAN, STAT_NORM, STATS_COUNT };

/* A tensor or a scalar of a call. */
struct item {
	const char *name; /* full name */
	const char *tail; /* the name after that of the call */
	const char *dtype, *shape;
	const char *grad; /* "True" or "False"; NULL: not given */
	const char *crc; /* checksum in hexadecimal; NULL: none */
	const char *data; /* file name of the elements; NULL: none */
	const char *param; /* name of the parameter; NULL: not known */
	struct cell stat[STATS_COUNT];
	enum item_state state;
	bool scalar; /* not a tensor */
	bool unrecorded; /* its values were not recorded, to stay within max_overhead */
	uint64_t extra; /* hash of the other recorded data about its values */
	bool counted; /* nans and infs are known */
	uint64_t nans, infs;
};

struct entry {
	const char *name;
	struct item *item;
	unsigned n, cap;
	const char *stack; /* the stack as printed in the table; NULL: none */
	/* Line of the program that made the call: "train.py:23 step"; NULL: not known. */
	const char *line;
	uint64_t number; /* position in its file, from 0 */
	/* Only for calls of an output folder of libprobe: */
	int64_t step, comm_seq; /* -1: none */
	uint64_t seq, start_ns;
	const char *comm; /* description of the communicator; NULL: none */
	struct pool pool;
};

/* Removes all items and data but keeps the memory. */
void reset_entry(struct entry *e);
void free_entry(struct entry *e);
/* Adds an empty item. */
struct item *add_entry_item(struct entry *e);
/* Returns the index of the first item with this tail whose taken[] is false, or UINT32_MAX. */
unsigned find_entry_item(const struct entry *e, const char *tail, const bool *taken);

/* Formats a double as Python prints it. Returns buf. */
#define PYTHON_DOUBLE_MAX 40
const char *format_python_double(char buf[PYTHON_DOUBLE_MAX], double v);

#endif
