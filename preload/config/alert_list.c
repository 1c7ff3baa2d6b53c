/* SPDX-License-Identifier: Apache-2.0 */
#include "config/alert_list.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "terms/alert_rule.h"
#include "terms/scalar.h"
#include "terms/train_kind.h"
#include "config/config_value.h"

struct list {
	const char *consequence; /* of a wrong rule, for the messages */
	char *lines;
	size_t len;
	unsigned n;
	const char *wrong; /* the first error */
};

static void record_wrong_rule(struct list *l, const char *wrong)
{
	if (!l->wrong)
		l->wrong = wrong;
}

static void emit_wrong_alert_field(
	struct reader *r, const struct list *l, const char *field, const char *wrong)
{
	const char *text = (const char *)r->event.data.scalar.value;
	const char *accepted = alert_field_accepted(field);
	char quoted[REPORT_VALUE_MAX];

	if (!accepted)
		reader_report(r,
			"alerts: %s: not a field of a rule; accepted: rule, kind, names, "
			"op, threshold, direction, warmup, action, n, preset; %s",
			report_format_quoted(quoted, field, strlen(field)), l->consequence);
	else if (r->event.type == YAML_SCALAR_EVENT)
		reader_report(r, "alerts: %s: %s: %s; accepted: %s; %s", field,
			report_format_quoted(quoted, text, r->event.data.scalar.length), wrong,
			accepted, l->consequence);
	else
		reader_report(r, "alerts: %s: %s; accepted: %s; %s", field, reader_get_shape(r),
			accepted, l->consequence);
}

static const char *check_name_pattern(const char *text, size_t len)
{
	char one[ALERT_NAMES_MAX];
	regex_t re;
	int err;

	if (len >= sizeof(one))
		return "too long";
	memcpy(one, text, len);
	one[len] = 0;
	err = regcomp(&re, one, REG_EXTENDED | REG_NOSUB);
	if (err)
		return err == REG_ESPACE ? config_oom : "not a regular expression";
	regfree(&re);
	return NULL;
}

/* Stores one value of a field, the current event. Returns NULL, or the error (reported). */
static const char *read_rule_value(
	struct reader *r, const struct list *l, struct alert_rule *rule, const char *field)
{
	const char *text = (const char *)r->event.data.scalar.value, *wrong;
	size_t len = r->event.data.scalar.length;

	if (r->event.type != YAML_SCALAR_EVENT) {
		wrong = "not a single value";
	} else if (reader_is_null(r)) {
		return NULL;
	} else {
		wrong = strcmp(field, "names") == 0 ? check_name_pattern(text, len) : NULL;
		if (!wrong)
			wrong = alert_rule_set(rule, field, text, len);
	}
	if (wrong && wrong != config_oom)
		emit_wrong_alert_field(r, l, field, wrong);
	return wrong;
}

/* Reads the value of a field, after its key. Returns 0 or an error of reader_read_event(). */
static int read_rule_field(struct reader *r, const struct list *l, struct alert_rule *rule,
	const char *field, const char **wrong)
{
	const char *bad;
	int ev = reader_read_event(r);

	if (ev != YAML_SEQUENCE_START_EVENT) {
		bad = ev > 0 ? read_rule_value(r, l, rule, field) : NULL;
		*wrong = *wrong ? *wrong : bad;
		return ev < 0 ? ev : reader_read_rest(r);
	}
	while ((ev = reader_read_event(r)) > 0 && ev != YAML_SEQUENCE_END_EVENT) {
		bad = read_rule_value(r, l, rule, field);
		*wrong = *wrong ? *wrong : bad;
		ev = reader_read_rest(r);
		if (ev < 0)
			return ev;
	}
	return ev < 0 ? ev : 0;
}

static const char *add_rule_line(struct list *l, const struct alert_rule *rule)
{
	char line[ALERT_RULE_TEXT], *more;
	struct text t = text_init(line, sizeof(line));

	if (l->n == ALERT_RULES_MAX)
		return "more than 32 rules";
	alert_rule_write(&t, rule);
	if (t.cut)
		return "too long";
	more = realloc(l->lines, l->len + t.len + 2);
	if (!more)
		return config_oom;
	if (l->len)
		more[l->len++] = '\n';
	memcpy(more + l->len, line, t.len + 1);
	l->lines = more;
	l->len += t.len;
	l->n++;
	return NULL;
}

/* Reads a rule, whose mapping the current event begins. Returns 0 or an error of reader_read_event(). */
static int read_rule(struct reader *r, struct list *l)
{
	size_t line = r->event.start_mark.line + 1, col = r->event.start_mark.column + 1;
	struct alert_rule rule = {0};
	const char *wrong = NULL, *whole = NULL;
	char field[32];
	int ev;

	while ((ev = reader_read_event(r)) > 0 && ev != YAML_MAPPING_END_EVENT) {
		size_t len = ev == YAML_SCALAR_EVENT ? r->event.data.scalar.length : 0;

		if (len >= sizeof(field))
			len = sizeof(field) - 1;
		if (len)
			memcpy(field, r->event.data.scalar.value, len);
		field[len] = 0;
		ev = reader_read_rest(r);
		if (ev >= 0)
			ev = read_rule_field(r, l, &rule, field, &wrong);
		if (ev < 0)
			return ev;
	}
	if (ev < 0)
		return ev;
	if (!wrong) {
		whole = alert_rule_set_defaults(&rule);
		if (!whole)
			whole = add_rule_line(l, &rule);
		if (whole && whole != config_oom)
			report_emit_at(r->report, line, col, "alerts: %s; accepted: %s; %s", whole,
				alert_field_accepted("rule"), l->consequence);
		wrong = whole;
	}
	record_wrong_rule(l, wrong);
	return 0;
}

/* As alert_list_read(). consequence: of a wrong rule, for the messages. */
static int read_alert_rule_list(
	struct reader *r, const char *consequence, char **out, const char **wrong)
{
	struct list l = {.consequence = consequence};
	int ev = (int)r->event.type;

	if (ev == YAML_MAPPING_START_EVENT) {
		ev = read_rule(r, &l);
	} else {
		while ((ev = reader_read_event(r)) > 0 && ev != YAML_SEQUENCE_END_EVENT) {
			if (ev == YAML_MAPPING_START_EVENT) {
				ev = read_rule(r, &l);
			} else {
				reader_report(r,
					"alerts: %s where a rule is expected, such as {rule: "
					"spike, threshold: 3}; %s",
					reader_get_shape(r), consequence);
				record_wrong_rule(&l, "not a rule");
				ev = reader_read_rest(r);
			}
			if (ev < 0)
				break;
		}
	}
	*out = l.lines;
	*wrong = l.wrong;
	return ev < 0 ? ev : 0;
}

int alert_list_read(struct reader *r, char **out, const char **wrong)
{
	return read_alert_rule_list(r, "the rule is skipped", out, wrong);
}

/* As alert_list_parse(), with a line in the report for each value that is wrong. */
static const char *parse_reported(const char *text, size_t len, char **out, struct report *report)
{
	const char *wrong = NULL;
	struct reader r;
	int err = reader_open(&r, text, len, report, NULL), ev = 0;

	*out = NULL;
	while (!err && (ev = reader_read_event(&r)) > 0 && ev != YAML_STREAM_END_EVENT) {
		if (ev == YAML_SEQUENCE_START_EVENT || ev == YAML_MAPPING_START_EVENT) {
			err = read_alert_rule_list(
				&r, "no rule of this value is used", out, &wrong);
			break;
		}
		if (ev == YAML_SCALAR_EVENT && !reader_is_null(&r))
			wrong = "not a list of rules";
	}
	reader_close(&r);
	err = err ? err : ev < 0 ? ev : 0;
	if (err == -ENOMEM)
		wrong = config_oom;
	else if (err)
		wrong = "not a list of rules";
	if (!wrong && !*out && !(*out = strdup("")))
		wrong = config_oom;
	if (wrong) {
		free(*out);
		*out = NULL;
	}
	return wrong;
}

const char *alert_list_parse(const char *text, size_t len, char **out)
{
	struct report silent = {.file = ""};

	return parse_reported(text, len, out, &silent);
}

void alert_list_check(const char *text, size_t len, struct report *report)
{
	char *lines;

	parse_reported(text, len, &lines, report);
	free(lines);
}

static const char *add_implied_kinds(struct config *cfg, uint32_t kinds)
{
	const struct config_key *k = config_key_find("kinds", 5, false);
	uint32_t have = parse_kinds(cfg->kinds);
	char *all = NULL;
	const char *wrong = NULL;

	if (!k || !(kinds & ~have))
		return NULL;
	/* Copies the list, because the default was not allocated with malloc(). */
	for (const char *p = cfg->kinds; *p && !wrong;) {
		size_t n = strcspn(p, "\n");

		wrong = words_add(k, &all, p, n);
		p += n + (p[n] == '\n');
	}
	for (unsigned i = 0; i < TRAIN_KINDS && !wrong; i++)
		if (kinds & ~have & UINT32_C(1) << i)
			wrong = words_add(
				k, &all, train_kinds[i].word, strlen(train_kinds[i].word));
	if (wrong || !all) {
		free(all);
		return wrong;
	}
	config_free_value(cfg, k);
	cfg->kinds = all;
	return NULL;
}

/* Adds a rule `spike`, because a step that is withheld, or only reported, also causes an alert. */
static const char *add_spike_rule(struct config *cfg)
{
	const struct config_key *k = config_key_find("alerts", strlen("alerts"), false);
	struct alert_rule r = {.rule = ALERT_SPIKE,
		.named = true,
		.has_threshold = true,
		.threshold = cfg->global_norm_spike_threshold};
	char line[ALERT_RULE_TEXT];
	struct text t = text_init(line, sizeof(line));
	size_t len = strlen(cfg->alerts);
	char *all;

	if (alert_rule_set_defaults(&r))
		return NULL;
	alert_rule_write(&t, &r);
	/* If a configuration is read again, it has the rule already. */
	if (t.cut || strstr(cfg->alerts, line))
		return NULL;
	all = malloc(len + t.len + 2);
	if (!all)
		return config_oom;
	memcpy(all, cfg->alerts, len);
	if (len)
		all[len++] = '\n';
	memcpy(all + len, line, t.len + 1);
	config_free_value(cfg, k);
	cfg->alerts = all;
	return NULL;
}

const char *alert_list_add_implied(struct config *cfg)
{
	struct alert_rule *rule;
	uint32_t kinds = 0;
	bool wide = false;
	unsigned n;

	if (cfg->use_skip_data_by_global_norm)
		cfg->scalars |= UINT64_C(1) << SCALAR_WITHHELD;
	if ((cfg->use_skip_data_by_global_norm || cfg->check_for_global_norm) &&
		add_spike_rule(cfg) == config_oom)
		return config_oom;
	if (!*cfg->alerts)
		return NULL;
	rule = calloc(ALERT_RULES_MAX, sizeof(*rule));
	if (!rule)
		return config_oom;
	n = alert_rules_read(cfg->alerts, rule, ALERT_RULES_MAX);
	for (unsigned i = 0; i < n; i++) {
		cfg->scalars |= rule[i].scalars;
		wide |= rule[i].all || rule[i].any_scalar;
		kinds |= rule[i].kinds;
	}
	free(rule);
	/* For a rule about all values: records at least the basic scalars of a training. */
	if (wide && !cfg->scalars && !*cfg->kinds)
		cfg->scalars = UINT64_C(1) << SCALAR_LOSS | UINT64_C(1) << SCALAR_GRAD_NORM;
	return add_implied_kinds(cfg, kinds & ~KIND_BIT(STATE));
}
