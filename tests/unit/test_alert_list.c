/* SPDX-License-Identifier: Apache-2.0 */
/* Key alerts: how rules are written, what is reported about wrong ones, and what they have recorded. */
#include "config_helper.h"

#include "terms/alert_rule.h"
#include "terms/scalar.h"

const struct builtin_text builtin_texts[] = {{"probe.yaml", "log_level: 1\n"}, {NULL, NULL}};

static unsigned count_rules(const struct config *c)
{
	struct alert_rule r[ALERT_RULES_MAX];

	return alert_rules_read(c->alerts, r, ALERT_RULES_MAX);
}

static void ways_to_write(void **state)
{
	static const char *const texts[] = {
		"alerts: [{rule: spike, threshold: 2.5, names: ['a[.]b', c]}]\n",
		"alerts:\n- rule: spike\n  threshold: 2.5\n  names:\n  - a[.]b\n  - c\n",
		"alerts: {rule: spike, threshold: 2.5, names: ['a[.]b', c]}\n",
		"{\"alerts\": [{\"rule\": \"spike\", \"threshold\": 2.5, \"names\": [\"a[.]b\", "
		"\"c\"]}]}",
	};
	struct alert_rule r;
	struct config c, again;
	struct lines l;
	char text[4096];

	(void)state;
	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(load(&c, texts[i], NULL, &l), 0);
		assert_lines(&l, 0);
		assert_int_equal(alert_rules_read(c.alerts, &r, 1), 1);
		assert_true(r.rule == ALERT_SPIKE && r.threshold == 2.5);
		assert_string_equal(r.names, "a[.]b\nc");
		assert_true(c.scalars == UINT64_C(1) << SCALAR_GRAD_NORM);
		/* The written form is read back as the same, from a file and from the environment. */
		snprintf(text, sizeof(text), "PROBE_ALERTS=%s", shown(&c, "alerts"));
		load_env(&again, text, &l);
		assert_lines(&l, 0);
		assert_string_equal(again.alerts, c.alerts);
		config_free(&again);
		config_free(&c);
	}
}

static void what_is_wrong(void **state)
{
	static const struct {
		const char *text, *said;
		unsigned rules;
	} table[] = {
		{"alerts: [{rule: spikes}]\n",
			"f.yaml:1:17: alerts: rule: \"spikes\": not one of "
			"the names; accepted: AnomalyTurbulence",
			0},
		{"alerts:\n- {threshold: 3}\n- {rule: inf}\n",
			"f.yaml:2:3: alerts: a rule has no `rule`", 1},
		{"alerts: [{rule: inf, kinds: loss}]\n", "\"kinds\": not a field of a rule", 0},
		{"alerts: [{rule: inf, kind: [loss, los]}]\n", "kind: \"los\": not one", 0},
		{"alerts: [{rule: spike, threshold: x}]\n", "threshold: \"x\": not a number", 0},
		{"alerts: [{rule: spike, threshold: -1}]\n", "not a number of 0 or more", 0},
		{"alerts: [{rule: spike, n: 0}]\n", "not an integer of 1 or more", 0},
		{"alerts: [{rule: stuck, threshold: 1}]\n", "from 2 to 60000", 0},
		{"alerts: [{rule: inf, names: '('}]\n", "names: \"(\": not a regular expression",
			0},
		{"alerts: [spike]\n", "a single value where a rule is expected", 0},
		{"alerts: [{rule: inf, names: {a: b}}, {rule: zero}]\n", "a group of keys", 1},
		{"alerts: spike\n", "not a list of rules", 0},
	};
	struct config c;
	struct lines l;

	(void)state;
	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_int_equal(load(&c, table[i].text, NULL, &l), 0);
		assert_said(&l, table[i].said);
		assert_lines(&l, 1);
		assert_int_equal(count_rules(&c), table[i].rules);
		config_free(&c);
	}
	load_env(&c, "PROBE_ALERTS=[{rule: worse}]", &l);
	assert_said(&l, "PROBE_ALERTS");
	assert_said(&l, "rule: \"worse\": not one of the names; accepted: AnomalyTurbulence");
	assert_lines(&l, 2);
	assert_int_equal(count_rules(&c), 0);
	config_free(&c);
	/* Of a variable, all or nothing is used. The messages must not claim that one rule is skipped. */
	load_env(&c, "PROBE_ALERTS=[{rule: worse}, {rule: inf, kind: loss}]", &l);
	assert_said(&l, "; no rule of this value is used");
	assert_said(&l, "; the default [] is used");
	assert_lines(&l, 2);
	assert_int_equal(count_rules(&c), 0);
	for (unsigned i = 0; i < l.n; i++)
		assert_null(strstr(l.text[i], "rule is skipped"));
	config_free(&c);
}

static void implied(void **state)
{
	struct config c;
	struct lines l;

	(void)state;
	load(&c,
		"scalars: [loss]\nkinds: [actv]\nalerts: [{rule: zero}, {rule: slow}, {rule: "
		"stuck, kind: wg_distribution}]\n",
		NULL, &l);
	assert_lines(&l, 0);
	assert_string_equal(shown(&c, "scalars"), "[\"loss\", \"iteration-time\"]");
	assert_string_equal(shown(&c, "kinds"), "[\"actv\", \"grad_unreduced\", \"grad_reduced\"]");
	config_free(&c);
	/* For a training at least the usual values; not if something was selected. */
	load(&c, "alerts: [{rule: AnomalyNan}]\n", NULL, &l);
	assert_string_equal(shown(&c, "scalars"), "[\"loss\", \"grad-norm\"]");
	config_free(&c);
	load(&c, "kinds: [actv]\nalerts: [{rule: AnomalyNan}]\n", NULL, &l);
	assert_string_equal(shown(&c, "scalars"), "false");
	config_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways_to_write),
		cmocka_unit_test(what_is_wrong),
		cmocka_unit_test(implied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
