/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_WRAPPERS_MINDSPORE_KERNEL_MEMBERS_H
#define PROBE_WRAPPERS_MINDSPORE_KERNEL_MEMBERS_H

#include "wrappers/mindspore/layout/kernel_layout.h"

/* std::string as it was before C++11: an object has the address of .text. */
struct old_string {
	uint64_t length, room;
	int32_t users; /* but the first */
	char text[24] __attribute__((aligned(8)));
};

/* Finds it by its mangled name, whatever library exports it. */
bool ms_find_function(const char *name, void **f);

/*
 * True if MindSpore's own functions find names of parameters and nodes, arguments and Python's tensors where the table
 * says.
 */
bool ms_members_hold(const struct kernel_layout *l);

#endif
