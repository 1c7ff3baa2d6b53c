/* SPDX-License-Identifier: Apache-2.0 */
/* module_struct.json: the modules and parameters of a training, written once. */
#ifndef PROBE_SINK_STRUCTURE_H
#define PROBE_SINK_STRUCTURE_H

#include "sink/files.h"
#include "sink/record.h"

struct structure;

/* Adds a JN_PARAM or JN_MODULE; the same number again replaces the older one. Others are ignored. */
void structure_add(struct structure **s, const struct record_name *e);

/* Into module_struct.json of that folder. s NULL: there is nothing to write. */
void structure_write(const struct structure *s, int dirfd);
void structure_free(struct structure *s);

#endif
