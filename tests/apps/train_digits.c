/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_digits: a small data-parallel training in C over MPI, as a real one is built.
 *
 * A multi-layer perceptron, 64-64-10, learns hand-written digits (data/README.md) by mini-batch SGD with momentum.
 * Every rank holds all parameters and computes gradients on its own part of each batch; MPI makes of them one model:
 *
 *   once          MPI_Bcast       initial parameters, from rank 0
 *   each step     MPI_Allreduce   gradients of the output layer (bucket 0, ready first in the backward pass)
 *                 MPI_Allreduce   gradients of the hidden layer (bucket 1)
 *                 MPI_Reduce      loss, to rank 0: exactly once a step, the last MPI call of it
 *   each epoch    MPI_Barrier
 *   at the end    MPI_Allreduce   test images: classified correctly, seen
 *                 MPI_Gather      checksums of the parameters, which must be equal on all ranks
 *
 * The same seed, number of ranks and MPI give the same bits in every run. --nan-at, --slow and --hang make the
 * training fail as real ones do.
 *
 * Exit status: 0 trained, however long and well, 1 the ranks have different parameters, 2 usage or unreadable data.
 */
#include "digits/digits.h"
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static int rank, ranks;
static struct model model, grad, velocity;

/* What goes wrong in real jobs, on request. */
static void misbehave(const struct options *opt, int step)
{
	if (rank == opt->slow_rank)
		usleep((useconds_t)opt->slow_ms * 1000);
	if (rank == opt->nan_rank && step == opt->nan_step)
		grad.hidden.w[0][0] = NAN;
	if (rank == opt->hang_rank && step == opt->hang_step) {
		fprintf(stderr, "train_digits: rank %d makes no MPI call from step %d on\n", rank,
			step);
		for (;;)
			pause();
	}
}

static void sum_gradients(void *bucket, int count)
{
	MPI_Allreduce(MPI_IN_PLACE, bucket, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

/* One step on this rank's share of the batch; returns the mean loss of the whole batch on rank 0. */
static float train_step(
	const struct options *opt, const struct dataset *data, const int *share, int step)
{
	float scale = 1.0f / (float)(opt->batch * ranks), loss = 0, mean = 0;

	memset(&grad, 0, sizeof(grad));
	for (int i = 0; i < opt->batch; i++)
		loss += add_gradients(&model, &data->train[share[i]], scale, &grad) * scale;
	misbehave(opt, step);
	sum_gradients(&grad.output, FLOATS_IN(grad.output));
	sum_gradients(&grad.hidden, FLOATS_IN(grad.hidden));
	update_parameters(&model, &velocity, &grad, opt);
	MPI_Reduce(&loss, &mean, 1, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
	return mean;
}

/* In the same way on all ranks, so that their shares of a batch never overlap. */
static void shuffle(int *order, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int j = (int)(rng() % (unsigned)(i + 1)), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
}

/* All epochs; returns the mean loss of the last one on rank 0. */
static float train(const struct options *opt, const struct dataset *data)
{
	int batch = opt->batch * ranks, per_epoch = data->n_train / batch, step = 0;
	int last = opt->steps ? opt->steps : opt->epochs * per_epoch;
	int *order = malloc((size_t)data->n_train * sizeof(*order));
	float loss = 0;

	for (int i = 0; order && i < data->n_train; i++)
		order[i] = i;
	for (int epoch = 0; order && epoch < opt->epochs && step < last; epoch++) {
		float sum = 0;
		int i;

		shuffle(order, data->n_train);
		for (i = 0; i < per_epoch && step < last; i++, step++)
			sum += train_step(opt, data, order + i * batch + rank * opt->batch, step);
		loss = fabsf(sum / (float)i); /* a NaN without sign */
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 0 && (epoch % 5 == 4 || step == last))
			printf("epoch %2d  step %4d  loss %.4f\n", epoch + 1, step, loss);
	}
	free(order);
	return loss;
}

/* Each rank tests every ranks-th image. Returns the percentage that all of them got right. */
static float test_accuracy(const struct dataset *data)
{
	int count[2] = {0, 0}; /* right, seen */

	for (int i = rank; i < data->n_test; i += ranks, count[1]++)
		count[0] += classify(&model, &data->test[i]) == data->test[i].digit;
	MPI_Allreduce(MPI_IN_PLACE, count, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	return 100.0f * (float)count[0] / (float)count[1];
}

/* CRC-32 of this rank's parameters; *same says on rank 0 whether all ranks have the same. */
static uint32_t parameters_crc(int *same)
{
	uint32_t crc = (uint32_t)crc32(0, (const Bytef *)&model, sizeof(model));
	uint32_t *all = malloc((size_t)ranks * sizeof(*all));

	MPI_Gather(&crc, 1, MPI_UINT32_T, all, 1, MPI_UINT32_T, 0, MPI_COMM_WORLD);
	*same = 1;
	for (int i = 0; rank == 0 && i < ranks; i++)
		*same &= all[i] == crc;
	free(all);
	return crc;
}

int main(int argc, char **argv)
{
	struct options opt;
	struct dataset data;
	float loss, accuracy;
	uint32_t crc;
	int same;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (read_digits_options(argc, argv, &opt)) {
		if (rank == 0)
			fputs(usage, stderr);
		MPI_Finalize();
		return 2;
	}
	if (read_digits(opt.data, &data)) {
		fprintf(stderr, "train_digits: rank %d cannot read images from %s\n", rank,
			opt.data);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}

	rng_start(opt.seed);
	if (rank == 0)
		init_parameters(&model);
	rng_start(opt.seed + 1); /* rank 0 has drawn numbers that the others have not */
	MPI_Bcast(&model, FLOATS_IN(model), MPI_FLOAT, 0, MPI_COMM_WORLD);
	loss = train(&opt, &data);
	accuracy = test_accuracy(&data);
	crc = parameters_crc(&same);
	if (rank == 0) {
		printf("test accuracy %.1f %%  loss %.4f  weights crc32 %08x\n", accuracy, loss,
			crc);
		if (!same)
			fprintf(stderr,
				"train_digits: the ranks do not have the same parameters\n");
	}
	MPI_Finalize();
	/* NaN parameters are equal on all ranks, too: compared are their bits. */
	return same ? 0 : 1;
}
