/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/numbers/module_frames.h"

#include <stddef.h>

#include "base/thread.h"

#define FRAMES_MAX 32

static THREAD_OWN struct {
	struct module_frame frame[FRAMES_MAX];
	uint32_t n;
} frames;

void open_module_frame(uint32_t depth, const struct module_frame *f)
{
	static const struct module_frame none;

	if (depth >= FRAMES_MAX)
		return;
	/* Calls that began before the first one here. */
	while (own(frames).n < depth)
		own(frames).frame[own(frames).n++] = none;
	own(frames).frame[depth] = *f;
	own(frames).n = depth + 1;
}

void close_module_frames(uint32_t depth)
{
	if (own(frames).n > depth)
		own(frames).n = depth;
}

void record_router_call(uint32_t depth, const char *router, uint32_t experts)
{
	struct module_frame *f = depth < own(frames).n ? &own(frames).frame[depth] : NULL;

	if (!f || !f->name)
		return;
	f->router = router;
	f->experts = (uint16_t)(experts <= UINT16_MAX ? experts : 0);
}

struct module_frame *find_module_frame(uint32_t up)
{
	for (uint32_t i = own(frames).n; i-- > 0;)
		if (own(frames).frame[i].name && up-- == 0)
			return &own(frames).frame[i];
	return NULL;
}
