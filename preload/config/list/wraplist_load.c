/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads support_wrap_ops.yaml: sections, each a plain list of names and patterns. Sections of
 * unknown libraries are accepted, because lists written for other tools contain them.
 */
#include "config/list/import_list.h"
#include "config/list/wraplist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/builtin.h"
#include "config/key.h"
#include "config/list/glob.h"
#include "config/reader.h"

#define LIST_NAME "support_wrap_ops.yaml"
#define LOST "the whole file is ignored and the built-in list is used"

struct list_loader {
	struct wraplist *w;
	struct report *report;
	struct reader r;
	bool capped; /* the limit for patterns was reported */
};

/* Returns the offset of the copy, or WRAPLIST_NONE when out of memory. */
static uint32_t add_text(struct wraplist *w, const char *s, size_t len)
{
	uint32_t at = w->text_len;

	if (w->text_cap - at < len + 1) {
		size_t cap = ((size_t)w->text_cap + len + 1) * 2;
		char *text = realloc(w->text, cap);

		if (!text)
			return WRAPLIST_NONE;
		w->text = text;
		w->text_cap = (uint32_t)cap;
	}
	memcpy(w->text + at, s, len);
	w->text[at + len] = 0;
	w->text_len = at + (uint32_t)len + 1;
	return at;
}

/* Makes space for one more entry, with the hash table at most half full. */
static int add_wraplist_space(struct wraplist *w)
{
	if (w->n == w->cap) {
		uint32_t cap = w->cap ? w->cap * 2 : 64;
		struct wraplist_entry *entry = realloc(w->entry, cap * sizeof(*entry));

		if (!entry)
			return -ENOMEM;
		w->entry = entry;
		w->cap = cap;
	}
	if (w->nslot >= (w->n + 1) * 2)
		return 0;

	uint32_t nslot = w->nslot ? w->nslot * 2 : 128;
	uint32_t *slot = calloc(nslot, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	free(w->slot);
	w->slot = slot;
	w->nslot = nslot;
	for (uint32_t i = 0; i < w->n; i++) {
		const struct wraplist_entry *e = &w->entry[i];

		slot[wraplist_find_slot(w, e->section, wraplist_get_text(w, e->name))] = i + 1;
	}
	return 0;
}

static const char *name_check(const char *name, size_t len)
{
	if (len > WRAPLIST_NAME_MAX)
		return "too long a name";
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return "holds a control character";
		if (name[i] == ' ')
			return "holds a space; one name per line is expected";
	}
	return glob_is(name) ? glob_check(name) : NULL;
}

/* Adds a scalar, the current event, to section s. Returns 0 or -ENOMEM. */
static int add_list_name(struct list_loader *l, uint32_t s)
{
	const char *name = (const char *)l->r.event.data.scalar.value;
	size_t len = l->r.event.data.scalar.length;
	const char *wrong = name_check(name, len);
	struct wraplist *w = l->w;
	struct wraplist_section *sec = &w->section[s];
	char quoted[REPORT_VALUE_MAX];

	if (len == 0)
		return 0;
	if (wrong) {
		reader_report(&l->r, "%s: %s: %s; it is skipped", wraplist_get_text(w, sec->name),
			report_format_quoted(quoted, name, len), wrong);
		return 0;
	}
	if (add_wraplist_space(w) < 0)
		return -ENOMEM;

	uint32_t slot = wraplist_find_slot(w, s, name), at;

	if (w->slot[slot])
		return 0; /* a duplicate is harmless */

	bool glob = glob_is(name);

	if (glob && sec->nglob >= WRAPLIST_GLOBS_MAX) {
		if (!l->capped)
			reader_report(&l->r, "%s: more than %d patterns; further ones are skipped",
				wraplist_get_text(w, sec->name), WRAPLIST_GLOBS_MAX);
		l->capped = true;
		return 0;
	}
	at = add_text(w, name, len);
	if (at == WRAPLIST_NONE)
		return -ENOMEM;

	struct wraplist_entry *e = &w->entry[w->n];

	e->name = at;
	e->line = (uint32_t)l->r.event.start_mark.line + 1;
	e->col = (uint32_t)l->r.event.start_mark.column + 1;
	e->next_glob = WRAPLIST_NONE;
	e->section = s;
	e->glob = glob;
	atomic_init(&e->known, false);
	if (glob) {
		e->next_glob = sec->first_glob;
		sec->first_glob = w->n;
		sec->nglob++;
	}
	w->slot[slot] = ++w->n;
	return 0;
}

/* Adds the section named by the current event. Returns its number, WRAPLIST_NONE if it is skipped, or -ENOMEM. */
static int64_t add_section(struct list_loader *l)
{
	const char *name = (const char *)l->r.event.data.scalar.value;
	struct wraplist *w = l->w;
	char quoted[REPORT_VALUE_MAX];
	uint32_t s = wraplist_find_section(w, name), at;

	report_format_quoted(quoted, name, l->r.event.data.scalar.length);
	if (s != WRAPLIST_NONE) {
		reader_report(&l->r, "section %s: begun before on line %u; both are used", quoted,
			w->section[s].line);
		return s;
	}
	if (w->nsection == WRAPLIST_SECTIONS_MAX) {
		reader_report(&l->r, "section %s: more than %d sections; it is skipped", quoted,
			WRAPLIST_SECTIONS_MAX);
		return WRAPLIST_NONE;
	}
	at = add_text(w, name, strlen(name));
	if (at == WRAPLIST_NONE)
		return -ENOMEM;
	w->section[w->nsection] = (struct wraplist_section){
		at, (uint32_t)l->r.event.start_mark.line + 1, WRAPLIST_NONE, 0};
	return w->nsection++;
}

/* Reads the list of section s, which the current event begins. Returns 0 or a negative error. */
static int read_names(struct list_loader *l, uint32_t s)
{
	const char *section = wraplist_get_text(l->w, l->w->section[s].name);
	int ev, err = 0;

	while (!err && (ev = reader_read_event(&l->r)) != YAML_SEQUENCE_END_EVENT) {
		if (ev < 0)
			return ev;
		if (ev == YAML_SCALAR_EVENT && reader_is_null(&l->r))
			continue; /* "- # name": a line that was commented out carelessly */
		if (ev == YAML_SCALAR_EVENT) {
			err = add_list_name(l, s);
			section = wraplist_get_text(l->w, l->w->section[s].name);
			continue;
		}
		if (ev == YAML_ALIAS_EVENT)
			reader_report(&l->r,
				"%s: *%.*s is read as a YAML alias; put the pattern in "
				"quotes; it is skipped",
				section, REPORT_VALUE_MAX,
				(const char *)l->r.event.data.alias.anchor);
		else
			reader_report(&l->r, "%s: %s where a name is expected; it is skipped",
				section, reader_get_shape(&l->r));
		err = reader_read_rest(&l->r);
	}
	return err;
}

/* Reads the section whose key is the current event. Returns 0 or a negative error. */
static int read_section(struct list_loader *l)
{
	int64_t s = WRAPLIST_NONE;
	int ev;

	if (l->r.event.type == YAML_SCALAR_EVENT) {
		s = add_section(l);
		if (s < 0)
			return (int)s;
	} else {
		reader_report(&l->r, "%s where the name of a section is expected; it is skipped",
			reader_get_shape(&l->r));
		ev = reader_read_rest(&l->r);
		if (ev < 0)
			return ev;
	}
	ev = reader_read_event(&l->r);
	if (ev < 0)
		return ev;
	if (s == WRAPLIST_NONE || reader_is_null(&l->r))
		return reader_read_rest(&l->r);
	if (ev == YAML_SEQUENCE_START_EVENT)
		return read_names(l, (uint32_t)s);
	reader_report(&l->r,
		"%s: %s where a list is expected; accepted: lines \"  - name\"; treated "
		"as an empty list",
		wraplist_get_text(l->w, l->w->section[s].name), reader_get_shape(&l->r));
	return reader_read_rest(&l->r);
}

/* Returns 0, -ENOMEM, or another negative error; after an error nothing of the file may be used. */
static int read_list(struct list_loader *l)
{
	int ev = reader_open_mapping(&l->r);

	if (ev == -ENOTSUP)
		reader_report(&l->r,
			"%s where sections are expected; accepted: lines \"mpi:\", each "
			"followed by lines \"  - name\"; " LOST,
			reader_get_shape(&l->r));
	if (ev == -ENODATA)
		ev = 0;
	if (ev < 0)
		return ev;
	while (ev > 0 && (ev = reader_read_event(&l->r)) > 0 && ev != YAML_MAPPING_END_EVENT) {
		int err = read_section(l);

		if (err < 0)
			return err;
	}
	if (ev > 0)
		ev = reader_close_mapping(&l->r);
	if (ev == 0 && l->w->n == 0)
		report_emit_at(l->report, 0, 0, "lists no function; nothing will be recorded");
	return ev;
}

static struct wraplist *init_wraplist(const char *name)
{
	struct wraplist *w = calloc(1, sizeof(*w));

	if (w && add_text(w, name, strlen(name)) == WRAPLIST_NONE) {
		free(w);
		return NULL;
	}
	return w;
}

/*
 * Returns 0, -ENOMEM, or an error of read_list(). *out is a list (possibly empty), except after
 * -ENOMEM.
 */
static int list_read(const char *name, const char *text, size_t len, struct report *report,
	struct wraplist **out)
{
	struct list_loader l = {.w = init_wraplist(name), .report = report};
	int err = l.w ? reader_open(&l.r, text, len, report, LOST) : -ENOMEM;

	if (l.w) {
		if (!err)
			err = read_list(&l);
		reader_close(&l.r);
		l.w->imported = import_list_is(l.w);
	}
	if (err == -ENOMEM) {
		wraplist_free(l.w);
		l.w = NULL;
	}
	*out = l.w;
	return err;
}

static struct wraplist *load_builtin_list(config_report_fn *fn, void *arg)
{
	const char *text = config_get_builtin(LIST_NAME);
	struct report report;
	struct wraplist *w;

	report_start(&report, fn, arg, "built-in " LIST_NAME);
	if (list_read(report.file, text ? text : "", text ? strlen(text) : 0, &report, &w) ==
		-ENOMEM)
		report_emit_at(&report, 0, 0, "out of memory; this list is not used");
	report_stop(&report);
	return w;
}

struct wraplist *wraplist_load_text(
	const char *name, const char *text, size_t len, config_report_fn *fn, void *arg)
{
	int saved = errno;
	struct report report;
	struct wraplist *w;

	report_start(&report, fn, arg, name);

	int err = list_read(name, text, len, &report, &w);

	if (err == -ENOMEM)
		report_emit_at(&report, 0, 0, "out of memory; this list is not used");
	report_stop(&report);
	if (err < 0 && err != -ENOMEM) {
		wraplist_free(w);
		w = load_builtin_list(fn, arg);
	}
	errno = saved;
	return w;
}

struct wraplist *wraplist_load(const char *path, config_report_fn *fn, void *arg)
{
	int saved = errno;
	struct wraplist *w = NULL;
	char *text = NULL;
	size_t len = 0;

	if (!path) {
		w = load_builtin_list(fn, arg);
	} else {
		int err = reader_read_file(path, &text, &len);
		struct report report;

		if (err) {
			report_start(&report, fn, arg, path);
			report_emit_at(&report, 0, 0, "cannot be read: %s; this list is not used",
				reader_get_error_text(err));
		} else {
			w = wraplist_load_text(path, text, len, fn, arg);
		}
	}
	free(text);
	errno = saved;
	return w;
}
