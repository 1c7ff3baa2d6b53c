/* SPDX-License-Identifier: Apache-2.0 */
/* Another configuration while the program runs: session/generation.h describes when it takes effect. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/enabled.h"
#include "api/runtime_registry.h"
#include "base/private_stack.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/data/observer.h"
#include "call/stackid.h"
#include "config/config.h"
#include "config/load/ctl_file.h"
#include "entry/stubs/stub.h"
#include "life/life.h"
#include "session/generation_pair.h"
#include "session/state.h"

/* Copies values of the configuration in use for keys that cannot change after the start. */
static int copy_fixed_keys(struct config *cfg, const struct config *was)
{
	char old[1024], new[1024];

	for (size_t i = 0; i < config_nkeys; i++) {
		const struct config_key *k = &config_keys[i];

		if (!config_key_fixed(k, was, cfg))
			continue;
		config_format(was, k, old, sizeof(old));
		config_format(cfg, k, new, sizeof(new));
		if (strcmp(old, new) == 0)
			continue;
		log_loss(LOSS_CONFIG,
			"%s: cannot change while the program runs: %s stays in use, not %s; "
			"set it before the start",
			k->name, old, new);
		if (config_copy_key(cfg, was, k))
			return -ENOMEM;
	}
	return 0;
}

struct making {
	const struct change_text *t;
	struct generation_pair *pair;
	unsigned wrong; /* number of problems reported */
	int err;
};

static void handle_wrong_change(void *arg, const char *line)
{
	struct making *m = arg;

	if (config_is_note(line))
		return;

	/* The part of the message about the start of a job is wrong while the job runs: it is cut off. */
	static const char *const outcomes[] = {"; the default ", "; nothing is recorded ",
		" It is ignored", "; it is ignored", "; the last one is used"};
	const char *end = line + strlen(line);

	for (unsigned i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++) {
		const char *outcome = strstr(line, outcomes[i]);

		if (outcome && outcome < end)
			end = outcome;
	}
	m->wrong++;
	log_loss(LOSS_CONFIG, "%.*s; the configuration stays as it was", (int)(end - line), line);
}

static int set_generation(struct generation_pair *p, struct making *m)
{
	const struct change_text *t = m->t;
	char **env = ctl_get_environment(t->change, startup_get_environment());
	int err = -ENOMEM;

	if (env)
		err = config_load_text(&p->cfg, t->name, t->text, t->len, env, startup_get_cwd(),
			handle_wrong_change, m);
	free(env);
	if (!err && !m->wrong)
		p->running.list = life_load_list(&p->cfg, handle_wrong_change, m);
	if (!err && m->wrong)
		return -EINVAL;
	if (!err && !p->running.list)
		return -ENOMEM;
	return err ? err : copy_fixed_keys(&p->cfg, &generation_first.cfg);
}

int life_make_pair(const struct change_text *t, struct generation_pair **pair)
{
	struct making m = {.t = t, .pair = calloc(1, sizeof(*m.pair))};

	*pair = NULL;
	if (!m.pair)
		return -ENOMEM;

	struct generation *g = &m.pair->running;
	int err = set_generation(m.pair, &m);

	if (err) {
		generation_free(m.pair);
		return err;
	}
	g->asked = t->asked;
	g->change = t->mark;
	snprintf(g->by, sizeof(g->by), "%s", t->by);
	*pair = m.pair;
	return 0;
}

struct proposal {
	struct change_text text;
	int err;
};

static void register_on_private_stack(void *arg)
{
	struct proposal *p = arg;
	struct generation_pair *pair;
	int cancel;

	/* Files are opened, so the thread must not be cancelled here. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	p->err = life_make_pair(&p->text, &pair);
	if (!p->err)
		p->err = generation_propose_next(pair);
	if (p->err == -ENOSPC)
		generation_free(pair);
	pthread_setcancelstate(cancel, NULL);
}

int session_reconfigure(const char *name, const char *text, size_t len)
{
	struct proposal p = {
		.text = {.name = name, .text = text, .len = len, .by = "call"}, .err = -EPERM};
	int err = errno;

	thread_state.busy++;
	if (session_configure())
		private_stack_call(register_on_private_stack, &p);
	thread_state.busy--;
	errno = err;
	return p.err;
}

/* If the row was decided with another configuration, makes its next call decide again. */
static void reset_outdated_row(struct api *a, void *arg)
{
	const uint32_t *number = arg;

	if (get_api_word(a) >> API_GENERATION != *number)
		reset_api(a);
}

static void handle_changed_config(void *step)
{
	session_config_changed(*(const uint32_t *)step);
}

void life_config_changed(uint32_t step)
{
	const struct generation *g = get_generation();
	uint32_t number = g->number;

	for (unsigned i = 0; i < api_count; i++)
		reset_outdated_row(api_get(i), &number);
	rows_each(reset_outdated_row, &number);
	/* Stubs of functions that were not listed bypass libprobe, so all stubs are reset. */
	stub_forget();
	atomic_store(&session_rank_wanted, 0);
	log_level_set((int)g->cfg->log_level);
	stack_id_update();
	tensor_watch_update(g->cfg);
	private_stack_call(handle_changed_config, &step);
}
