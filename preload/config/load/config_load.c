/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults, then the YAML file, then the environment. */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "terms/metric.h"
#include "terms/scalar.h"
#include "config/alert_list.h"
#include "config/config_load.h"
#include "config/import/import.h"
#include "config/output_format.h"
#include "config/preset.h"
#include "config/reader.h"

#define LOST "nothing is recorded until the file is repaired"

void loader_record_wrong(struct loader *l, const struct config_key *k, size_t line, size_t col,
	const char *what, const char *value)
{
	char accepted[CONFIG_ACCEPTED_MAX];

	if (what == config_oom) {
		l->error = -ENOMEM;
		return;
	}
	report_emit_at(&l->report, line, col, "%s: %s%s%s; accepted: %s; the default %s is used",
		k->name, value, *value ? ": " : "", what,
		config_accepted(k, accepted, sizeof(accepted)), config_get_default_text(k));
}

/* Reports a wrong entry of a list whose other entries are used: the current event. */
static void emit_wrong_entry(
	struct loader *l, const struct reader *r, const struct config_key *k, const char *what)
{
	char accepted[CONFIG_ACCEPTED_MAX], quoted[REPORT_VALUE_MAX];
	bool scalar = r->event.type == YAML_SCALAR_EVENT;

	if (what == config_oom) {
		l->error = -ENOMEM;
		return;
	}
	if (scalar)
		report_format_quoted(quoted, (const char *)r->event.data.scalar.value,
			r->event.data.scalar.length);
	reader_report(r, "%s: %s%s%s; accepted: %s; this entry is skipped", k->name,
		scalar ? quoted : "", scalar ? ": " : "", what,
		config_accepted(k, accepted, sizeof(accepted)));
}

static void set_default(struct loader *l, const struct config_key *k)
{
	const char *wrong = config_set_default(l->cfg, k, &l->base);

	if (wrong == config_oom)
		l->error = -ENOMEM;
	else if (wrong)
		report_emit_at(&l->report, 0, 0, "%s: %s: the working directory is not prepended",
			k->name, wrong);
}

static void set_defaults(struct loader *l)
{
	memset(l->cfg, 0, sizeof(*l->cfg));
	memset(l->from_file, 0, sizeof(l->from_file));
	for (size_t i = 0; i < config_nkeys; i++)
		set_default(l, &config_keys[i]);
}

/* Reads a scalar, the file's value of k. */
static void read_scalar(struct loader *l, struct reader *r, const struct config_key *k)
{
	const char *text = (const char *)r->event.data.scalar.value;
	size_t len = r->event.data.scalar.length;
	char quoted[REPORT_VALUE_MAX];

	if (reader_is_null(r))
		return;

	const char *wrong = config_set(l->cfg, k, text, len, &l->base);

	if (wrong)
		loader_record_wrong(l, k, r->event.start_mark.line + 1,
			r->event.start_mark.column + 1, wrong,
			report_format_quoted(quoted, text, len));
	else
		l->from_file[k - config_keys] = true;
}

/* Reads a list of scalars, the file's value of k. Returns 0 or an error of reader_read_event(). */
static int read_ranges(struct loader *l, struct reader *r, const struct config_key *k)
{
	struct ranges list = {0, NULL};
	const char *wrong = NULL;
	char quoted[REPORT_VALUE_MAX];
	int ev;

	while ((ev = reader_read_event(r)) > 0 && ev != YAML_SEQUENCE_END_EVENT) {
		const char *text = (const char *)r->event.data.scalar.value;
		size_t len = r->event.data.scalar.length;
		const char *shown = "";

		if (wrong || (ev == YAML_SCALAR_EVENT && reader_is_null(r))) {
			reader_read_rest(r);
			continue;
		}
		if (ev != YAML_SCALAR_EVENT) {
			wrong = reader_get_shape(r);
		} else {
			wrong = ranges_add(&list, text, len);
			shown = report_format_quoted(quoted, text, len);
		}
		if (wrong)
			loader_record_wrong(l, k, r->event.start_mark.line + 1,
				r->event.start_mark.column + 1, wrong, shown);
		reader_read_rest(r);
	}
	if (ev < 0 || wrong) {
		ranges_free(&list);
		return ev < 0 ? ev : 0;
	}
	ranges_merge(&list);
	config_free_value(l->cfg, k);
	*(struct ranges *)config_get_member(l->cfg, k) = list;
	l->from_file[k - config_keys] = true;
	return 0;
}

/*
 * Reads a list of patterns (any may match) or of names, the file's value of k. Returns 0 or an
 * error of reader_read_event().
 */
static int read_list_of_texts(struct loader *l, struct reader *r, const struct config_key *k)
{
	size_t line = r->event.start_mark.line + 1, col = r->event.start_mark.column + 1, len = 0;
	char *all = NULL;
	const char *wrong = NULL;
	int ev;

	while ((ev = reader_read_event(r)) > 0 && ev != YAML_SEQUENCE_END_EVENT) {
		const char *text = (const char *)r->event.data.scalar.value;
		size_t n = r->event.data.scalar.length;
		char *more;

		if (wrong || ev != YAML_SCALAR_EVENT) {
			wrong = wrong ? wrong : reader_get_shape(r);
			reader_read_rest(r);
			continue;
		}
		if (reader_is_null(r) || n == 0)
			continue;
		more = realloc(all, len + n + 4);
		if (!more) {
			wrong = config_oom;
			continue;
		}
		all = more;
		if (len)
			all[len++] = k->type == KEY_CHOICE ? ',' : '|';
		if (k->type != KEY_CHOICE)
			all[len++] = '(';
		memcpy(all + len, text, n);
		len += n;
		if (k->type != KEY_CHOICE)
			all[len++] = ')';
	}
	if (ev > 0 && !wrong)
		wrong = config_set(l->cfg, k, all ? all : "", len, &l->base);
	free(all);
	if (ev < 0)
		return ev;
	if (wrong)
		loader_record_wrong(l, k, line, col, wrong, "");
	else
		l->from_file[k - config_keys] = true;
	return 0;
}

/*
 * Reads the file's value of k: a list of texts, or a mapping whose keys are the texts (as in
 * msprobe's targets, whose values select tensors of a module). Wrong entries are reported and
 * skipped. Returns 0 or an error of reader_read_event().
 */
static int read_words(struct loader *l, struct reader *r, const struct config_key *k, bool mapping)
{
	char *all = NULL;
	bool wrong_entry = false;
	int end = mapping ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT, ev;

	while ((ev = reader_read_event(r)) > 0 && ev != end) {
		const char *text = (const char *)r->event.data.scalar.value, *wrong;

		if (ev != YAML_SCALAR_EVENT) {
			emit_wrong_entry(l, r, k, reader_get_shape(r));
			wrong_entry = true;
			reader_read_rest(r);
		} else {
			wrong = words_add(k, &all, text, r->event.data.scalar.length);
			if (wrong)
				emit_wrong_entry(l, r, k, wrong);
			wrong_entry |= wrong != NULL;
		}
		if (mapping) {
			ev = reader_read_event(r);
			if (ev > 0)
				ev = reader_read_rest(r);
			if (ev < 0)
				break;
		}
	}
	if (ev < 0) {
		free(all);
		return ev;
	}
	if (!all) {
		if (wrong_entry && *k->dflt)
			report_emit_at(&l->report, 0, 0,
				"%s: no entry is left; the default %s is used", k->name,
				config_get_default_text(k));
		return 0;
	}
	config_free_value(l->cfg, k);
	*(char **)config_get_member(l->cfg, k) = all;
	l->from_file[k - config_keys] = true;
	return 0;
}

/* Reads rules, the file's value of k. Returns 0 or an error of reader_read_event(). */
static int read_alerts(struct loader *l, struct reader *r, const struct config_key *k)
{
	const char *wrong = NULL;
	char *all = NULL;
	int err = alert_list_read(r, &all, &wrong);

	if (err < 0 || !all) {
		free(all);
		l->error = wrong == config_oom ? -ENOMEM : l->error;
		return err;
	}
	config_free_value(l->cfg, k);
	*(char **)config_get_member(l->cfg, k) = all;
	l->from_file[k - config_keys] = true;
	return 0;
}

static void handle_unknown_key(struct reader *r)
{
	const char *name = (const char *)r->event.data.scalar.value;
	size_t len = r->event.data.scalar.length;
	const struct config_key *near = config_find_similar_key(name, len);
	char quoted[REPORT_VALUE_MAX];

	report_format_quoted(quoted, name, len);
	if (near)
		reader_report(
			r, "%s: unknown key; did you mean %s? It is ignored", quoted, near->name);
	else
		reader_report(r, "%s: unknown key; it is ignored (`probe config` lists the keys)",
			quoted);
}

/*
 * Reads a key, which is the current event, and its value. Returns 0 or an error of reader_read_event().
 */
static int read_pair(struct loader *l, struct reader *r, size_t first_line[])
{
	const struct config_key *k = NULL;
	size_t line = r->event.start_mark.line + 1, col = r->event.start_mark.column + 1;
	int ev;

	if (r->event.type == YAML_SCALAR_EVENT) {
		k = config_key_find((const char *)r->event.data.scalar.value,
			r->event.data.scalar.length, false);
		if (!k)
			handle_unknown_key(r);
	} else {
		reader_report(r, "%s where a key is expected; it is ignored", reader_get_shape(r));
		ev = reader_read_rest(r);
		if (ev < 0)
			return ev;
	}
	if (k) {
		size_t *first = &first_line[k - config_keys];

		if (*first)
			report_emit_at(&l->report, line, col,
				"%s: given before on line %zu; the last one is used", k->name,
				*first);
		else
			*first = line;
		config_free_value(l->cfg, k);
		set_default(l, k);
		l->from_file[k - config_keys] = false;
	}
	ev = reader_read_event(r);
	if (ev < 0)
		return ev;
	if (k && ev == YAML_SCALAR_EVENT)
		read_scalar(l, r, k);
	else if (k && ev == YAML_SEQUENCE_START_EVENT && k->type == KEY_RANGES)
		return read_ranges(l, r, k);
	else if (k && ev == YAML_SEQUENCE_START_EVENT &&
		 (k->type == KEY_PATTERN || k->type == KEY_CHOICE))
		return read_list_of_texts(l, r, k);
	else if (k && k->type == KEY_WORDS &&
		 (ev == YAML_SEQUENCE_START_EVENT || ev == YAML_MAPPING_START_EVENT))
		return read_words(l, r, k, ev == YAML_MAPPING_START_EVENT);
	else if (k && k->type == KEY_ALERTS &&
		 (ev == YAML_SEQUENCE_START_EVENT || ev == YAML_MAPPING_START_EVENT))
		return read_alerts(l, r, k);
	else if (k)
		loader_record_wrong(l, k, r->event.start_mark.line + 1,
			r->event.start_mark.column + 1, reader_get_shape(r), "");
	return reader_read_rest(r);
}

static int read_keys(struct loader *l, struct reader *r)
{
	size_t first_line[CONFIG_KEYS_MAX] = {0};
	int ev = reader_open_mapping(r);

	if (ev == -ENODATA)
		report_emit_at(&l->report, 1, 1, "the file is empty; all defaults are used");
	if (ev == -ENOTSUP)
		reader_report(r,
			"%s where keys are expected; accepted: lines such as "
			"\"journal_mib: 16\"; " LOST,
			reader_get_shape(r));
	if (ev <= 0)
		return ev;
	while ((ev = reader_read_event(r)) > 0 && ev != YAML_MAPPING_END_EVENT) {
		ev = read_pair(l, r, first_line);
		if (ev < 0 || l->error)
			return ev;
	}
	return ev < 0 ? ev : reader_close_mapping(r);
}

/* Reads libprobe's own format: YAML, or the same as JSON. */
static int read_libprobe_text(struct loader *l, const char *text, size_t len)
{
	char *plain = config_is_json(text, len) ? config_copy_plain_json(text, len, &len) : NULL;
	struct reader r;
	int err = reader_open(&r, plain ? plain : text, len, &l->report, LOST);

	l->report.can_parse = reader_can_parse;
	l->report.text_of = &r;
	if (!err)
		err = read_keys(l, &r);
	l->report.can_parse = NULL;
	l->report.held = false;
	reader_close(&r);
	free(plain);
	return err;
}

static void read_text(struct loader *l, const char *text, size_t len)
{
	int err = 0;

	l->cfg->imported = (int)import_read(l, text, len, &err);
	if (!err && !l->cfg->imported)
		err = read_libprobe_text(l, text, len);
	if (err == -ENOMEM)
		l->error = err;
	if (err < 0 || l->error) {
		config_free(l->cfg);
		set_defaults(l);
		/*
		 * If the file cannot be read, nothing is recorded: a user who wrote `rank: [0`
		 * does not want all ranks to be recorded.
		 */
		l->cfg->unreadable = err != -ENODATA && !l->error; /* -ENODATA: an empty file */
	}
}

static const char *get_env_value(char *const env[], const char *name)
{
	size_t n = strlen(name);

	for (char *const *e = env; e && *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

static void loader_start(struct loader *l, struct config *cfg, const char *file, char *const env[],
	const char *cwd, config_report_fn *report, void *arg)
{
	memset(l, 0, sizeof(*l));
	l->cfg = cfg;
	l->env = env;
	l->base.cwd = cwd;
	l->base.home = get_env_value(env, "HOME");
	report_start(&l->report, report, arg, file);
	set_defaults(l);
}

/*
 * True if the file sets key k to its default. The file that is installed with libprobe does that
 * for all keys.
 */
static bool has_default_value(struct loader *l, const struct config_key *k)
{
	struct config *fresh = calloc(1, sizeof(*fresh));
	char have[200], usual[200];
	bool same = false;
	int n;

	if (!fresh)
		return false;
	if (!config_set_default(fresh, k, &l->base)) {
		n = config_format(l->cfg, k, have, sizeof(have));
		same = n >= 0 && (size_t)n < sizeof(have) &&
		       config_format(fresh, k, usual, sizeof(usual)) == n &&
		       memcmp(have, usual, (size_t)n) == 0;
		config_free_value(fresh, k);
	}
	free(fresh);
	return same;
}

/* Applies values of the preset to keys that are set nowhere else. */
static void set_preset_values(struct loader *l)
{
	const struct preset *p = &config_presets[l->cfg->preset];

	for (unsigned i = 0; i < PRESET_KEYS_MAX && *p->set[i].key; i++) {
		const char *key = p->set[i].key, *value = p->set[i].value;
		const struct config_key *k = config_key_find(key, strlen(key), false);

		if (!k || l->from_env[k - config_keys] ||
			(l->from_file[k - config_keys] && !has_default_value(l, k)))
			continue;
		if (config_set(l->cfg, k, value, strlen(value), &l->base) == config_oom)
			l->error = -ENOMEM;
	}
}

/* Sets keys for names and modules that a dump needs. */
static void set_implied_dump_keys(struct config *c)
{
	if (!output_has_format(c->format, FORMAT_DUMP))
		return;
	if (c->summary_mode == SUMMARY_MD5 || c->task == DUMP_DIFF_CHECK)
		c->checksum = CHECKSUM_CRC32;
	if (c->level == DUMP_L0 || c->level == DUMP_MIX || c->task == DUMP_GRAD_PROBE)
		c->names = true;
	/* msprobe's GradComparator reads files of signs. */
	if (c->task == DUMP_GRAD_PROBE)
		c->file_format = FILE_FORMAT_NPY;
}

/* Records the scalars that lines of monitor.log show. */
static void set_implied_scalars(struct config *c)
{
	static const uint8_t shown[] = {SCALAR_LOSS, SCALAR_LEARNING_RATE, SCALAR_GRAD_NORM,
		SCALAR_LOSS_SCALE, SCALAR_BATCH_SIZE, SCALAR_ITERATION_TIME, SCALAR_DATA_TIME,
		SCALAR_FORWARD_TIME, SCALAR_BACKWARD_TIME, SCALAR_OPTIMIZER_TIME, SCALAR_THROUGHPUT,
		SCALAR_MODEL_FLOPS};

	if (c->monitor_log >> MONITOR_LOG_LOSS & 1)
		for (size_t i = 0; i < sizeof(shown); i++)
			c->scalars |= UINT64_C(1) << shown[i];
	if (c->monitor_log >> MONITOR_LOG_LINEARITY & 1)
		c->scalars |= UINT64_C(1) << SCALAR_LINEARITY;
}

/*
 * The keys for withholding steps change a run, so they are never guessed: if they contradict each
 * other, withholding is off.
 */
static void check_skipping_keys(struct loader *l, const char *file)
{
	struct config *c = l->cfg;
	const char *wrong = NULL;

	if (c->use_skip_data_by_global_norm && c->check_for_global_norm)
		wrong = "use_skip_data_by_global_norm: true: contradicts check_for_global_norm: "
			"true; give one of the two; no step is withheld";
	else if ((c->use_skip_data_by_global_norm || c->check_for_global_norm) &&
		 !(c->global_norm_spike_threshold > 0))
		wrong = "global_norm_spike_threshold: 0 is not above 0; no step is withheld or "
			"noted";
	if (!wrong)
		return;
	report_start(&l->report, l->report.fn, l->report.arg, file);
	report_emit_at(&l->report, 0, 0, "%s", wrong);
	report_stop(&l->report);
	c->use_skip_data_by_global_norm = false;
	c->check_for_global_norm &= c->global_norm_spike_threshold > 0;
}

static int loader_check_all(struct loader *l, char *const env[], const char *file)
{
	report_stop(&l->report);
	report_start(&l->report, l->report.fn, l->report.arg, "environment");
	loader_read_env(l, env);
	report_stop(&l->report);
	l->cfg->disable |= l->cfg->unreadable;
	set_preset_values(l);
	set_implied_dump_keys(l->cfg);
	set_implied_scalars(l->cfg);
	check_skipping_keys(l, file);
	if (alert_list_add_implied(l->cfg) == config_oom)
		l->error = -ENOMEM;
	if (l->error) {
		report_start(&l->report, l->report.fn, l->report.arg, file);
		report_emit_at(&l->report, 0, 0,
			"out of memory; settings that could not be read have "
			"their defaults");
	}
	return l->error;
}

int config_load_text(struct config *cfg, const char *name, const char *text, size_t len,
	char *const env[], const char *cwd, config_report_fn *report, void *arg)
{
	int saved = errno;
	struct fpenv fenv;
	struct loader l;

	fpenv_enter(&fenv);
	loader_start(&l, cfg, name, env, cwd, report, arg);
	read_text(&l, text, len);

	int err = loader_check_all(&l, env, name);

	fpenv_leave(&fenv);
	errno = saved;
	return err;
}

int config_load(struct config *cfg, const char *path, char *const env[], const char *cwd,
	config_report_fn *report, void *arg)
{
	int saved = errno, err = 0;
	struct fpenv fenv;
	struct loader l;
	char *file = NULL, *text = NULL;
	size_t len = 0;

	fpenv_enter(&fenv);
	loader_start(&l, cfg, path ? path : "configuration", env, cwd, report, arg);
	if (path) {
		const char *wrong = set_absolute_path(path, strlen(path), &l.base, &file);

		l.report.file = file ? file : path;
		err = wrong == config_oom ? -ENOMEM
		      : wrong		  ? -EINVAL
					  : reader_read_file(file, &text, &len);
	}
	if (err)
		report_emit_at(&l.report, 0, 0, "cannot be read: %s; all defaults are used",
			reader_get_error_text(err));
	else if (path)
		read_text(&l, text, len);

	int memory = loader_check_all(&l, env, l.report.file);

	free(text);
	free(file);
	fpenv_leave(&fenv);
	errno = saved;
	return err ? err : memory;
}

void config_free(struct config *cfg)
{
	int saved = errno;

	for (size_t i = 0; i < config_nkeys; i++)
		config_free_value(cfg, &config_keys[i]);
	free(cfg->training);
	cfg->training = NULL;
	errno = saved;
}
