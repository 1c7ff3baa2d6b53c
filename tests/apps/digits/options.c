/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of train_digits. */
#include "digits.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef DATA_FILE
#define DATA_FILE "tests/apps/data/optdigits.csv.gz"
#endif

const char usage[] =
	"usage: train_digits [options]\n"
	"  --epochs N         passes over the training images (30)\n"
	"  --batch N          images a rank and step (16)\n"
	"  --steps N          stop after N steps\n"
	"  --seed N           of initial parameters and order of the images (1)\n"
	"  --lr X             learning rate (0.1)\n"
	"  --data FILE        the images (" DATA_FILE ")\n"
	"  --nan-at STEP:RANK one NaN in the gradients of that rank in that step\n"
	"  --slow RANK:MS     that rank takes MS milliseconds longer for each step\n"
	"  --hang STEP:RANK   that rank makes no MPI call any more from that step on\n";

int read_digits_options(int argc, char **argv, struct options *opt)
{
	static const struct option longs[] = {{"epochs", 1, NULL, 'e'}, {"batch", 1, NULL, 'b'},
		{"steps", 1, NULL, 'n'}, {"seed", 1, NULL, 's'}, {"lr", 1, NULL, 'l'},
		{"data", 1, NULL, 'd'}, {"nan-at", 1, NULL, 'N'}, {"slow", 1, NULL, 'S'},
		{"hang", 1, NULL, 'H'}, {0}};
	int c, ok = 1;

	*opt = (struct options){.epochs = 30,
		.batch = 16,
		.seed = 1,
		.lr = 0.1f,
		.momentum = 0.9f,
		.nan_rank = -1,
		.slow_rank = -1,
		.hang_rank = -1,
		.data = DATA_FILE};
	opterr = 0; /* the caller prints the usage, once */
	while (ok && (c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'e':
			ok = (opt->epochs = atoi(optarg)) > 0;
			break;
		case 'b':
			ok = (opt->batch = atoi(optarg)) > 0;
			break;
		case 'n':
			ok = (opt->steps = atoi(optarg)) > 0;
			break;
		case 's':
			opt->seed = (unsigned)atoi(optarg);
			break;
		case 'l':
			ok = (opt->lr = strtof(optarg, NULL)) > 0;
			break;
		case 'd':
			opt->data = optarg;
			break;
		case 'N':
			ok = sscanf(optarg, "%d:%d", &opt->nan_step, &opt->nan_rank) == 2;
			break;
		case 'S':
			ok = sscanf(optarg, "%d:%d", &opt->slow_rank, &opt->slow_ms) == 2;
			break;
		case 'H':
			ok = sscanf(optarg, "%d:%d", &opt->hang_step, &opt->hang_rank) == 2;
			break;
		default:
			ok = 0;
		}
	}
	return ok && optind == argc ? 0 : -1;
}
