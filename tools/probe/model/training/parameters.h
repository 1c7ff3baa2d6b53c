/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a training on all ranks, step by step, from the files of parameter statistics
 * (param_origin, param_updated, grad_unreduced, grad_reduced): which ranks hold the same parameter,
 * and where their copies diverge.
 *
 * The gradients show which ranks hold copies of one parameter. If ranks accumulated different
 * gradients, but the optimizer's step gets equal bits on them, then a reduction over these ranks
 * made the gradients equal, in whatever code (DDP, HSDP's replicate group, experts' data group,
 * calls of the program itself). Ranks that accumulate equal gradients by themselves, as under
 * tensor parallelism, hold copies as well, but no operation keeps these equal.
 *
 * Tensors count as equal if min, max, mean and norm agree in their nine digits and the counts are
 * equal.
 */
#ifndef PROBE_TOOLS_PROBE_TRAINING_PARAMETERS_H
#define PROBE_TOOLS_PROBE_TRAINING_PARAMETERS_H

#include "tools/lib/table.h"
#include "tools/probe/model/gather.h"

/* The values of a parameter in a step. */
enum param_view {
	VIEW_BEFORE, /* the parameter before optimizer.step() */
	VIEW_AFTER, /* the parameter after optimizer.step() */
	VIEW_OWN_GRADIENT, /* the gradient as the rank accumulated it */
	VIEW_GRADIENT, /* the gradient as optimizer.step() got it */
	PARAM_VIEWS
};

struct param_value {
	/* a: number of the parameter and index of the rank's folder; b: step. */
	struct table_key key;
	uint64_t digest[PARAM_VIEWS]; /* 0: not known */
	double least, most, norm; /* of VIEW_AFTER, or of VIEW_BEFORE if only that was recorded */
	float zeros; /* share of zeros in VIEW_OWN_GRADIENT, 0 to 1 */
};

struct parameter {
	struct table_key key; /* a: hash of model chunk and name; b: hash of shape and type */
	uint32_t number;
	char *name, *shape, *type;
};

/* When copies became different. */
enum parting {
	PARTED_BEFORE_START, /* before the first optimizer step that was observed */
	PARTED_BETWEEN_STEPS, /* between two optimizer steps */
	/* In an optimizer step that got different gradients; earlier gradients were equal. */
	DIVERGED_BY_GRADIENT,
	/* In an optimizer step that got equal gradients and computed different parameters. */
	DIVERGED_BY_OPTIMIZER,
};

/* Copies of one parameter that diverge. */
struct diverged {
	uint32_t parameter;
	uint32_t *rank; /* indices of the folders with a copy, ascending */
	/*
	 * By copy: its value differs from that of the majority; none is set if there is no
	 * majority.
	 */
	bool *odd;
	unsigned n;
	enum parting cause;
	/* A reduction keeps the copies equal; false: each rank computes equal values by itself. */
	bool reduced;
	/* No step had equal gradients on two of these ranks: only their values before the first step were equal. */
	bool never_equal;
	/*
	 * Never_equal, and first trained in `step`, after other parameters: it was unfrozen, or its
	 * group was added. A reducer that was made earlier (DDP's) does not have it.
	 */
	bool joined;
	bool tiny; /* the difference is within rounding error */
	uint64_t step, last_step; /* step in which they diverged; last step that all of them have */
	uint64_t equal_steps; /* steps before `step` in which the copies were equal */
	double distance; /* difference in last_step, relative to the largest value or the norm */
};

/*
 * Two copies of one matrix on two ranks that use them differently: only one has the gradient of an
 * embedding.
 */
struct untied {
	uint32_t parameter[2], rank[2];
	uint64_t step, last_step;
	double distance;
};

struct parameters {
	const struct gather *g;
	struct table values; /* struct param_value */
	struct table list; /* struct parameter */
	uint64_t *step; /* steps that were read, ascending */
	unsigned nstep, cap_step;
	unsigned nrank;
	unsigned ranks_with; /* number of ranks that have such files */
	bool full; /* the limit of memory was reached, and later steps were not read */
	struct diverged *diverged;
	unsigned ndiverged, cap_diverged;
	struct untied *untied;
	unsigned nuntied, cap_untied;
	/* Number of parameters whose copies a reduction kept equal on several ranks. */
	unsigned copies;
	/*
	 * Nrank * nrank entries: true if a reduction keeps a parameter's copies on these two ranks
	 * equal. NULL: no copies.
	 */
	bool *together;
};

/*
 * Reads the files of steps lo to hi and looks for copies that diverge. Free with parameters_free().
 */
void parameters_read(struct parameters *p, const struct gather *g, uint64_t lo, uint64_t hi);
void parameters_free(struct parameters *p);

/* Returns true if these two ranks hold copies of a parameter that a reduction keeps equal. */
bool have_common_parameter(const struct parameters *p, uint32_t rank, uint32_t other);

const struct parameter *parameter_at(const struct parameters *p, uint32_t i);

#endif
