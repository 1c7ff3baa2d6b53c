/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terms on which the ranks of a collective must agree: by the MPI standard the type signatures of what one rank sends and another
 * receives (MPI 4.1, chapter 6), in NCCL and its kin one count for all. A signature is compared as the size of one rank's part
 * and its data type. Arguments that are not significant on a rank (the receive buffer where it is not the root, what
 * MPI_IN_PLACE stands for) have no rows.
 */
#ifndef PROBE_TOOLS_PROBE_JOIN_SIGNATURE_H
#define PROBE_TOOLS_PROBE_JOIN_SIGNATURE_H

#include "tools/probe/model/read/calls.h"

/* Bytes of one rank's part. */
struct part {
	uint64_t bytes; /* as the rank sends it, else as it receives it */
	uint64_t received; /* as it receives it; 0: not known, or not significant on this rank */
	bool sized; /* the part has one size on all ranks */
	bool typed; /* and one data type */
	bool paired; /* typed; but only what one rank sends to another must have that type on both */
	uint32_t dtype; /* interned; as the rank sends it, else as it receives it */
	uint32_t
		received_dtype; /* as it receives it; 0: not known, or not significant on this rank */
};

/* inter: its communicator has two groups, whose sizes do not follow from the call. */
struct part compute_part(const struct call *c, bool inter);

/* True for operations that combine the elements at the same place of each rank's memory, and are no mere copies. */
bool is_combined_by_element(uint32_t op);

/* True for operations in which a rank's result has the inputs of the ranks up to its own, or (*excludes_own) of those before it. */
bool is_running_reduction(uint32_t op, bool *excludes_own);

/*
 * True if elements of one type may be sent and elements of the other received, in an operation that does not compute with
 * them: bytes, signed and unsigned integers, and a complex number as two. a, b: interned.
 */
bool is_copied_alike(uint32_t op, uint32_t a, uint32_t b);

#endif
