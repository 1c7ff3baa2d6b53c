/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/read_meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"
#include "base/io.h"
#include "journal/journal.h"
#include "tools/lib/files/json_read.h"
#include "tools/lib/files/whole_file.h"
#include "tools/lib/tool.h"

#define META_BYTES_MAX ((1u << 20) - 1)
#define PROGRAM_MAX 4096

/* ---- values ---- */

static char *copy_scalar(const struct json_node *n)
{
	const char *s = json_get_scalar_text(n);

	return tool_strdup(s ? s : "");
}

static uint64_t read_count(const struct json_node *n)
{
	const char *s = json_get_scalar_text(n);

	return s && *s >= '0' && *s <= '9' ? strtoull(s, NULL, 10) : 0;
}

static int64_t get_number_or(const struct json_node *n, int64_t none)
{
	const char *s = json_get_scalar_text(n);

	return s && (*s == '-' || (*s >= '0' && *s <= '9')) ? strtoll(s, NULL, 10) : none;
}

static int get_small_number_or(const struct json_node *n, int none)
{
	int64_t v = get_number_or(n, none);

	return v < 0 || v > INT32_MAX ? none : (int)v;
}

static double read_double(const struct json_node *n)
{
	const char *s = json_get_scalar_text(n);

	return s ? strtod(s, NULL) : 0;
}

static bool is_json_true(const struct json_node *n)
{
	return n && n->kind == JSON_TRUE;
}

static unsigned read_meta_counts(const struct json_node *map, struct meta_count *out)
{
	unsigned n = 0;

	if (!map || map->kind != JSON_OBJECT)
		return 0;
	for (const struct json_node *key = map->child; key && n < META_LIST_MAX;
		key = key->next->next)
		out[n++] = (struct meta_count){tool_strdup(key->text), read_count(key->next)};
	return n;
}

static unsigned read_meta_texts(const struct json_node *map, struct meta_text *out)
{
	unsigned n = 0;

	if (!map || map->kind != JSON_OBJECT)
		return 0;
	for (const struct json_node *key = map->child; key && n < META_LIST_MAX;
		key = key->next->next)
		out[n++] = (struct meta_text){tool_strdup(key->text), copy_scalar(key->next)};
	return n;
}

/* Joins the elements of a list, or the member `key` of each (NULL: the element itself); malloc'd. */
static char *join_list(const struct json_node *list, const char *key, const char *separator)
{
	char *all = tool_strdup("");

	if (!list || list->kind != JSON_LIST)
		return all;
	for (const struct json_node *i = list->child; i; i = i->next) {
		const char *word = json_get_scalar_text(key ? json_get_member(i, key) : i);

		tool_add_item(&all, separator, "%s", word ? word : "");
	}
	return all;
}

/* Returns the words of a list, each between two spaces; malloc'd. */
static char *read_meta_words(const struct json_node *list)
{
	char *words = join_list(list, NULL, " "),
	     *all = *words ? tool_format(" %s ", words) : tool_strdup(" ");

	free(words);
	return all;
}

/* ---- parts ---- */

static void read_meta_owner(struct meta *m, const struct json_node *n)
{
	const char *host = json_get_scalar_text(json_get_member(n, "host")),
		   *boot = json_get_scalar_text(json_get_member(n, "boot_id"));
	struct journal_owner *o = &m->owner;

	snprintf(o->host, sizeof(o->host), "%s", host ? host : "");
	snprintf(o->boot_id, sizeof(o->boot_id), "%s", boot ? boot : "");
	o->pid_ns = read_count(json_get_member(n, "pid_ns"));
	o->pid = get_number_or(json_get_member(n, "pid"), 0);
	o->start_time = read_count(json_get_member(n, "start_time"));
	m->has_owner = host && o->pid > 0;
}

/* Returns the command line as it could be typed, shortened if it is long. */
static char *read_command_line(const struct json_node *list)
{
	char *buf = tool_alloc(PROGRAM_MAX + 8), *at = buf, *end = buf + PROGRAM_MAX;

	if (!list || list->kind != JSON_LIST)
		return buf;
	for (const struct json_node *i = list->child; i; i = i->next) {
		const char *word = json_get_scalar_text(i);
		bool quote = word && (!*word || word[strcspn(word, " \t\n'\"\\$&|;<>()*?")]);

		if (!word)
			continue;
		if (strlen(word) + 4 > (size_t)(end - at)) {
			strcpy(at, " ...");
			break;
		}
		at += sprintf(at, quote ? "%s'%s'" : "%s%s", at > buf ? " " : "", word);
	}
	/* The result is shown on one line, whatever the arguments contain. */
	for (char *p = buf; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
	return buf;
}

/* Returns true if node n is a string or number equal to text. */
static bool is_text(const struct json_node *n, const char *text)
{
	const char *s = json_get_scalar_text(n);

	return s && strcmp(s, text) == 0;
}

static char *read_setting(const struct json_node *config, const char *key)
{
	const struct json_node *n = json_get_member(config, key);

	return n && n->kind == JSON_LIST ? join_list(n, NULL, ",") : copy_scalar(n);
}

static int get_ending_number(const struct json_node *n)
{
	int64_t v = get_number_or(n, INT64_MIN);

	return v == INT64_MIN || v < INT32_MIN || v > INT32_MAX ? ENDING_NONE : (int)v;
}

static void read_ending(struct meta_ending *e, const struct json_node *end)
{
	e->how = copy_scalar(json_get_member(end, "how"));
	e->inside = copy_scalar(json_get_member(end, "inside"));
	e->text = copy_scalar(json_get_member(end, "text"));
	e->shown = copy_scalar(json_get_member(end, "shown"));
	e->code = get_ending_number(json_get_member(end, "code"));
	e->signal = get_ending_number(json_get_member(end, "signal"));
	e->at_ns = read_count(json_get_member(end, "at_ns"));
}

static void free_ending(struct meta_ending *e)
{
	free(e->how);
	free(e->inside);
	free(e->text);
	free(e->shown);
}

/* A part of the dictionary is "name\0value\0". */
char *meta_find_members(const struct journal *j, const uint16_t *part, unsigned n)
{
	char *all = NULL;

	for (unsigned i = 0; i < n; i++) {
		const char *name = journal_dict_get(j, DICT_META, part[i]);
		char *more;

		if (!name)
			continue;
		more = tool_format("%s%s\"%s\": %s", all ? all : "{", all ? ", " : "", name,
			name + strlen(name) + 1);
		free(all);
		all = more;
	}
	if (all) {
		char *more = tool_format("%s}", all);

		free(all);
		all = more;
	}
	return all;
}

void meta_copy_members(struct meta *m, const char *json)
{
	struct meta now;
	char *wrong = meta_read_text(&now, json, strlen(json));

	if (!wrong && *now.end.how) {
		struct meta_ending e = m->end;

		m->end = now.end;
		now.end = e;
	}
	if (!wrong && now.oom_kills >= 0) {
		char *events = m->memory_events;

		m->memory_events = now.memory_events;
		m->oom_kills = now.oom_kills;
		now.memory_events = events;
	}
	if (!wrong && *now.attempt) {
		char *attempt = m->attempt;

		m->attempt = now.attempt;
		now.attempt = attempt;
	}
	if (!wrong && now.process_start_ns)
		m->process_start_ns = now.process_start_ns;
	meta_free(&now);
	free(wrong);
}

static void read_meta_switches(
	struct meta *m, const struct json_node *top, const struct json_node *config)
{
	const struct json_node *on = json_get_member(config, "dynamic_on"), *last;
	const struct json_node *switches = json_get_member(top, "switches");

	m->cfg_dynamic_on = !on || is_json_true(on);
	m->cfg_ctl_margin_s = read_count(json_get_member(config, "ctl_margin_s"));
	m->cfg_armable = read_setting(config, "armable");
	m->config_from_step = read_count(json_get_member(top, "config_from_step"));
	m->switches = read_count(json_get_member(switches, "count"));
	last = json_get_member(switches, "last");
	if (!last || last->kind != JSON_LIST || !last->child)
		return;
	last = last->child;
	m->switch_asked = read_count(json_get_member(last, "effective_step"));
	m->switch_late = is_json_true(json_get_member(last, "late"));
}

uint64_t compute_still_ns(uint64_t moved_ns, uint64_t quiet_ns)
{
	return quiet_ns > moved_ns ? quiet_ns - moved_ns : 0;
}

static void read_progress(struct rank_progress *p, const struct json_node *n)
{
	p->known = read_count(json_get_member(n, "mono_ns")) > 0;
	p->unseen = !is_json_true(json_get_member(n, "descendants_seen"));
	p->cpu_percent = (unsigned)read_count(json_get_member(n, "cpu_percent"));
	p->still_ns = compute_still_ns(read_count(json_get_member(n, "moved_ns")),
		read_count(json_get_member(n, "quiet_ns")));
}

/* Lists the enabled keys that cost time in each call or step. */
static void find_costly_keys(struct meta *m, const struct json_node *config)
{
	static const char *const key[] = {"stack", "statistics", "backward", "scalars", "metrics",
		"kinds", "names", "checksum"};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(key) / sizeof(*key); i++) {
		const struct json_node *v = json_get_member(config, key[i]);
		const char *word = json_get_scalar_text(v);
		bool on = v && (v->kind == JSON_LIST ? v->child != NULL
						     : !word || (strcmp(word, "false") &&
									strcmp(word, "off")));

		if (on && n < sizeof(m->costly))
			n += (size_t)snprintf(m->costly + n, sizeof(m->costly) - n, "%s%s",
				n ? ", " : "", key[i]);
	}
}

/* The list is written before any call is skipped. The first levels only affect values. */
static void read_thinned(struct meta *m, const struct json_node *list)
{
	m->thinned_values = list;
	if (!list || list->kind != JSON_LIST)
		return;
	for (const struct json_node *i = list->child; i; i = i->next) {
		bool calls = read_count(json_get_member(i, "one_call_in")) > 1;
		int64_t to = get_number_or(json_get_member(i, "to_step"), -1);

		m->thinned |= calls;
		if (m->nthinned < META_THINNED_MAX)
			m->thinned_at[m->nthinned++] = (struct thinned_steps){
				read_count(json_get_member(i, "from_step")),
				to < 0 ? UINT64_MAX : (uint64_t)to, calls,
				json_get_scalar_text(json_get_member(i, "values_below")) != NULL};
	}
}

static void read_skipped_steps(struct meta *m, const struct json_node *skipped)
{
	const struct json_node *ranges = json_get_member(skipped, "ranges");
	uint64_t last = read_count(json_get_member(skipped, "last_step"));

	if (!ranges || ranges->kind != JSON_LIST)
		return;
	for (const struct json_node *i = ranges->child; i && m->nskipped_at < META_SKIPPED_RANGES;
		i = i->next) {
		int64_t from = get_number_or(i->child, -1);
		int64_t to = get_number_or(i->child ? i->child->next : NULL, -1);

		if (i->kind == JSON_LIST && from >= 0 && to >= from)
			m->skipped_at[m->nskipped_at++] =
				(struct step_range){(uint64_t)from, (uint64_t)to};
	}
	if (m->nskipped_at == META_SKIPPED_RANGES &&
		last > m->skipped_at[META_SKIPPED_RANGES - 1].to) {
		m->skipped_at[m->nskipped_at] =
			(struct step_range){m->skipped_at[META_SKIPPED_RANGES - 1].to + 1, last};
		m->nskipped_at++;
	}
}

bool meta_step_is_thinned(const struct meta *m, uint64_t step, bool calls, bool values)
{
	for (unsigned i = 0; i < m->nthinned; i++) {
		const struct thinned_steps *t = &m->thinned_at[i];

		if (((calls && t->calls) || (values && t->values)) && t->from <= step &&
			step <= t->to)
			return true;
	}
	return false;
}

const struct step_range *meta_find_skipped(const struct meta *m, uint64_t step)
{
	for (unsigned i = 0; i < m->nskipped_at; i++)
		if (m->skipped_at[i].from <= step && step <= m->skipped_at[i].to)
			return &m->skipped_at[i];
	return NULL;
}

static void copy_meta_fields(struct meta *m, const struct json_node *top)
{
	const struct json_node *steps = json_get_member(top, "steps"),
			       *calls = json_get_member(top, "calls");
	const struct json_node *journal = json_get_member(top, "journal"),
			       *clock = json_get_member(top, "clock");
	const struct json_node *config = json_get_member(top, "config"),
			       *own = json_get_member(top, "own_time"),
			       *group = json_get_member(top, "memory_group");

	m->state = copy_scalar(json_get_member(top, "state"));
	read_meta_owner(m, json_get_member(top, "owner"));
	m->journal_path = copy_scalar(json_get_member(top, "journal_path"));
	m->journal_path[text_parse_escapes(
		m->journal_path, m->journal_path, strlen(m->journal_path))] = 0;
	m->crash_safe = is_json_true(json_get_member(journal, "crash_safe"));
	m->outside = read_count(json_get_member(journal, "outside"));
	m->damaged = read_count(json_get_member(journal, "damaged"));
	m->run = copy_scalar(json_get_member(top, "run"));
	m->attempt = copy_scalar(json_get_member(top, "attempt"));
	m->process_start_ns = read_count(json_get_member(top, "process_start_ns"));
	m->rank = get_small_number_or(json_get_member(top, "rank"), -1);
	m->world_size = get_small_number_or(json_get_member(top, "world_size"), -1);
	m->rank_guessed = is_json_true(json_get_member(top, "rank_guessed"));
	m->version = copy_scalar(json_get_member(top, "version"));
	m->clock_first_ns = read_count(json_get_member(json_get_member(clock, "first"), "real_ns"));
	m->clock_last_ns = read_count(json_get_member(json_get_member(clock, "last"), "real_ns"));
	m->first_record_ns = read_count(json_get_member(top, "first_record_ns"));
	m->last_record_ns = read_count(json_get_member(top, "last_record_ns"));
	m->step_now = read_count(json_get_member(steps, "current"));
	m->step_last = get_number_or(json_get_member(steps, "last_recorded"), -1);
	m->step_source = copy_scalar(json_get_member(steps, "source"));
	m->block_steps = read_count(json_get_member(steps, "per_file"));
	m->steps_before = read_count(json_get_member(top, "optimizer_steps_before"));
	m->unfinished_reduction =
		get_number_or(json_get_member(top, "unfinished_reduction_step"), -1);
	m->cfg_start_iteration = read_count(json_get_member(config, "start_iteration"));
	m->seen = read_count(json_get_member(calls, "seen"));
	m->recorded = read_count(json_get_member(calls, "recorded"));
	m->rows = read_count(json_get_member(top, "rows"));
	m->lost_rows = read_count(json_get_member(top, "lost_rows"));
	m->removed_blocks = read_count(json_get_member(top, "removed_blocks"));
	m->ndropped = read_meta_counts(json_get_member(calls, "dropped"), m->dropped);
	m->nskipped = read_meta_counts(json_get_member(calls, "skipped"), m->skipped);
	read_thinned(m, json_get_member(top, "thinned"));
	read_skipped_steps(m, json_get_member(top, "opt_skipped"));
	m->nmissing = read_meta_texts(json_get_member(top, "missing"), m->missing);
	m->nlibraries = read_meta_texts(json_get_member(top, "libraries"), m->libraries);
	m->ninvisible = read_meta_texts(json_get_member(top, "invisible"), m->invisible);
	m->derived = read_meta_words(json_get_member(top, "derived_scalars"));
	m->own_calls_s = read_double(json_get_member(own, "in_calls_s"));
	m->own_writer_s = read_double(json_get_member(own, "writer_s"));
	read_progress(&m->progress, json_get_member(top, "progress"));
	own = json_get_member(top, "own_start");
	m->own_start_s = own ? read_double(json_get_member(own, "in_calls_s")) : -1;
	m->own_start_ns = read_count(json_get_member(own, "until_ns"));
	find_costly_keys(m, config);
	m->program = read_command_line(json_get_member(top, "program"));
	read_ending(&m->end, json_get_member(top, "end"));
	m->memory_events = copy_scalar(json_get_member(group, "events"));
	m->oom_kills = get_number_or(json_get_member(group, "oom_kills"), -1);
	m->cfg_step = read_setting(config, "step");
	m->cfg_rank = read_setting(config, "rank");
	m->cfg_step_marker = read_setting(config, "step_marker");
	m->cfg_only = read_setting(config, "only");
	m->cfg_skip = read_setting(config, "skip");
	m->cfg_alerts = join_list(json_get_member(config, "alerts"), "rule", ",");
	m->alerts_checked = read_setting(top, "alerts_checked");
	m->cfg_stack = !config || is_json_true(json_get_member(config, "stack"));
	m->cfg_device_copy = is_text(json_get_member(config, "device"), "copy");
	m->cfg_statistics = !config || is_json_true(json_get_member(config, "statistics"));
	read_meta_switches(m, top, config);
}

static void init_meta(struct meta *m)
{
	*m = (struct meta){.rank = -1,
		.world_size = -1,
		.step_last = -1,
		.oom_kills = -1,
		.cfg_stack = true,
		.cfg_statistics = true,
		.cfg_dynamic_on = true};
	m->state = tool_strdup("");
	m->journal_path = tool_strdup("");
	m->run = tool_strdup("");
	m->attempt = tool_strdup("");
	m->version = tool_strdup("");
	m->step_source = tool_strdup("");
	m->derived = tool_strdup("");
	m->program = tool_strdup("");
	m->cfg_step = tool_strdup("");
	m->cfg_rank = tool_strdup("");
	m->cfg_step_marker = tool_strdup("");
	m->cfg_only = tool_strdup("");
	m->cfg_skip = tool_strdup("");
	m->cfg_alerts = tool_strdup("");
	m->alerts_checked = tool_strdup("");
	m->end = (struct meta_ending){.how = tool_strdup(""),
		.inside = tool_strdup(""),
		.text = tool_strdup(""),
		.shown = tool_strdup(""),
		.code = ENDING_NONE,
		.signal = ENDING_NONE};
	m->cfg_armable = tool_strdup("");
	m->memory_events = tool_strdup("");
}

char *meta_read_text(struct meta *m, const char *json, size_t n)
{
	struct json_tree tree = {0};
	char *wrong;
	const struct json_node *top = json_parse_tree(&tree, json, n, &wrong);

	*m = (struct meta){0};
	if (top && top->kind == JSON_OBJECT) {
		copy_meta_fields(m, top);
	} else {
		if (!wrong)
			wrong = tool_strdup("not an object");
		init_meta(m);
	}
	json_tree_free(&tree);
	return wrong;
}

char *meta_read(struct meta *m, const char *path)
{
	ssize_t n;
	char *buf = read_whole_file(path, META_BYTES_MAX, &n), *wrong;

	if (n < 0) {
		init_meta(m);
		wrong = tool_strdup(io_error_text((int)n));
	} else if (n > META_BYTES_MAX) {
		init_meta(m);
		wrong = tool_strdup("larger than 1 MiB");
	} else {
		wrong = meta_read_text(m, buf, (size_t)n);
	}
	free(buf);
	return wrong;
}

void meta_free(struct meta *m)
{
	char *one[] = {m->state, m->journal_path, m->run, m->attempt, m->version, m->step_source,
		m->derived, m->program, m->cfg_step, m->cfg_rank, m->cfg_step_marker, m->cfg_only,
		m->cfg_skip, m->cfg_alerts, m->alerts_checked, m->cfg_armable, m->memory_events};

	for (unsigned i = 0; i < sizeof(one) / sizeof(*one); i++)
		free(one[i]);
	free_ending(&m->end);
	for (unsigned i = 0; i < m->ndropped; i++)
		free(m->dropped[i].name);
	for (unsigned i = 0; i < m->nskipped; i++)
		free(m->skipped[i].name);
	for (unsigned i = 0; i < m->nmissing; i++) {
		free(m->missing[i].name);
		free(m->missing[i].text);
	}
	for (unsigned i = 0; i < m->ninvisible; i++) {
		free(m->invisible[i].name);
		free(m->invisible[i].text);
	}
	for (unsigned i = 0; i < m->nlibraries; i++) {
		free(m->libraries[i].name);
		free(m->libraries[i].text);
	}
	*m = (struct meta){0};
}

bool meta_has_steps(const struct meta *m)
{
	return *m->step_source && strcmp(m->step_source, "none") != 0;
}
