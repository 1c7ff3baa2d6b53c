/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/ctl/restart_need.h"

#include <string.h>

#include "config/list/wraplist.h"
#include "tools/lib/tool.h"

/* Sections of the list whose functions have stubs. Stubs are created when the library is loaded. */
static const char stub_sections[][12] = {"aten", "c10d", "functional", "tensor", "torch",
	"distributed", "mindspore", "acl", "custom", "python"};

static const char *find_changed_value(const struct ctl_change *c, const char *name)
{
	size_t n = strlen(name);

	for (size_t at = 0; at < c->len; at += strlen(c->keys + at) + 1)
		if (strncmp(c->keys + at, name, n) == 0 && c->keys[at + n] == '=')
			return c->keys + at + n + 1;
	return NULL;
}

/* Returns true if the section is in the key armable, a list as in meta.json. */
static bool is_section_armable(const char *armable, const char *section)
{
	size_t n = strlen(section);

	for (const char *p = strstr(armable, section); p; p = strstr(p + 1, section))
		if ((p == armable || p[-1] == '"' || p[-1] == ' ' || p[-1] == '\n') &&
			(!p[n] || strchr("\".,\n ", p[n])))
			return true;
	return false;
}

static void print_nothing(void *arg, const char *line)
{
	(void)arg, (void)line;
}

void print_restart_warnings(const struct folders *f, const struct ctl_change *change)
{
	const char *list = find_changed_value(change, "PROBE_WRAP_OPS");
	struct wraplist *w = list ? wraplist_load(list, print_nothing, NULL) : NULL;

	if (list && !w)
		tool_warn("ctl: %s: cannot be read here; the ranks may be unable to read it, too",
			list);
	for (unsigned i = 0; w && f->n && i < sizeof(stub_sections) / sizeof(*stub_sections); i++) {
		const char *s = stub_sections[i];

		if (wraplist_has_section(w, s) &&
			!is_section_armable(f->dir[0].meta.cfg_armable, s))
			tool_warn("ctl: section %s of %s: functions that were not listed when "
				  "their library was loaded stay off in this job; start it again "
				  "with that list, or with armable: [%s]",
				s, list, s);
	}
	wraplist_free(w);
}
