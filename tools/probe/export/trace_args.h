/* SPDX-License-Identifier: Apache-2.0 */
/* The member `args` of a trace's events: data of the call. */
#ifndef PROBE_TOOLS_PROBE_EXPORT_TRACE_ARGS_H
#define PROBE_TOOLS_PROBE_EXPORT_TRACE_ARGS_H

#include "tools/probe/export/export.h"

/* Writes ,"key":"v". Writes nothing if v is empty. */
void write_text_arg(struct target *t, const char *key, const char *v);
/* Writes the data of a collective with the names that PyTorch's profiler uses. */
void write_collective_args(struct export *e, struct target *t, const struct walk_call *w);
/* Writes all data of the call, and the end of the event. */
void write_call_args(struct export *e, struct target *t, const struct walk_call *w);

#endif
