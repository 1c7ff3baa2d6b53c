/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/shared_cores.h"

#include <string.h>
#include <unistd.h>

#include "folder/owner.h"

static unsigned count_ranks_here(const struct gather *g)
{
	struct journal_owner me;
	unsigned here = 0;

	owner_self(&me);
	for (unsigned i = 0; i < g->folders.n; i++) {
		const struct meta *m = &g->folders.dir[i].meta;

		here += m->has_owner && strcmp(m->owner.host, me.host) == 0 &&
			strcmp(m->owner.boot_id, me.boot_id) == 0;
	}
	return here;
}

bool are_cores_shared(const struct gather *g, struct shared_cores *out)
{
	*out = (struct shared_cores){count_ranks_here(g), sysconf(_SC_NPROCESSORS_ONLN)};
	return out->cores >= 1 && out->ranks >= (unsigned long)out->cores;
}
