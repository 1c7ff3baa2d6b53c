/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL and the libraries with its interface. Its communicators are those of wrappers/ccl; here is who provides it. */
#include <stdio.h>
#include <string.h>

#include "elf/object_of.h"
#include "life/life.h"
#include "nccl_gen.h"

static const char *nccl_label(const void *real)
{
	char file[16];

	return strncmp(sibling_file(real, file, sizeof(file)), "librccl", 7) ? "nccl" : "rccl";
}

static void report_nccl_version(const void *from)
{
	int (*get)(int *) = (int (*)(int *))sibling_symbol(from, "ncclGetVersion");
	static atomic_flag said = ATOMIC_FLAG_INIT;
	char text[32];
	int v;

	if (!get || atomic_flag_test_and_set(&said) || get(&v))
		return;
	snprintf(text, sizeof(text), "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
	session_library(nccl_label(from), text);
}

CCL_FUNCTIONS(nccl)

static void nccl_leave(struct call *c, int64_t ret)
{
	if (c->ok && c->api->spec->task == TASK_COMM_NEW)
		report_nccl_version(c->real);
	ccl_leave_nccl(c, ret);
}

const struct adapter adapter_nccl = {
	LIB_NCCL_SPEC,
	CCL_ADAPTER(nccl),
	.label = nccl_label,
	.enter = ccl_enter_nccl,
	.leave = nccl_leave,
};
