/* SPDX-License-Identifier: Apache-2.0 */
/* module_struct.json: the modules and parameters of a training, written once. */
#ifndef PROBE_SINK_STRUCTURE_H
#define PROBE_SINK_STRUCTURE_H

#include "sink/files.h"
#include "sink/record.h"

struct structure;

/*
 * Adds a JN_PARAM or JN_MODULE; it replaces an older one with the same number. Other records are
 * ignored.
 */
void structure_add(struct structure **s, const struct record_name *e);

/* Writes module_struct.json into folder dirfd. s NULL: does nothing. */
void structure_write(const struct structure *s, int dirfd);
void structure_free(struct structure *s);

#endif
