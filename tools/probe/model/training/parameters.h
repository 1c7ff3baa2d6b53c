/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a training on all ranks, step by step, from the files of kinds (param_origin, param_updated, grad_unreduced,
 * grad_reduced): which ranks hold the same parameter, and where their copies part.
 *
 * Ranks hold copies of one parameter if its gradients tell so: the optimizer's step finds the same bits on them, though the ranks had
 * accumulated different ones. That is a reduction over these ranks, whatever made it (DDP, HSDP's replicate group, experts' data group,
 * calls of the program itself). Ranks that accumulate the same gradient by themselves, as copies under tensor parallelism do, hold
 * copies too, but nothing keeps these equal.
 *
 * Tensors count as equal if the nine digits of min, max, mean and norm, and the counts, are.
 */
#ifndef PROBE_TOOLS_PROBE_TRAINING_PARAMETERS_H
#define PROBE_TOOLS_PROBE_TRAINING_PARAMETERS_H

#include "tools/lib/table.h"
#include "tools/probe/model/gather.h"

/* What a training shows of a parameter in a step. */
enum param_view {
	VIEW_BEFORE, /* the parameter, before the optimizer's step */
	VIEW_AFTER, /* after it */
	VIEW_OWN_GRADIENT, /* as the rank accumulated it */
	VIEW_GRADIENT, /* as the optimizer's step found it */
	PARAM_VIEWS
};

struct param_value {
	struct table_key
		key; /* a: number of the parameter and index of the rank's folder, b: step */
	uint64_t digest[PARAM_VIEWS]; /* 0: not known */
	double least, most, norm; /* of VIEW_AFTER, or of VIEW_BEFORE where that is all there is */
	float zeros; /* share of VIEW_OWN_GRADIENT */
};

struct parameter {
	struct table_key key; /* a: hash of model chunk and name, b: of shape and type */
	uint32_t number;
	char *name, *shape, *type;
};

/* What made copies part. */
enum parting {
	PARTED_BEFORE_START, /* they were different before the first optimizer step that was seen */
	PARTED_BETWEEN_STEPS, /* between two optimizer steps */
	PARTED_BY_GRADIENT, /* the optimizer's step found different gradients, where it had found the same */
	PARTED_BY_OPTIMIZER, /* it found the same gradients and made different parameters */
};

/* Copies of one parameter that part. */
struct parted {
	uint32_t parameter;
	uint32_t *rank; /* indices of the folders that hold it, ascending */
	bool *odd; /* of each: it has another value than most of them; none: no majority */
	unsigned n;
	enum parting cause;
	bool reduced; /* a reduction keeps them equal; else each rank computes the same by itself */
	bool tiny; /* no more than rounding */
	uint64_t step, last_step; /* where they parted, and the last one with all of them */
	uint64_t equal_steps; /* before it */
	double distance; /* at last_step, of the largest value or the norm: relative */
};

/* One matrix of which two ranks hold copies under different uses: the gradient of one is that of a table of rows. */
struct untied {
	uint32_t parameter[2], rank[2];
	uint64_t step, last_step;
	double distance;
};

struct parameters {
	struct table values; /* struct param_value */
	struct table list; /* struct parameter */
	uint64_t *step; /* that were seen, ascending */
	unsigned nstep, cap_step;
	unsigned nrank;
	unsigned ranks_with; /* ranks that have such files */
	bool full; /* later steps were not read for lack of room */
	struct parted *parted;
	unsigned nparted, cap_parted;
	struct untied *untied;
	unsigned nuntied, cap_untied;
	unsigned copies; /* parameters of which a reduction kept copies on several ranks */
	bool *together; /* nrank * nrank: some parameter's copies on these two ranks are kept equal by a reduction; NULL: none */
};

/* Reads the files of steps lo to hi and judges. Free with parameters_free(). */
void parameters_read(struct parameters *p, const struct gather *g, uint64_t lo, uint64_t hi);
void parameters_free(struct parameters *p);

/* Do these ranks hold copies of a parameter that a reduction keeps equal? */
bool have_common_parameter(const struct parameters *p, uint32_t rank, uint32_t other);

const struct parameter *parameter_at(const struct parameters *p, uint32_t i);

#endif
