/* SPDX-License-Identifier: Apache-2.0 */
/* All that libprobe needs of a library like this one beside its YAML. */
#include "xccl_gen.h"

CCL_FUNCTIONS(xccl)

const struct adapter adapter_xccl = {
	LIB_XCCL_SPEC,
	.comm = ccl_comm_xccl,
	.enter = ccl_enter_xccl,
	.leave = ccl_leave_xccl,
};
