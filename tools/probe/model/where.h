/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines for the native frames of stack_info.csv ("module!function+0x1f"). A frame names its
 * module by base name. The module's file is looked up in modules.csv, in the journal while it
 * exists, and in the command line.
 */
#ifndef PROBE_TOOLS_WHERE_H
#define PROBE_TOOLS_WHERE_H

#include "tools/probe/model/gather.h"
#include "tools/probe/model/read/lines.h"

struct where_file {
	char *name; /* module name as in the frames */
	struct module module; /* bias 0: addresses are those of the file */
	struct where_symbol *symbol; /* sorted by name; NULL: not read yet, or no symbols */
	unsigned nsymbol;
	bool looked;
};

struct where {
	const struct gather *g;
	struct lines *lines; /* NULL until the first frame */
	struct where_file *file;
	unsigned n, cap;
	bool *read; /* by folder: its modules are known */
};

void where_init(struct where *w, const struct gather *g);
void where_free(struct where *w);

/*
 * Writes "file.c:12" for `frame`, n bytes long, of folder `rank` to buf; "" if the line is not
 * known. Returns buf.
 */
const char *where_find(
	struct where *w, uint32_t rank, const char *frame, size_t n, char *buf, size_t cap);

#endif
