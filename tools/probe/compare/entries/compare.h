/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Used by all parts of the verb `compare`. A is the run to examine ("NPU" in the columns), B is the
 * reference ("Bench").
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_COMPARE_H
#define PROBE_TOOLS_PROBE_COMPARE_COMPARE_H

#include "config/rooms/room.h"
#include "tools/lib/table.h"
#include "tools/lib/target.h"
#include "tools/probe/model/read/overlay.h"
#include "tools/probe/compare/entries/rules.h"

/* ---- contents of a side's folder ---- */

enum content {
	CONTENT_NONE = 0,
	CONTENT_CALLS = 1, /* an output folder of libprobe */
	CONTENT_DUMP = 2, /* step<N>/rank<R>/dump.json */
	/*
	 * Scalars and parameter statistics of a training, in folders of libprobe or of msprobe's
	 * monitor.
	 */
	CONTENT_TRAINING = 4,
};

/* A dump.json with its step and rank. */
struct dump_place {
	int64_t step, rank; /* -1: the path does not contain them */
	char *path;
};

struct compared {
	const char *path;
	unsigned contents; /* bits of enum content */
	struct dump_place *dump; /* sorted by step and rank */
	unsigned ndump, cap_dump;
	/* The number in proc<N>, a process without a rank; 0: no such folder, -1: several. */
	int64_t process;
};

/* Finds out what `path` contains. Returns 0 or STATUS_USAGE (reported). */
int find_side_contents(struct compared *s, const char *path);
void free_side(struct compared *s);

/* ---- the comparison ---- */

/* The first item that differs, and its difference. */
struct first_diff {
	bool any;
	int64_t step, rank;
	uint64_t order; /* position in the rank's step */
	char *name, *other; /* the call in A and in B; other NULL: B does not have it */
	char *what; /* "output 0", "input group", "parameter weight" */
	char *values; /* the difference as text */
	char *line, *param; /* NULL: not known */
	char *comm; /* NULL: not a communication call */
	int64_t comm_seq; /* -1: none */
	bool of_output; /* an output differs; false: an input differs, or a run lacks the call */
	enum verdict verdict;
};

/* A collective whose inputs differ on some rank, with the first such rank. */
struct odd_input {
	/* a: hash of the communicator's description; b: number of the collective on it. */
	struct table_key key;
	struct first_diff first;
};

/* Maximum for each rank. Several are needed: many turn out to be collectives whose inputs differ on another rank. */
#define ORIGINS_KEPT 16

/* A scalar of a step, or a parameter statistic, that differs. */
struct first_number {
	bool any;
	bool set; /* a setting of the program, such as a learning rate */
	const char *name;
	uint64_t step;
	unsigned order; /* position in the step */
	int rank;
	double a, b;
};

struct rank_sums {
	int64_t step, rank;
	uint64_t calls_a, calls_b, paired, only_a, only_b, rows, differing;
	/*
	 * Differing rows of memory that may never have been written (torch.empty, and views of it).
	 */
	uint64_t unwritten;
	uint64_t not_finite; /* values with NaN or Inf on one side only */
	/*
	 * Data that one run did not record, to stay within max_overhead: values that only the other
	 * run has; calls of A and of B without a partner. These are not counted in only_a, only_b
	 * and differing.
	 */
	uint64_t unrecorded_values, unrecorded_a, unrecorded_b;
	uint64_t calls[VERDICTS]; /* paired calls, by the worst verdict of their rows */
	struct first_diff first; /* the first call with any difference */
	struct first_diff origin[ORIGINS_KEPT]; /* calls with equal inputs and different outputs */
	unsigned norigin;
	struct first_diff blamed; /* the first call that a rule judged wrong */
	char *table; /* path of the table; NULL: none was written */
};

struct mapping;

struct comparison {
	struct compared a, b;
	const char *out; /* folder for tables; NULL: none are written */
	const char *metric; /* the user's command for pairs of tensors; NULL: none */
	bool exact, merge, json, by_name;
	struct ranges ranks, steps; /* ranks and steps to compare; empty: all */
	char stamp[32]; /* time in the names of the output files */
	struct mapping *mapping; /* NULL: names are the same on both sides */
	const char *layer_mapping; /* a file; "": the built-in rules; NULL: no layer mapping */
	enum compare_mode mode;
	struct rank_sums *sums;
	unsigned nsums, cap_sums;
	char **note; /* lines for the summary: what was compared differently or not at all */
	unsigned nnote, cap_note;
	struct target merged; /* the table of all ranks, if merge is set */
	bool merged_open;
	char *merged_path;
	uint64_t unpaired_places; /* number of ranks and steps that only one side has */
	/* Calls of ranks that only A or only B has, if their number is known. */
	uint64_t lone_a, lone_b;
	struct first_number first_number, first_kind;
	char *kind_name; /* name of the parameter statistic in first_kind */
	bool set_differs; /* a setting of the program differs */
	uint64_t numbers; /* scalars and parameter statistics that both have */
	/* struct odd_input; its element size is 0 until the first is added. */
	struct table odd_inputs;
	bool unmarked_a, unmarked_b; /* that side is an output folder without marked steps */
};

/* Adds a line to the summary, unless it has been added before. */
void add_compare_note(struct comparison *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

struct rank_sums *add_rank_sums(struct comparison *c, int64_t step, int64_t rank);

/* Compares folders of dump.json files. Returns STATUS_DONE or STATUS_USAGE (reported). */
int compare_dump_folders(struct comparison *c);
/* Compares output folders of libprobe. */
int compare_run_folders(struct comparison *c);

/*
 * Compares the scalars and parameter statistics of one rank. Sets c->first_number and
 * c->first_kind. oa, ob: the additional rows of the ranks' journals, or NULL.
 */
void compare_numbers(struct comparison *c, const struct rank_dir *a, const struct overlay *oa,
	const struct rank_dir *b, const struct overlay *ob);

/* Returns true if the user selected rank or step n. */
bool is_number_wanted(const struct ranges *r, int64_t n);

/* ---- a table of differences ---- */

struct diff_table {
	struct target t;
	bool open; /* false: no table is written */
	bool run; /* with the columns that only folders of libprobe have */
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

/*
 * Returns true if the process of the rank has ended and its last calls may be only in its journal
 * (overlay_open()).
 */
bool is_rank_gone(const struct rank_dir *d);

/* Opens the table. Returns 0 or STATUS_USAGE (reported). */
int open_diff_table(struct diff_table *t, struct comparison *c, struct rank_sums *sums,
	enum compare_mode mode, bool stacks, bool run);
int close_diff_table(struct diff_table *t, bool keep);

/*
 * Adds the rows of call a of A and its partner b; b NULL: A's call has no partner. dir_a, dir_b:
 * folders of the tensor files.
 */
void add_call_pair(struct diff_table *t, const struct entry *a, const struct entry *b,
	const char *dir_a, const char *dir_b);
/* Like add_call_pair(), with a partner for each item of a; partner[i] NULL: the item has none. */
void add_item_pairs(struct diff_table *t, const struct entry *a, const struct item *const *partner,
	const struct entry *b, const char *dir_a, const char *dir_b);
/* Counts call b, which A does not have. */
void add_call_without_partner(struct diff_table *t, const struct entry *b);

/* ---- summary ---- */

/* Prints the result. Returns the exit status. */
int print_comparison(struct comparison *c);
int print_comparison_json(struct comparison *c);

void free_first_diff(struct first_diff *f);

/*
 * get_odd_input() returns the entry for collective seq of the communicator, and adds it if
 * necessary; NULL if there are too many. find_odd_input() returns the entry for the collective f,
 * or NULL if its inputs are equal on all ranks as far as is known.
 */
struct odd_input *get_odd_input(struct comparison *c, const char *comm, int64_t seq);
const struct odd_input *find_odd_input(const struct comparison *c, const struct first_diff *f);
void free_odd_inputs(struct comparison *c);

/*
 * Returns the first difference of that kind on any rank, by step and order, or NULL.
 */
enum diff_kind {
	DIFF_FIRST, /* any difference */
	DIFF_ORIGIN, /* a call with equal inputs and different outputs */
	DIFF_BLAMED, /* a call that a rule judged wrong */
};
const struct first_diff *find_first_of_all(const struct comparison *c, enum diff_kind kind);

#endif
