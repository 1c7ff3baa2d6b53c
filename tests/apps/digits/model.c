/* SPDX-License-Identifier: Apache-2.0 */
/* The multi-layer perceptron 64-64-10: ReLU, softmax, cross entropy, SGD with momentum. */
#include "digits.h"
#include <math.h>

static uint64_t rng_state;

void rng_start(unsigned seed)
{
	rng_state = seed;
}

uint32_t rng(void)
{
	rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(rng_state >> 32);
}

/* Evenly between -limit and limit. */
static float rng_float(float limit)
{
	return limit * ((float)(rng() >> 8) / (float)(1 << 23) - 1.0f);
}

void init_parameters(struct model *m)
{
	for (int j = 0; j < HIDDEN; j++)
		for (int i = 0; i < PIXELS; i++)
			m->hidden.w[j][i] = rng_float(sqrtf(6.0f / PIXELS));
	for (int k = 0; k < CLASSES; k++)
		for (int j = 0; j < HIDDEN; j++)
			m->output.w[k][j] = rng_float(sqrtf(6.0f / HIDDEN));
}

/* Activations of the hidden layer and class probabilities of one image. */
static void forward(
	const struct model *m, const struct image *img, float hidden[HIDDEN], float prob[CLASSES])
{
	float top = -INFINITY, sum = 0;

	for (int j = 0; j < HIDDEN; j++) {
		hidden[j] = m->hidden.b[j];
		for (int i = 0; i < PIXELS; i++)
			hidden[j] += m->hidden.w[j][i] * img->pixel[i];
		if (hidden[j] < 0) /* written so that a NaN passes */
			hidden[j] = 0;
	}
	for (int k = 0; k < CLASSES; k++) {
		prob[k] = m->output.b[k];
		for (int j = 0; j < HIDDEN; j++)
			prob[k] += m->output.w[k][j] * hidden[j];
		top = prob[k] > top ? prob[k] : top;
	}
	for (int k = 0; k < CLASSES; k++) {
		prob[k] = expf(prob[k] - top);
		sum += prob[k];
	}
	for (int k = 0; k < CLASSES; k++)
		prob[k] /= sum;
}

float add_gradients(const struct model *m, const struct image *img, float scale, struct model *grad)
{
	float hidden[HIDDEN], prob[CLASSES], back[HIDDEN] = {0};

	forward(m, img, hidden, prob);
	for (int k = 0; k < CLASSES; k++) {
		float d = (prob[k] - (k == img->digit)) * scale;

		grad->output.b[k] += d;
		for (int j = 0; j < HIDDEN; j++) {
			grad->output.w[k][j] += d * hidden[j];
			back[j] += d * m->output.w[k][j];
		}
	}
	for (int j = 0; j < HIDDEN; j++) {
		if (hidden[j] == 0)
			continue;
		grad->hidden.b[j] += back[j];
		for (int i = 0; i < PIXELS; i++)
			grad->hidden.w[j][i] += back[j] * img->pixel[i];
	}
	return -logf(prob[img->digit] + 1e-12f);
}

void update_parameters(struct model *m, struct model *velocity, const struct model *grad,
	const struct options *opt)
{
	float *p = (float *)m, *v = (float *)velocity;
	const float *g = (const float *)grad;

	for (int i = 0; i < FLOATS_IN(*m); i++) {
		v[i] = opt->momentum * v[i] + g[i];
		p[i] -= opt->lr * v[i];
	}
}

int classify(const struct model *m, const struct image *img)
{
	float hidden[HIDDEN], prob[CLASSES];
	int best = 0;

	forward(m, img, hidden, prob);
	for (int k = 1; k < CLASSES; k++)
		best = prob[k] > prob[best] ? k : best;
	return best;
}
