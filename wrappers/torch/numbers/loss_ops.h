/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number at which a backward pass begins, and the factors and divisors that the program applied to it before. Notes belong
 * to the calling thread; scalar_ops.c observes the operators.
 */
#ifndef PROBE_WRAPPERS_TORCH_LOSS_OPS_H
#define PROBE_WRAPPERS_TORCH_LOSS_OPS_H

#include <stdbool.h>
#include <stdint.h>

#define LOSS_DIVISORS 3

struct loss_root {
	double value; /* the number at which the pass begins */
	double scale; /* a loss scale by which the program itself multiplied it; 1: none known */
	double divisor
		/* it was divided by each of these; multiplication by 1/n counts as division by n */
		[LOSS_DIVISORS];
	uint8_t n;
};

/*
 * ones_like() was called: backward() makes in this way the gradient of the number at which it
 * begins.
 */
void loss_record_ones(const void *ones, double value);

/* The program computed a * b, or value / divisor, of numbers. a may already be the result. */
void loss_record_product(double a, double b, double value);
void loss_record_quotient(double divisor, double value);

/* A product or a quotient is not known: neither is how the program computed the next pass's loss. */
void loss_set_unknown(void);

/* Notes the scale of a gradient scaler. */
void loss_record_scale(double scale);

/*
 * The pass whose first root has gradient `grad` begins. Drops all notes. Returns false if the
 * pass begins at another value.
 */
bool loss_find_root(const void *grad, struct loss_root *root);

/* Drops all notes, because an optimizer has run since. */
void loss_reset_numbers(void);

#endif
