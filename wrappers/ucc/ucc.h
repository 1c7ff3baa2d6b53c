/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_WRAPPERS_UCC_H
#define PROBE_WRAPPERS_UCC_H

#include "call/call.h"

/* ucc_args.c: what a ucc_coll_args_t says. Which collective it is: the number of its bit, 32 where it has none. */
unsigned ucc_coll_bit(const void *args);
/* Buffers, root and reduction into *w, whose communicator is known (NULL: none, then without buffers). */
void describe_ucc_args(struct operation *w, const void *args);
void ucc_read_dtype(uint64_t value, struct dtype_desc *d);

#endif
