/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values that alert rules check, of one reading of the journal. They are copied from records
 * and kept until the reading is complete, because until then an entry may be read again (format.h).
 */
#ifndef PROBE_SINK_ALERT_VALUES_H
#define PROBE_SINK_ALERT_VALUES_H

#include <stddef.h>

#include "training/alerts/alerts.h"
#include "sink/record.h"

/* maximum size of all values of a pass; then the pass is ended */
#define ALERT_PASS_BYTES ((size_t)2 << 20)

struct alert_values {
	char *buf; /* ALERT_PASS_BYTES; NULL until the first value */
	size_t len, before; /* before: length without the last entry */
};

/* Each returns 0, or -ENOBUFS if the pass must be ended first. */
int alert_values_add_kind(struct alert_values *v, const struct record_kind *r);
int alert_values_add_scalar(struct alert_values *v, const struct record_scalar *r);
int alert_values_add_call(struct alert_values *v, const struct record *r);

/* Iterates over the values; *at is 0 at first. Returns NULL after the last. */
struct alert_seen *alert_values_get_next(struct alert_values *v, size_t *at);

#endif
