/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Task grad_probe: what the gradient of a parameter is when the optimizer's step begins, as msprobe 8.x tells it
 * (msprobe/pytorch/grad_probe of mindstudio-probe 8.1.0). No framework is named.
 */
#ifndef PROBE_TRAIN_GRAD_PROBE_H
#define PROBE_TRAIN_GRAD_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"
#include "config/rooms/room.h"
#include "config/config_value.h"

/* Numbers beside the statistics: of the file of signs, CRC-32, a share for each interval, that of elements that are 0. */
#define GRAD_PROBE_NUMBERS (CONFIG_NUMBERS_MAX + 4)

/* The kind that is to be measured for it, or 0. */
uint32_t grad_probe_kinds_of(const struct config *cfg);

/* Key param_list; with or without the "module." that a wrapper puts before a name. */
bool grad_probe_has_param(const char *name);

/*
 * Looks at the elements in the order of the dimensions, by key grad_level, and copies their signs, a bit for each that is > 0,
 * for the writer (journal/store/tensor_pool.h: number id, side IO_OUT). Without room for them they are left out, which is said.
 * Returns how many numbers there are; 0: it cannot be read.
 */
unsigned grad_probe_look(
	const struct buffer *grad, uint32_t id, uint32_t step, double numbers[GRAD_PROBE_NUMBERS]);

#endif
