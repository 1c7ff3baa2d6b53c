/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loss, learning rates and norm of the gradients of each step. In PYNATIVE mode operators run one after the other: the last number
 * that is computed before the first kernel of a backward pass is what the pass begins at, the loss; the last root of a number
 * between the pass and the optimizer is that of a sum of squares over all gradients, which a program takes to clip them. A graph
 * says what it has computed by what it gives back.
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "stats/sum.h"
#include "train/metric.h"
#include "train/scalar.h"
#include "train/step_times.h"
#include "wrappers/mindspore/kernel_values.h"

#define RATES_MAX 16

/* One value of a group of parameters, known by the first of them. */
struct group_rate {
	double rate;
	uint32_t id;
};

struct step_numbers {
	double loss; /* sum over the passes */
	uint32_t passes;
	double root; /* the first since the last pass; NAN: none */
	uint32_t roots;
	bool settled; /* an update has come: roots are of something else now */
	double squares; /* of the gradients that updates were given; NAN: one could not be read */
	uint32_t updates;
	struct group_rate rate[RATES_MAX];
	uint32_t nrate;
};

static const struct step_numbers no_numbers = {.root = NAN};
static struct step_numbers now = {.root = NAN};

/* Numbers as they were computed, outside of steps: a program runs ahead of its kernels. */
#define NUMBERS_MAX 64u
static struct {
	const void *address;
	double value;
} numbers[NUMBERS_MAX];
static uint32_t nnumber; /* since the last pass */
static const void *loss_address;
/* A leaf: held for some additions. A forked child makes it anew. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void ms_numbers_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	now = no_numbers;
	nnumber = 0;
	loss_address = NULL;
}

static void put_step_numbers(uint32_t step);

void ms_number_made(const void *address, double value)
{
	pthread_mutex_lock(&lock);
	numbers[nnumber % NUMBERS_MAX].address = address;
	numbers[nnumber++ % NUMBERS_MAX].value = value;
	pthread_mutex_unlock(&lock);
}

void ms_loss_lies_at(const void *address)
{
	pthread_mutex_lock(&lock);
	loss_address = address;
	pthread_mutex_unlock(&lock);
}

void ms_root_made(double value)
{
	pthread_mutex_lock(&lock);
	if (!now.settled && !now.roots++)
		now.root = value;
	pthread_mutex_unlock(&lock);
}

/* The newest that lies there, else the newest. Under the lock; there is one. */
static double find_number(const void *address)
{
	uint32_t least = nnumber > NUMBERS_MAX ? nnumber - NUMBERS_MAX : 0;

	for (uint32_t i = nnumber; address && i-- > least;)
		if (numbers[i % NUMBERS_MAX].address == address)
			return numbers[i % NUMBERS_MAX].value;
	return numbers[(nnumber - 1) % NUMBERS_MAX].value;
}

void ms_backward_made(bool in_graph)
{
	pthread_mutex_lock(&lock);
	now.root = NAN;
	now.roots = 0;
	if (!in_graph && nnumber) {
		now.loss += find_number(loss_address);
		now.passes++;
		nnumber = 0;
		loss_address = NULL;
	}
	pthread_mutex_unlock(&lock);
	step_add_source(put_step_numbers);
}

static void add_rate(uint32_t id, double rate)
{
	uint32_t i = 0;

	while (i < now.nrate && (now.rate[i].rate < rate || now.rate[i].rate > rate))
		i++;
	if (i == RATES_MAX)
		return;
	if (i == now.nrate)
		now.rate[now.nrate++] = (struct group_rate){rate, id};
	else if (id < now.rate[i].id)
		now.rate[i].id = id;
}

void ms_update_made(uint32_t id, double rate, double squares)
{
	pthread_mutex_lock(&lock);
	if (!isnan(rate))
		add_rate(id, rate);
	now.squares += squares;
	now.updates++;
	now.settled = true;
	pthread_mutex_unlock(&lock);
	step_add_source(put_step_numbers);
}

/* ---- the end of a step ---- */

static void put_group_rates(uint32_t step, struct step_numbers *n)
{
	for (uint32_t i = 1; i < n->nrate; i++) {
		struct group_rate r = n->rate[i];
		uint32_t k = i;

		for (; k && n->rate[k - 1].id > r.id; k--)
			n->rate[k] = n->rate[k - 1];
		n->rate[k] = r;
	}
	for (uint32_t i = 0; i < n->nrate; i++)
		scalar_put_of(SCALAR_LEARNING_RATE, step, 0,
			n->nrate == 1 ? JOURNAL_NO_GROUP : (uint16_t)i, n->rate[i].rate);
}

static void put_mean_loss(uint32_t step, double mean, uint32_t passes)
{
	scalar_put(SCALAR_LOSS, step, mean);
	metric_put_losses(step, mean, passes);
}

static void put_step_numbers(uint32_t step)
{
	struct step_numbers n;

	pthread_mutex_lock(&lock);
	n = now;
	now = no_numbers;
	pthread_mutex_unlock(&lock);
	if (n.passes)
		put_mean_loss(step, n.loss / n.passes, n.passes);
	put_group_rates(step, &n);
	/* Several are of a program that clips each gradient by itself. */
	if (n.roots == 1 || (n.roots && !n.updates)) {
		scalar_put(SCALAR_GRAD_NORM, step, n.root);
	} else if (n.updates && !isnan(n.squares)) {
		scalar_is_derived(SCALAR_GRAD_NORM);
		scalar_put(SCALAR_GRAD_NORM, step, stats_sqrt(n.squares));
	}
}

void ms_loss_returned(bool ended, uint32_t step, double value)
{
	if (ended) {
		put_mean_loss(step, value, 1);
		return;
	}
	pthread_mutex_lock(&lock);
	now.loss += value;
	now.passes++;
	pthread_mutex_unlock(&lock);
}
