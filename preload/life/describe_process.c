/* SPDX-License-Identifier: Apache-2.0 */
/* Describes this process for meta.json: its configuration, its command line, its libraries. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/layout_fact.h"
#include "base/io.h"
#include "base/log.h"
#include "base/memory_events.h"
#include "config/key.h"
#include "config/rooms/training.h"
#include "text/text.h"
#include "life/life.h"
#include "life/meta_list.h"
#include "life/settings.h"
#include "session/identity.h"
#include "session/state.h"
#include "folder/meta.h"
#include "folder/owner.h"
#include "writer/output.h"

int session_set_meta(uint16_t part, const char *key, const char *json)
{
	size_t nk = strlen(key) + 1, nj = strlen(json) + 1;
	char *both = session.journal.head ? malloc(nk + nj) : NULL;
	int err;

	if (!both)
		return -ENOMEM;
	memcpy(both, key, nk);
	memcpy(both + nk, json, nj);
	err = journal_dict_add(&session.journal, DICT_META, part, both, nk + nj);
	free(both);
	return err;
}

#define NAMED_MAX 16

/* An object of texts in meta.json; texts that do not fit are omitted. */
struct named {
	unsigned n;
	struct {
		const char *name;
		char text[LIBRARY_TEXT_MAX];
	} of[NAMED_MAX];
};

/* Without initial values: with a pointer in each, the loader would write to a page more for each. */
static struct named libraries, invisible;

/* Caller has session.lock, or no other thread can run this yet. */
static void write_named(const struct named *l)
{
	static char json[NAMED_MAX * (6 * LIBRARY_TEXT_MAX + 64)];
	struct text t =
		list_begin(json, sizeof(json) < META_PART_MAX ? sizeof(json) : META_PART_MAX, '{');

	for (unsigned i = 0; i < l->n; i++)
		list_add(&t, l->of[i].name, l->of[i].text, false);
	list_end(&t, true, '}');
	if (l == &libraries)
		session_set_meta(META_LIBRARIES, "libraries", json);
	else
		session_set_meta(META_INVISIBLE, "invisible", json);
}

static void add_named(struct named *l, const char *name, const char *text)
{
	pthread_mutex_lock(&session.lock);
	if (l->n < NAMED_MAX) {
		l->of[l->n].name = name;
		snprintf(l->of[l->n].text, sizeof(l->of[0].text), "%s", text);
		l->n++;
		if (session_is_on())
			write_named(l);
	}
	pthread_mutex_unlock(&session.lock);
}

void session_record_library(const char *name, const char *version)
{
	add_named(&libraries, name, version);
}

void session_record_invisible(const char *subject, const char *why)
{
	add_named(&invisible, subject, why);
}

static uint64_t steps_before;

/* Caller has session.lock. */
static void write_steps_before(void)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)steps_before);
	session_set_meta(META_STEPS_BEFORE, "optimizer_steps_before", text);
}

void session_record_steps_before(uint64_t n)
{
	pthread_mutex_lock(&session.lock);
	steps_before = n;
	if (session_is_on())
		write_steps_before();
	pthread_mutex_unlock(&session.lock);
}

static int64_t unfinished_reduction = -1;

/* Caller has session.lock. */
static void write_unfinished_reduction(void)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)unfinished_reduction);
	session_set_meta(META_UNFINISHED_REDUCTION, "unfinished_reduction_step", text);
}

void session_record_unfinished_reduction(uint64_t step)
{
	pthread_mutex_lock(&session.lock);
	unfinished_reduction = (int64_t)step;
	if (session_is_on())
		write_unfinished_reduction();
	pthread_mutex_unlock(&session.lock);
}

/* Caller has session.lock. Facts that were not checked in this process are omitted. */
static void write_layout_facts(void)
{
	static char json[LAYOUT_FACTS_MAX * 160];
	struct text t = list_begin(json, sizeof(json), '{');
	char value[160];

	for (unsigned i = 0; layout_facts && layout_facts[i].name[0]; i++) {
		enum layout_state s = get_layout_state(i);

		if (s == LAYOUT_UNSEEN)
			continue;
		snprintf(value, sizeof(value), "%s%s%s", get_layout_state_name(s),
			s == LAYOUT_FAILED ? "; off: " : "",
			s == LAYOUT_FAILED ? layout_facts[i].off : "");
		list_add(&t, layout_facts[i].name, value, false);
	}
	if (t.len == 1)
		return;
	list_end(&t, true, '}');
	session_set_meta(META_LAYOUT, "layout_facts", json);
}

void session_record_layout_fact(unsigned fact, bool holds)
{
	if (!record_layout_fact(fact, holds))
		return;
	if (!holds)
		log_info(2, "%s does not hold in this process; switched off: %s",
			layout_facts[fact].name, layout_facts[fact].off);
	pthread_mutex_lock(&session.lock);
	if (session_is_on())
		write_layout_facts();
	pthread_mutex_unlock(&session.lock);
}

/*
 * Caller has session.lock, as for all functions that write parts. May run on a thread of the job
 * with a small stack.
 */
static int write_config_meta(void)
{
	static char text[META_PART_MAX], value[4096];
	struct text t = list_begin(text, sizeof(text), '{');

	for (size_t i = 0; i < config_nkeys; i++) {
		int n = config_format(get_config(), &config_keys[i], value, sizeof(value));

		list_add(&t, config_keys[i].name,
			n > 0 && (size_t)n < sizeof(value) ? value : "null", true);
	}
	list_end(&t, true, '}');
	return session_set_meta(META_CONFIG, "config", text);
}

#define SWITCHES_MAX 16

/* The last changes, the latest first; guarded by session.lock. */
static struct {
	uint64_t n;
	struct {
		uint64_t step;
		uint32_t asked;
		char by[sizeof(((struct generation *)0)->by)];
	} of[SWITCHES_MAX];
} switches;

static int write_switches(void)
{
	char json[SWITCHES_MAX * 96 + 64];
	struct text t = text_init(json, sizeof(json));

	text_add_format(&t, "{\"count\": %llu, \"last\": [", (unsigned long long)switches.n);
	for (unsigned i = 0; i < switches.n && i < SWITCHES_MAX; i++) {
		text_add_format(&t, "%s{\"step\": %llu, \"by\": ", i ? ", " : "",
			(unsigned long long)switches.of[i].step);
		text_add_json(&t, switches.of[i].by);
		if (switches.of[i].asked)
			text_add_format(&t, ", \"effective_step\": %u, \"late\": %s",
				switches.of[i].asked,
				switches.of[i].step > switches.of[i].asked ? "true" : "false");
		text_add_char(&t, '}');
	}
	text_add_string(&t, "]}");
	return session_set_meta(META_SWITCHES, "switches", json);
}

static void record_switch(const struct generation *g, uint64_t step)
{
	memmove(switches.of + 1, switches.of, sizeof(switches.of) - sizeof(switches.of[0]));
	switches.of[0].step = step;
	switches.of[0].asked = g->asked;
	memcpy(switches.of[0].by, g->by, sizeof(g->by));
	switches.n++;
}

void session_config_changed(uint64_t step)
{
	char from[24];
	int err = 0;

	snprintf(from, sizeof(from), "%llu", (unsigned long long)step);
	pthread_mutex_lock(&session.lock);
	record_switch(get_generation(), step);
	/* The step is written first: its configuration replaces the one from process start. */
	if (session_is_on() &&
		!(err = session_set_meta(META_CONFIG_STEP, "config_from_step", from)))
		err = write_config_meta();
	if (!err && session_is_on())
		err = write_switches();
	pthread_mutex_unlock(&session.lock);
	if (err)
		log_loss(LOSS_CONFIG,
			"the configuration that holds from step %s on is not in meta.json: %s",
			from, strerror(-err));
}

/*
 * Returns the bytes of the arguments without trailing zeros: a program that has overwritten its
 * arguments with a title leaves zeros in the rest of their space, which are not empty arguments.
 * A few at the end may be real ones.
 */
#define EMPTY_ARGUMENTS_MAX 8
static ssize_t get_title_length(const char *line, ssize_t n)
{
	ssize_t end = n;

	while (end > 0 && !line[end - 1])
		end--;
	return n - end > EMPTY_ARGUMENTS_MAX && end ? end + 1 : n;
}

static void write_process(void)
{
	const struct training_keys *keys = get_training_keys(get_config());
	static char text[META_PART_MAX], value[4096];
	struct text t;
	bool fits = true;

	write_config_meta();

	ssize_t n = io_read_file(AT_FDCWD, "/proc/self/cmdline", value, sizeof(value) - 1);

	n = get_title_length(value, n);
	t = list_begin(text, sizeof(text), '[');
	value[n > 0 ? n : 0] = 0;
	for (char *p = value; p < value + n && fits; p += strlen(p) + 1)
		fits = list_add(&t, NULL, p, false);
	list_end(&t, fits && n < (ssize_t)sizeof(value) - 1, ']');
	session_set_meta(META_PROGRAM, "program", text);
	if (keys->training)
		session_set_meta(META_TRAINING, "training", keys->training);
}

/*
 * Writes what distinguishes the folders of one run from those of another: the run's start, and
 * the launcher's attempt number.
 */
static void write_lifetime(void)
{
	/* A byte takes up to six if it is escaped. */
	char json[6 * sizeof(((struct identity *)0)->attempt) + 3], start[24];
	struct text t = text_init(json, sizeof(json));
	uint64_t start_ns = owner_start_ns(&session.owner);
	struct identity id;

	if (start_ns) {
		snprintf(start, sizeof(start), "%llu", (unsigned long long)start_ns);
		session_set_meta(META_PROCESS_START, "process_start_ns", start);
	}
	identity_read(&id);
	text_add_json(&t, id.attempt);
	session_set_meta(META_ATTEMPT, "attempt", json);
}

/* Notes that this run continues in an earlier run's folder. */
static void write_resumed(void)
{
	char json[128];
	struct text t = text_init(json, sizeof(json));

	if (!output.resumed.is)
		return;
	format_resumed(&t, &output.resumed);
	session_set_meta(META_RESUMED, "resumed", json);
}

/*
 * Notes the file that shows later whether the kernel has killed processes of this control group
 * for lack of memory.
 */
static void write_memory_group(void)
{
	/* Guarded by session.lock. */
	static char groups[4096], path[1024], json[sizeof(path) * 6 + 64];
	ssize_t n = io_read_file(AT_FDCWD, "/proc/self/cgroup", groups, sizeof(groups) - 1);
	struct text t = text_init(json, sizeof(json));

	groups[n > 0 ? n : 0] = 0;
	if (find_memory_events(groups, path, sizeof(path)) < 0)
		return;
	text_add_string(&t, "{\"events\": ");
	text_add_json(&t, path);
	text_add_format(&t, ", \"oom_kills\": %lld}", (long long)read_oom_kills(path));
	session_set_meta(META_MEMORY_GROUP, "memory_group", json);
}

void session_write_description(void)
{
	write_process();
	write_lifetime();
	write_memory_group();
	write_settings();
	write_named(&libraries);
	if (steps_before)
		write_steps_before();
	if (unfinished_reduction >= 0)
		write_unfinished_reduction();
	if (invisible.n)
		write_named(&invisible);
	write_layout_facts();
	write_resumed();
	if (switches.n)
		write_switches();
}
