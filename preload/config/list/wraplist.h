/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of struct wraplist: one block of texts, one array of entries, a hash table. Built by wraplist_load.c, read
 * by wraplist.c.
 */
#ifndef PROBE_CONFIG_WRAPLIST_H
#define PROBE_CONFIG_WRAPLIST_H

#include <stdatomic.h>
#include <stdint.h>

#include "config/rooms/room.h"

#define WRAPLIST_SECTIONS_MAX 256
#define WRAPLIST_GLOBS_MAX 1024 /* maximum per section: each name is compared with all of them */
#define WRAPLIST_NAME_MAX 1000 /* bytes */

#define WRAPLIST_NONE UINT32_MAX

struct wraplist_entry {
	uint32_t name; /* offset in wraplist.text */
	uint32_t line, col;
	uint32_t next_glob; /* next pattern of the section; WRAPLIST_NONE: none */
	uint32_t section;
	bool glob;
	/* a wrapped function has this name, or the entry was reported as unknown */
	_Atomic bool known;
};

struct wraplist_section {
	uint32_t name;
	uint32_t line;
	uint32_t first_glob, nglob;
};

struct wraplist {
	char *text; /* NUL-terminated strings; the file's name is the first */
	uint32_t text_len, text_cap;
	struct wraplist_entry *entry;
	uint32_t n, cap;
	/* hash table of 1 + entry index, 0: empty; a power of two slots, at most half full */
	uint32_t *slot;
	uint32_t nslot;
	bool imported; /* a list in msprobe's own format: import_list.h */
	uint32_t nsection;
	struct wraplist_section section[WRAPLIST_SECTIONS_MAX];
};

/*
 * Loads a list from `path`, or from the compiled-in copy when path is NULL. Problems are reported and skipped; if the file is
 * not a valid list at all, the compiled-in list is used instead. Returns NULL only when out of memory or when the file cannot
 * be read or is larger than 1 MiB (reported).
 */
struct wraplist *wraplist_load(const char *path, config_report_fn *report, void *arg);
void wraplist_free(struct wraplist *w);

/* Like wraplist_load(), with the file's bytes in memory; `name` is the file's name in messages. */
struct wraplist *wraplist_load_text(
	const char *name, const char *text, size_t len, config_report_fn *report, void *arg);

/* True if `name` is listed in `section` (a library: mpi, nccl ...), by name or glob. Marks the entry as known. */
bool wraplist_match(struct wraplist *w, const char *section, const char *name);

/* True if the list has any entry in `section`. */
bool wraplist_has_section(const struct wraplist *w, const char *section);

/* Reports each entry of `section` that wraplist_match() never matched ("unknown name"), once. */
void wraplist_emit_unknown(
	struct wraplist *w, const char *section, config_report_fn *report, void *arg);

/* ---- inside config/list/ ---- */

/* Returns the number of section `name`, or WRAPLIST_NONE. */
uint32_t wraplist_find_section(const struct wraplist *w, const char *name);

/* True if `section` lists at least one name. */
bool wraplist_has_names(const struct wraplist *w, const char *section);

/*
 * Returns the hash table slot of entry `name` of the section, or the empty slot for it. w->nslot
 * must not be 0.
 */
uint32_t wraplist_find_slot(const struct wraplist *w, uint32_t section, const char *name);

static inline const char *wraplist_get_text(const struct wraplist *w, uint32_t at)
{
	return w->text + at;
}

#endif
