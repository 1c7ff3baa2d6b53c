/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that rules look at, of one pass: taken from records, kept until the pass is complete, for until then an entry may be
 * given again (format.h).
 */
#ifndef PROBE_SINK_ALERT_VALUES_H
#define PROBE_SINK_ALERT_VALUES_H

#include <stddef.h>

#include "training/alerts/alerts.h"
#include "sink/record.h"

#define ALERT_PASS_BYTES ((size_t)2 << 20) /* of all values of a pass; then it is ended */

struct alert_values {
	char *buf; /* ALERT_PASS_BYTES, NULL until the first one */
	size_t len, before; /* before: without the last entry */
};

/* Each 0, or -ENOBUFS: the pass is to be ended. */
int alert_values_add_kind(struct alert_values *v, const struct record_kind *r);
int alert_values_add_scalar(struct alert_values *v, const struct record_scalar *r);
int alert_values_add_call(struct alert_values *v, const struct record *r);

/* The next one; *at is 0 at first. NULL: no more. */
struct alert_seen *alert_values_next(struct alert_values *v, size_t *at);

#endif
