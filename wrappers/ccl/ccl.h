/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapter kit for libraries whose communicators start from a unique id that all ranks got (NCCL, RCCL, HCCL, oneCCL).
 * Such a library is described by its YAML (`comm:`, configs/apis/README.md), from which the generator makes
 * ccl_<library>. An adapter consists of
 *
 *	#include "xccl_gen.h"
 *
 *	CCL_FUNCTIONS(xccl)
 *	const struct adapter adapter_xccl = {LIB_XCCL_SPEC, .comm = ccl_comm_xccl, .enter = ccl_enter_xccl,
 *		.leave = ccl_leave_xccl};
 *
 * and of code for features that only this library has. The number of a communicator is the hash of its id. For a
 * communicator made by a split, all members know the parent, the way it was made, colour or list, and how often the
 * parent was split before. Rank and size may only be queried when a communicator is complete, which is not reported: so
 * they are queried when the program first uses it. Groups and streams are handled by the core (call/stream.c).
 */
#ifndef PROBE_WRAPPERS_CCL_H
#define PROBE_WRAPPERS_CCL_H

#include <stdint.h>

#include "api/api.h"
#include "api/query.h"
#include "call/call.h"
#include "call/comm.h"

struct ccl_library {
	const struct adapter *lib;
	uint32_t id_bytes; /* bytes of one unique id */
	struct query rank, size;
	/*
	 * `how` of the rows whose new communicator all members can number from its parent;
	 * NULL-terminated.
	 */
	const char *parent[COMM_PARENTS_MAX + 1];
};

struct comm *ccl_find_comm(const struct ccl_library *l, uint64_t handle);
/* argument: the value to pass to the library's queries instead of the handle. */
struct comm *ccl_find_comm_by_argument(
	const struct ccl_library *l, uint64_t handle, uint64_t argument);

/*
 * Returns the window `handle` of communicator `comm`, or NULL if it is not known. Windows are in
 * the table of communicators.
 */
struct comm *ccl_find_window(const struct ccl_library *l, uint64_t handle, uint64_t comm);

/*
 * Returns the communicator that a call names by a text, which is equal for all members. Rank and
 * size are queried by functions that take this text, from the library that contains `real`.
 * Returns NULL if they cannot be queried.
 */
struct comm *ccl_find_group(const struct ccl_library *l, const void *real, const char *name,
	const struct query *rank, const struct query *size);
void ccl_handle_enter(const struct ccl_library *l, struct call *c);
void ccl_handle_leave(const struct ccl_library *l, struct call *c, int64_t ret);

/*
 * Defines an adapter's functions. They need a name for each library, because the core does not
 * pass them the library.
 */
#define CCL_FUNCTIONS(name)                                       \
	static struct comm *ccl_comm_##name(uint64_t handle)      \
	{                                                         \
		return ccl_find_comm(&ccl_##name, handle);        \
	}                                                         \
	static void ccl_enter_##name(struct call *c)              \
	{                                                         \
		ccl_handle_enter(&ccl_##name, c);                 \
	}                                                         \
	static void ccl_leave_##name(struct call *c, int64_t ret) \
	{                                                         \
		ccl_handle_leave(&ccl_##name, c, ret);            \
	}

#endif
