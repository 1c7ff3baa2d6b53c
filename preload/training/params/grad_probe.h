/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Task grad_probe: the gradient of a parameter when the optimizer's step begins, in the form of msprobe 8.x
 * (msprobe/pytorch/grad_probe of mindstudio-probe 8.1.0). Names no framework.
 */
#ifndef PROBE_TRAIN_GRAD_PROBE_H
#define PROBE_TRAIN_GRAD_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"
#include "config/rooms/room.h"
#include "config/config_value.h"

/*
 * Number of values besides the statistics: number of the file of signs, CRC-32, the share of each
 * interval, and the share of zeros.
 */
#define GRAD_PROBE_NUMBERS (CONFIG_NUMBERS_MAX + 4)

/* Returns the kind to be measured for task grad_probe under cfg, or 0. */
uint32_t grad_probe_get_kinds(const struct config *cfg);

/*
 * True if key param_list selects the parameter, with or without the prefix "module." that a
 * wrapper adds to names.
 */
bool grad_probe_has_param(const char *name);

/*
 * Measures the elements in the order of the dimensions, by key grad_level. Copies their signs for
 * the writer, one bit per element (1: > 0; journal/store/tensor_pool.h: number id, side IO_OUT).
 * If the pool is full, the signs are skipped (reported). Returns the count of numbers; 0: the
 * gradient cannot be read.
 */
unsigned grad_probe_measure(
	const struct buffer *grad, uint32_t id, uint32_t step, double numbers[GRAD_PROBE_NUMBERS]);

#endif
