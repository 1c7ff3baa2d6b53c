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
	double value; /* when the pass begins */
	double scale; /* a loss scale that the program itself multiplied it by; 1: none known */
	double divisor
		[LOSS_DIVISORS]; /* it was divided by each of these; the same as multiplied by 1/n */
	uint8_t n;
};

/* ones_like(): backward() makes the gradient of the number that it begins at. */
void loss_note_ones(const void *ones, double value);

/* a * b, value / divisor: of numbers; a may be the result already. */
void loss_note_product(double a, double b, double value);
void loss_note_quotient(double divisor, double value);

/* The scale of a gradient scaler. */
void loss_note_scale(double scale);

/* The pass whose first root has that gradient begins. False: it begins at another value. Drops all notes. */
bool loss_find_root(const void *grad, struct loss_root *root);

/* Drops the notes: an optimizer has run since. */
void loss_forget_numbers(void);

#endif
