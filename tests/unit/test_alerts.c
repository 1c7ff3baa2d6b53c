/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=write */
/*
 * Alerts: when each rule fires, and that an alert is in alerts.jsonl once with the right count, whatever fails on the way
 * from the journal to the files, and when the process is killed.
 */
#include "broken_write.h"
#include "core_helper.h"
#include "scalar_entry.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "config/config.h"
#include "journal/meta_part.h"
#include "terms/scalar.h"
#include "terms/train_kind.h"
#include "training/alerts/alert_judge.h"
#include "training/alerts/alerts.h"

/* ---- rules ---- */

static struct alert_rule rule_of_json(const char *json)
{
	struct alert_rule r;

	assert_int_equal(alert_rules_read(json, &r, 1), 1);
	return r;
}

/* The places of `values` at which the rule speaks, as text: "3 7". */
static const char *speaks_at(const char *json, const double *values, unsigned n)
{
	static char text[512];
	struct alert_rule r = rule_of_json(json);
	struct alert_series s = {0};
	double history;
	size_t len = 0;

	text[0] = 0;
	for (unsigned i = 0; i < n; i++) {
		double x = values[i];
		struct alert_value v = {x, isnan(x), isinf(x), x == 0};

		if (alert_check_value(&r, &s, &v, &history))
			len += (size_t)snprintf(
				text + len, sizeof(text) - len, "%s%u", len ? " " : "", i);
	}
	free(s.recent);
	return text;
}

#define SPEAKS(json, want, ...)                                                              \
	assert_string_equal(speaks_at(json, (const double[]){__VA_ARGS__},                   \
				    sizeof((const double[]){__VA_ARGS__}) / sizeof(double)), \
		want)

#define TURBULENCE "{\"rule\": \"AnomalyTurbulence\", \"warmup\": 0, \"threshold\": 0.5"

static void rules(void **state)
{
	(void)state;
	/* The average of 1 and 1.5 is 1.005: 1.5 times that is 1.5075. */
	SPEAKS(TURBULENCE "}", "3", 1, 1.5, 1.507, 1.6);
	SPEAKS(TURBULENCE "}", "1", 1, -2, 1);
	SPEAKS(TURBULENCE "}", "", 0, 5); /* silent at average 0 */
	SPEAKS(TURBULENCE "}", "2 3", 1, NAN, 2, INFINITY, 1.4);
	SPEAKS(TURBULENCE ", \"direction\": \"down\"}", "1 3", 1, 0.4, 0.6, -0.2, 9);
	SPEAKS(TURBULENCE ", \"direction\": \"both\"}", "1 2", 1, 0.4, 9, 1);
	SPEAKS("{\"rule\": \"AnomalyTurbulence\", \"warmup\": 2}", "3", 1, 9, 1, 9);
	SPEAKS("{\"rule\": \"AnomalyNan\"}", "1", 1, NAN, 1e300, INFINITY);
	SPEAKS("{\"rule\": \"AnomalyNan\", \"threshold\": 10}", "1 2 3", 10, NAN, -11, INFINITY);
	SPEAKS("{\"rule\": \"spike\"}", "1 2 3 4", 2.99, 3, NAN, INFINITY, -INFINITY, -4);
	SPEAKS("{\"rule\": \"inf\"}", "1 2", 1, INFINITY, -INFINITY, NAN);
	SPEAKS("{\"rule\": \"stuck\", \"threshold\": 3}", "2 3 7", 1, 1, 1, 1, 2, 3, 3, 3);
	SPEAKS("{\"rule\": \"zero\"}", "2 3 5", 0, 1, 0, 0, 1, 0);
	SPEAKS("{\"rule\": \"slow\", \"warmup\": 3}", "4 6", 10, 11, 9, 14, 17, 10, 30, 12);
}

/* Each field of a rule is kept by the line that it is written as. */
static void round_trip(void **state)
{
	static const char line[] =
		"{\"rule\": \"stuck\", \"kind\": [\"calls\", \"grad_reduced\", \"loss\"], "
		"\"names\": [\"fc\\\\.[0-9]{2}\", \"a\\\"b\"], \"op\": [\"max\", \"norm\"], "
		"\"threshold\": 7, \"direction\": \"both\", \"warmup\": 3, \"action\": [\"log\", "
		"\"capture\", \"exec\"], \"n\": 5, \"preset\": \"ops\"}";
	struct alert_rule r = rule_of_json(line), two[2];
	char text[ALERT_RULE_TEXT], both[2 * ALERT_RULE_TEXT + 8];
	struct text t = text_init(text, sizeof(text));

	(void)state;
	alert_rule_write(&t, &r);
	assert_string_equal(text, line);
	snprintf(both, sizeof(both), "[%s, %s]", line, TURBULENCE "}");
	assert_int_equal(alert_rules_read(both, two, 2), 2);
	assert_int_equal(two[0].n, 5);
	assert_int_equal(two[1].rule, ALERT_TURBULENCE);
	assert_true(two[1].all && !two[1].warmup);
	assert_int_equal(alert_rules_read("[{\"rule\": \"worse\"}]", two, 2), 0);
	assert_int_equal(alert_rules_read("[{\"rule\": \"spike\", \"kind\": [\"x", two, 2), 0);
}

/* ---- from the journal ---- */

#define RULES                                                                                \
	"[{\"rule\": \"spike\"}, {\"rule\": \"AnomalyNan\", \"kind\": [\"grad_reduced\"]}, " \
	"{\"rule\": \"stuck\", \"threshold\": 2, \"kind\": [\"loss\"]}, "                    \
	"{\"rule\": \"inf\", \"kind\": [\"grad_reduced\"], \"names\": [\"^b\"]}, "           \
	"{\"rule\": \"slow\", \"kind\": [\"iteration-time\"]}]"

/* As rank_sink(), with the rules. */
static void rank_rules(struct rank *r)
{
	static struct config cfg;

	cfg.alerts = (char *)RULES;
	assert_int_equal(sink_open(&r->sink, &r->j, r->dirfd, &cfg, FORMAT_BIT(CSV)), 0);
	assert_int_equal(files_reset_to_commit(&r->sink.files), 0);
	assert_int_equal(drain_open(&r->drain, &r->j, &r->sink), 0);
}

/* As recover(), with the rules. */
static int recover_rules(const char *dir)
{
	struct rank r = {.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	int err = journal_open(&r.j, r.dirfd, "journal.bin", false);

	if (!err) {
		rank_rules(&r);
		err = drain_all(&r.drain, true);
		rank_unsink(&r);
		journal_close(&r.j);
	}
	close(r.dirfd);
	return err;
}

static void put_gradient_entry(
	struct chain *c, const char *name, uint32_t step, uint64_t nans, uint64_t infs)
{
	uint32_t bytes = (uint32_t)(sizeof(struct journal_kind_row) + strlen(name) + 3 + 7) & ~7u;
	struct journal_kind_row *e = chain_reserve(c, bytes, NO_WAKE);

	assert_non_null(e);
	memset(e, 0, bytes);
	*e = (struct journal_kind_row){.e = {.bytes = bytes, .type = JE_KIND},
		.count = 8,
		.stats = {.n = 8, .nans = nans, .infs = infs, .max.f = 1, .mean = 0.5, .norm = 2},
		.step = step,
		.micro_step = UINT32_MAX,
		.ops = parse_ops("norm"),
		.kind = TK_GRAD_REDUCED,
		.dtype = DT_FLOAT32};
	strcpy((char *)(e + 1), name);
	chain_publish(c, bytes);
}

#define STEPS 40u

/* Spikes in steps 5, 9 and 30; the loss does not change from step 20 to 24; `b` has a NaN in 7 and 8, and an Inf in 9, as `a`. */
static void put_steps(struct rank *r, struct chain *c, uint32_t from, uint32_t to)
{
	for (uint32_t s = from; s < to; s++) {
		put_scalar_entry(c, SCALAR_GRAD_NORM, s, s == 5 || s == 9 || s == 30 ? 4.5 : 0.5);
		put_scalar_entry(c, SCALAR_LOSS, s, s >= 20 && s < 25 ? 3 : s);
		put_gradient_entry(c, "a", s, 0, s == 9);
		put_gradient_entry(c, "b", s, s == 7 || s == 8, s == 9);
		atomic_store(&r->j.head->step, s + 1);
	}
}

/* rule, kind, name, first_step, last_step, count, of each line */
static const char *alerts_in(const char *dir)
{
	static char out[2048];
	char path[128], line[4096];
	size_t len = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/alerts.jsonl", dir);
	f = fopen(path, "r");
	out[0] = 0;
	while (f && fgets(line, sizeof(line), f)) {
		char rule[32], name[32];
		unsigned first, last, count;
		const char *p = strstr(line, "\"rule\": \""), *q = strstr(line, "\"name\": \"");

		assert_true(line[0] == '{' && strstr(line, "}\n"));
		assert_true(p && sscanf(p + 9, "%31[^\"]", rule) == 1);
		assert_true(q && sscanf(q + 9, "%31[^\"]", name) == 1);
		assert_true((p = strstr(line, "\"first_step\": ")) && sscanf(p + 14, "%u", &first));
		assert_true((p = strstr(line, "\"last_step\": ")) && sscanf(p + 13, "%u", &last));
		assert_true((p = strstr(line, "\"count\": ")) && sscanf(p + 9, "%u", &count));
		len += (size_t)snprintf(out + len, sizeof(out) - len, "%s %s %u-%u x%u; ", rule,
			name, first, last, count);
	}
	if (f)
		fclose(f);
	return out;
}

/* Of the rules, those that have checked a value, as meta.json has it. No step has an iteration-time. */
static const char *get_checked_rules(const struct journal *j)
{
	const char *part = journal_dict_get(j, DICT_META, META_ALERTS_CHECKED);

	assert_string_equal(part, "alerts_checked");
	return part + strlen(part) + 1;
}

#define ALL_BUT_SLOW "[true, true, true, true, false]"

#define WANT "spike grad-norm 5-30 x3; AnomalyNan b 7-8 x2; inf b 9-9 x1; stuck loss 21-24 x4; "

static void once_with_a_count(void **state)
{
	struct rank r;
	struct chain c = {0};

	(void)state;
	rank_make(&r, 1 << 20);
	rank_rules(&r);
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	assert_string_equal(get_checked_rules(&r.j), "[false, false, false, false, false]");
	put_steps(&r, &c, 0, 10);
	assert_int_equal(drain_all(&r.drain, false), 0);
	assert_string_equal(get_checked_rules(&r.j), ALL_BUT_SLOW);
	assert_string_equal(
		alerts_in(r.dir), "spike grad-norm 5-9 x2; AnomalyNan b 7-8 x2; inf b 9-9 x1; ");
	put_steps(&r, &c, 10, STEPS);
	atomic_store(&r.j.head->state, JS_ENDED);
	assert_int_equal(drain_all(&r.drain, true), 0);
	assert_string_equal(alerts_in(r.dir), WANT);
	rank_drop(&r);
}

/* Writing the files fails, and all of the pass is given again. */
static void given_again(void **state)
{
	(void)state;
	for (unsigned at = 1; at < 40; at++) {
		struct rank r;
		struct chain c = {0};
		bool failed;

		rank_make(&r, 1 << 20);
		rank_rules(&r);
		assert_int_equal(chain_open(&c, &r.j, 1), 0);
		writes = 0;
		fail_at = at;
		for (uint32_t s = 0; s < STEPS; s += 8) {
			put_steps(&r, &c, s, s + 8);
			drain_all(&r.drain, false);
		}
		failed = writes >= at;
		fail_at = 0;
		atomic_store(&r.j.head->state, JS_ENDED);
		assert_int_equal(drain_all(&r.drain, false), 0);
		assert_int_equal(drain_all(&r.drain, true), 0);
		/* The last pass may have failed to write the lines alone. */
		put_steps(&r, &c, STEPS, STEPS + 1);
		assert_int_equal(drain_all(&r.drain, true), 0);
		assert_string_equal(alerts_in(r.dir), WANT);
		rank_drop(&r);
		if (!failed)
			return;
	}
	fail_msg("more writes than expected");
}

/* Killed in its n-th write: recovery continues, and knows the existing alerts. A rule's history of values is lost. */
static void killed(void **state)
{
	unsigned survived = 0;

	(void)state;
	for (unsigned at = 1; at < 60 && !survived; at++) {
		struct rank r;
		struct chain c = {0};
		int status;
		pid_t pid;

		rank_make(&r, 1 << 20);
		assert_int_equal(chain_open(&c, &r.j, 1), 0);
		pid = fork();
		if (!pid) {
			rank_rules(&r);
			writes = 0;
			kill_at = at;
			for (uint32_t s = 0; s < STEPS; s += 8) {
				put_steps(&r, &c, s, s + 8);
				drain_all(&r.drain, false);
			}
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		survived = WIFEXITED(status);
		assert_int_equal(recover_rules(r.dir), 0);
		assert_string_equal(get_checked_rules(&r.j), ALL_BUT_SLOW);

		const char *have = alerts_in(r.dir);

		/* All that was entered before it was killed, in pieces of eight steps. */
		assert_true(!strstr(have, "spike") || strstr(have, "spike grad-norm 5-5 x1") ||
			    strstr(have, "spike grad-norm 5-9 x2") ||
			    strstr(have, "spike grad-norm 5-30 x3"));
		assert_true(!strstr(have, "Nan") || strstr(have, "b 7-7 x1") ||
			    strstr(have, "b 7-8 x2"));
		assert_true(strstr(have, "spike grad-norm 5-"));
		rank_drop(&r);
	}
	assert_true(survived);
}

/* Without rules there is nothing: no file, no work. */
static void no_rules(void **state)
{
	struct rank r;
	struct chain c = {0};

	(void)state;
	rank_make(&r, 1 << 20);
	rank_sink(&r);
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	put_steps(&r, &c, 0, STEPS);
	assert_int_equal(drain_all(&r.drain, true), 0);
	assert_string_equal(alerts_in(r.dir), "");
	rank_drop(&r);
}

/* Writes anomaly.json of rank 3, and reads it; to be freed. */
static char *read_anomaly_json(struct anomalies *a)
{
	static struct anomaly_place place = {.rank = 3};
	const size_t cap = 1 << 20;
	char dir[128], path[200], *text = malloc(cap);
	size_t n;
	FILE *f;

	assert_non_null(text);
	make_tmp(dir, sizeof(dir));
	snprintf(place.dir, sizeof(place.dir), "%s", dir);
	anomalies_write(a, &place, dir, 4);
	snprintf(path, sizeof(path), "%s/anomaly_detected/rank3/anomaly.json", dir);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, cap - 1, f);
	text[n] = 0;
	fclose(f);
	remove_tree(dir);
	return text;
}

/* A value of the gradient with this name, in step 7. */
static void add_anomaly(struct anomalies *a, const char *name, double value, double history)
{
	struct alert_rule rule = rule_of_json(TURBULENCE "}");
	struct alert_seen seen = {.kind = TK_GRAD_REDUCED,
		.step = 7,
		.micro_step = UINT32_MAX,
		.name = name,
		.word = "post_grad"};

	anomalies_add(a, &seen, &rule, "norm", value, history);
}

/* People and dashboards read the sentence: it has the value that fired, and the average before it. */
static void anomaly_json_has_the_value_and_the_history(void **state)
{
	struct anomalies *a = anomalies_init();
	char *text;

	(void)state;
	assert_non_null(a);
	add_anomaly(a, "fc.weight", 4.5, 1.25);
	text = read_anomaly_json(a);
	assert_non_null(strstr(text, " at step 7, current value 4.5, history mean 1.25.\""));
	free(text);
	anomalies_free(a);
}

/* Entries of anomaly.json after a tensor, `others` different ones, and the first tensor again. */
static unsigned count_entries(unsigned others)
{
	struct anomalies *a = anomalies_init();
	unsigned n = 0;
	char name[24], *text;

	assert_non_null(a);
	add_anomaly(a, "first", 4, 1);
	for (unsigned i = 0; i < others; i++) {
		snprintf(name, sizeof(name), "other%u", i);
		add_anomaly(a, name, 4, 1);
	}
	add_anomaly(a, "first", 5, 1);
	text = read_anomaly_json(a);
	for (const char *p = text; (p = strstr(p, "\"tag_name\"")); p++)
		n++;
	free(text);
	anomalies_free(a);
	return n;
}

/* The other statistics of a tensor come soon after the first one: 64 entries are searched for it. */
static void anomaly_json_has_one_entry_per_tensor_within_64(void **state)
{
	(void)state;
	assert_int_equal(count_entries(0), 1);
	assert_int_equal(count_entries(63), 64);
	assert_int_equal(count_entries(64), 66);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(once_with_a_count),
		cmocka_unit_test(given_again),
		cmocka_unit_test(killed),
		cmocka_unit_test(no_rules),
		cmocka_unit_test(anomaly_json_has_the_value_and_the_history),
		cmocka_unit_test(anomaly_json_has_one_entry_per_tensor_within_64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
