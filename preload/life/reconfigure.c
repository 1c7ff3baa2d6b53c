/* SPDX-License-Identifier: Apache-2.0 */
/* Another configuration while the program runs: session/generation.h says when it takes effect. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/enabled.h"
#include "api/runtime_registry.h"
#include "base/apart.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/observer.h"
#include "call/stackid.h"
#include "call/step.h"
#include "entry/stub.h"
#include "life/life.h"
#include "session/state.h"

/* Used up when the recording started: another value would have no effect, or half of one. */
static const char *const fixed_keys[] = {"output_dir", "format", "monitor_dir", "monitor_layout",
	"append_output", "journal_dir", "journal_mib", "part_mib", "output_limit_mib",
	"step_count_per_record", "gzip", "custom_apis", "stats_isa", "stats_threads",
	"stats_threads_min_bytes", "start_iteration", "step_anchor", "step_boundary",
	"grad_acc_steps", "loss_reduction", "scalars", "disable", "preset", "ops",
	"monitor_mbs_grad", "squash_name", "targets", "alerts", "anomaly_json", "anomaly_dir"};

struct proposal {
	const char *name, *text;
	size_t len;
	struct generation_pair *pair;
	unsigned wrong; /* problems that were said */
	int err;
};

static void refuse_for(void *arg, const char *line)
{
	struct proposal *p = arg;

	p->wrong += !config_is_note(line);
	if (config_is_note(line))
		return;
	log_loss(LOSS_CONFIG, "%s; the configuration stays as it was", line);
}

static size_t key_bytes(const struct config_key *k)
{
	switch (k->type) {
	case KEY_BOOL:
		return sizeof(bool);
	case KEY_INT:
		return sizeof(int64_t);
	case KEY_FLOAT:
		return sizeof(double);
	case KEY_ENUM:
		return sizeof(enum config_fork);
	case KEY_CHOICE:
		return sizeof(uint64_t);
	case KEY_RANGES:
		return sizeof(struct ranges);
	default:
		return sizeof(char *);
	}
}

/* Names of autograd's nodes are bound while libraries are loaded, or they are not. */
static bool is_bound_at_load(const struct config_key *k, const struct config *was)
{
	return strcmp(k->name, "backward") == 0 && !was->backward;
}

bool life_key_is_fixed(const struct config_key *k)
{
	for (size_t i = 0; i < sizeof(fixed_keys) / sizeof(*fixed_keys); i++)
		if (strcmp(fixed_keys[i], k->name) == 0)
			return true;
	return false;
}

/* Values of *was, whose memory lasts as long as the process; what *cfg had instead is lost: a few bytes for each change. */
static void keep_fixed_keys(struct config *cfg, const struct config *was)
{
	char old[1024], new[1024];

	for (size_t i = 0; i < config_nkeys; i++) {
		const struct config_key *k = &config_keys[i];

		if (!life_key_is_fixed(k) && !is_bound_at_load(k, was))
			continue;
		config_format(was, k, old, sizeof(old));
		config_format(cfg, k, new, sizeof(new));
		if (strcmp(old, new) != 0)
			log_loss(LOSS_CONFIG,
				"%s: cannot change while the program runs: %s stays in use, not "
				"%s; "
				"set it before the start",
				k->name, old, new);
		memcpy((char *)cfg + k->offset, (const char *)was + k->offset, key_bytes(k));
	}
}

static void propose_apart(void *arg)
{
	struct proposal *p = arg;
	struct generation *g;
	int cancel;

	/* Files are opened. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	p->pair = calloc(1, sizeof(*p->pair));
	p->err = p->pair ? 0 : -ENOMEM;
	if (!p->err) {
		g = &p->pair->running;
		p->err = config_load_text(&g->cfg, p->name, p->text, p->len, startup_env(),
			startup_cwd(), refuse_for, p);
		if (!p->err && !p->wrong)
			g->list = life_load_list(&g->cfg, refuse_for, p);
		if (!p->err && p->wrong)
			p->err = -EINVAL;
		else if (!p->err && !g->list)
			p->err = -ENOMEM;
		if (p->err) {
			wraplist_free(g->list);
			config_free(&g->cfg);
		} else {
			keep_fixed_keys(&g->cfg, config_now());
			p->err = generation_propose(p->pair);
		}
		if (p->err && p->err != -ENOSPC)
			free(p->pair);
	}
	pthread_setcancelstate(cancel, NULL);
}

int session_reconfigure(const char *name, const char *text, size_t len)
{
	struct proposal p = {.name = name, .text = text, .len = len, .err = -EPERM};
	int err = errno;

	thread_state.busy++;
	if (session_configure())
		apart_call(propose_apart, &p);
	thread_state.busy--;
	errno = err;
	return p.err;
}

/* The row was decided by another configuration. */
static void renew_outdated_row(struct api *a, void *arg)
{
	const uint32_t *number = arg;

	if (api_word(a) >> API_GENERATION != *number)
		api_renew(a);
}

static void tell_changed_config(void *step)
{
	session_config_changed(*(const uint32_t *)step);
}

void life_config_changed(void)
{
	const struct generation *g = generation_now();
	uint32_t number = g->number;

	for (unsigned i = 0; i < api_count; i++)
		renew_outdated_row(&api_table[i], &number);
	rows_each(renew_outdated_row, &number);
	/* Stubs of functions that were not listed lead past us. */
	stub_forget();
	atomic_store(&session_rank_wanted, 0);
	log_level_set((int)g->cfg.log_level);
	stack_id_configure();
	tensor_watch_configure(&g->cfg);
	number = step_now() + 1;
	apart_call(tell_changed_config, &number);
}
