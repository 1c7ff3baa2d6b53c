/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_WRAPPERS_MINDSPORE_KERNEL_MEMBERS_H
#define PROBE_WRAPPERS_MINDSPORE_KERNEL_MEMBERS_H

#include "wrappers/mindspore/layout/kernel_layout.h"

/* std::string in the layout before C++11: an object contains the address of .text. */
struct old_string {
	uint64_t length, space;
	int32_t users; /* number of references - 1 */
	char text[24] __attribute__((aligned(8)));
};

/* Finds a function by its mangled name, whatever library exports it. */
bool ms_find_function(const char *name, void **f);

/*
 * True if the offsets in l for names of parameters and nodes, arguments and Python's tensors
 * agree with what MindSpore's own functions return.
 */
bool ms_has_valid_members(const struct kernel_layout *l);

#endif
