/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration: what to record and where to write it. One table of keys (keys.c) drives the YAML
 * parser, the environment overrides, `probe config`, and the table in README. Precedence:
 * built-in default < YAML file < environment (PROBE_<KEY>). A wrong value is reported
 * (file:line:column, key, accepted values) and the default stays; nothing here ever ends the
 * process.
 *
 * The same code runs inside the job (at the first wrapped call) and in the tools. It may
 * allocate.
 */
#ifndef PROBE_CONFIG_KEY_H
#define PROBE_CONFIG_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/rooms/room.h"

/* True if `line` is not a problem, but explains why a key of another tool has no effect. */
bool config_is_note(const char *line);

/*
 * Fills *cfg: defaults, then the YAML file (path NULL: none), then the environment `env`
 * (NULL-terminated NAME=value strings, as environ). cwd: directory for relative paths. Every
 * problem is reported and skipped. Returns 0, -errno if the file could not be read at all (cfg
 * then contains defaults and environment), or -ENOMEM (then every string is valid, and keys that
 * failed have their defaults). Preserves errno, the locale and the floating-point environment.
 * Free with config_free.
 */
int config_load(struct config *cfg, const char *path, char *const env[], const char *cwd,
	config_report_fn *report, void *arg);
void config_free(struct config *cfg);

/*
 * Like config_load(), with the file's bytes in memory; `name` is the file's name in messages.
 * Returns 0 or -ENOMEM.
 */
int config_load_text(struct config *cfg, const char *name, const char *text, size_t len,
	char *const env[], const char *cwd, config_report_fn *report, void *arg);

/* How a key is written and what it means: one row per key of probe.yaml. */
enum config_type {
	KEY_BOOL,
	KEY_INT,
	KEY_FLOAT,
	KEY_SHARE, /* a share of the time, "1%" or "off"; stored as percent, 0: off */
	KEY_STRING,
	KEY_PATH,
	KEY_PATTERN,
	KEY_MARKER, /* config/marker.h */
	KEY_ENUM,
	KEY_RANGES,
	KEY_CHOICE, /* a set of names, or all: bit i of a uint64_t stands for names[i] */
	KEY_WORDS, /* a list of texts, stored as one text with newlines between them */
	KEY_ALERTS /* a list of mappings, stored as lines of JSON (config/alert_list.h) */
};

/*
 * Texts are stored in the row, and numbers instead of pointers, so that starting a process writes
 * to no page of the table.
 */
struct config_key {
	char name[40]; /* as in probe.yaml; PROBE_<NAME> in the environment */
	char dflt[80]; /* as text */
	char help[288]; /* one sentence, ends without a dot */
	/* for KEY_INT, KEY_FLOAT, and KEY_WORDS of numbers (config_has_numbers()) */
	double min, max;
	enum config_type type;
	uint16_t offset; /* position in struct config */
	uint16_t words; /* see config_get_key_words() */
};

/*
 * Returns the accepted words of key k, NULL-terminated. KEY_ENUM, KEY_CHOICE: the value is the
 * position. KEY_WORDS: NULL means any word.
 */
const char *const *config_get_key_words(const struct config_key *k);

extern const struct config_key config_keys[];
extern const size_t config_nkeys;

/*
 * True if a new value of key k would have no effect, or only part of it, because recording has
 * already started. was: the configuration at process start; to: the new one.
 */
bool config_key_fixed(
	const struct config_key *k, const struct config *was, const struct config *to);

/* Copies the value of key k from *from to *to. Returns 0 or -ENOMEM. */
int config_copy_key(struct config *to, const struct config *from, const struct config_key *k);

/*
 * Writes the value of key k as in probe.yaml. The text is also a JSON value: true, 16, 1.0e-8,
 * "text", [0, "4-6"]. Returns its length, as snprintf does.
 */
int config_format(const struct config *cfg, const struct config_key *k, char *buf, size_t cap);

/* Receives one line of text without newline. */
typedef void config_sink_fn(void *arg, const char *line);

/*
 * Passes the complete effective configuration to sink, as a YAML file with comments; reading the
 * file again gives the same values. common: only the keys that are set often.
 */
void config_print_yaml(const struct config *cfg, bool common, config_sink_fn *sink, void *arg);

/*
 * Passes the keys to sink as Markdown tables, one for each group: key, default, accepted values,
 * meaning. common: only the keys that are set often, in one table.
 */
void config_print_markdown(bool common, config_sink_fn *sink, void *arg);

/*
 * Searches for file `name` (probe.yaml, support_wrap_ops.yaml) in <lib_dir>/../configs, then
 * <lib_dir>/../share/libprobe. lib_path: path of libprobe.so or of the probe command. Returns the
 * malloc'd path of a readable file, or NULL: the compiled-in copy is then to be used
 * (config_get_builtin).
 */
char *config_find(const char *name, const char *lib_path);

/*
 * Like config_find(), for the list of functions: the file of key wrap_ops, or else that of the
 * preset, or else support_wrap_ops.yaml. Lists of presets are not compiled in: if one is not
 * found, missing(arg, line) receives a message about where it was searched, and the default list
 * is used.
 */
char *config_find_list(
	const struct config *cfg, const char *lib_path, config_report_fn *missing, void *arg);

/* Returns the text of configs/<name> at build time, or NULL if there was no such file. */
const char *config_get_builtin(const char *name);

#endif
