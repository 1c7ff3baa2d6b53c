/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration and list: read at the first call of any wrapper. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/private_stack.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/log.h"
#include "call/data/observer.h"
#include "call/stackid.h"
#include "call/step.h"
#include "config/config.h"
#include "config/list/chosen_words.h"
#include "config/list/wraplist.h"
#include "elf/loaded/object_at.h"
#include "life/fork.h"
#include "life/life.h"
#include "session/generation_pair.h"
#include "session/state.h"

static void log_config_problem(void *arg, const char *line)
{
	(void)arg;
	log_loss(LOSS_CONFIG, "%s", line);
}

char *life_config_file;
bool life_config_named;

static const char *get_startup_value(const char *name)
{
	size_t n = strlen(name);

	for (char *const *e = startup_get_environment(); *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

static char *format_absolute_path(const char *path)
{
	char *s = NULL;

	if (path[0] == '/')
		return strdup(path);
	return asprintf(&s, "%s/%s", startup_get_cwd(), path) < 0 ? NULL : s;
}

/*
 * Logged immediately, not with the first record: without its list of functions a preset may
 * record nothing.
 */
static void log_missing_list(void *arg, const char *line)
{
	(void)arg;
	log_loss(LOSS_ENTRY, "%s", line);
}

static struct wraplist *load_list(
	const struct config *cfg, config_report_fn *missing, config_report_fn *report, void *arg)
{
	char *path = config_find_list(cfg, own_path_get(), missing, arg);
	struct wraplist *list = wraplist_load(path, report, arg);

	if (!list && path)
		list = wraplist_load(NULL, report, arg);
	free(path);
	return list;
}

struct wraplist *life_load_list(const struct config *cfg, config_report_fn *report, void *arg)
{
	return load_list(cfg, report, report, arg);
}

/* Makes a list from sections, or functions of one: "aten", "aten.mm" as the list "aten: [mm]". */
static void load_armable(const struct config *cfg)
{
	size_t cap = 2 * strlen(cfg->armable) + 64, n = 0, words = 1;
	const char *p = cfg->armable;
	char *text;

	if (!*p)
		return;
	for (const char *c = p; *c; c++)
		words += *c == '\n';
	cap += 16 * words;
	text = malloc(cap);
	if (!text)
		return;
	while (*p) {
		size_t len = strcspn(p, "\n"), section = strcspn(p, ".\n");
		const char *name = section < len ? p + section + 1 : "*";

		n += (size_t)snprintf(text + n, cap - n, "%.*s: [\"%.*s\"]\n", (int)section, p,
			section < len ? (int)(len - section - 1) : 1, name);
		p += len + (p[len] == '\n');
	}
	generation_armable = wraplist_load_text("armable", text, n, NULL, NULL);
	free(text);
}

static void load_session_config(void)
{
	clock_set_source();

	const char *named = get_startup_value("PROBE_CONFIG");
	char *file = named && *named ? format_absolute_path(named)
				     : config_find("probe.yaml", own_path_get());

	struct config *cfg = &generation_first.cfg;

	config_load(
		cfg, file, startup_get_environment(), startup_get_cwd(), log_config_problem, NULL);
	life_config_file = file;
	life_config_named = named && *named;
	if (cfg->dynamic_monitor)
		cfg->start_step = cfg->start_iteration + 1;
	load_armable(cfg);
	log_level_set((int)cfg->log_level);
	if (!cfg->disable)
		generation_first.running.list =
			load_list(cfg, log_missing_list, log_config_problem, NULL);
	generation_init_pair(&generation_first, 0);
	config_watch_start();
	if (cfg->disable)
		return;
	step_update_config();
	stack_id_update();
	tensor_watch_update(get_config());
}

/*
 * Reports entries of the list for which no wrapper of their library exists: a misspelt name would
 * silently record nothing.
 */
static void check_list_names(void)
{
	const struct adapter *seen[64];
	unsigned n = 0;

	api_fill();
	for (unsigned i = 0; i < api_count; i++)
		if (api_get(i)->spec->task == TASK_DATA)
			wraplist_match(get_wraplist(), api_get(i)->spec->lib->name,
				api_get(i)->spec->list_name);
	for (unsigned i = 0; i < api_count; i++) {
		const struct adapter *l = api_get(i)->spec->lib;
		unsigned k = 0;

		while (k < n && seen[k] != l)
			k++;
		if (k < n || n == 64)
			continue;
		seen[n++] = l;
		wraplist_emit_unknown(get_wraplist(), l->name, log_config_problem, NULL);
	}
}

static void load_config_once(void *arg)
{
	static _Atomic bool fork_hooked;
	int cancel;

	(void)arg;
	/*
	 * Registered before the lock is taken for the first time: a child forked meanwhile would
	 * wait for the lock for ever.
	 */
	if (!atomic_exchange(&fork_hooked, true))
		pthread_atfork(NULL, NULL, child_after_fork);
	/*
	 * Opening and reading files are cancellation points: a thread that is cancelled in them
	 * would keep the lock.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&session.lock);
	if (atomic_load(&session.phase) == SESSION_NEW) {
		load_session_config();
		if (get_config()->disable || !get_wraplist()) {
			session_set_final_phase(SESSION_OFF);
		} else {
			check_list_names();
			emit_unknown_words(get_config(), life_config_file,
				startup_get_environment(), get_wraplist(), log_config_problem,
				NULL);
			atomic_store_explicit(&session.phase, SESSION_READY, memory_order_release);
		}
	}
	pthread_mutex_unlock(&session.lock);
	pthread_setcancelstate(cancel, NULL);
}

bool life_configure(void)
{
	uint32_t phase;

	private_stack_call(load_config_once, NULL);
	phase = atomic_load(&session.phase);
	return phase == SESSION_READY || phase == SESSION_ON;
}
