/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_WRAPPERS_UCC_H
#define PROBE_WRAPPERS_UCC_H

#include "call/call.h"

/*
 * ucc_args.c reads a ucc_coll_args_t. Returns the number of the bit of its collective, 32 if it
 * has none.
 */
unsigned ucc_get_coll_bit(const void *args);
/*
 * Stores buffers, root and reduction in *w. w->comm must be set; without one (NULL) no buffers
 * are stored.
 */
void read_ucc_args(struct operation *w, const void *args);
void ucc_read_dtype(uint64_t value, struct dtype_desc *d);

#endif
