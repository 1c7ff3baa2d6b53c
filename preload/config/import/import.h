/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads configuration files of other tools, recognised by their keys: msprobe's dump and monitor configurations and the
 * training YAML of MindSpore Transformers. One table for each: the foreign key, and libprobe's key or the reason why it cannot
 * apply here. A wrong value is a problem, reported with line, key and accepted values; a key without effect here is a note
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

/* By enum import_kind, for people: "an msprobe dump configuration". */
extern const char import_names[][64];

/*
 * Reads the text if it is such a file, and returns which kind. IMPORT_NONE: it is libprobe's own or unknown, and nothing was
 * done. If a file of a known kind cannot be read, that is reported, *err is not 0, and no key gets a value from it.
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
	FH_GROUP, /* a group: the keys are below it */
	FH_OWN, /* handled by the tool's own function */
	FH_QUIET, /* ignored silently */
	FH_NOTE, /* no effect; the text tells why */
	FH_REFUSE /* not supported; the text tells why: a problem */
};

/* Texts within the row, because the loader does not touch data without pointers. */
struct import_row {
	char path[56]; /* keys separated by dots */
	char ours[40];
	uint8_t type, how; /* enum import_type, enum import_how */
	/* FH_NOTE, FH_REFUSE: the value that requests nothing; so do false, null, [] and "" */
	char plain[20];
	char why[168];
};

typedef void import_own_fn(
	struct import *f, const struct import_row *row, const struct tree_node *n);

/* Applies the rows whose paths begin with prefix to the keys of a map. */
void import_walk(struct import *f, const struct tree_node *map, const char *prefix,
	const struct import_row *rows, size_t nrows, import_own_fn *own);

/* True if the value has that type; otherwise reported. */
bool import_check(struct import *f, const struct tree_node *n, enum import_type type);

/* Sets libprobe's key to the node's value; false: the value was wrong (reported). */
bool import_set(struct import *f, const char *ours, const struct tree_node *n);

/* The same from a text; n: its origin, NULL: the tool's defaults. */
bool import_set_text(
	struct import *f, const char *ours, const struct tree_node *n, const char *text);

/* Adds a word to libprobe's list unless it is there. */
void import_add_word(struct import *f, const char *ours, const char *word);

void import_note(struct import *f, const struct tree_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void import_wrong(struct import *f, const struct tree_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* True for a value that requests nothing: false, null, [], {}, "". */
bool import_is_empty(const struct tree_node *n);

/* An environment variable; NULL: not set. */
const char *import_env(const struct import *f, const char *name);

void import_apply_dump(struct import *f);
void import_apply_monitor(struct import *f);
void import_apply_monitor_v2(struct import *f);
void import_apply_training(struct import *f);
/* Handles the sections of the PyNative trainer, which are in a training YAML of the newer engine. */
void import_apply_pynative(struct import *f);

/* Number of ranks of the job, from the launchers' environment variables; 0: not known. */
int64_t import_job_size(const struct import *f);

#endif
