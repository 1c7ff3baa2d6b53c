/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter statistics ("kinds", terms/train_kind.def) in each step of a training. Adapters of frameworks know when to
 * measure, and where the tensors are. The tensors are measured here, and the results are entered into the journal of
 * the calling thread. Names no framework.
 *
 * Call with some room on the stack (base/apart.h), and not inside a record: an entry is complete when it is entered.
 * Nothing is allocated in steady state.
 */
#ifndef PROBE_TRAIN_KIND_H
#define PROBE_TRAIN_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/train_kind.h"
#include "call/data/view.h"
#include "stats/stats.h"
#include "training/params/param.h"

/* The kinds of the configuration: a mask of KIND_BIT(). 0: none, and this room has nothing to do. Any thread. */
uint32_t train_kinds_wanted(void);

/* True if kinds are written in this step on this rank. */
bool train_kinds_due(void);

/* A row to enter. The texts are copied. */
struct train_value {
	enum train_kind kind;
	const char *word; /* the file's word for TK_STATE; else NULL */
	const char *name;
	const char
		*dtype_prefix; /* the framework's prefix of the type's name: "torch."; NULL: none */
	uint32_t step, micro_step; /* micro_step UINT32_MAX: its file has no such column */
	uint16_t vpp_stage;
	uint8_t dtype, ndim;
	uint16_t nvalue; /* for kinds without statistics */
	uint64_t count; /* elements */
	const uint64_t *dims;
	const double *value;
	struct stats stats; /* n 0: it could not be measured, and the row shows nan */
};

/*
 * Fills in dtype, shape and statistics from a tensor in memory, as far as it can be read. dims: its own, or room for
 * them.
 */
void train_kind_measure(struct train_value *v, const struct buffer *b);

/* Returns false if there was no room in the journal; counted and reported. */
bool train_kind_write(const struct train_value *v);

/* The same for a tensor as it is now, in the current step, if the kind is wanted and due. */
bool train_kind_write_tensor(enum train_kind kind, const char *name, uint16_t vpp_stage,
	uint32_t micro_step, const char *dtype_prefix, const struct buffer *b);

/* The name in files, by key squash_name. p belongs to the table in use. */
const char *train_kind_name(const struct train_params *all, const struct train_param *p);

/* A module's or parameter's name as squash_name shortens it: a pointer into it. */
const char *train_squash(const char *name);

/* True if that name matches key `targets`. */
bool train_is_target(const char *name);

/* The same for a module: "=name" is that module alone, and not those in it. */
bool is_target_module(const char *name);

/* Identifies the current value of `targets`: another value has another pointer. */
const void *train_targets_now(void);

/* The same for a known parameter, with a table that is made once. */
bool train_param_is_target(const struct train_params *all, const struct train_param *p);

/* Call in a forked child, where the thread that held a lock may not exist. */
void train_kinds_forked(void);

#endif
