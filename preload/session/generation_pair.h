/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generation and its twin, with the configuration of both. For code that makes them: it
 * includes the keys of all layers.
 */
#ifndef PROBE_SESSION_GENERATION_PAIR_H
#define PROBE_SESSION_GENERATION_PAIR_H

#include "config/config.h"
#include "session/generation.h"

struct generation_pair {
	struct generation running, resting;
	struct config cfg;
};

#endif
