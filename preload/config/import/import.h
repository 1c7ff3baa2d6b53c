/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads configuration files of other tools, recognised by their keys: msprobe's dump and monitor
 * configurations and the training YAML of MindSpore Transformers. There is one table for each,
 * with the other tool's key and libprobe's key, or the reason why it has no effect. A wrong value
 * is a problem, reported with line, key and accepted values; a key without effect is a note
 * (config_is_note()).
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

/* Names for messages: "an msprobe dump configuration". Index: enum import_kind. */
extern const char import_names[][64];

/*
 * Reads the text if it is a file of another tool, and returns which kind. Returns IMPORT_NONE,
 * having done nothing, if it is libprobe's own or unknown. If a file of a known kind cannot be
 * read, that is reported, *err is not 0, and no key gets a value from it.
 */
enum import_kind import_read(struct loader *l, const char *text, size_t len, int *err);

/* ---- for the tables ---- */

struct import {
	struct loader *l;
	const struct tree_node *top;
	enum import_kind kind;
};

enum import_type { FT_ANY, FT_BOOL, FT_INT, FT_NUMBER, FT_TEXT, FT_LIST, FT_MAP };

enum import_how {
	FH_SET, /* sets the same key of libprobe */
	FH_GROUP, /* a group with keys below it */
	FH_OWN, /* handled by the import_own_fn of the tool */
	FH_QUIET, /* ignored silently */
	FH_NOTE, /* no effect; the text explains why */
	FH_REFUSE /* not supported, reported as a problem; the text explains why */
};

/* Texts are stored in the row, so that the loader need not relocate pointers. */
struct import_row {
	char path[56]; /* keys separated by dots */
	char ours[40];
	uint8_t type, how; /* enum import_type, enum import_how */
	/*
	 * FH_NOTE, FH_REFUSE: a value that is not reported, because it requests nothing; so are
	 * false, null, [] and ""
	 */
	char plain[20];
	char why[168];
};

typedef void import_own_fn(
	struct import *f, const struct import_row *row, const struct tree_node *n);

/* Applies the rows whose paths begin with `prefix` to the keys of map. */
void import_read_map(struct import *f, const struct tree_node *map, const char *prefix,
	const struct import_row *rows, size_t nrows, import_own_fn *own);

/* True if the value has this type; otherwise reports it and returns false. */
bool import_check(struct import *f, const struct tree_node *n, enum import_type type);

/* Sets libprobe's key `ours` to the value of n. Returns false if the value is wrong (reported). */
bool import_set(struct import *f, const char *ours, const struct tree_node *n);

/*
 * Like import_set(), with the value in `text`. n: the node it comes from; NULL: the tool's
 * default.
 */
bool import_set_text(
	struct import *f, const char *ours, const struct tree_node *n, const char *text);

/* Adds a word to libprobe's list `ours`, unless the list contains it. */
void import_add_word(struct import *f, const char *ours, const char *word);

void import_print_note(struct import *f, const struct tree_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void import_record_wrong(struct import *f, const struct tree_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* True for a value that requests nothing: false, null, [], {}, "". */
bool import_is_empty(const struct tree_node *n);

/* Returns the value of an environment variable; NULL: not set. */
const char *import_get_env(const struct import *f, const char *name);

void import_handle_dump(struct import *f);
void import_handle_monitor(struct import *f);
void import_handle_monitor_v2(struct import *f);
void import_handle_training(struct import *f);
/* Handles the sections for MindSpore's PyNative trainer, in a training YAML of the newer engine. */
void import_handle_pynative(struct import *f);

/*
 * Returns the number of ranks of the job, from the launchers' environment variables; 0: not
 * known.
 */
int64_t import_get_job_size(const struct import *f);

#endif
