/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_WRITER_ALERT_PARTS_H
#define PROBE_WRITER_ALERT_PARTS_H

#include "journal/journal.h"

/* The rules of key `alerts`, and where an anomaly.json goes, into the journal: sinks have nothing else, also in `probe recover`. */
void alert_parts_put(struct journal *j);

#endif
