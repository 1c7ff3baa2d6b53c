/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tools/lib/tool.h"
#include "tools/probe/live/live.h"
#include "tools/probe/model/places/frames.h"
#include "tools/probe/model/stacks.h"

char *read_live_stack(const struct live_rank *r)
{
	uint32_t id = r->open ? r->open_stack : r->stack;
	struct stack_text t = {0};
	char *frames, *from, *to;

	if (id)
		read_stack_text(&t, r->dir->path, id);
	frames = tool_format("%s%s%s", t.python ? t.python : "",
		t.python && *t.python && t.native && *t.native ? STACK_JOINT : "",
		t.native ? t.native : "");
	for (from = to = frames; *from;)
		if (strncmp(from, STACK_JOINT, strlen(STACK_JOINT)) == 0) {
			*to++ = '\n';
			from += strlen(STACK_JOINT);
		} else {
			*to++ = *from++;
		}
	*to = 0;
	free(t.python);
	free(t.native);
	return frames;
}
