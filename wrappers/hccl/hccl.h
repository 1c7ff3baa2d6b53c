/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators of HCCL as other libraries of Ascend's name them. */
#ifndef PROBE_WRAPPERS_HCCL_H
#define PROBE_WRAPPERS_HCCL_H

struct comm;

/*
 * Returns the communicator `name`: one whose name the program has queried (HcclGetCommName), or
 * one that HCCL itself knows by this name (HcomGetRankId). Returns NULL if there is neither.
 */
struct comm *hccl_comm_named(const char *name)
	__attribute__((weak)); /* NULL in a build without hccl (LIBS) */

#endif
