/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/numbers/block_memory.h"

#include <stdio.h>

#include "base/private_stack.h"
#include "base/thread.h"
#include "call/recorder.h"
#include "call/step.h"
#include "journal/layout.h"
#include "session/profiled.h"
#include "session/state.h"
#include "stats/stats.h"
#include "terms/dtype.h"
#include "training/params/kind.h"

#define DEVICE_NAME_MAX 24

bool is_block_memory_wanted(void)
{
	return train_get_kinds() & KIND_BIT(MEMORY);
}

/* Formats cpu, cuda:0 as PyTorch prints them; "device 9:0" of a type that is not in the table. */
static void format_device(const struct block_event *e, char name[DEVICE_NAME_MAX])
{
	/* c10/core/DeviceType.h; these numbers are part of its files and do not change. */
	static const struct {
		uint8_t type;
		char word[12];
	} types[] = {{TORCH_DEVICE_CPU, "cpu"}, {1, "cuda"}, {6, "hip"}, {9, "xla"}, {12, "xpu"},
		{13, "mps"}, {20, "privateuse1"}};
	int n = 0;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types) && !n; i++)
		if (types[i].type == e->device_type)
			n = snprintf(name, DEVICE_NAME_MAX, "%s", types[i].word);
	if (!n)
		n = snprintf(name, DEVICE_NAME_MAX, "device %u", e->device_type);
	if (e->device_index >= 0)
		snprintf(name + n, (size_t)(DEVICE_NAME_MAX - n), ":%d", e->device_index);
}

static void write_block_event(void *arg)
{
	const struct block_event *e = arg;
	double value[EVENT_VALUES] = {
		[EVENT_CALL] = thread_state.call ? (double)thread_state.call : __builtin_nan(""),
		[EVENT_ADDRESS] = (double)e->address,
		[EVENT_BYTES] = e->bytes,
		[EVENT_ALLOCATED] = e->allocated,
		[EVENT_RESERVED] = e->reserved,
	};
	char name[DEVICE_NAME_MAX];
	struct train_value v = {.kind = TK_MEMORY,
		.name = name,
		.step = step_now(),
		.micro_step = UINT32_MAX,
		.dtype = DT_OTHER,
		.count = 1,
		.nvalue = EVENT_VALUES,
		.value = value};

	format_device(e, name);
	train_kind_write(&v);
}

void record_block_event(const struct block_event *e)
{
	struct block_event event = *e;
	struct stats_fenv fenv;
	struct own_work own;

	if (!is_block_memory_wanted() || !session_is_on() || !step_profiled() ||
		!session_rank_profiled() || !train_are_kinds_due())
		return;
	own = own_work_start();
	stats_fenv_set(&fenv);
	private_stack_call(write_block_event, &event);
	stats_fenv_reset(&fenv);
	own_work_stop(&own);
}
