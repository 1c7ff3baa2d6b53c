/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/run/preset.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "config/preset.h"
#include "tools/lib/cli.h"
#include "tools/probe/run/preload.h"
#include "tools/lib/tool.h"

static const struct preset *find_preset(const char *name)
{
	for (unsigned i = 1; i < config_npresets; i++)
		if (strcmp(config_presets[i].name, name) == 0)
			return &config_presets[i];
	return NULL;
}

bool preset_check_name(const char *name)
{
	const char *names[16], *near;
	unsigned n = 0;

	if (find_preset(name))
		return true;
	for (unsigned i = 1; i < config_npresets && n < 16; i++)
		names[n++] = config_presets[i].name;
	near = cli_find_nearest(name, names, n);
	tool_error("run: --preset %s: %s%s%saccepted: comm, nan, ops, dump, state", name,
		near ? "did you mean " : "", near ? near : "", near ? "? " : "");
	return false;
}

/* The user's own settings, from the file and the environment. */
struct chosen {
	struct config now, file, none;
};

static void ignore_preset_line(void *arg, const char *line)
{
	(void)arg;
	(void)line;
}

static void load_chosen_config(struct chosen *u, const char *file)
{
	const char *named = getenv("PROBE_CONFIG");
	char *const none[] = {NULL};
	char *cwd = tool_get_absolute_path("."),
	     *path = file	       ? tool_strdup(file)
		     : named && *named ? tool_strdup(named)
				       : config_find("probe.yaml", preload_get_config_base());

	/* The job itself reports problems. */
	config_load(&u->now, path, environ, cwd, ignore_preset_line, NULL);
	config_load(&u->file, path, none, cwd, ignore_preset_line, NULL);
	config_load(&u->none, NULL, none, cwd, ignore_preset_line, NULL);
	free(path);
	free(cwd);
}

static char *format_env_name(const char *key)
{
	char *name = tool_format("PROBE_%s", key);

	for (char *p = name; *p; p++)
		if (*p >= 'a' && *p <= 'z')
			*p -= 'a' - 'A';
	return name;
}

static char *format_preset_value(const struct config *c, const char *key)
{
	for (size_t i = 0; i < config_nkeys; i++) {
		const struct config_key *k = &config_keys[i];

		if (strcmp(k->name, key) == 0) {
			size_t n = (size_t)config_format(c, k, NULL, 0) + 1;
			char *text = tool_alloc(n);

			config_format(c, k, text, n);
			return text;
		}
	}
	return tool_strdup("");
}

static bool is_chosen(const struct chosen *u, const char *key)
{
	char *name = format_env_name(key), *file, *none;
	const char *env = getenv(name);
	bool other;

	free(name);
	if (env && *env)
		return true;
	file = format_preset_value(&u->file, key);
	none = format_preset_value(&u->none, key);
	other = strcmp(file, none) != 0;
	free(file);
	free(none);
	return other;
}

static int set_preset_list(
	const struct preset *p, const struct chosen *u, preset_set_fn *set, void *arg)
{
	char *list = config_find(p->list, preload_get_config_base());

	if (is_chosen(u, "wrap_ops")) {
		tool_warn(
			"run: --preset %s: wrap_ops is set to %s, which decides what is recorded; "
			"the preset's list is %s",
			p->name, u->now.wrap_ops, list ? list : p->list);
		set(arg, "PROBE_WRAP_OPS", u->now.wrap_ops); /* absolute */
	} else if (!list) {
		tool_error(
			"run: --preset %s: no %s next to libprobe.so's configuration; it belongs "
			"to the installation (share/libprobe)",
			p->name, p->list);
		return -1;
	} else {
		set(arg, "PROBE_WRAP_OPS", list);
	}
	free(list);
	return 0;
}

int preset_set_variables(const char *name, const char *file, preset_set_fn *set, void *arg)
{
	const struct preset *p = find_preset(name);
	const char *named = getenv("PROBE_CONFIG");
	char *path;
	struct chosen u;
	int err = 0;

	load_chosen_config(&u, file);
	if (named && *named && !file) {
		path = tool_get_absolute_path(named);
		set(arg, "PROBE_CONFIG", path);
		free(path);
	}
	for (unsigned i = 0; i < PRESET_KEYS_MAX && *p->set[i].key; i++) {
		char *var = format_env_name(p->set[i].key);

		if (!is_chosen(&u, p->set[i].key))
			set(arg, var, p->set[i].value);
		free(var);
	}
	/*
	 * The program may change its working directory before it starts others (Hydra), so they
	 * must inherit an absolute path.
	 */
	set(arg, "PROBE_OUTPUT_DIR", u.now.output_dir);
	if (*p->list)
		err = set_preset_list(p, &u, set, arg);
	config_free(&u.now);
	config_free(&u.file);
	config_free(&u.none);
	return err;
}
