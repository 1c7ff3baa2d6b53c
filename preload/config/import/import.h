/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration files of other tools, told by their keys, as values of ours: msprobe's dump and monitor configurations and
 * the training YAML of MindSpore Transformers. One table for each: their key, ours, or why it cannot apply here. A wrong value
 * is a problem, with line, key and what is accepted; what has no effect here is a note (config_is_note()).
 */
#ifndef PROBE_CONFIG_IMPORT_H
#define PROBE_CONFIG_IMPORT_H

#include "config/config_load.h"
#include "config/config_tree.h"

enum import_kind {
	IMPORT_NONE,
	IMPORT_DUMP, /* msprobe, PrecisionDebugger */
	IMPORT_MONITOR, /* msprobe, TrainerMon */
	IMPORT_MONITOR_V2, /* msprobe, TrainerMonitorV2 */
	IMPORT_TRAINING /* MindSpore Transformers */
};

/* By enum import_kind, for people: "an msprobe dump configuration". */
extern const char import_names[][64];

/*
 * Reads the text if it is such a file, and says which. IMPORT_NONE: it is ours, or nobody's, and nothing was done. A
 * file that cannot be read as what it seems to be is reported, *err is not 0, and no key has a value of it.
 */
enum import_kind import_read(struct loader *l, const char *text, size_t len, int *err);

/* ---- below: for the tables ---- */

struct import {
	struct loader *l;
	const struct tree_node *top;
	enum import_kind kind;
};

enum import_type { FT_ANY, FT_BOOL, FT_INT, FT_NUMBER, FT_TEXT, FT_LIST, FT_MAP };

enum import_how {
	FH_SET, /* the same of ours */
	FH_GROUP, /* keys below it */
	FH_OWN, /* the tool's own function looks at it */
	FH_QUIET, /* nothing is to be said */
	FH_NOTE, /* no effect, and why */
	FH_REFUSE /* cannot be had, and why: a problem */
};

/* Texts within the row: what has no pointers the loader does not touch. */
struct import_row {
	char path[56]; /* keys with dots between them */
	char ours[40];
	uint8_t type, how; /* enum import_type, enum import_how */
	char plain
		[20]; /* FH_NOTE, FH_REFUSE: the value with which nothing is asked; so are false, null, [] and "" */
	char why[168];
};

typedef void import_own_fn(
	struct import *f, const struct import_row *row, const struct tree_node *n);

/* Looks at the keys of a map by the rows whose paths begin with prefix. */
void import_walk(struct import *f, const struct tree_node *map, const char *prefix,
	const struct import_row *rows, size_t nrows, import_own_fn *own);

/* Is the value of that type? Reported if not. */
bool import_check(struct import *f, const struct tree_node *n, enum import_type type);

/* Sets our key to the node's value; false: it was wrong, and is reported. */
bool import_set(struct import *f, const char *ours, const struct tree_node *n);

/* The same to a text; n: where it comes from, NULL: from the tool's defaults. */
bool import_set_text(
	struct import *f, const char *ours, const struct tree_node *n, const char *text);

/* Adds a word to our list, once. */
void import_add_word(struct import *f, const char *ours, const char *word);

void import_note(struct import *f, const struct tree_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void import_wrong(struct import *f, const struct tree_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* What asks for nothing: false, null, [], {}, "". */
bool import_is_empty(const struct tree_node *n);

/* A variable of the environment; NULL: not set. */
const char *import_env(const struct import *f, const char *name);

void import_apply_dump(struct import *f);
void import_apply_monitor(struct import *f);
void import_apply_monitor_v2(struct import *f);
void import_apply_training(struct import *f);
/* The sections of the PyNative trainer, which are in a training YAML of the newer engine. */
void import_apply_pynative(struct import *f);

/* Ranks of the job, by what launchers put into the environment; 0: not known. */
int64_t import_job_size(const struct import *f);

#endif
