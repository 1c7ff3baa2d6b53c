/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.csv: path and build id of every file that frames of stack_info.csv lie in, so that `probe report --stacks` finds
 * source lines long after the process is gone. It is made from the journal's dictionary, which only grows: rewriting the
 * file whole is always right, whatever became of a pass.
 */
#ifndef PROBE_SINK_MODULES_CSV_H
#define PROBE_SINK_MODULES_CSV_H

#include <stdbool.h>

#include "journal/journal.h"
#include "elf/loaded/modules.h"

/* A DICT_MODULE entry's text as call/stackid.c writes it: "lo hi bias buildid", NUL, path. */
bool module_parse(const char *text, struct module *m);

/*
 * Replaces modules.csv, atomically, if the dictionary has modules that *written (bytes of the dictionary looked
 * through; 0 at first) does not cover. 0 or -errno; on an error the next call tries again.
 */
int modules_write(const struct journal *j, int dirfd, uint64_t *written);

#endif
