/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as ctl.yaml, and each change that it has as an environment of the configuration, as a running job takes it. */
#include <stdlib.h>

#include "config/config.h"
#include "config/load/ctl_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drop_report(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

static void take_change(const struct ctl_change *change)
{
	char home[] = "HOME=/h";
	char **env = ctl_get_environment(change, (char *[]){home, NULL});
	struct config cfg;

	if (!env)
		return;
	config_load_text(&cfg, "f", "step: [1]\n", 10, env, "/", drop_report, NULL);
	config_free(&cfg);
	free(env);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ctl_file c;
	int err = ctl_parse(&c, "ctl.yaml", (const char *)data, size, drop_report, NULL);

	if (c.n > CTL_CHANGES_MAX)
		abort();
	for (unsigned i = 0; !err && i < c.n; i++) {
		if (i && c.change[i].effective_step < c.change[i - 1].effective_step)
			abort();
		take_change(ctl_get_change(&c, c.change[i].effective_step));
	}
	ctl_free(&c);
	return 0;
}
