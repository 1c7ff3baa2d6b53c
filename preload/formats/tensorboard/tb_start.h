/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of an event file: its version, the run's first step, texts about the run, the layout of the charts. */
#ifndef PROBE_SINK_TB_START_H
#define PROBE_SINK_TB_START_H

#include "config/rooms/room.h"
#include "journal/journal.h"
#include "formats/tensorboard/tfevent.h"

void tb_put_start(struct tfevents *e, const struct journal *j, const struct config *cfg,
	double wall, int64_t first_x);

#endif
