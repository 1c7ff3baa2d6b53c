/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a training on all ranks, step by step, from the files of parameter statistics (param_origin, param_updated,
 * grad_unreduced, grad_reduced): which ranks hold the same parameter, and where their copies diverge.
 *
 * Ranks hold copies of one parameter if its gradients show it: the optimizer's step has the same bits on them, though the ranks
 * had accumulated different gradients. That means a reduction over these ranks, by whatever code (DDP, HSDP's replicate group,
 * experts' data group, calls of the program itself). Ranks that accumulate the same gradient by themselves, as copies under
 * tensor parallelism do, hold copies too, but no operation keeps these equal.
 *
 * Tensors count as equal if the nine digits of min, max, mean and norm, and the counts, are equal.
 */
#ifndef PROBE_TOOLS_PROBE_TRAINING_PARAMETERS_H
#define PROBE_TOOLS_PROBE_TRAINING_PARAMETERS_H

#include "tools/lib/table.h"
#include "tools/probe/model/gather.h"

/* The values of a parameter in a step. */
enum param_view {
	VIEW_BEFORE, /* the parameter, before the optimizer's step */
	VIEW_AFTER, /* after it */
	VIEW_OWN_GRADIENT, /* as the rank accumulated it */
	VIEW_GRADIENT, /* as the optimizer's step got it */
	PARAM_VIEWS
};

struct param_value {
	struct table_key
		key; /* a: number of the parameter and index of the rank's folder, b: step */
	uint64_t digest[PARAM_VIEWS]; /* 0: not known */
	double least, most, norm; /* of VIEW_AFTER, or of VIEW_BEFORE if only that is recorded */
	float zeros; /* share of zeros in VIEW_OWN_GRADIENT */
};

struct parameter {
	struct table_key key; /* a: hash of model chunk and name, b: of shape and type */
	uint32_t number;
	char *name, *shape, *type;
};

/* What made copies diverge. */
enum parting {
	PARTED_BEFORE_START, /* they were different before the first optimizer step that was seen */
	PARTED_BETWEEN_STEPS, /* between two optimizer steps */
	PARTED_BY_GRADIENT, /* the optimizer's step got different gradients, and equal ones before */
	PARTED_BY_OPTIMIZER, /* it got the same gradients and computed different parameters */
};

/* Copies of one parameter that diverge. */
struct parted {
	uint32_t parameter;
	uint32_t *rank; /* indices of the folders that hold it, ascending */
	bool *odd; /* for each: whether its value differs from most of them; none is set if there is no majority */
	unsigned n;
	enum parting cause;
	bool reduced; /* a reduction keeps them equal; otherwise each rank computes the same values by itself */
	bool tiny; /* the difference is within rounding */
	uint64_t step, last_step; /* where they diverged, and the last step with all of them */
	uint64_t equal_steps; /* steps before it with equal copies */
	double distance; /* at last_step, relative to the largest value or the norm */
};

/* One matrix of which two ranks hold copies that they use differently: the gradient of one is that of an embedding. */
struct untied {
	uint32_t parameter[2], rank[2];
	uint64_t step, last_step;
	double distance;
};

struct parameters {
	struct table values; /* struct param_value */
	struct table list; /* struct parameter */
	uint64_t *step; /* steps that were seen, ascending */
	unsigned nstep, cap_step;
	unsigned nrank;
	unsigned ranks_with; /* ranks that have such files */
	bool full; /* later steps were not read for lack of room */
	struct parted *parted;
	unsigned nparted, cap_parted;
	struct untied *untied;
	unsigned nuntied, cap_untied;
	unsigned copies; /* parameters whose copies a reduction kept equal on several ranks */
	bool *together; /* nrank * nrank: a reduction keeps some parameter's copies on these two ranks equal; NULL: none */
};

/* Reads the files of steps lo to hi and judges them. Free with parameters_free(). */
void parameters_read(struct parameters *p, const struct gather *g, uint64_t lo, uint64_t hi);
void parameters_free(struct parameters *p);

/* Whether these ranks hold copies of a parameter that a reduction keeps equal. */
bool have_common_parameter(const struct parameters *p, uint32_t rank, uint32_t other);

const struct parameter *parameter_at(const struct parameters *p, uint32_t i);

#endif
