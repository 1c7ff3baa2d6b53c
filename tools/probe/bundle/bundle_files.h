/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of a run go into a bundle, the most informative first, up to a limit. */
#ifndef PROBE_TOOLS_PROBE_BUNDLE_FILES_H
#define PROBE_TOOLS_PROBE_BUNDLE_FILES_H

#include "tools/probe/model/read/folders.h"

/* Ordered by information per byte, the highest first. */
enum bundle_class {
	BUNDLE_META,
	BUNDLE_NAMES, /* the meaning of ids: communicators, stacks, modules, parameters */
	BUNDLE_LOGS,
	BUNDLE_CALLS,
	BUNDLE_JOURNALS,
	BUNDLE_SCALARS,
	BUNDLE_KINDS,
	BUNDLE_CLASSES
};

const char *get_bundle_class_name(enum bundle_class c);

struct bundle_file {
	char *path; /* NULL: its bytes are in text */
	char *name; /* in the bundle: rank3/meta.json */
	char *text; /* the end of a file of calls; malloc'd */
	uint64_t bytes;
	enum bundle_class class;
	uint64_t block; /* first step of a block */
	unsigned rank; /* index of the folder */
	bool taken;
};

struct bundle_sum {
	uint64_t files, bytes;
};

struct bundle {
	struct bundle_file *file;
	unsigned n, cap;
	uint64_t bytes, limit; /* before compression */
	struct bundle_sum taken[BUNDLE_CLASSES],
		skipped[BUNDLE_CLASSES]; /* skipped: over the limit */
	uint64_t cut; /* files of calls of which only the end, or nothing, was requested */
};

/* calls: the last rows of each rank; 0: all. The caller sets b->limit and b->bytes. */
void find_bundle_files(struct bundle *b, const struct folders *f, unsigned calls);
void free_bundle(struct bundle *b);

#endif
