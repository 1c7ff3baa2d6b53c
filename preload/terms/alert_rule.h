/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule of key `alerts`: which values it checks, and when it fires. The configuration makes it from the user's text
 * and stores it as a line of JSON, which the writer's thread, or `probe recover`, finds in the journal.
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

/* Presets that action capture may name: words of key `preset`. */
enum alert_preset { CAPTURE_NAN, CAPTURE_COMM, CAPTURE_OPS, CAPTURE_DUMP, CAPTURE_STATE };

#define ALERT_RULES_MAX 32
#define ALERT_NAMES_MAX 512 /* bytes of all name patterns together */
#define ALERT_RULE_TEXT 2048 /* bytes of a rule as alert_rule_put() writes it */

struct alert_rule {
	uint8_t rule; /* enum alert_rule_word */
	uint8_t direction, preset;
	uint8_t actions; /* bits of enum alert_action */
	bool named; /* has a rule */
	bool has_threshold, has_warmup;
	bool all, any_scalar, calls; /* words all, scalars, calls */
	uint32_t kinds; /* KIND_BIT() */
	uint64_t scalars; /* bits of enum scalar; without those of any_scalar */
	uint32_t ops; /* bits of enum train_op */
	uint32_t warmup; /* values that must have been seen before it fires */
	uint32_t n; /* steps of capture and pause */
	double threshold;
	char names[ALERT_NAMES_MAX]; /* patterns, separated by newlines; "": all names */
};

/* Arrays of characters, because pointers would have to be relocated in every process; "" is the end. */
#define ALERT_WORD_MAX 20
extern const char alert_rule_words[][ALERT_WORD_MAX], alert_action_words[][ALERT_WORD_MAX],
	alert_preset_words[][ALERT_WORD_MAX];

/*
 * Sets field `field` (rule, kind, names, op, threshold, direction, warmup, action, n, preset); for a list, call it once for
 * each value. Returns NULL, or a static text about the error; then *r is unchanged. *r: zero at first.
 */
const char *alert_rule_set(struct alert_rule *r, const char *field, const char *value, size_t len);

/* Text that lists what a field accepts; NULL: there is no such field. */
const char *alert_field_accepted(const char *field);

/* Sets defaults. Returns NULL, or a text about the error. */
const char *alert_rule_complete(struct alert_rule *r);

/* Writes it as one line of JSON for alert_rules_read(); without newline. */
void alert_rule_put(struct text *t, const struct alert_rule *r);

/* Reads rules written by alert_rule_put(), with any separators. Returns their number; a damaged rule ends the list. */
unsigned alert_rules_read(const char *json, struct alert_rule *rules, unsigned max);

#endif
