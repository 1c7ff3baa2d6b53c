/* SPDX-License-Identifier: Apache-2.0 */
#include "terms/alert_rule.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "terms/scalar.h"
#include "terms/train_kind.h"

const char alert_rule_words[][ALERT_WORD_MAX] = {
#define ALERT_RULE(id, word, threshold, sources, ops, help) word,
#include "terms/alert_rules.def"
	"",
};

const char alert_action_words[][ALERT_WORD_MAX] = {
#define ALERT_ACTION(id, word, help) word,
#include "terms/alert_rules.def"
	"",
};

const char alert_preset_words[][ALERT_WORD_MAX] = {"nan", "comm", "ops", "dump", "state", ""};
static const char direction_words[][ALERT_WORD_MAX] = {"up", "down", "both", ""};

/* Defaults of a rule. */
static const struct {
	double threshold;
	char sources[16], ops[16];
} rule_defaults[] = {
#define ALERT_RULE(id, word, threshold, sources, ops, help) {threshold, sources, ops},
#include "terms/alert_rules.def"
};

#define WARMUP_USUAL 10
#define COUNT_MAX 1000000000 /* steps, values */

static const struct {
	char field[12], accepted[148];
} fields[] = {
	{"rule", "AnomalyTurbulence, AnomalyNan, spike, inf, stuck, zero or slow"},
	{"kind", "all, calls, scalars, a word of key kinds, or a number of key scalars (`probe "
		 "columns` lists them)"},
	{"names", "POSIX extended regular expressions, at most 500 bytes in all"},
	{"op", "min, max, mean, norm, zeros, nans or infs"},
	{"threshold", "a number of 0 or more"},
	{"direction", "up, down or both"},
	{"warmup", "an integer of 0 or more"},
	{"action", "log, capture, pause, stop or exec"},
	{"n", "an integer of 1 or more"},
	{"preset", "nan, comm, ops, dump or state"},
};

const char *alert_field_accepted(const char *field)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (strcmp(fields[i].field, field) == 0)
			return fields[i].accepted;
	return NULL;
}

static int find_word(const char words[][ALERT_WORD_MAX], const char *text, size_t len)
{
	for (int i = 0; *words[i]; i++)
		if (strlen(words[i]) == len && memcmp(words[i], text, len) == 0)
			return i;
	return -1;
}

static int find_scalar(const char *text, size_t len)
{
	for (int i = 0; i < SCALARS; i++)
		if (strlen(scalar_names[i]) == len && memcmp(scalar_names[i], text, len) == 0)
			return i;
	return -1;
}

/* Parses a number independent of the job's locale. */
static bool read_alert_number(const char *text, size_t len, double *out)
{
	char buf[64], *end;
	locale_t c;

	if (!len || len >= sizeof(buf) || strspn(text, "+-0123456789.eE") < len)
		return false;
	memcpy(buf, text, len);
	buf[len] = 0;
	c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* static in glibc */
	if (!c)
		return false;
	*out = strtod_l(buf, &end, c);
	freelocale(c);
	return !*end && end != buf && isfinite(*out);
}

static bool read_alert_count(const char *text, size_t len, uint32_t least, uint32_t *out)
{
	double v;

	if (!read_alert_number(text, len, &v) || v < least || v > COUNT_MAX || v != (double)(long)v)
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool add_source(struct alert_rule *r, const char *word, size_t len)
{
	uint32_t kinds = find_kind_mask(word, len);
	int scalar = find_scalar(word, len);
	static const char wide[][ALERT_WORD_MAX] = {"all", "scalars", "calls", ""};

	switch (find_word(wide, word, len)) {
	case 0:
		r->all = true;
		return true;
	case 1:
		r->any_scalar = true;
		return true;
	case 2:
		r->calls = true;
		return true;
	}
	r->kinds |= kinds;
	if (scalar >= 0)
		r->scalars |= UINT64_C(1) << scalar;
	return kinds || scalar >= 0;
}

static bool add_alert_op(struct alert_rule *r, const char *word, size_t len)
{
	for (unsigned op = TO_MIN; op <= TO_INFS; op++)
		if (strlen(train_op_words[op]) == len &&
			memcmp(train_op_words[op], word, len) == 0) {
			r->ops |= UINT32_C(1) << op;
			return true;
		}
	return false;
}

static const char *add_name_pattern(struct alert_rule *r, const char *text, size_t len)
{
	size_t have = strlen(r->names);

	if (!len)
		return NULL;
	if (memchr(text, '\n', len) || memchr(text, 0, len))
		return "holds a line break";
	if (have + len + 2 > ALERT_NAMES_MAX)
		return "too long";
	if (have)
		r->names[have++] = '\n';
	memcpy(r->names + have, text, len);
	r->names[have + len] = 0;
	return NULL;
}

static const char *set_one_word(
	uint8_t *out, const char words[][ALERT_WORD_MAX], const char *text, size_t len)
{
	int i = find_word(words, text, len);

	if (i < 0)
		return "not one of the names";
	*out = (uint8_t)i;
	return NULL;
}

const char *alert_rule_set(struct alert_rule *r, const char *field, const char *value, size_t len)
{
	uint8_t action;
	const char *wrong;
	double v;

	if (strcmp(field, "rule") == 0) {
		wrong = set_one_word(&r->rule, alert_rule_words, value, len);
		r->named |= !wrong;
		return wrong;
	}
	if (strcmp(field, "kind") == 0)
		return add_source(r, value, len) ? NULL : "not one of the names";
	if (strcmp(field, "names") == 0)
		return add_name_pattern(r, value, len);
	if (strcmp(field, "op") == 0)
		return add_alert_op(r, value, len) ? NULL : "not one of the names";
	if (strcmp(field, "direction") == 0)
		return set_one_word(&r->direction, direction_words, value, len);
	if (strcmp(field, "preset") == 0)
		return set_one_word(&r->preset, alert_preset_words, value, len);
	if (strcmp(field, "action") == 0) {
		wrong = set_one_word(&action, alert_action_words, value, len);
		if (!wrong)
			r->actions |= (uint8_t)(1u << action);
		return wrong;
	}
	if (strcmp(field, "threshold") == 0) {
		if (!read_alert_number(value, len, &v) || v < 0)
			return "not a number of 0 or more";
		r->threshold = v;
		r->has_threshold = true;
		return NULL;
	}
	if (strcmp(field, "warmup") == 0) {
		if (!read_alert_count(value, len, 0, &r->warmup))
			return "not an integer of 0 or more";
		r->has_warmup = true;
		return NULL;
	}
	if (strcmp(field, "n") == 0)
		return read_alert_count(value, len, 1, &r->n) ? NULL
							      : "not an integer of 1 or more";
	return "not a field of a rule";
}

static bool has_source(const struct alert_rule *r)
{
	return r->all || r->any_scalar || r->calls || r->kinds || r->scalars;
}

const char *alert_rule_set_defaults(struct alert_rule *r)
{
	const char *words;

	if (!r->named)
		return "a rule has no `rule`";
	if (!has_source(r)) {
		words = rule_defaults[r->rule].sources;
		add_source(r, words, strlen(words));
	}
	if (!r->ops) {
		words = rule_defaults[r->rule].ops;
		for (size_t n; *words; words += n + (words[n] == '\n')) {
			n = strcspn(words, "\n");
			add_alert_op(r, words, n);
		}
	}
	/*
	 * Default 0: the rule needs no threshold. For AnomalyNan, a threshold that is given also
	 * limits |value|.
	 */
	if (!r->has_threshold && rule_defaults[r->rule].threshold > 0) {
		r->threshold = rule_defaults[r->rule].threshold;
		r->has_threshold = true;
	}
	if (!r->has_warmup)
		r->warmup = WARMUP_USUAL;
	r->has_warmup = true;
	if (!r->n)
		r->n = 1;
	if (!r->actions)
		r->actions = 1u << ALERT_DO_LOG;
	if (r->rule == ALERT_STUCK && (r->threshold < 2 || r->threshold > 60000))
		return "stuck: its threshold is a number of values, from 2 to 60000";
	return NULL;
}

/* ---- a rule as one line of JSON ---- */

static void write_member(struct text *t, const char *field)
{
	text_add_string(t, ", \"");
	text_add_string(t, field);
	text_add_string(t, "\": ");
}

/*
 * Writes a word of a list. The opening bracket is written before the first word; the caller
 * writes the closing one.
 */
static void write_rule_word(struct text *t, const char *field, const char *word, unsigned *n)
{
	if (!(*n)++) {
		write_member(t, field);
		text_add_char(t, '[');
	} else {
		text_add_string(t, ", ");
	}
	text_add_json(t, word);
}

static void close_word_list(struct text *t, unsigned n)
{
	if (n)
		text_add_char(t, ']');
}

static void write_sources(struct text *t, const struct alert_rule *r)
{
	unsigned n = 0;

	if (r->all)
		write_rule_word(t, "kind", "all", &n);
	if (r->any_scalar)
		write_rule_word(t, "kind", "scalars", &n);
	if (r->calls)
		write_rule_word(t, "kind", "calls", &n);
	for (unsigned i = 0; i < TRAIN_KINDS; i++)
		if (r->kinds >> i & 1 && *train_kinds[i].word)
			write_rule_word(t, "kind", train_kinds[i].word, &n);
	for (unsigned i = 0; i < SCALARS; i++)
		if (r->scalars >> i & 1)
			write_rule_word(t, "kind", scalar_names[i], &n);
	close_word_list(t, n);
}

static void write_name_patterns(struct text *t, const char *names)
{
	char one[ALERT_NAMES_MAX];
	unsigned count = 0;

	for (size_t n; *names; names += n + (names[n] == '\n')) {
		n = strcspn(names, "\n");
		memcpy(one, names, n);
		one[n] = 0;
		write_rule_word(t, "names", one, &count);
	}
	close_word_list(t, count);
}

/* If the number has an exponent, it gets a point: YAML 1.1 reads 1e+10 as a string. */
static void write_alert_number(struct text *t, double v)
{
	char digits[48];
	struct text d = text_init(digits, sizeof(digits));
	char *e;

	text_add_double(&d, v, 15);
	e = strchr(digits, 'e');
	if (e && !strchr(digits, '.')) {
		text_add_bytes(t, digits, (size_t)(e - digits));
		text_add_string(t, ".0");
		text_add_string(t, e);
	} else {
		text_add_string(t, digits);
	}
}

void alert_rule_write(struct text *t, const struct alert_rule *r)
{
	unsigned n = 0;

	text_add_string(t, "{\"rule\": ");
	text_add_json(t, alert_rule_words[r->rule]);
	write_sources(t, r);
	write_name_patterns(t, r->names);
	for (unsigned op = TO_MIN; op <= TO_INFS; op++)
		if (r->ops >> op & 1)
			write_rule_word(t, "op", train_op_words[op], &n);
	close_word_list(t, n);
	if (r->has_threshold) {
		write_member(t, "threshold");
		write_alert_number(t, r->threshold);
	}
	write_member(t, "direction");
	text_add_json(t, direction_words[r->direction]);
	write_member(t, "warmup");
	text_add_u64(t, r->warmup);
	n = 0;
	for (unsigned i = 0; i < ALERT_ACTIONS; i++)
		if (r->actions >> i & 1)
			write_rule_word(t, "action", alert_action_words[i], &n);
	close_word_list(t, n);
	write_member(t, "n");
	text_add_u64(t, r->n);
	write_member(t, "preset");
	text_add_json(t, alert_preset_words[r->preset]);
	text_add_char(t, '}');
}

/*
 * Reads a quoted string at *p and undoes the escapes of text_add_json(). Returns the position after
 * it, or NULL if it is not closed, or too long.
 */
static const char *read_quoted(const char *p, char *to, size_t cap)
{
	size_t n = 0;

	for (p++; *p && *p != '"'; p++) {
		char c = *p;

		if (c == '\\') {
			c = *++p;
			if (c == 'u' && strlen(p) > 4) {
				unsigned long code =
					strtoul((char[]){p[1], p[2], p[3], p[4], 0}, NULL, 16);

				p += 4;
				c = code < 0x80 ? (char)code : '?';
			} else if (!c) {
				return NULL;
			}
		}
		if (n + 1 >= cap)
			return NULL;
		to[n++] = c;
	}
	to[n] = 0;
	return *p ? p + 1 : NULL;
}

/* Reads a string or a number. Returns the position after it. */
static const char *read_value(const char *p, char *to, size_t cap)
{
	size_t n;

	if (*p == '"')
		return read_quoted(p, to, cap);
	n = strcspn(p, ",]} \n");
	if (!n || n >= cap)
		return NULL;
	memcpy(to, p, n);
	to[n] = 0;
	return p + n;
}

/* Reads the rule that begins at `{`. Returns the position after it. */
static const char *read_alert_rule(const char *p, struct alert_rule *r)
{
	char field[16], value[ALERT_NAMES_MAX];
	bool list;

	memset(r, 0, sizeof(*r));
	while (p && *p != '}') {
		p += strspn(p, "{, ");
		if (*p != '"' || !(p = read_quoted(p, field, sizeof(field))))
			return NULL;
		p += strspn(p, ": ");
		list = *p == '[';
		do {
			p += strspn(p, "[, ");
			p = read_value(p, value, sizeof(value));
			if (!p || alert_rule_set(r, field, value, strlen(value)))
				return NULL;
			p += strspn(p, " ");
		} while (list && *p == ',');
		p += list && *p == ']';
	}
	return p && !alert_rule_set_defaults(r) ? p + 1 : NULL;
}

unsigned alert_rules_read(const char *json, struct alert_rule *rules, unsigned max)
{
	unsigned n = 0;

	while (n < max && json && (json = strchr(json, '{'))) {
		json = read_alert_rule(json, &rules[n]);
		n += json != NULL;
	}
	return n;
}
