/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loss of a backward pass, and how the program computed it: numbers that were divided and multiplied on this thread since
 * the last pass, in a ring buffer. The pass begins at the last number of a chain of them, or at a copy of it (.float(),
 * .mean()).
 */
#include "wrappers/torch/numbers/loss_ops.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/thread.h"
#include "stats/convert.h"
#include "training/steps/late.h"

#define MADE_MAX 8
#define SCALE_MIN 1024 /* the first loss scale seen is at least this */

/* A number that resulted from a division or a multiplication, and all steps that produced it. */
struct loss_number {
	double value;
	/* last factor that the number was multiplied by, if that is a power of two; 1: none */
	double scale;
	double divisor[LOSS_DIVISORS];
	uint8_t n;
};

struct loss_notes {
	const void *ones; /* the result of the last ones_like() of a number */
	double one_value; /* the value of that number */
	struct loss_number loss_number[MADE_MAX];
	uint8_t nmade, next;
	bool unknown; /* loss_set_unknown() was called */
};

static THREAD_OWN struct loss_notes thread_notes;
/* those of queued events (late_scalar.h), which one thread at a time handles */
static struct loss_notes queued_notes;

static struct loss_notes *get_notes(void)
{
	return late_is_running() ? &queued_notes : &own(thread_notes);
}

/* bits of the gradient scaler's scale; 0: no scaler was seen */
static _Atomic uint64_t scaler_scale;
static _Atomic bool has_scale; /* losses were multiplied by a loss scale before */

void loss_record_scale(double scale)
{
	atomic_store_explicit(&scaler_scale, bits_of_double(scale), memory_order_relaxed);
}

void loss_set_unknown(void)
{
	get_notes()->unknown = true;
}

void loss_record_ones(const void *ones, double value)
{
	get_notes()->ones = ones;
	get_notes()->one_value = value;
}

static bool is_about(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fabs(b);
}

static bool is_power_of_two(double v)
{
	uint64_t bits = bits_of_double(v);

	return v >= 1 && v < 0x1p64 && !(bits & ((UINT64_C(1) << 52) - 1));
}

/* The i-th number from the end of the ring buffer; NULL if it has fewer. */
static const struct loss_number *get_recent_number(unsigned i)
{
	return i < get_notes()->nmade
		       ? &get_notes()
				  ->loss_number[(get_notes()->next + MADE_MAX - 1 - i) % MADE_MAX]
		       : NULL;
}

static const struct loss_number *find_loss_number(double value)
{
	const struct loss_number *m;

	for (unsigned i = 0; (m = get_recent_number(i)); i++)
		if (is_about(value, m->value))
			return m;
	return NULL;
}

static void add_loss_number(
	const struct loss_number *from, double value, double divisor, double scale)
{
	struct loss_number m = {.scale = 1};

	if (from)
		m = *from;
	m.value = value;
	m.scale = scale;
	if (divisor > 0 && m.n < LOSS_DIVISORS)
		m.divisor[m.n++] = divisor;
	get_notes()->loss_number[get_notes()->next] = m;
	get_notes()->next = (get_notes()->next + 1) % MADE_MAX;
	get_notes()->nmade += get_notes()->nmade < MADE_MAX;
}

void loss_record_product(double a, double b, double value)
{
	const struct loss_number *from = find_loss_number(a);
	double factor = b;

	/* For an operation in place, a is the result already. */
	if (!from && b != 0)
		from = find_loss_number(value / b);
	if (!from && ((from = find_loss_number(b)) || (is_power_of_two(a) && a >= SCALE_MIN)))
		factor = a;
	/* loss * 0.25 is loss / 4 */
	if (factor > 0 && factor < 1)
		add_loss_number(from, value, 1 / factor, from ? from->scale : 1);
	else if (factor >= 1)
		add_loss_number(from, value, 0, is_power_of_two(factor) ? factor : 1);
}

void loss_record_quotient(double divisor, double value)
{
	if (divisor > 0 && divisor < 1)
		add_loss_number(find_loss_number(value * divisor), value, 0, 1);
	else if (divisor >= 1)
		add_loss_number(
			find_loss_number(value * divisor), value, divisor > 1 ? divisor : 0, 1);
}

/* A loss scale is a power of two. If the program has set another scale, only the last one seen is accepted. */
static bool is_possible_scale(double ratio)
{
	uint64_t seen = atomic_load_explicit(&scaler_scale, memory_order_relaxed);

	return is_power_of_two(ratio) || (seen && is_about(ratio, double_of(seen)));
}

/* Finds the number that equals root, or that equals root divided by a loss scale. */
static const struct loss_number *find_root(double root)
{
	const struct loss_number *m = find_loss_number(root);

	for (unsigned i = 0; !m && (m = get_recent_number(i)); i++)
		if (m->value != 0 && is_possible_scale(root / m->value))
			return m;
		else
			m = NULL;
	return m;
}

void loss_reset_numbers(void)
{
	get_notes()->ones = NULL;
	get_notes()->nmade = 0;
	get_notes()->unknown = false;
}

bool loss_find_root(const void *grad, struct loss_root *root)
{
	bool seen = grad && grad == get_notes()->ones && !get_notes()->unknown;
	const struct loss_number *m = seen ? find_root(get_notes()->one_value) : NULL;

	*root = (struct loss_root){.scale = 1};
	if (seen)
		root->value = get_notes()->one_value;
	if (m) {
		root->n = m->n;
		memcpy(root->divisor, m->divisor, sizeof(root->divisor));
	}
	if (m && m->scale >= SCALE_MIN)
		atomic_store_explicit(&has_scale, true, memory_order_relaxed);
	if (m && atomic_load_explicit(&has_scale, memory_order_relaxed))
		root->scale = m->scale;
	loss_reset_numbers();
	return seen;
}
