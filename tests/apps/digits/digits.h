/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of train_digits share: the images, the model, the options. None of them knows of MPI. */
#ifndef DIGITS_H
#define DIGITS_H

#include <stdint.h>

enum { PIXELS = 64, HIDDEN = 64, CLASSES = 10 };

#define FLOATS_IN(x) ((int)(sizeof(x) / sizeof(float)))

/* A fully connected layer is a row of floats, weights first: one buffer for MPI. */
struct hidden_layer {
	float w[HIDDEN][PIXELS], b[HIDDEN];
};
struct output_layer {
	float w[CLASSES][HIDDEN], b[CLASSES];
};
struct model {
	struct hidden_layer hidden;
	struct output_layer output;
};

struct image {
	float pixel[PIXELS]; /* 0 to 1 */
	int digit;
};

struct dataset {
	struct image *train, *test;
	int n_train, n_test;
};

struct options {
	int epochs, batch; /* batch: images a rank and step */
	int steps; /* stop after this many; 0: all epochs */
	unsigned seed;
	float lr, momentum;
	int nan_step, nan_rank; /* what is to go wrong, and where; rank -1: nothing */
	int slow_rank, slow_ms;
	int hang_step, hang_rank;
	const char *data; /* file of the images */
};

/* Random numbers that are the same on every machine. */
void rng_start(unsigned seed);
uint32_t rng(void);

/* Reads the gzip-compressed CSV file; every fifth image is for the test. Returns 0, or -1 where it cannot. */
int read_digits(const char *path, struct dataset *data);

/* Random weights from rng(), no bias. */
void init_parameters(struct model *m);

/* Adds the gradients of one image's loss (cross entropy) times scale to *grad. Returns that loss. */
float add_gradients(
	const struct model *m, const struct image *img, float scale, struct model *grad);

/* One step of SGD with momentum. */
void update_parameters(struct model *m, struct model *velocity, const struct model *grad,
	const struct options *opt);

/* The digit that the model sees in the image. */
int classify(const struct model *m, const struct image *img);

/* Returns 0, or -1 where an option or its value is unknown. */
int read_digits_options(int argc, char **argv, struct options *opt);
extern const char usage[];

#endif
