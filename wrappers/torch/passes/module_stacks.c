/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where each module is called from in the first monitored step: key stack_info, as msprobe's monitor writes it. A module's
 * stack is written under its name with the number of its model chunk ("0:layers.1"), even if one line calls several modules.
 * The GIL protects everything here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "call/named_row.h"
#include "call/recorder.h"
#include "call/stackid.h"
#include "call/step.h"
#include "config/output_format.h"
#include "config/rooms/files.h"
#include "config/rooms/monitor.h"
#include "session/state.h"
#include "terms/module_part.h"
#include "training/params/kind.h"
#include "wrappers/torch/names/module_names.h"
#include "wrappers/torch/names/names.h"
#include "wrappers/torch/passes/module_call.h"

#define HEADS 1024u
#define STACKS_OF_MODULES_MAX 20000u /* of the 65535 numbers that the journal has for functions */

static const struct adapter adapter_module = {.name = MODULE_LIBRARY};

struct stacked_module {
	struct stacked_module *next;
	char name[];
};

static struct stacked_module *heads[HEADS];
static uint32_t nstacked;
static uint32_t first_step = UINT32_MAX; /* the only step whose stacks are written */

bool torch_module_stacks_wanted(void)
{
	const struct config *c = get_config();

	return get_monitor_keys(c)->stack_info &&
	       get_monitor_keys(c)->monitor_layout == MONITOR_V1 &&
	       output_has_format(get_files_keys(c)->format, FORMAT_MONITOR) &&
	       (first_step == UINT32_MAX || first_step == step_now());
}

/* Returns NULL if the module's stack has been written already, or if too many modules have one. */
static struct stacked_module *add_stacked(const struct named_module *named)
{
	char name[TRAIN_NAME_MAX + 16];
	struct stacked_module **head, *m;
	size_t n;

	snprintf(name, sizeof(name), "%u:%s", named->vpp_stage, named->name);
	head = &heads[hash_str(0, name) & (HEADS - 1)];
	for (m = *head; m; m = m->next)
		if (strcmp(m->name, name) == 0)
			return NULL;
	if (nstacked >= STACKS_OF_MODULES_MAX)
		return NULL;
	n = strlen(name) + 1;
	m = malloc(sizeof(*m) + n);
	if (!m)
		return NULL;
	memcpy(m->name, name, n);
	m->next = *head;
	*head = m;
	nstacked++;
	return m;
}

static void record_module_stack(const struct torch_module_call *c)
{
	bool root = c->depth == 0 && !c->again;
	const struct stacked_module *m;
	struct named_module *named;
	struct thread *t;
	struct api *row;

	if (c->again || !torch_module_stacks_wanted() || !train_are_kinds_due())
		return;
	if (root)
		torch_find_names_early();
	named = find_named_module(c->self, root);
	if (!named || named->wrapper)
		return;
	first_step = step_now();
	t = thread_get();
	m = t ? add_stacked(named) : NULL;
	row = m ? named_row_new(&adapter_module, m->name, "forward") : NULL;
	if (row)
		stack_write_named(t, row);
}

const struct torch_module_observer module_stacks_observer = {
	.wanted = torch_module_stacks_wanted,
	.begin = record_module_stack,
};
