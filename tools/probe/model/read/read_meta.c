/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/read_meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "text/text.h"
#include "base/io.h"
#include "tools/lib/files/whole_file.h"
#include "tools/lib/tool.h"

#define META_BYTES_MAX ((1u << 20) - 1)
#define PROGRAM_MAX 4096

/* ---- finding nodes in the document ---- */

static const yaml_node_t *get_yaml_node(yaml_document_t *d, const yaml_node_t *map, const char *key)
{
	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (const yaml_node_pair_t *p = map->data.mapping.pairs.start;
		p < map->data.mapping.pairs.top; p++) {
		const yaml_node_t *k = yaml_document_get_node(d, p->key);

		if (k && k->type == YAML_SCALAR_NODE &&
			strcmp((const char *)k->data.scalar.value, key) == 0)
			return yaml_document_get_node(d, p->value);
	}
	return NULL;
}

/* The text of a scalar; NULL for null, for other nodes and if there is none. */
static const char *yaml_text(const yaml_node_t *n)
{
	if (!n || n->type != YAML_SCALAR_NODE)
		return NULL;
	if (n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		strcmp((const char *)n->data.scalar.value, "null") == 0)
		return NULL;
	return (const char *)n->data.scalar.value;
}

static char *yaml_string(const yaml_node_t *n)
{
	const char *s = yaml_text(n);

	return tool_strdup(s ? s : "");
}

static uint64_t yaml_number(const yaml_node_t *n)
{
	const char *s = yaml_text(n);

	return s && *s >= '0' && *s <= '9' ? strtoull(s, NULL, 10) : 0;
}

static int64_t number_or(const yaml_node_t *n, int64_t none)
{
	const char *s = yaml_text(n);

	return s && (*s == '-' || (*s >= '0' && *s <= '9')) ? strtoll(s, NULL, 10) : none;
}

static int small_or(const yaml_node_t *n, int none)
{
	int64_t v = number_or(n, none);

	return v < 0 || v > INT32_MAX ? none : (int)v;
}

static double yaml_double(const yaml_node_t *n)
{
	const char *s = yaml_text(n);

	return s ? strtod(s, NULL) : 0;
}

static bool yaml_bool(const yaml_node_t *n)
{
	const char *s = yaml_text(n);

	return s && strcmp(s, "true") == 0;
}

static unsigned read_meta_counts(yaml_document_t *d, const yaml_node_t *map, struct meta_count *out)
{
	unsigned n = 0;

	if (!map || map->type != YAML_MAPPING_NODE)
		return 0;
	for (const yaml_node_pair_t *p = map->data.mapping.pairs.start;
		p < map->data.mapping.pairs.top && n < META_LIST_MAX; p++)
		out[n++] = (struct meta_count){yaml_string(yaml_document_get_node(d, p->key)),
			yaml_number(yaml_document_get_node(d, p->value))};
	return n;
}

static unsigned read_meta_texts(yaml_document_t *d, const yaml_node_t *map, struct meta_text *out)
{
	unsigned n = 0;

	if (!map || map->type != YAML_MAPPING_NODE)
		return 0;
	for (const yaml_node_pair_t *p = map->data.mapping.pairs.start;
		p < map->data.mapping.pairs.top && n < META_LIST_MAX; p++)
		out[n++] = (struct meta_text){yaml_string(yaml_document_get_node(d, p->key)),
			yaml_string(yaml_document_get_node(d, p->value))};
	return n;
}

/* The words of a list, each between two spaces; malloc'd. */
static char *read_meta_words(yaml_document_t *d, const yaml_node_t *list)
{
	char *all = tool_strdup(" ");

	if (!list || list->type != YAML_SEQUENCE_NODE)
		return all;
	for (const yaml_node_item_t *i = list->data.sequence.items.start;
		i < list->data.sequence.items.top; i++) {
		const char *word = yaml_text(yaml_document_get_node(d, *i));
		char *before = all;

		all = tool_format("%s%s ", before, word ? word : "");
		free(before);
	}
	return all;
}

/* ---- parts ---- */

static void read_meta_owner(struct meta *m, yaml_document_t *d, const yaml_node_t *n)
{
	const char *host = yaml_text(get_yaml_node(d, n, "host")),
		   *boot = yaml_text(get_yaml_node(d, n, "boot_id"));
	struct journal_owner *o = &m->owner;

	snprintf(o->host, sizeof(o->host), "%s", host ? host : "");
	snprintf(o->boot_id, sizeof(o->boot_id), "%s", boot ? boot : "");
	o->pid_ns = yaml_number(get_yaml_node(d, n, "pid_ns"));
	o->pid = number_or(get_yaml_node(d, n, "pid"), 0);
	o->start_time = yaml_number(get_yaml_node(d, n, "start_time"));
	m->has_owner = host && o->pid > 0;
}

/* The command line as it could be typed, shortened if it is long. */
static char *read_command_line(yaml_document_t *d, const yaml_node_t *list)
{
	char *buf = tool_alloc(PROGRAM_MAX + 8), *at = buf, *end = buf + PROGRAM_MAX;

	if (!list || list->type != YAML_SEQUENCE_NODE)
		return buf;
	for (const yaml_node_item_t *i = list->data.sequence.items.start;
		i < list->data.sequence.items.top; i++) {
		const char *word = yaml_text(yaml_document_get_node(d, *i));
		bool quote = word && (!*word || word[strcspn(word, " \t\n'\"\\$&|;<>()*?")]);

		if (!word)
			continue;
		if (strlen(word) + 4 > (size_t)(end - at)) {
			strcpy(at, " ...");
			break;
		}
		at += sprintf(at, quote ? "%s'%s'" : "%s%s", at > buf ? " " : "", word);
	}
	/* One line on the screen, whatever the job was given. */
	for (char *p = buf; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
	return buf;
}

/* "" for values that restrict nothing. */
static bool is_text(const yaml_node_t *n, const char *text)
{
	return n && n->type == YAML_SCALAR_NODE && strcmp(yaml_text(n), text) == 0;
}

static char *read_setting(yaml_document_t *d, const yaml_node_t *config, const char *key)
{
	const yaml_node_t *n = get_yaml_node(d, config, key);
	char *all = tool_strdup(""), *was;

	if (!n || n->type == YAML_SCALAR_NODE) {
		free(all);
		return yaml_string(n);
	}
	for (const yaml_node_item_t *i =
			n->type == YAML_SEQUENCE_NODE ? n->data.sequence.items.start : NULL;
		i && i < n->data.sequence.items.top; i++) {
		const char *word = yaml_text(yaml_document_get_node(d, *i));

		was = all;
		all = tool_format("%s%s%s", was, *was ? "," : "", word ? word : "");
		free(was);
	}
	return all;
}

static int ending_number(const yaml_node_t *n)
{
	int64_t v = number_or(n, INT64_MIN);

	return v == INT64_MIN || v < INT32_MIN || v > INT32_MAX ? ENDING_NONE : (int)v;
}

static char *ending_word(yaml_document_t *d, const yaml_node_t *end, const char *key)
{
	char *s = yaml_string(get_yaml_node(d, end, key));

	/* JSON's null is a word to YAML. */
	if (strcmp(s, "null") == 0)
		*s = 0;
	return s;
}

static void read_ending(struct meta_ending *e, yaml_document_t *d, const yaml_node_t *end)
{
	e->how = ending_word(d, end, "how");
	e->inside = ending_word(d, end, "inside");
	e->text = ending_word(d, end, "text");
	e->shown = ending_word(d, end, "shown");
	e->code = ending_number(get_yaml_node(d, end, "code"));
	e->signal = ending_number(get_yaml_node(d, end, "signal"));
	e->at_ns = yaml_number(get_yaml_node(d, end, "at_ns"));
}

static void free_ending(struct meta_ending *e)
{
	free(e->how);
	free(e->inside);
	free(e->text);
	free(e->shown);
}

void meta_take_ending(struct meta *m, const char *json)
{
	char *all = tool_format("{\"end\": %s}", json), *wrong;
	struct meta now;

	wrong = meta_read_text(&now, all, strlen(all));
	if (!wrong) {
		struct meta_ending e = m->end;

		m->end = now.end;
		now.end = e;
	}
	meta_free(&now);
	free(wrong);
	free(all);
}

static void read_meta_switches(
	struct meta *m, yaml_document_t *d, const yaml_node_t *top, const yaml_node_t *config)
{
	const yaml_node_t *on = get_yaml_node(d, config, "dynamic_on"), *last;
	const yaml_node_t *switches = get_yaml_node(d, top, "switches");

	m->cfg_dynamic_on = !on || yaml_bool(on);
	m->cfg_ctl_margin_s = yaml_number(get_yaml_node(d, config, "ctl_margin_s"));
	m->cfg_armable = read_setting(d, config, "armable");
	m->config_from_step = yaml_number(get_yaml_node(d, top, "config_from_step"));
	m->switches = yaml_number(get_yaml_node(d, switches, "count"));
	last = get_yaml_node(d, switches, "last");
	if (!last || last->type != YAML_SEQUENCE_NODE ||
		last->data.sequence.items.start == last->data.sequence.items.top)
		return;
	last = yaml_document_get_node(d, *last->data.sequence.items.start);
	m->switch_asked = yaml_number(get_yaml_node(d, last, "effective_step"));
	m->switch_late = yaml_bool(get_yaml_node(d, last, "late"));
}

uint64_t compute_still_ns(uint64_t moved_ns, uint64_t quiet_ns)
{
	return quiet_ns > moved_ns ? quiet_ns - moved_ns : 0;
}

static void read_progress(struct rank_progress *p, yaml_document_t *d, const yaml_node_t *n)
{
	p->known = yaml_number(get_yaml_node(d, n, "mono_ns")) > 0;
	p->unseen = !yaml_bool(get_yaml_node(d, n, "descendants_seen"));
	p->cpu_percent = (unsigned)yaml_number(get_yaml_node(d, n, "cpu_percent"));
	p->still_ns = compute_still_ns(yaml_number(get_yaml_node(d, n, "moved_ns")),
		yaml_number(get_yaml_node(d, n, "quiet_ns")));
}

/* Keys that cost time for each call or step, if they are on. */
static void find_costly_keys(struct meta *m, yaml_document_t *d, const yaml_node_t *config)
{
	static const char *const key[] = {"stack", "statistics", "backward", "scalars", "metrics",
		"kinds", "names", "checksum"};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(key) / sizeof(*key); i++) {
		const yaml_node_t *v = get_yaml_node(d, config, key[i]);
		bool on =
			v &&
			(v->type == YAML_SEQUENCE_NODE
					? v->data.sequence.items.start != v->data.sequence.items.top
					: strcmp((const char *)v->data.scalar.value, "false") &&
						  strcmp((const char *)v->data.scalar.value,
							  "off"));

		if (on && n < sizeof(m->costly))
			n += (size_t)snprintf(m->costly + n, sizeof(m->costly) - n, "%s%s",
				n ? ", " : "", key[i]);
	}
}

/* The list is written before any call is skipped. The first levels only affect values. */
static bool read_thinned(yaml_document_t *d, const yaml_node_t *list)
{
	if (!list || list->type != YAML_SEQUENCE_NODE)
		return false;
	for (const yaml_node_item_t *i = list->data.sequence.items.start;
		i < list->data.sequence.items.top; i++) {
		const yaml_node_t *change = yaml_document_get_node(d, *i);

		if (yaml_number(get_yaml_node(d, change, "one_call_in")) > 1)
			return true;
	}
	return false;
}

static void take_meta_fields(struct meta *m, yaml_document_t *d)
{
	const yaml_node_t *top = yaml_document_get_root_node(d);
	const yaml_node_t *steps = get_yaml_node(d, top, "steps"),
			  *calls = get_yaml_node(d, top, "calls");
	const yaml_node_t *journal = get_yaml_node(d, top, "journal"),
			  *clock = get_yaml_node(d, top, "clock");
	const yaml_node_t *config = get_yaml_node(d, top, "config"),
			  *own = get_yaml_node(d, top, "own_time"),
			  *group = get_yaml_node(d, top, "memory_group");

	m->state = yaml_string(get_yaml_node(d, top, "state"));
	read_meta_owner(m, d, get_yaml_node(d, top, "owner"));
	m->journal_path = yaml_string(get_yaml_node(d, top, "journal_path"));
	m->journal_path[text_unescape(m->journal_path, m->journal_path, strlen(m->journal_path))] =
		0;
	m->crash_safe = yaml_bool(get_yaml_node(d, journal, "crash_safe"));
	m->outside = yaml_number(get_yaml_node(d, journal, "outside"));
	m->damaged = yaml_number(get_yaml_node(d, journal, "damaged"));
	m->run = yaml_string(get_yaml_node(d, top, "run"));
	m->attempt = yaml_string(get_yaml_node(d, top, "attempt"));
	m->process_start_ns = yaml_number(get_yaml_node(d, top, "process_start_ns"));
	m->rank = small_or(get_yaml_node(d, top, "rank"), -1);
	m->world_size = small_or(get_yaml_node(d, top, "world_size"), -1);
	m->rank_guessed = yaml_bool(get_yaml_node(d, top, "rank_guessed"));
	m->version = yaml_string(get_yaml_node(d, top, "version"));
	m->clock_first_ns =
		yaml_number(get_yaml_node(d, get_yaml_node(d, clock, "first"), "real_ns"));
	m->clock_last_ns =
		yaml_number(get_yaml_node(d, get_yaml_node(d, clock, "last"), "real_ns"));
	m->first_record_ns = yaml_number(get_yaml_node(d, top, "first_record_ns"));
	m->last_record_ns = yaml_number(get_yaml_node(d, top, "last_record_ns"));
	m->step_now = yaml_number(get_yaml_node(d, steps, "current"));
	m->step_last = number_or(get_yaml_node(d, steps, "last_recorded"), -1);
	m->step_source = yaml_string(get_yaml_node(d, steps, "source"));
	m->block_steps = yaml_number(get_yaml_node(d, steps, "per_file"));
	m->steps_before = yaml_number(get_yaml_node(d, top, "optimizer_steps_before"));
	m->cfg_start_iteration = yaml_number(get_yaml_node(d, config, "start_iteration"));
	m->seen = yaml_number(get_yaml_node(d, calls, "seen"));
	m->recorded = yaml_number(get_yaml_node(d, calls, "recorded"));
	m->rows = yaml_number(get_yaml_node(d, top, "rows"));
	m->lost_rows = yaml_number(get_yaml_node(d, top, "lost_rows"));
	m->removed_blocks = yaml_number(get_yaml_node(d, top, "removed_blocks"));
	m->ndropped = read_meta_counts(d, get_yaml_node(d, calls, "dropped"), m->dropped);
	m->nskipped = read_meta_counts(d, get_yaml_node(d, calls, "skipped"), m->skipped);
	m->thinned = read_thinned(d, get_yaml_node(d, top, "thinned"));
	m->thinned_values = m->thinned || get_yaml_node(d, top, "thinned");
	m->nmissing = read_meta_texts(d, get_yaml_node(d, top, "missing"), m->missing);
	m->nlibraries = read_meta_texts(d, get_yaml_node(d, top, "libraries"), m->libraries);
	m->ninvisible = read_meta_texts(d, get_yaml_node(d, top, "invisible"), m->invisible);
	m->derived = read_meta_words(d, get_yaml_node(d, top, "derived_scalars"));
	m->own_calls_s = yaml_double(get_yaml_node(d, own, "in_calls_s"));
	m->own_writer_s = yaml_double(get_yaml_node(d, own, "writer_s"));
	read_progress(&m->progress, d, get_yaml_node(d, top, "progress"));
	own = get_yaml_node(d, top, "own_start");
	m->own_start_s = own ? yaml_double(get_yaml_node(d, own, "in_calls_s")) : -1;
	m->own_start_ns = yaml_number(get_yaml_node(d, own, "until_ns"));
	find_costly_keys(m, d, config);
	m->program = read_command_line(d, get_yaml_node(d, top, "program"));
	read_ending(&m->end, d, get_yaml_node(d, top, "end"));
	m->memory_events = yaml_string(get_yaml_node(d, group, "events"));
	m->oom_kills = number_or(get_yaml_node(d, group, "oom_kills"), -1);
	m->cfg_step = read_setting(d, config, "step");
	m->cfg_rank = read_setting(d, config, "rank");
	m->cfg_step_marker = read_setting(d, config, "step_marker");
	m->cfg_stack = !config || yaml_bool(get_yaml_node(d, config, "stack"));
	m->cfg_device_copy = is_text(get_yaml_node(d, config, "device"), "copy");
	m->cfg_statistics = !config || yaml_bool(get_yaml_node(d, config, "statistics"));
	read_meta_switches(m, d, top, config);
}

static void empty_meta(struct meta *m)
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
	m->end = (struct meta_ending){.how = tool_strdup(""),
		.inside = tool_strdup(""),
		.text = tool_strdup(""),
		.shown = tool_strdup(""),
		.code = ENDING_NONE,
		.signal = ENDING_NONE};
	m->cfg_armable = tool_strdup("");
	m->memory_events = tool_strdup("");
}

/* YAML allows a few characters fewer than JSON: none of them matters in a report. */
static void tame_characters(char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == 0x7f || (c < 0x20 && c != '\n' && c != '\r'))
			s[i] = ' ';
		else if (c == 0xc2 && i + 1 < n && (unsigned char)s[i + 1] < 0xa0)
			s[i] = s[i + 1] = ' ';
	}
}

char *meta_read_text(struct meta *m, const char *json, size_t n)
{
	char *copy = tool_alloc(n + 1), *wrong = NULL;
	yaml_parser_t p;
	yaml_document_t d;

	memcpy(copy, json, n);
	copy[n] = 0;
	tame_characters(copy, n);
	*m = (struct meta){0};
	if (!yaml_parser_initialize(&p)) {
		empty_meta(m);
		free(copy);
		return tool_strdup("out of memory");
	}
	yaml_parser_set_input_string(&p, (const unsigned char *)copy, n);
	if (!yaml_parser_load(&p, &d)) {
		wrong = tool_format("line %zu, column %zu: %s", p.problem_mark.line + 1,
			p.problem_mark.column + 1, p.problem ? p.problem : "not valid JSON");
		empty_meta(m);
	} else {
		const yaml_node_t *top = yaml_document_get_root_node(&d);

		if (top && top->type == YAML_MAPPING_NODE) {
			take_meta_fields(m, &d);
		} else {
			wrong = tool_strdup("empty, or not an object");
			empty_meta(m);
		}
		yaml_document_delete(&d);
	}
	yaml_parser_delete(&p);
	free(copy);
	return wrong;
}

char *meta_read(struct meta *m, const char *path)
{
	ssize_t n;
	char *buf = read_whole_file(path, META_BYTES_MAX, &n), *wrong;

	if (n < 0) {
		empty_meta(m);
		wrong = tool_strdup(io_error_text((int)n));
	} else if (n > META_BYTES_MAX) {
		empty_meta(m);
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
		m->derived, m->program, m->cfg_step, m->cfg_rank, m->cfg_step_marker,
		m->cfg_armable, m->memory_events};

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
