/* SPDX-License-Identifier: Apache-2.0 */
/* Names of calls in a dump, such as Torch.matmul, each with its own counter, for the files of one step. */
#ifndef PROBE_SINK_DUMP_NAMES_H
#define PROBE_SINK_DUMP_NAMES_H

#include <stdint.h>

struct dump_names;

struct dump_names *dump_names_open(void);
void dump_names_free(struct dump_names *n);

/* Returns the index of the name, from 0, or UINT32_MAX if there is no memory. */
uint32_t dump_names_find(struct dump_names *n, const char *name);
const char *dump_names_get_text(const struct dump_names *n, uint32_t at);

/* Returns the number of earlier calls with the name of index `name`, and counts this one. */
uint32_t dump_names_add_call(struct dump_names *n, uint32_t name);

#endif
