/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys for people: as a commented YAML file and as a Markdown table. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_value.h"
#include "tools/lib/key_groups.h"

#define LINE 1024

static void print_to_sink(config_sink_fn *sink, void *arg, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void print_to_sink(config_sink_fn *sink, void *arg, const char *fmt, ...)
{
	char buf[LINE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	sink(arg, buf);
}

/* Writes "key: value". Paths and lists may be too long for a buffer on the stack. */
static void print_key_value(
	const struct config *cfg, const struct config_key *k, config_sink_fn *sink, void *arg)
{
	size_t name = strlen(k->name);
	size_t need = name + 2 + (size_t)config_format(cfg, k, NULL, 0) + 1;
	char *buf = malloc(need);

	if (!buf) {
		print_to_sink(sink, arg, "# %s: out of memory", k->name);
		return;
	}
	memcpy(buf, k->name, name);
	memcpy(buf + name, ": ", 2);
	config_format(cfg, k, buf + name + 2, need - name - 2);
	sink(arg, buf);
	free(buf);
}

void config_print_yaml(const struct config *cfg, bool common, config_sink_fn *sink, void *arg)
{
	int saved = errno;
	char accepted[CONFIG_ACCEPTED_MAX];

	print_to_sink(
		sink, arg, "# The configuration in effect. An empty value stands for the default.");
	for (size_t i = 0; i < config_nkeys; i++) {
		const struct config_key *k = &config_keys[i];

		if (common && !is_common_key(k))
			continue;
		print_to_sink(sink, arg, "%s", "");
		print_to_sink(sink, arg, "# %s.", k->help);
		print_to_sink(sink, arg, "# Accepted: %s. Default: %s",
			config_accepted(k, accepted, sizeof(accepted)), config_get_default_text(k));
		print_key_value(cfg, k, sink, arg);
	}
	errno = saved;
}

static void print_key_table(int group, bool common, config_sink_fn *sink, void *arg)
{
	char accepted[CONFIG_ACCEPTED_MAX];

	print_to_sink(sink, arg, "| Key | Default | Accepted | Meaning |");
	print_to_sink(sink, arg, "|---|---|---|---|");
	for (size_t i = 0; i < config_nkeys; i++) {
		const struct config_key *k = &config_keys[i];

		if (common ? is_common_key(k) : find_key_group(i) == (enum key_group)group)
			print_to_sink(sink, arg, "| `%s` | `%s` | %s | %s |", k->name,
				config_get_default_text(k),
				config_accepted(k, accepted, sizeof(accepted)), k->help);
	}
}

void config_print_markdown(bool common, config_sink_fn *sink, void *arg)
{
	int saved = errno;

	if (common)
		print_key_table(0, true, sink, arg);
	for (int group = 0; group < KEY_GROUPS && !common; group++) {
		if (group)
			print_to_sink(sink, arg, "%s", "");
		print_to_sink(sink, arg, "## %s", key_group_titles[group]);
		print_to_sink(sink, arg, "%s", "");
		print_key_table(group, false, sink, arg);
	}
	errno = saved;
}
