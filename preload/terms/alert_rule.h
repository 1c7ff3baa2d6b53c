/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule of key `alerts`: which values it checks, and when it fires. The configuration makes it
 * from the user's text and stores it as a line of JSON, which the writer thread, or `probe
 * recover`, reads from the journal.
 */
#ifndef PROBE_BASE_ALERT_RULE_H
#define PROBE_BASE_ALERT_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/text.h"

enum alert_rule_word {
#define ALERT_RULE(id, word, threshold, sources, ops, help) ALERT_##id,
#include "terms/alert_rules.def"
	ALERT_RULE_WORDS
};

enum alert_action {
#define ALERT_ACTION(id, word, help) ALERT_DO_##id,
#include "terms/alert_rules.def"
	ALERT_ACTIONS
};

enum alert_direction { ALERT_UP, ALERT_DOWN, ALERT_BOTH };

/* Presets that action `capture` accepts: words of key `preset`. */
enum alert_preset { CAPTURE_NAN, CAPTURE_COMM, CAPTURE_OPS, CAPTURE_DUMP, CAPTURE_STATE };

#define ALERT_RULES_MAX 32
#define ALERT_NAMES_MAX 512 /* bytes of all name patterns of a rule together */
#define ALERT_RULE_TEXT 2048 /* maximum bytes of a rule as written by alert_rule_write() */

struct alert_rule {
	uint8_t rule; /* enum alert_rule_word */
	uint8_t direction, preset;
	uint8_t actions; /* bits of enum alert_action */
	bool named; /* `rule` has been set */
	bool has_threshold, has_warmup;
	bool all, any_scalar, calls; /* the words all, scalars and calls were given */
	uint32_t kinds; /* KIND_BIT() */
	uint64_t scalars; /* bits of enum scalar; those of any_scalar not included */
	uint32_t ops; /* bits of enum train_op */
	uint32_t warmup; /* number of values to be seen before the rule can fire */
	uint32_t n; /* number of steps, for actions capture and pause */
	double threshold;
	char names[ALERT_NAMES_MAX]; /* patterns, separated by newlines; "": all names */
};

/*
 * Arrays of characters, because pointers would have to be relocated in every process; "" is the
 * end of a list.
 */
#define ALERT_WORD_MAX 20
extern const char alert_rule_words[][ALERT_WORD_MAX], alert_action_words[][ALERT_WORD_MAX],
	alert_preset_words[][ALERT_WORD_MAX];

/*
 * Sets field `field` (rule, kind, names, op, threshold, direction, warmup, action, n, preset);
 * for a list, call it once for each value. *r must be zero at first. Returns NULL, or a static
 * text about the error; then *r is unchanged.
 */
const char *alert_rule_set(struct alert_rule *r, const char *field, const char *value, size_t len);

/* Returns a text that lists what a field accepts, or NULL if there is no such field. */
const char *alert_field_accepted(const char *field);

/* Sets the defaults of fields that were not set. Returns NULL, or a text about the error. */
const char *alert_rule_set_defaults(struct alert_rule *r);

/* Writes the rule as one line of JSON for alert_rules_read(), without newline. */
void alert_rule_write(struct text *t, const struct alert_rule *r);

/* Reads rules written by alert_rule_write(), with any separators. Returns their number; a damaged rule ends the list. */
unsigned alert_rules_read(const char *json, struct alert_rule *rules, unsigned max);

#endif
