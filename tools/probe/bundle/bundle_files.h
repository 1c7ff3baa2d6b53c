/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the files of a run that go into a bundle: those with most information first, up to a
 * limit of bytes.
 */
#ifndef PROBE_TOOLS_PROBE_BUNDLE_FILES_H
#define PROBE_TOOLS_PROBE_BUNDLE_FILES_H

#include "tools/probe/model/read/folders.h"

/* In the order in which they are added. */
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
	char *path; /* NULL: the contents are in `text` */
	char *name; /* name in the bundle: rank3/meta.json */
	char *text; /* the last rows of a calls file; malloc'd */
	uint64_t bytes;
	enum bundle_class class;
	uint64_t block; /* first step of a calls file */
	unsigned rank; /* index of the folder */
	bool taken;
};

struct bundle_sum {
	uint64_t files, bytes;
};

struct bundle {
	struct bundle_file *file;
	unsigned n, cap;
	uint64_t bytes, limit; /* bytes before compression */
	/* skipped: did not fit into the limit. */
	struct bundle_sum taken[BUNDLE_CLASSES], skipped[BUNDLE_CLASSES];
	/* Number of calls files that were truncated to their last rows, or skipped as older. */
	uint64_t cut;
};

/*
 * Fills b->file. calls: number of last rows of each rank; 0: all rows. The caller sets b->limit and
 * b->bytes.
 */
void find_bundle_files(struct bundle *b, const struct folders *f, unsigned calls);
void free_bundle(struct bundle *b);

#endif
