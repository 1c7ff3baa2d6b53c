/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether ranks had to share cores. Then a rank waits for a core now and then, and what it does late, or even its end after a
 * signal, may be that wait.
 */
#ifndef PROBE_TOOLS_SHARED_CORES_H
#define PROBE_TOOLS_SHARED_CORES_H

#include <stdbool.h>

#include "tools/probe/model/gather.h"

struct shared_cores {
	unsigned ranks; /* number of the run's ranks on this host */
	long cores; /* number of this host's cores */
};

/*
 * True if this host runs as many ranks of the run as it has cores, or more. False: fewer, or not known (other hosts).
 */
bool are_cores_shared(const struct gather *g, struct shared_cores *out);

#endif
