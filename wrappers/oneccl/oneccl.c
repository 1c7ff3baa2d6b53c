/* SPDX-License-Identifier: Apache-2.0 */
/* oneCCL's C interface. It only needs the toolkit of wrappers/ccl and its YAML. */
#include "oneccl_gen.h"

CCL_FUNCTIONS(oneccl)

const struct adapter adapter_oneccl = {
	LIB_ONECCL_SPEC,
	.comm = ccl_comm_oneccl,
	.unknown_streams = true,
	.enter = ccl_enter_oneccl,
	.leave = ccl_leave_oneccl,
};
