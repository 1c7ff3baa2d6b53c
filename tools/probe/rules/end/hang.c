/* SPDX-License-Identifier: Apache-2.0 */
/* Is the job over, and if not, can anything still move? */
#include "tools/probe/rules/end/hang.h"

#include <string.h>

#include "tools/lib/intern.h"
#include "tools/probe/rules/end/asleep.h"

#define STALL_NS 5e9 /* an open call of a living job is worth a line from here on */
#define HANG_NS 10e9 /* ... and a hang from here on, if nothing can move */
#define HANG_ALWAYS_NS \
	30e9 /* ... or even if something may, when nothing in this run took a third as long */

bool is_job_over(const struct report *r)
{
	for (unsigned i = 0; i < r->g.folders.n; i++) {
		const struct rank_dir *d = &r->g.folders.dir[i];

		if ((d->state == RANK_RUNNING || d->state == RANK_UNSEEN) && !gather_gone(&r->g, d))
			return false;
	}
	return true;
}

/* A thread waits for a message that it will take when it is there. */
bool is_probe_wait(const struct open_call *c)
{
	return c->waiting && c->call.comm;
}

/* It waits for a disk besides, which may be slow for all of them. */
static bool is_file_operation(const struct open_call *c)
{
	return strncmp(intern_name(c->call.op), "file_", 5) == 0;
}

/* Nothing moves any more, or has not for far longer than ever before in this run. */
static bool is_hang(const struct report *r, const struct stuck *s)
{
	bool all_stand, asleep;

	if ((double)s->age_max < HANG_NS)
		return false;
	/* How long probes usually take is in no row. */
	if (!is_probe_wait(s->sample) && (double)s->age_max >= HANG_ALWAYS_NS &&
		(double)s->age_max >= 3 * (double)r->g.longest_ns)
		return true;
	asleep = are_movers_asleep(&r->g, r->stuck.standing, &all_stand);
	return all_stand ? !is_file_operation(s->sample) : asleep;
}

static const struct stuck *look_for_stuck(const struct report *r, bool *hang)
{
	const struct stuck *s = stuck_cause(&r->stuck, &r->g);

	*hang = false;
	/* The late rank is named by find_errors(). */
	if (!s || is_given_up(&r->g.diagnose.given_up, &s->sample->call))
		return NULL;
	if (is_job_over(r)) {
		*hang = (double)s->age_max >= HANG_NS;
		return s;
	}
	*hang = is_hang(r, s);
	/* A living job is always inside some call: that is worth a line only when it lasts. */
	return (double)s->age_max >= STALL_NS ? s : NULL;
}

const struct stuck *report_stuck(struct report *r, bool *hang)
{
	if (!r->stuck_known)
		r->stands = look_for_stuck(r, &r->hangs);
	r->stuck_known = true;
	*hang = r->hangs;
	return r->stands;
}
