/* SPDX-License-Identifier: Apache-2.0 */
/* `args` of a trace's events: what a call is. */
#ifndef PROBE_TOOLS_PROBE_EXPORT_TRACE_ARGS_H
#define PROBE_TOOLS_PROBE_EXPORT_TRACE_ARGS_H

#include "tools/probe/export/export.h"

/* ,"key":"v"; nothing where v is empty. */
void put_text_arg(struct target *t, const char *key, const char *v);
/* What PyTorch's profiler says of a collective, under its names. */
void put_collective_args(struct export *e, struct target *t, const struct walk_call *w);
/* All of them, and the end of the event. */
void put_call_args(struct export *e, struct target *t, const struct walk_call *w);

#endif
