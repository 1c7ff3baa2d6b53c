/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter statistics ("kinds", terms/train_kind.def) in each step of a training. Adapters of
 * frameworks know when to measure, and where the tensors are. This module measures the tensors
 * and writes the results into the journal of the calling thread. Names no framework.
 *
 * Needs some KiB of stack (base/private_stack.h). Must not be called inside a record: an entry is
 * complete when it is written. Nothing is allocated in steady state.
 */
#ifndef PROBE_TRAIN_KIND_H
#define PROBE_TRAIN_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/train_kind.h"
#include "call/data/view.h"
#include "stats/stats.h"
#include "training/params/param.h"

/*
 * Returns the kinds of the configuration, a mask of KIND_BIT(). 0: none, and there is nothing to
 * do. Any thread.
 */
uint32_t train_get_kinds(void);

/* True if kinds are written in this step on this rank. */
bool train_are_kinds_due(void);

/* A row to be written. The texts are copied. */
struct train_value {
	enum train_kind kind;
	const char *word; /* first word of the file's name, for TK_STATE; else NULL */
	const char *name;
	/* the framework's prefix of the type's name: "torch."; NULL: none */
	const char *dtype_prefix;
	uint32_t step, micro_step; /* micro_step UINT32_MAX: the kind's file has no such column */
	uint16_t vpp_stage;
	uint8_t dtype, ndim;
	uint16_t nvalue; /* for kinds without statistics */
	uint64_t count; /* elements */
	const uint64_t *dims;
	const double *value;
	struct stats stats; /* n 0: the tensor could not be measured; the row has nan */
	/* a device measures it (training/steps/late.h): the pending result of `stats`; 0: none */
	uint32_t snapshot;
	bool norm; /* the kind's value is the norm in `stats`; without it there is no row */
};

/*
 * Fills in dtype, shape and statistics from a tensor in memory, as far as it can be read. dims:
 * the tensor's, or space for them.
 */
void train_kind_measure(struct train_value *v, const struct buffer *b);

/*
 * Like train_kind_measure(), for a tensor in any memory. If b->device is set, it is measured there, at this point of
 * `stream`, and v->snapshot is its pending result, which belongs to train_kind_write() or
 * train_kind_remove(). Between late_open_tensors() and late_close_tensors() many are one launch.
 */
void train_kind_measure_on(struct train_value *v, const struct buffer *b, uint64_t stream);
void train_kind_remove(struct train_value *v);

/*
 * Writes a row; that of a pending result when it has arrived, and so are rows after it. Returns
 * false if the journal or the queue is full (counted and reported).
 */
bool train_kind_write(const struct train_value *v);

/*
 * Measures tensor b as train_kind_measure_on() and writes its row for the current step, if the kind
 * is wanted and due. Returns as train_kind_write().
 */
bool train_kind_write_tensor(enum train_kind kind, const char *name, uint16_t vpp_stage,
	uint32_t micro_step, const char *dtype_prefix, const struct buffer *b, uint64_t stream);

/* Returns the name to be used in files, by key squash_name. p must belong to the current table. */
const char *train_get_kind_name(const struct train_params *all, const struct train_param *p);

/* Returns a module's or parameter's name as key squash_name shortens it: a pointer into `name`. */
const char *train_get_short_name(const char *name);

/* True if `name` is selected by key targets. */
bool train_is_target(const char *name);

/*
 * Like train_is_target(), for a module: "=name" selects this module alone, without the modules in
 * it.
 */
bool is_target_module(const char *name);

/* Identifies the current value of key targets: another value has another pointer. */
const void *train_get_targets(void);

/* Like train_is_target(), for a known parameter; uses a table that is made once. */
bool train_param_is_target(const struct train_params *all, const struct train_param *p);

/* Call in a forked child, where the thread that held a lock may not exist. */
void train_kinds_forked(void);

#endif
