/* SPDX-License-Identifier: Apache-2.0 */
/* Overrides from the environment: PROBE_<KEY>. */
#include <errno.h>
#include <string.h>

#include "config/config_load.h"

#define PREFIX "PROBE_"

/*
 * Reports a name if it looks like a mistyped key. Other variables begin with PROBE_ too: those of
 * other programs, and PROBE_CONFIG, which the caller of config_load() has read.
 */
static void handle_unknown_name(struct loader *l, const char *name, size_t len)
{
	const struct config_key *near = config_find_similar_key(name, len);
	char upper[40];
	size_t n = 0;

	if (!near)
		return;
	for (; near->name[n] && n + 1 < sizeof(upper); n++)
		upper[n] = get_upper_case(near->name[n]);
	upper[n] = 0;
	report_emit_at(&l->report, 0, 0,
		PREFIX "%.*s: unknown key; did you mean " PREFIX "%s? It is ignored", (int)len,
		name, upper);
}

static void handle_wrong_value(struct loader *l, const struct config_key *k, const char *entry,
	size_t nlen, const char *what)
{
	char accepted[CONFIG_ACCEPTED_MAX], quoted[REPORT_VALUE_MAX], now[REPORT_VALUE_MAX];
	const char *value = entry + nlen + 1;
	bool of_file = l->from_file[k - config_keys];

	if (what == config_oom) {
		l->error = -ENOMEM;
		return;
	}
	config_check_entries(k, value, strlen(value), &l->report);
	/* The value is shown as it was written, without quotes. */
	report_format_quoted(quoted, value, strlen(value));
	quoted[strlen(quoted) - 1] = 0;
	if (of_file)
		config_format(l->cfg, k, now, sizeof(now));
	report_emit_at(&l->report, 0, 0, "%.*s=%s: %s; accepted: %s; the %s %s is used", (int)nlen,
		entry, quoted + 1, what, config_accepted(k, accepted, sizeof(accepted)),
		of_file ? "file's" : "default", of_file ? now : config_get_default_text(k));
}

void loader_read_env(struct loader *l, char *const env[])
{
	bool seen[CONFIG_KEYS_MAX] = {false};

	for (char *const *e = env; e && *e; e++) {
		if (strncmp(*e, PREFIX, sizeof(PREFIX) - 1) != 0)
			continue;

		const char *name = *e + sizeof(PREFIX) - 1;
		const char *eq = strchr(name, '=');

		if (!eq)
			continue;

		const struct config_key *k = config_key_find(name, (size_t)(eq - name), true);
		const char *wrong;

		if (!k)
			handle_unknown_name(l, name, (size_t)(eq - name));
		/* If a name occurs twice, the first one is used, as by getenv(). */
		if (!k || seen[k - config_keys])
			continue;
		seen[k - config_keys] = true;
		if (eq[1])
			wrong = config_set(l->cfg, k, eq + 1, strlen(eq + 1), &l->base);
		else
			/* an empty value counts as not set */
			wrong = config_set_default(l->cfg, k, &l->base);
		l->from_env[k - config_keys] = !wrong && eq[1];
		if (wrong)
			handle_wrong_value(l, k, *e, (size_t)(eq - *e), wrong);
	}
}
