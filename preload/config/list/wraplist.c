/* SPDX-License-Identifier: Apache-2.0 */
#include "config/list/wraplist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "config/list/glob.h"
#include "config/config_report.h"
#include "config/list/import_list.h"

void wraplist_free(struct wraplist *w)
{
	int saved = errno;

	if (w) {
		free(w->text);
		free(w->entry);
		free(w->slot);
		free(w);
	}
	errno = saved;
}

uint32_t wraplist_find_section(const struct wraplist *w, const char *name)
{
	for (uint32_t i = 0; i < w->nsection; i++)
		if (strcmp(wraplist_get_text(w, w->section[i].name), name) == 0)
			return i;
	return WRAPLIST_NONE;
}

bool wraplist_has_section(const struct wraplist *w, const char *section)
{
	return wraplist_find_section(w, section) != WRAPLIST_NONE;
}

bool wraplist_has_names(const struct wraplist *w, const char *section)
{
	uint32_t s = wraplist_find_section(w, section);

	for (uint32_t i = 0; s != WRAPLIST_NONE && i < w->n; i++)
		if (w->entry[i].section == s)
			return true;
	return false;
}

uint32_t wraplist_find_slot(const struct wraplist *w, uint32_t section, const char *name)
{
	uint32_t mask = w->nslot - 1, i = (uint32_t)hash_str(section, name) & mask;

	for (; w->slot[i]; i = (i + 1) & mask) {
		const struct wraplist_entry *e = &w->entry[w->slot[i] - 1];

		if (e->section == section && strcmp(wraplist_get_text(w, e->name), name) == 0)
			break;
	}
	return i;
}

static bool is_known(struct wraplist_entry *e)
{
	return atomic_load_explicit(&e->known, memory_order_relaxed);
}

static void set_known(struct wraplist_entry *e)
{
	atomic_store_explicit(&e->known, true, memory_order_relaxed);
}

bool wraplist_match(struct wraplist *w, const char *section, const char *name)
{
	uint32_t s = w ? wraplist_find_section(w, section) : WRAPLIST_NONE;
	bool hit = false;

	if (w && w->imported)
		return import_list_match(w, section, name);
	if (s == WRAPLIST_NONE)
		return false;
	if (w->nslot) {
		uint32_t slot = w->slot[wraplist_find_slot(w, s, name)];

		if (slot && !w->entry[slot - 1].glob) {
			set_known(&w->entry[slot - 1]);
			hit = true;
		}
	}
	/*
	 * If the name also matches patterns, each of them counts as known, even if all names that
	 * it matches are listed too.
	 */
	for (uint32_t i = w->section[s].first_glob; i != WRAPLIST_NONE; i = w->entry[i].next_glob) {
		struct wraplist_entry *e = &w->entry[i];

		if ((hit && is_known(e)) || !glob_match(wraplist_get_text(w, e->name), name))
			continue;
		set_known(e);
		hit = true;
	}
	return hit;
}

void wraplist_emit_unknown(
	struct wraplist *w, const char *section, config_report_fn *report, void *arg)
{
	int saved = errno;
	uint32_t s = w ? wraplist_find_section(w, section) : WRAPLIST_NONE;
	struct report r;

	if (s == WRAPLIST_NONE || w->imported)
		return;
	report_start(&r, report, arg, w->text);
	for (uint32_t i = 0; i < w->n; i++) {
		struct wraplist_entry *e = &w->entry[i];
		char quoted[REPORT_VALUE_MAX];
		const char *name = wraplist_get_text(w, e->name);

		if (e->section != s || is_known(e))
			continue;
		set_known(e);
		if (strcmp(name, "*") == 0) /* matches every name, so it is never unknown */
			continue;
		report_emit_at(&r, e->line, e->col, "%s: %s: %s; nothing is recorded for it",
			section, report_format_quoted(quoted, name, strlen(name)),
			e->glob ? "no known function matches this pattern" : "unknown name");
	}
	report_stop(&r);
	errno = saved;
}
