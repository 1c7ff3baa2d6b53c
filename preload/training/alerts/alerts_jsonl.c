/* SPDX-License-Identifier: Apache-2.0 */
/* The sink of alerts: passes values to rules, and writes alerts as lines. */
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "config/rooms/alerts.h"
#include "config/rooms/files.h"
#include "config/rooms/steps.h"
#include "journal/meta_part.h"
#include "terms/scalar.h"
#include "training/alerts/alert_judge.h"
#include "training/alerts/alert_values.h"
#include "training/alerts/alerts.h"
#include "sink/format.h"
#include "folder/json_member.h"

#define SERIES_FIRST 1024 /* initial size of the table, a power of two */
#define SERIES_MOST (1u << 20) /* maximum number of series, 48 MB; additional ones are ignored */
#define LINES_SAID 20 /* maximum number of lines on stderr */
#define WRITE_NS UINT64_C(1000000000) /* changed counts are written at most once in this time */
#define REARM_STEPS 100 /* after this many steps without firing, an alert repeats its actions */
#define FILE_BYTES ((size_t)4 << 20)
#define CHECKED_KEY "alerts_checked" /* member of meta.json */

struct alerts {
	struct files *files;
	struct alert_values pass;
	struct alert_rule *rule; /* NULL: no rules, and nothing to do */
	regex_t *names; /* compiled patterns, for each rule with names */
	unsigned nrule;
	/* Bits of the rules that check a kind, a scalar, or calls. */
	uint32_t of_kind[TRAIN_KINDS], of_scalar[SCALARS], of_calls;
	/* Bits of the rules that have checked a value, and what meta.json has of them. */
	uint32_t checked, checked_written;
	struct alert_series *series;
	uint32_t nseries, cap; /* a power of two */
	bool full_said;
	struct alert *alert;
	unsigned n, reported;
	/* number of alerts that are not in the file, because it has ALERTS_MAX lines */
	uint64_t more;
	bool changed, news; /* lines differ from the file; a new line among them */
	uint64_t written_ns;
	/* the last step with a value of a kind, and the number of its values so far */
	uint32_t call_step;
	int32_t calls;
	struct anomalies *anomalies; /* NULL: not wanted */
	struct anomaly_place place;
	int32_t mates[ANOMALY_MATES_MAX];
};

static const struct alert_hooks *hooks;

void alerts_set_hooks(const struct alert_hooks *h)
{
	hooks = h;
}

/* ---- rules ---- */

static void read_alert_names(struct alerts *a, unsigned i)
{
	char all[2 * ALERT_NAMES_MAX];
	struct text t = text_init(all, sizeof(all));
	const char *names = a->rule[i].names;

	if (!*names)
		return;
	for (size_t n; *names; names += n + (names[n] == '\n')) {
		n = strcspn(names, "\n");
		text_add_string(&t, t.len ? "|(" : "(");
		text_add_bytes(&t, names, n);
		text_add_char(&t, ')');
	}
	/*
	 * Patterns were compiled before, when the configuration was read. One that does not
	 * compile matches nothing.
	 */
	if (t.cut || regcomp(&a->names[i], all, REG_EXTENDED | REG_NOSUB))
		a->rule[i].all = a->rule[i].any_scalar = a->rule[i].calls = false,
		a->rule[i].kinds = 0, a->rule[i].scalars = 0;
}

static void set_rule_masks(struct alerts *a)
{
	for (unsigned i = 0; i < a->nrule; i++) {
		const struct alert_rule *r = &a->rule[i];

		for (unsigned k = 0; k < TRAIN_KINDS; k++)
			if (r->all || r->kinds >> k & 1)
				a->of_kind[k] |= UINT32_C(1) << i;
		for (unsigned s = 0; s < SCALARS; s++)
			if (r->all || r->any_scalar || r->scalars >> s & 1)
				a->of_scalar[s] |= UINT32_C(1) << i;
		if (r->all || r->calls)
			a->of_calls |= UINT32_C(1) << i;
	}
	/* A rule for Adam's moments also checks the optimizer's other tensors. */
	a->of_kind[TK_STATE] |= a->of_kind[TK_EXP_AVG] | a->of_kind[TK_EXP_AVG_SQ];
}

static void free_alerts(struct alerts *a)
{
	for (unsigned i = 0; i < a->nrule; i++)
		if (*a->rule[i].names)
			regfree(&a->names[i]);
	for (uint32_t i = 0; i < a->cap; i++)
		free(a->series[i].recent);
	for (unsigned i = 0; i < a->n; i++)
		free(a->alert[i].head);
	free(a->alert);
	free(a->series);
	free(a->names);
	free(a->rule);
	free(a->pass.buf);
	anomalies_free(a->anomalies);
	memset(a, 0, sizeof(*a));
}

/*
 * Adds to meta.json which rules have checked a value: true or false for each rule of the
 * configuration, in its order. Each addition takes space in the dictionary permanently, so this is
 * called once at the beginning and once for each rule at most.
 */
static void write_checked(struct alerts *a)
{
	char part[sizeof(CHECKED_KEY) + ALERT_RULES_MAX * sizeof(", false") + 4];
	struct text t = text_init(part, sizeof(part));

	text_add_bytes(&t, CHECKED_KEY, sizeof(CHECKED_KEY));
	for (unsigned i = 0; i < a->nrule; i++) {
		text_add_string(&t, i ? ", " : "[");
		text_add_string(&t, a->checked >> i & 1 ? "true" : "false");
	}
	text_add_char(&t, ']');
	if (!t.cut &&
		journal_dict_add(a->files->j, DICT_META, META_ALERTS_CHECKED, part, t.len + 1) >= 0)
		a->checked_written = a->checked;
}

/* Reads what a killed process had written. Returns false if there is nothing. */
static bool read_old_checked(struct alerts *a)
{
	const char *p = journal_dict_get(a->files->j, DICT_META, META_ALERTS_CHECKED);

	if (!p)
		return false;
	p += sizeof(CHECKED_KEY);
	for (unsigned i = 0; i < a->nrule && (p = strpbrk(p, "tf")); i++, p++)
		if (*p == 't') {
			a->checked |= UINT32_C(1) << i;
			p += strlen("true") - 1;
		} else {
			p += strlen("false") - 1;
		}
	a->checked_written = a->checked;
	return true;
}

static void read_old_alerts(struct alerts *a);

static int open_alerts(void *state, struct files *files)
{
	struct alerts *a = state;
	const struct config *cfg = files->cfg;

	a->files = files;
	if (!cfg || !*get_alerts_keys(cfg)->alerts)
		return 0;
	a->rule = calloc(ALERT_RULES_MAX, sizeof(*a->rule));
	a->names = calloc(ALERT_RULES_MAX, sizeof(*a->names));
	a->alert = calloc(ALERTS_MAX, sizeof(*a->alert));
	a->cap = SERIES_FIRST;
	a->series = calloc(a->cap, sizeof(*a->series));
	if (!a->rule || !a->names || !a->alert || !a->series) {
		free_alerts(a);
		return -ENOMEM;
	}
	a->nrule = alert_rules_read(get_alerts_keys(cfg)->alerts, a->rule, ALERT_RULES_MAX);
	for (unsigned i = 0; i < a->nrule; i++)
		read_alert_names(a, i);
	set_rule_masks(a);
	if (a->nrule && !read_old_checked(a))
		write_checked(a);
	if (get_alerts_keys(cfg)->anomaly_json)
		a->anomalies = anomalies_init();
	if (a->anomalies)
		anomaly_place_read(&a->place, cfg, a->mates);
	read_old_alerts(a);
	return 0;
}

static bool has_no_alerts(const void *state)
{
	return !((const struct alerts *)state)->nrule;
}

/* ---- values ---- */

static int handle_kind_values(void *state, const struct record_kind *r)
{
	struct alerts *a = state;

	a->pass.before = a->pass.len;
	return a->of_kind[r->kind->kind] ? alert_values_add_kind(&a->pass, r) : 0;
}

static int handle_scalar_value(void *state, const struct record_scalar *r)
{
	struct alerts *a = state;

	a->pass.before = a->pass.len;
	return a->of_scalar[r->which] ? alert_values_add_scalar(&a->pass, r) : 0;
}

static int handle_call_values(void *state, const struct record *r)
{
	struct alerts *a = state;

	a->pass.before = a->pass.len;
	return a->of_calls ? alert_values_add_call(&a->pass, r) : 0;
}

static void remove_last_value(void *state)
{
	struct alerts *a = state;

	a->pass.len = a->pass.before;
}

/* ---- series ---- */

static struct alert_series *find_series_slot(struct alert_series *table, uint32_t cap, uint64_t key)
{
	uint32_t i = (uint32_t)hash_mix(key) & (cap - 1);

	while (table[i].key && table[i].key != key)
		i = (i + 1) & (cap - 1);
	return &table[i];
}

static bool reserve_series(struct alerts *a)
{
	struct alert_series *more =
		a->cap < 2 * SERIES_MOST ? calloc(2 * (size_t)a->cap, sizeof(*more)) : NULL;

	if (!more)
		return false;
	for (uint32_t i = 0; i < a->cap; i++)
		if (a->series[i].key)
			*find_series_slot(more, 2 * a->cap, a->series[i].key) = a->series[i];
	free(a->series);
	a->series = more;
	a->cap *= 2;
	return true;
}

/* Returns NULL if the table is full. */
static struct alert_series *find_series(struct alerts *a, uint64_t key)
{
	struct alert_series *s;

	key |= 1;
	s = find_series_slot(a->series, a->cap, key);
	if (s->key)
		return s;
	if (a->nseries >= a->cap / 2) {
		if (!reserve_series(a)) {
			if (!a->full_said)
				log_loss(LOSS_ALERTS,
					"alerts: more than %u series of values: further "
					"ones are not checked; choose fewer by `kind` and "
					"`names` of the rules",
					a->nseries);
			a->full_said = true;
			return NULL;
		}
		s = find_series_slot(a->series, a->cap, key);
	}
	a->nseries++;
	s->key = key;
	return s;
}

/*
 * True if the name matches the rule's patterns; decided once for each name. For calls, api and
 * operation are names too.
 */
static bool is_name_wanted(struct alerts *a, unsigned rule, const struct alert_seen *v)
{
	struct alert_series *s;
	bool match;

	if (!*a->rule[rule].names)
		return true;
	s = find_series(a, hash_u64(hash_u64(v->key, rule), 77));
	if (s && s->n)
		return s->n == 1;
	match = regexec(&a->names[rule], v->name, 0, NULL, 0) == 0 ||
		(v->source == ALERT_OF_CALL &&
			(regexec(&a->names[rule], v->api, 0, NULL, 0) == 0 ||
				regexec(&a->names[rule], v->operation, 0, NULL, 0) == 0));
	if (s)
		s->n = match ? 1 : 2;
	return match;
}

/* ---- lines ---- */

/* Writes null for a number that is not finite, because JSON has no notation for it. */
static void write_json_number(struct text *t, double v)
{
	char digits[48];
	struct text d = text_init(digits, sizeof(digits));

	if (isfinite(v)) {
		text_add_double(t, v, (double)(float)v == v ? 9 : 15);
		return;
	}
	text_add_double(&d, v, 9);
	text_add_json(t, digits);
}

static void write_alert_member(struct text *t, const char *key)
{
	text_add_string(t, ", \"");
	text_add_string(t, key);
	text_add_string(t, "\": ");
}

static void write_alert_text(struct text *t, const char *key, const char *value)
{
	write_alert_member(t, key);
	text_add_json(t, value);
}

/* Writes the subject for messages: "grad_reduced of fc1.weight". */
static void write_subject(struct text *t, const struct alert_seen *v)
{
	if (v->source == ALERT_OF_KIND) {
		text_add_string(t, v->word);
		text_add_string(t, " of ");
		text_add_string(t, v->name);
	} else if (v->source == ALERT_OF_SCALAR) {
		text_add_string(t, v->name);
	} else {
		text_add_string(t, v->io == IO_IN ? "input " : "output ");
		text_add_u64(t, v->index);
		text_add_string(t, " of ");
		text_add_string(t, v->api);
		if (*v->name) {
			text_add_string(t, ", ");
			text_add_string(t, v->name);
		}
	}
}

static void write_sentence(struct text *t, const struct alert_rule *r, const struct alert_seen *v,
	const char *op, double value, double history)
{
	text_add_string(t, alert_rule_words[r->rule]);
	text_add_string(t, ": ");
	write_subject(t, v);
	if (*op) {
		text_add_string(t, ", ");
		text_add_string(t, op);
	}
	text_add_char(t, ' ');
	text_add_double(t, value, 6);
	text_add_string(t, " in step ");
	text_add_u64(t, v->step);
	if (r->rule == ALERT_STUCK) {
		text_add_string(t, ", the same ");
		text_add_double(t, r->threshold, 6);
		text_add_string(t, " times");
	} else if (!isnan(history)) {
		text_add_string(
			t, r->rule == ALERT_SLOW ? ", median before it " : ", average before it ");
		text_add_double(t, history, 6);
	} else if (r->rule == ALERT_SPIKE) {
		if (isfinite(value)) {
			text_add_string(t, ", threshold ");
			text_add_double(t, r->threshold, 6);
		} else {
			text_add_string(t, ", not finite");
		}
	}
}

/* Returns the line up to its count, malloc'd, or NULL if there is no memory. */
static char *format_alert_head(const struct alert_rule *r, const struct alert_seen *v,
	const char *op, uint64_t id, double value, double history, const char *sentence)
{
	char line[8192];
	struct text t = text_init(line, sizeof(line));

	write_alert_member(&t, "step");
	text_add_u64(&t, v->step);
	write_alert_member(&t, "micro_step");
	if (v->micro_step == UINT32_MAX)
		text_add_string(&t, "null");
	else
		text_add_u64(&t, v->micro_step);
	write_alert_text(&t, "rule", alert_rule_words[r->rule]);
	write_alert_text(&t, "kind", v->word);
	write_alert_text(&t, "name", v->name);
	if (*op)
		write_alert_text(&t, "op", op);
	if (v->source == ALERT_OF_CALL) {
		write_alert_text(&t, "api", v->api);
		write_alert_text(&t, "operation", v->operation);
		write_alert_text(&t, "io", v->io == IO_IN ? "in" : "out");
		write_alert_member(&t, "index");
		text_add_u64(&t, v->index);
		write_alert_member(&t, "seq");
		text_add_u64(&t, v->seq);
		if (v->comm) {
			write_alert_member(&t, "comm");
			text_add_char(&t, '"');
			text_add_hex(&t, v->comm, 16);
			text_add_char(&t, '"');
		}
	}
	write_alert_member(&t, "value");
	write_json_number(&t, value);
	write_alert_member(&t, "threshold");
	if (r->has_threshold)
		write_json_number(&t, r->threshold);
	else
		text_add_string(&t, "null");
	write_alert_member(&t, "history");
	if (isnan(history))
		text_add_string(&t, "null");
	else
		write_json_number(&t, history);
	write_alert_member(&t, "stack_id");
	if (v->source == ALERT_OF_CALL && v->stack)
		text_add_u64(&t, v->stack);
	else
		text_add_string(&t, "null");
	write_alert_text(&t, "text", sentence);
	write_alert_member(&t, "id");
	text_add_char(&t, '"');
	text_add_hex(&t, id, 16);
	text_add_char(&t, '"');
	write_alert_member(&t, "first_step");
	text_add_u64(&t, v->step);
	return t.cut ? NULL : strdup(line);
}

static void write_alert_line(struct text *t, const struct alert *a, int32_t rank)
{
	text_add_string(t, "{\"rank\": ");
	text_add_i64(t, rank);
	text_add_string(t, a->head);
	write_alert_member(t, "last_step");
	text_add_u64(t, a->last_step);
	write_alert_member(t, "last_value");
	write_json_number(t, a->last_value);
	write_alert_member(t, "count");
	text_add_u64(t, a->count);
	write_alert_text(t, "action", a->action);
	text_add_string(t, "}\n");
}

/* ---- existing lines, of a killed process ---- */

static void read_old_line(struct alerts *a, char *line)
{
	char *head = strstr(line, ", \"step\": "), *tail = strstr(line, ", \"last_step\": ");
	const char *id = find_line_member(line, "id"),
		   *first = find_line_member(line, "first_step");
	struct alert *to = &a->alert[a->n];
	const char *count, *value, *action;

	if (!head || !tail || tail < head || !id || !first || a->n == ALERTS_MAX)
		return;
	count = find_line_member(tail, "count");
	value = find_line_member(tail, "last_value");
	action = find_line_member(tail, "action");
	if (!count || !value || !action)
		return;
	*to = (struct alert){.id = strtoull(id + 1, NULL, 16),
		.first_step = (uint32_t)strtoul(first, NULL, 10),
		.last_step = (uint32_t)strtoul(tail + strlen(", \"last_step\": "), NULL, 10),
		.count = (uint32_t)strtoul(count, NULL, 10),
		.last_value = strtod(*value == '"' ? value + 1 : value, NULL)};
	snprintf(
		to->action, sizeof(to->action), "%.*s", (int)strcspn(action + 1, "\""), action + 1);
	*tail = 0;
	/*
	 * In a resumed run, old alerts end before its first step, so that steps that run again
	 * may fire again.
	 */
	if (!a->files->j->left && a->files->cfg && get_files_keys(a->files->cfg)->append_output) {
		uint32_t start = (uint32_t)get_steps_keys(a->files->cfg)->start_iteration;

		if (to->last_step >= start)
			to->last_step = start ? start - 1 : 0;
	}
	to->head = strdup(head);
	a->n += to->head != NULL;
}

static void read_old_alerts(struct alerts *a)
{
	char *buf = malloc(FILE_BYTES), *line, *save = NULL;
	ssize_t n =
		buf ? io_read_file(files_get_dir(a->files), ALERTS_FILE, buf, FILE_BYTES - 1) : 0;

	if (n > 0) {
		buf[n] = 0;
		for (line = strtok_r(buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
			read_old_line(a, line);
	}
	free(buf);
}

/* ---- an alert ---- */

static struct alert *find_alert(struct alerts *a, uint64_t id)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->alert[i].id == id)
			return &a->alert[i];
	return NULL;
}

static void start_alert_action(struct alerts *a, struct alert *to, const struct alert_rule *r,
	const struct alert_seen *v, const char *sentence)
{
	struct text done = text_init(to->action, sizeof(to->action));

	if (r->actions >> ALERT_DO_LOG & 1) {
		text_add_string(&done, "log");
		if (a->reported < LINES_SAID)
			log_info(1, "%s%s", sentence,
				a->reported + 1 < LINES_SAID
					? ""
					: "; further alerts are in alerts.jsonl");
		a->reported++;
	}
	for (unsigned i = ALERT_DO_LOG + 1; i < ALERT_ACTIONS; i++) {
		if (!(r->actions >> i & 1))
			continue;
		text_add_string(&done, done.len ? "; " : "");
		text_add_string(&done, alert_action_words[i]);
		text_add_string(&done, ": ");
		if (hooks)
			hooks->act((enum alert_action)i, r, v->step, &done);
		else
			text_add_string(&done, "not done: the process had ended");
	}
}

static void emit_alert(struct alerts *a, unsigned rule, const struct alert_seen *v, const char *op,
	double value, double history)
{
	const struct alert_rule *r = &a->rule[rule];
	uint64_t id = hash_str(hash_u64(v->key, rule + 1), op);
	struct alert *to = find_alert(a, id);
	char sentence[2048];
	struct text t = text_init(sentence, sizeof(sentence));
	bool again;

	/*
	 * The value is passed again when the files of a killed process are completed: it was
	 * counted.
	 */
	if (to && (v->step < to->last_step ||
			  (v->step == to->last_step && a->files->j->left && !to->last_seq)))
		return;
	write_sentence(&t, r, v, op, value, history);
	if (a->anomalies && v->source == ALERT_OF_KIND)
		anomalies_add(a->anomalies, v, r, op, value, history);
	if (!to && a->n == ALERTS_MAX) {
		if (!a->more++)
			log_loss(LOSS_ALERTS,
				"alerts: %s holds %d different alerts, its maximum: further ones "
				"are not written; choose fewer by `kind` and `names` of the rules",
				ALERTS_FILE, ALERTS_MAX);
		return;
	}
	again = to && v->step - to->last_step > REARM_STEPS;
	if (!to) {
		to = &a->alert[a->n];
		*to = (struct alert){.id = id, .first_step = v->step};
		to->head = format_alert_head(r, v, op, id, value, history, sentence);
		if (!to->head) {
			a->more++;
			return;
		}
		a->n++;
		again = a->news = true;
	}
	to->last_step = v->step;
	to->last_seq = v->seq;
	to->last_value = value;
	to->count++;
	a->changed = true;
	if (again)
		start_alert_action(a, to, r, v, sentence);
}

/*
 * Applies one rule to one value. fired_ops: ops for which one of msprobe's two rules has fired; only
 * the first rule counts.
 */
static void check_op(struct alerts *a, unsigned rule, const struct alert_seen *v, enum train_op op,
	const char *word, uint32_t *fired_ops)
{
	const struct alert_rule *r = &a->rule[rule];
	struct alert_series none = {0}, *s = &none;
	struct alert_value x = {v->x[op], v->nan, v->inf, v->zero};
	bool counts = r->rule == ALERT_TURBULENCE || r->rule == ALERT_NAN, speaks;
	double history;

	if (r->rule == ALERT_TURBULENCE || r->rule == ALERT_STUCK || r->rule == ALERT_ZERO ||
		r->rule == ALERT_SLOW)
		s = find_series(a, hash_u64(hash_u64(v->key, rule), 100 + op));
	if (!s)
		return;
	speaks = alert_check_value(r, s, &x, &history);
	if (!speaks || (counts && *fired_ops >> op & 1))
		return;
	if (counts)
		*fired_ops |= UINT32_C(1) << op;
	emit_alert(a, rule, v, word, v->nan && r->rule == ALERT_NAN ? NAN : x.x, history);
}

/* For rules that check elements instead of one of their statistics. */
static void check_elements(
	struct alerts *a, unsigned rule, const struct alert_seen *v, uint32_t *fired_ops)
{
	const struct alert_rule *r = &a->rule[rule];

	switch (r->rule) {
	case ALERT_NAN:
		if (v->nan && !(*fired_ops & 1)) {
			*fired_ops = UINT32_MAX;
			emit_alert(a, rule, v, "nans", v->x[TO_NANS], NAN);
		}
		break;
	case ALERT_INF:
		if (v->inf)
			emit_alert(a, rule, v, "infs", v->x[TO_INFS], NAN);
		break;
	case ALERT_ZERO:
		check_op(a, rule, v, TO_NORM, "", fired_ops);
		break;
	}
}

static void check_tensor(
	struct alerts *a, unsigned rule, const struct alert_seen *v, uint32_t *fired_ops)
{
	const struct alert_rule *r = &a->rule[rule];
	bool elements = r->rule == ALERT_NAN || r->rule == ALERT_INF || r->rule == ALERT_ZERO;

	if (elements)
		check_elements(a, rule, v, fired_ops);
	/* A NaN cannot be compared. */
	if (v->nan && r->rule != ALERT_SPIKE)
		return;
	if (!elements || (r->rule == ALERT_NAN && r->has_threshold))
		for (unsigned op = TO_MIN; op <= TO_INFS; op++)
			if (r->ops >> op & 1)
				check_op(a, rule, v, (enum train_op)op, train_op_words[op],
					fired_ops);
}

/* Numbers the values of a step; the values of one thread come in order. */
static void set_value_number(struct alerts *a, struct alert_seen *v)
{
	v->call = -1;
	if (v->source != ALERT_OF_KIND || v->kind == TK_PARAM_ORIGIN || v->kind == TK_PARAM_UPDATED)
		return;
	if (v->step > a->call_step) {
		a->call_step = v->step;
		a->calls = 0;
	}
	v->call = a->calls++;
}

static void check_seen_value(struct alerts *a, struct alert_seen *v)
{
	uint32_t rules = v->source == ALERT_OF_KIND	? a->of_kind[v->kind]
			 : v->source == ALERT_OF_SCALAR ? a->of_scalar[v->which]
							: a->of_calls;
	bool number = v->source == ALERT_OF_SCALAR ||
		      (v->source == ALERT_OF_KIND && train_kinds[v->kind].form != KIND_OPS);
	uint32_t fired_ops = 0;

	set_value_number(a, v);
	for (; rules; rules &= rules - 1) {
		unsigned rule = (unsigned)__builtin_ctz(rules);

		if (!is_name_wanted(a, rule, v))
			continue;
		a->checked |= UINT32_C(1) << rule;
		if (number)
			check_op(a, rule, v, TO_NORM, "", &fired_ops);
		else
			check_tensor(a, rule, v, &fired_ops);
	}
}

/* ---- the end of a pass ---- */

static void write_alerts(struct alerts *a, int32_t rank)
{
	char *buf = malloc(FILE_BYTES);
	struct text t;
	int err;

	if (!buf)
		return;
	t = text_init(buf, FILE_BYTES);
	for (unsigned i = 0; i < a->n; i++) {
		size_t len = t.len;

		write_alert_line(&t, &a->alert[i], rank);
		if (t.cut) {
			t.len = len;
			break;
		}
	}
	err = io_replace_file(files_get_dir(a->files), ALERTS_FILE, buf, t.len);
	free(buf);
	if (err) {
		log_loss(LOSS_ALERTS, "%s: %s; alerts are kept in memory and written later",
			ALERTS_FILE, io_error_text(err));
		return;
	}
	a->changed = a->news = false;
}

static void handle_alerts_written(void *state, bool written)
{
	struct alerts *a = state;
	const struct journal_head *h;
	struct alert_seen *v;
	uint64_t now;
	size_t at = 0;

	if (!a->nrule)
		return;
	while (written && (v = alert_values_get_next(&a->pass, &at)))
		check_seen_value(a, v);
	a->pass.len = a->pass.before = 0;
	if (a->checked != a->checked_written)
		write_checked(a);
	if (!written || !a->changed)
		return;
	h = a->files->j->head;
	now = clock_ns(CLOCK_MONOTONIC);
	if (!a->news && now - a->written_ns < WRITE_NS && !a->files->j->left &&
		atomic_load_explicit(&h->state, memory_order_relaxed) == JS_RUNNING)
		return;
	a->written_ns = now;
	write_alerts(a, h->rank);
	if (a->anomalies) {
		a->place.rank = h->rank < 0 ? 0 : h->rank;
		anomalies_write(a->anomalies, &a->place, h->folder, h->world_size);
	}
}

static void close_alerts(void *state)
{
	free_alerts(state);
}

const struct sink_format alerts_format = {
	.formats = ~SINK_FROM_FILES,
	.state_bytes = sizeof(struct alerts),
	.open = open_alerts,
	.idle = has_no_alerts,
	.record = handle_call_values,
	.kind = handle_kind_values,
	.scalar = handle_scalar_value,
	.retract = remove_last_value,
	.commit = handle_alerts_written,
	.close = close_alerts,
};
