/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule of key `alerts`: which values it looks at, and when it speaks. The configuration makes it of what the user wrote and
 * keeps it as a line of JSON, which the writer's thread, or `probe recover`, finds in the journal.
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
#define ALERT_NAMES_MAX 512 /* bytes of all patterns of names */
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
	uint32_t warmup; /* values that must have come before it speaks */
	uint32_t n; /* steps of capture and pause */
	double threshold;
	char names[ALERT_NAMES_MAX]; /* patterns, separated by newlines; "": all names */
};

/* Texts in place, for pointers would have to be relocated in every process; "" is the end. */
#define ALERT_WORD_MAX 20
extern const char alert_rule_words[][ALERT_WORD_MAX], alert_action_words[][ALERT_WORD_MAX],
	alert_preset_words[][ALERT_WORD_MAX];

/*
 * Sets what field `field` says (rule, kind, names, op, threshold, direction, warmup, action, n, preset); of a list each of its
 * values by a call of its own. Returns NULL, or what is wrong as a static text; then *r is as it was. *r: zero at first.
 */
const char *alert_rule_set(struct alert_rule *r, const char *field, const char *value, size_t len);

/* What a field accepts, in words; NULL: there is no such field. */
const char *alert_field_accepted(const char *field);

/* Gives what was not set its default. NULL, or what is wrong. */
const char *alert_rule_complete(struct alert_rule *r);

/* As one line of JSON, which alert_rules_read() reads; without newline. */
void alert_rule_put(struct text *t, const struct alert_rule *r);

/* Rules as alert_rule_put() wrote them, separated by anything. Returns how many; a damaged one ends them. */
unsigned alert_rules_read(const char *json, struct alert_rule *rules, unsigned max);

#endif
