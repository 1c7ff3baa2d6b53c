/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds (terms/train_kind.def): what a training shows of its parameters in each step. Adapters of frameworks know when, and
 * where the tensors lie; here they are measured, and entered into the journal of the calling thread. No framework is named.
 *
 * Who calls stands on a stack with some room (base/apart.h) and not in a record of its own: an entry is complete when it is
 * entered. Nothing is allocated in steady state.
 */
#ifndef PROBE_TRAIN_KIND_H
#define PROBE_TRAIN_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/train_kind.h"
#include "call/data/view.h"
#include "stats/stats.h"
#include "training/params/param.h"

/* The kinds of the configuration: a mask of KIND_BIT(). 0: none, and nothing of this has to be done. Any thread. */
uint32_t train_kinds_wanted(void);

/* Is this step, on this rank, one in which they are written? */
bool train_kinds_due(void);

/* What is entered. The texts are copied. */
struct train_value {
	enum train_kind kind;
	const char *word; /* of the file, of TK_STATE; else NULL */
	const char *name;
	const char *
		dtype_prefix; /* what the framework puts before the name of a type: "torch."; NULL: nothing */
	uint32_t step, micro_step; /* micro_step UINT32_MAX: its file has no such column */
	uint16_t vpp_stage;
	uint8_t dtype, ndim;
	uint16_t nvalue; /* of kinds without statistics */
	uint64_t count; /* elements */
	const uint64_t *dims;
	const double *value;
	struct stats stats; /* n 0: it could not be measured, and the row has nan */
};

/* Fills in dtype, shape and statistics by a tensor in memory, as far as it can be read. dims: its own, or room for them. */
void train_kind_measure(struct train_value *v, const struct buffer *b);

/* False: there was no room in the journal; counted and said. */
bool train_kind_write(const struct train_value *v);

/* The same of a tensor as it stands now, in the current step, where the kind is wanted and due. */
bool train_kind_write_tensor(enum train_kind kind, const char *name, uint16_t vpp_stage,
	uint32_t micro_step, const char *dtype_prefix, const struct buffer *b);

/* The name in files: by key squash_name. p is of the table in use. */
const char *train_kind_name(const struct train_params *all, const struct train_param *p);

/* A module's or parameter's name as squash_name shortens it: a place in it. */
const char *train_squash(const char *name);

/* Is that name one of key `targets`? */
bool train_is_target(const char *name);

/* The same for a module: "=name" is that module alone, and not those in it. */
bool is_target_module(const char *name);

/* What it is decided by: another value, another pointer. */
const void *train_targets_now(void);

/* The same for a parameter that is known, by a table that is made once. */
bool train_param_is_target(const struct train_params *all, const struct train_param *p);

/* In a forked child, where the thread that held a lock may not exist. */
void train_kinds_forked(void);

#endif
