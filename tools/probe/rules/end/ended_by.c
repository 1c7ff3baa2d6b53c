/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/end/ended_by.h"

#include <string.h>

#include "base/memory_events.h"
#include "folder/owner.h"
#include "tools/lib/signal_name.h"
#include "tools/lib/tool.h"

/*
 * ns: the last sign of life is up to a second old, and the two clocks are read one after the other.
 */
#define EARLIER_NS UINT64_C(2000000000)

struct ended_by how_signal_ended(struct report *r, uint32_t index)
{
	const struct rank_dir *d = &r->g.folders.dir[index];
	const struct call *last = &r->g.rank[index].last;
	uint64_t alive = d->alive_ns > d->last_ns ? d->alive_ns : d->last_ns;
	struct ended_by e = {.log = KERNEL_UNREAD};
	int64_t now;

	if (!d->meta.has_owner)
		return e;
	if (!r->kernel_log_known)
		kernel_log_read(&r->kernel_log);
	r->kernel_log_known = true;
	e.log = ask_kernel_log(&r->kernel_log, &d->meta.owner, last->rows ? last->thread : 0,
		alive > EARLIER_NS ? alive - EARLIER_NS : 0, &e.word);
	if (d->meta.oom_kills < 0 || !owner_is_of_this_boot(&d->meta.owner))
		return e;
	now = read_oom_kills(d->meta.memory_events);
	e.oom_kills = now > d->meta.oom_kills ? (uint64_t)(now - d->meta.oom_kills) : 0;
	return e;
}

char *ended_by_text(const struct ended_by *e)
{
	const char *name = e->word.signal ? get_signal_name(e->word.signal) : NULL;

	if (e->log == KERNEL_SAYS && e->word.memory)
		return tool_format("by SIGKILL: memory ran out, and the kernel ended it (\"%s\")",
			e->word.line);
	if (e->log == KERNEL_SAYS && name)
		return tool_format("by SIG%s (the kernel: \"%s\")", name, e->word.line);
	if (e->log == KERNEL_SAYS)
		return tool_format("by a signal (the kernel: \"%s\")", e->word.line);
	if (e->oom_kills)
		return tool_format(
			"by a signal: SIGKILL, most likely, because memory ran out: since it "
			"started the kernel has ended %llu process%s of its control group "
			"for that",
			(unsigned long long)e->oom_kills, e->oom_kills == 1 ? "" : "es");
	if (e->log == KERNEL_IS_SILENT)
		return tool_strdup(
			"without a message: a signal ended it; the kernel's log mentions neither "
			"an out-of-memory kill nor an uncaught crash (SIGKILL or SIGTERM by a "
			"user, or a caught crash)");
	return tool_strdup(
		"without a message: a signal ended it (SIGKILL, as by the kernel when memory runs "
		"out, or a crash)");
}

bool has_own_terms(const struct report *r, const struct call *c)
{
	unsigned others = 0;

	if (!c->rows || !c->dtype || c->count || c->bits & (CALL_P2P | CALL_LOCAL) ||
		c->comm_seq == NO_NUMBER)
		return false;
	for (unsigned i = 0; i < r->g.opens.n; i++) {
		const struct call *o = &r->g.opens.call[i].call;

		if (o->rank == c->rank || o->comm != c->comm || o->comm_seq != c->comm_seq ||
			o->bits & (CALL_P2P | CALL_LOCAL))
			continue;
		if (o->api != c->api || !o->count)
			return false;
		others++;
	}
	return others > 0;
}
