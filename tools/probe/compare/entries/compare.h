/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the verb `compare`. A is examined ("NPU" in the columns), B is the reference ("Bench"). */
#ifndef PROBE_TOOLS_PROBE_COMPARE_COMPARE_H
#define PROBE_TOOLS_PROBE_COMPARE_COMPARE_H

#include "config/rooms/room.h"
#include "tools/lib/table.h"
#include "tools/lib/target.h"
#include "tools/probe/model/read/overlay.h"
#include "tools/probe/compare/entries/rules.h"

/* ---- contents of a folder ---- */

enum content {
	CONTENT_NONE = 0,
	CONTENT_CALLS = 1, /* an output folder of libprobe */
	CONTENT_DUMP = 2, /* step<N>/rank<R>/dump.json */
	CONTENT_TRAINING =
		4, /* scalars and parameter statistics of a training, from libprobe or monitor folders */
};

/* A dump.json, its step and rank. */
struct dump_place {
	int64_t step, rank; /* -1: not in its path */
	char *path;
};

struct compared {
	const char *path;
	unsigned contents; /* enum content */
	struct dump_place *dump; /* by step and rank */
	unsigned ndump, cap_dump;
	int64_t process; /* of proc<N>, which has no rank; 0: there is none, -1: several */
};

/* Returns 0 or STATUS_USAGE (reported). */
int find_side_contents(struct compared *s, const char *path);
void free_side(struct compared *s);

/* ---- the comparison ---- */

/* The first item that differs, and the difference. */
struct first_diff {
	bool any;
	int64_t step, rank;
	uint64_t order; /* position in the rank's step */
	char *name, *other; /* the call in A and in B; other NULL: B has none */
	char *what; /* "output 0", "input group", "parameter weight" */
	char *values; /* the difference, for people */
	char *line, *param; /* NULL: not known */
	char *comm; /* NULL: none */
	int64_t comm_seq; /* -1: none */
	bool of_output; /* an output differs; else an input, or the whole call */
	enum verdict verdict;
};

/* A collective whose inputs differ on some rank; the first such rank. */
struct odd_input {
	struct table_key key; /* a: communicator in words, b: number there */
	struct first_diff first;
};

#define ORIGINS_KEPT \
	16 /* per rank: most of them may be collectives whose inputs differ on another rank */

/* A number of a step, or a parameter statistic, that differs. */
struct first_number {
	bool any;
	bool set; /* a setting of the program */
	const char *name;
	uint64_t step;
	unsigned order; /* within the step */
	int rank;
	double a, b;
};

struct rank_sums {
	int64_t step, rank;
	uint64_t calls_a, calls_b, paired, only_a, only_b, rows, differing;
	uint64_t
		unwritten; /* differing rows in memory that may never have been written, or that is only a view */
	uint64_t not_finite; /* values with NaN or Inf on one side only */
	/*
	 * Not compared, to keep max_overhead on one side: values that the other side has, calls without a partner of A and of B.
	 * They are not in only_a, only_b and differing.
	 */
	uint64_t unrecorded_values, unrecorded_a, unrecorded_b;
	uint64_t calls[VERDICTS]; /* paired calls, by their worst row */
	struct first_diff first; /* the first that differs at all */
	struct first_diff origin[ORIGINS_KEPT]; /* calls with equal inputs and different outputs */
	unsigned norigin;
	struct first_diff blamed; /* the first that a rule judged wrong */
	char *table; /* file; NULL: none was written */
};

struct mapping;

struct comparison {
	struct compared a, b;
	const char *out; /* folder for tables; NULL: none are written */
	const char *metric; /* the user's command for pairs of tensors; NULL: none */
	bool exact, merge, json, by_name;
	struct ranges ranks, steps; /* only these; empty: all */
	char stamp[32]; /* in the names of files */
	struct mapping *mapping; /* NULL: names are the same on both sides */
	const char *layer_mapping; /* a file, "": the built-in rules, NULL: none */
	enum compare_mode mode;
	struct rank_sums *sums;
	unsigned nsums, cap_sums;
	char **note; /* lines for the summary: what was done differently, and what was skipped */
	unsigned nnote, cap_note;
	struct target merged; /* with merge */
	bool merged_open;
	char *merged_path;
	uint64_t unpaired_places; /* ranks and steps that one side does not have */
	uint64_t lone_a,
		lone_b; /* calls of ranks that the other side does not have, if their number is known */
	struct first_number first_number, first_kind;
	char *kind_name; /* of first_kind */
	bool set_differs; /* a setting of the program differs */
	struct table odd_inputs; /* struct odd_input; element 0: none were kept */
	bool unmarked_a, unmarked_b; /* an output folder without step marks */
};

/* Adds a line to the summary, once even if it is added again. */
void add_compare_note(struct comparison *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

struct rank_sums *add_rank_sums(struct comparison *c, int64_t step, int64_t rank);

/* Compares folders of dump.json files. Returns STATUS_DONE or STATUS_USAGE (reported). */
int compare_dump_folders(struct comparison *c);
/* Compares output folders of libprobe. */
int compare_run_folders(struct comparison *c);

/*
 * Compares one rank's numbers and parameter statistics, into first_number and first_kind. oa, ob: rows that are only in the
 * ranks' journals.
 */
void compare_numbers(struct comparison *c, const struct rank_dir *a, const struct overlay *oa,
	const struct rank_dir *b, const struct overlay *ob);

/* Whether the user selected that rank or step. */
bool is_number_wanted(const struct ranges *r, int64_t n);

/* ---- a table of differences ---- */

struct diff_table {
	struct target t;
	bool open; /* false: nothing is written */
	bool run; /* with the columns that only libprobe's folders have */
	enum compare_mode mode;
	bool stacks;
	struct comparison *c;
	struct rank_sums *sums;
	struct row *row;
	unsigned cap;
	bool *taken;
	unsigned cap_taken;
	struct pool pool;
};

/* True if the rank's last calls may be in its journal only (overlay_make()). */
bool is_rank_gone(const struct rank_dir *d);

/* Returns 0 or STATUS_USAGE (reported). */
int open_diff_table(struct diff_table *t, struct comparison *c, struct rank_sums *sums,
	enum compare_mode mode, bool stacks, bool run);
int close_diff_table(struct diff_table *t, bool keep);

/* A call of A with its partner; b NULL: none. dir_a, dir_b: folders of the tensors' elements. */
void put_call_pair(struct diff_table *t, const struct entry *a, const struct entry *b,
	const char *dir_a, const char *dir_b);
/* The same with a partner for each item: index into b's items or UINT32_MAX. */
void put_item_pairs(struct diff_table *t, const struct entry *a, const struct item *const *partner,
	const struct entry *b, const char *dir_a, const char *dir_b);
/* Counts a call that A does not have. */
void count_call_without_partner(struct diff_table *t, const struct entry *b);

/* ---- summary ---- */

/* Prints the result. Returns the exit status. */
int print_comparison(struct comparison *c);
int print_comparison_json(struct comparison *c);

void free_first_diff(struct first_diff *f);

/*
 * get_odd_input() adds it if there is none; NULL: there are too many. find_odd_input(): NULL: the inputs are equal on all
 * ranks, as far as known.
 */
struct odd_input *get_odd_input(struct comparison *c, const char *comm, int64_t seq);
const struct odd_input *find_odd_input(const struct comparison *c, const struct first_diff *f);
void free_odd_inputs(struct comparison *c);

/* The first of all ranks by step and order; NULL: none. which: 0 first, 1 origin, 2 blamed. */
const struct first_diff *find_first_of_all(const struct comparison *c, unsigned which);

#endif
