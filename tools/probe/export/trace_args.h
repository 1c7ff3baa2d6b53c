/* SPDX-License-Identifier: Apache-2.0 */
/* `args` of a trace's events: the data of a call. */
#ifndef PROBE_TOOLS_PROBE_EXPORT_TRACE_ARGS_H
#define PROBE_TOOLS_PROBE_EXPORT_TRACE_ARGS_H

#include "tools/probe/export/export.h"

/* Writes ,"key":"v"; nothing if v is empty. */
void put_text_arg(struct target *t, const char *key, const char *v);
/* A collective's data under the names of PyTorch's profiler. */
void put_collective_args(struct export *e, struct target *t, const struct walk_call *w);
/* Writes all of them, and the end of the event. */
void put_call_args(struct export *e, struct target *t, const struct walk_call *w);

#endif
