/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.csv: path and build id of every file that contains frames of stack_info.csv, so that
 * `probe report --stacks` finds source lines long after the process has ended. It is made from
 * the journal's dictionary, which only grows, so rewriting the whole file is right even if a pass
 * failed.
 */
#ifndef PROBE_SINK_MODULES_CSV_H
#define PROBE_SINK_MODULES_CSV_H

#include <stdbool.h>

#include "journal/journal.h"
#include "elf/loaded/modules.h"

/* Parses the text of a DICT_MODULE entry as call/stackid.c writes it: "lo hi bias buildid", NUL, path. */
bool module_parse(const char *text, struct module *m);

/*
 * Replaces modules.csv, atomically, if the dictionary has modules that are not in it yet. *written: bytes of the
 * dictionary handled so far; 0 at first. Returns 0 or -errno; after an error the next call tries again.
 */
int modules_write(const struct journal *j, int dirfd, uint64_t *written);

#endif
