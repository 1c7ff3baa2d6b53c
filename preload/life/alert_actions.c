/* SPDX-License-Identifier: Apache-2.0 */
/* Actions of alerts in the running process that caused them. Called on the writer thread. */
#include "life/alert_actions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "session/generation_pair.h"
#include "terms/alert_rule.h"
#include "base/log.h"
#include "config/config_value.h"
#include "config/preset.h"
#include "life/life.h"
#include "session/state.h"
#include "training/alerts/alerts.h"
#include "training/steps/stop.h"

#define CAPTURES_MAX 16 /* maximum number of captures: each leaves its configuration in meta.json */
#define WATCHER_FILE "watch.json" /* written by `probe watch` at each of its checks */
#define WATCHER_SECONDS 60 /* maximum age in seconds; clocks of nodes differ */

/*
 * Configurations for captures, by preset, and the number of the generation from which each was
 * made.
 */
static struct {
	struct generation_pair *pair;
	uint32_t of;
} captured[PRESET_STATE + 1];
static unsigned captures;

static const struct preset *find_capture_preset(const char *word, unsigned *at)
{
	for (*at = 0; *at < config_npresets; ++*at)
		if (strcmp(config_presets[*at].name, word) == 0)
			return &config_presets[*at];
	return NULL;
}

/*
 * cfg is a copy: its pointers belong to another configuration, which lives as long as the
 * process, so they are not freed.
 */
static void set_preset_keys(struct config *cfg, const struct preset *p)
{
	const struct path_base base = {0};

	for (unsigned i = 0; i < PRESET_KEYS_MAX && *p->set[i].key; i++) {
		const struct config_key *k =
			config_key_find(p->set[i].key, strlen(p->set[i].key), false);

		if (!k || config_key_fixed(k, &generation_first.cfg, cfg))
			continue;
		if (config_is_text(k))
			*(char **)config_get_member(cfg, k) = (char *)k->dflt;
		config_set(cfg, k, p->set[i].value, strlen(p->set[i].value), &base);
	}
}

static void ignore_report(void *arg, const char *line)
{
	(void)arg, (void)line;
}

static struct generation_pair *add_capture_generation(const struct preset *p, unsigned preset)
{
	struct generation_pair *pair = calloc(1, sizeof(*pair));
	struct config *cfg;
	struct config for_list;

	if (!pair)
		return NULL;
	cfg = &pair->cfg;
	*cfg = *get_config();
	set_preset_keys(cfg, p);
	cfg->start_step = 0;
	cfg->step_interval = 1;
	cfg->collect_times = 0;
	cfg->step = (struct ranges){0};
	for_list = *cfg;
	if (*p->list)
		for_list.wrap_ops = (char *)"";
	for_list.preset = (enum config_preset)preset;
	pair->running.list = life_load_list(&for_list, ignore_report, NULL);
	if (pair->running.list)
		return pair;
	free(pair);
	return NULL;
}

static void start_capture(const struct alert_rule *r, struct text *done)
{
	unsigned preset;
	const struct preset *p = find_capture_preset(alert_preset_words[r->preset], &preset);
	const struct generation_pair *base = generation_get_base();

	if (!p || preset > PRESET_STATE || captures >= CAPTURES_MAX) {
		text_add_string(done, captures >= CAPTURES_MAX
					      ? "not done: 16 captures of this job were started, "
						"which is the limit"
					      : "not done: no such preset");
		return;
	}
	if (!captured[preset].pair || captured[preset].of != base->running.number) {
		captured[preset].pair = add_capture_generation(p, preset);
		captured[preset].of = base->running.number;
	}
	if (!captured[preset].pair || generation_propose_for(captured[preset].pair, r->n)) {
		text_add_string(done, "not done: no memory, or too many configurations");
		return;
	}
	captures++;
	text_add_u64(done, r->n);
	text_add_string(done, r->n == 1 ? " step with preset " : " steps with preset ");
	text_add_string(done, p->name);
}

/* True if `probe watch --exec` is running: it writes its file at each check. */
static bool is_watched(void)
{
	char path[4200];
	struct stat st;
	struct timespec now;

	snprintf(path, sizeof(path), "%s/" WATCHER_FILE, get_config()->output_dir);
	if (stat(path, &st))
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	return labs((long)(now.tv_sec - st.st_mtim.tv_sec)) <= WATCHER_SECONDS;
}

static void stop_job_by(const struct alert_rule *r, uint32_t step, struct text *done)
{
	char text[STOP_TEXT_MAX];
	const int rank = session.world_rank < 0 ? 0 : session.world_rank;
	const char *why;

	snprintf(text, sizeof(text),
		"libprobe: alert of rule %s in step %u of rank %d, whose action is stop "
		"(rank%d/alerts.jsonl)",
		alert_rule_words[r->rule], step, rank, rank);
	why = stop_job_ask(text);
	text_add_string(
		done, why ? "not done: " : "ValueError after the next step of an optimizer");
	text_add_string(done, why ? why : "");
}

static void run_alert_action(
	enum alert_action what, const struct alert_rule *r, uint32_t step, struct text *done)
{
	switch (what) {
	case ALERT_DO_CAPTURE:
		start_capture(r, done);
		break;
	case ALERT_DO_PAUSE:
		generation_pause_for(r->n);
		text_add_u64(done, r->n);
		text_add_string(done, r->n == 1 ? " step" : " steps");
		break;
	case ALERT_DO_STOP:
		stop_job_by(r, step, done);
		break;
	case ALERT_DO_EXEC:
		text_add_string(done, is_watched() ? "by probe watch" : "no watcher");
		break;
	case ALERT_DO_LOG:
	case ALERT_ACTIONS:
		break;
	}
}

void alert_actions_set(void)
{
	static const struct alert_hooks actions = {.act = run_alert_action};

	alerts_set_hooks(&actions);
}
