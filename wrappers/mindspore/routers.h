/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routers of experts of a training with MindSpore: the parameters that are weights of routers, their
 * names, and how similar a router's experts are. A router is a parameter <cell>.weight, a matrix,
 * whose cell is named gate or router (or router.dense), or is one of key router_targets. A router is
 * identified by an id, which no other router gets; 0 is that of none.
 *
 * Steps are numbered from 1 here: 1 + step_now(). All functions may be called from any thread.
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_ROUTERS_H
#define PROBE_WRAPPERS_MINDSPORE_ROUTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"
#include "training/params/param.h"

/* True if names of parameters are known. */
bool ms_has_parameter_names(void);

/*
 * Returns the id of the router whose weight is matrix b, or that may be one without a name; 0: none.
 * Needs 64 KiB of stack.
 */
uint64_t ms_find_router(const struct buffer *b, uint32_t step);

struct router_copy {
	uint64_t id;
	uint32_t experts;
	bool named; /* false: it may be a router */
	char name[TRAIN_NAME_MAX];
};
/* Returns false if the router was removed. */
bool ms_copy_router(uint64_t id, struct router_copy *to);

/*
 * A kernel has read the router's weight: measures it if its similarity may be needed, and was not
 * stored in this step. Needs 64 KiB of stack.
 */
void ms_measure_read_router(uint64_t id, uint32_t step);

/*
 * Returns the similarity of a router's experts in this step; NAN: it is not known, or was returned
 * before. The caller writes its row.
 */
double ms_remove_unwritten_similarity(uint64_t id, uint32_t step);

/* Records the similarity of the experts of router `id`. b: a copy of its weight. Needs 64 KiB of stack. */
void ms_record_router_weight(uint64_t id, const struct buffer *b);

/*
 * Copies the name of a router, or of the one of which it is a copy, to `name`, TRAIN_NAME_MAX bytes.
 * Returns false if there is none. Needs 64 KiB of stack.
 */
bool ms_find_router_name(uint64_t id, char *name);

/* Call if names of parameters are known, and no row of such a router waits for its name. */
void ms_remove_unnamed_routers(void);

void ms_routers_forked(void);

#endif
