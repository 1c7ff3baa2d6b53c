/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tensor observers and nothing else, so that a test with its own table can omit this file. */
#include "call/data/observer.h"

const struct tensor_observer *const tensor_observers[] = {
	&statistics_observer,
	&checksum_observer,
	&copy_observer,
	&wide_xor_observer,
	NULL,
};
