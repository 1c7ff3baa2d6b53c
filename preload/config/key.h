/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration: what to record and where to put it. One table of keys (keys.c) drives the YAML parser, the
 * environment overrides, `probe config`, and the table in README. Precedence: built-in default < YAML file <
 * environment (PROBE_<KEY>). A bad value is reported (file:line:column, key, accepted values) and the default
 * stays; nothing here ever ends the process.
 *
 * The same code runs inside the job (at the first wrapped call) and in the tools. It may allocate.
 */
#ifndef PROBE_CONFIG_KEY_H
#define PROBE_CONFIG_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/rooms/room.h"

/* True if the line is not a problem, but tells why a key of another tool has no effect here. */
bool config_is_note(const char *line);

/*
 * Fills *cfg: defaults, then the YAML file (path NULL: none), then the environment `env` (NULL-terminated NAME=value strings,
 * as environ). cwd: directory for relative paths. Every problem is reported and skipped. Returns 0, or -errno if the file could
 * not be read at all (cfg then holds defaults and environment), or -ENOMEM (then every string is valid, and what failed has its
 * default). Keeps errno, the locale and the floating-point environment. Free with config_free.
 */
int config_load(struct config *cfg, const char *path, char *const env[], const char *cwd,
	config_report_fn *report, void *arg);
void config_free(struct config *cfg);

/* Like config_load with the file's bytes in memory; `name` is used for the file in messages. Returns 0 or -ENOMEM. */
int config_load_text(struct config *cfg, const char *name, const char *text, size_t len,
	char *const env[], const char *cwd, config_report_fn *report, void *arg);

/* How a key is written and what it means: one row per key of probe.yaml. */
enum config_type {
	KEY_BOOL,
	KEY_INT,
	KEY_FLOAT,
	KEY_SHARE, /* a share of the time: "1%", or "off"; kept as percent, 0: off */
	KEY_STRING,
	KEY_PATH,
	KEY_PATTERN,
	KEY_MARKER, /* config/marker.h */
	KEY_ENUM,
	KEY_RANGES,
	KEY_CHOICE, /* any of some names, or all: bit i of a uint64_t is names[i] */
	KEY_WORDS, /* a list of texts; kept as one, separated by newlines, which no text may hold */
	KEY_ALERTS /* a list of mappings; kept as lines of JSON (config/alert_list.h) */
};

/* Texts within the row and numbers instead of pointers: no page of the table is written to when a process starts. */
struct config_key {
	char name[40]; /* as in probe.yaml; PROBE_<NAME> in the environment */
	char dflt[80]; /* as text */
	char help[288]; /* one sentence, ends without a dot */
	double min, max; /* KEY_INT, KEY_FLOAT; KEY_WORDS of numbers (config_has_numbers()) */
	enum config_type type;
	uint16_t offset; /* in struct config */
	uint16_t words; /* config_key_words() */
};

/* NULL-terminated. KEY_ENUM, KEY_CHOICE: value = position; KEY_WORDS: NULL: any word. */
const char *const *config_key_words(const struct config_key *k);

extern const struct config_key config_keys[];
extern const size_t config_nkeys;

/*
 * True if the value was used up when the recording started: another one would have no effect, or only part of it. was: the
 * configuration at process start; to: the new one.
 */
bool config_key_fixed(
	const struct config_key *k, const struct config *was, const struct config *to);

/* Copies the value of key k from *from to *to. Returns 0 or -ENOMEM. */
int config_copy_key(struct config *to, const struct config *from, const struct config_key *k);

/*
 * Writes the value of key k as in probe.yaml. The text is a JSON value too: true, 16, 1.0e-8, "text", [0, "4-6"]. Returns the
 * length as snprintf does.
 */
int config_format(const struct config *cfg, const struct config_key *k, char *buf, size_t cap);

/* Receives one line of text without newline. */
typedef void config_sink_fn(void *arg, const char *line);

/*
 * The complete effective configuration as a YAML file with comments; reading it again gives the same values. common: only the
 * keys that are set often.
 */
void config_dump(const struct config *cfg, bool common, config_sink_fn *sink, void *arg);

/*
 * The keys as Markdown tables, one for each group: key, default, accepted values, meaning. common: only the keys that are set
 * often, in one table.
 */
void config_markdown(bool common, config_sink_fn *sink, void *arg);

/*
 * Searches `name` (probe.yaml, support_wrap_ops.yaml) in <lib_dir>/../configs, then <lib_dir>/../share/libprobe. lib_path: path
 * of libprobe.so or of the probe command. Returns a malloc'd path of a readable file or NULL: then the compiled-in copy is used
 * (config_builtin).
 */
char *config_find(const char *name, const char *lib_path);

/*
 * The same for the list of functions: the file of key wrap_ops, or else that of the preset, or else support_wrap_ops.yaml. No
 * copy of a preset's list is compiled in: missing(arg, line) reports where it was searched, and the default list is used.
 */
char *config_find_list(
	const struct config *cfg, const char *lib_path, config_report_fn *missing, void *arg);

/* The text of configs/<name> at build time, or NULL. */
const char *config_builtin(const char *name);

#endif
