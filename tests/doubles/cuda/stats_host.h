/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics kernel as C: a block has one thread, and blocks run one after the other. Included once in a program, before
 * stats_job.h's header would give a block its 256 threads; for the stand-in for CUDA's driver, and tested itself.
 */
#ifndef TESTS_DOUBLES_CUDA_STATS_HOST_H
#define TESTS_DOUBLES_CUDA_STATS_HOST_H

#include <stdint.h>
#include <string.h>
#include <time.h>

#define STATS_THREADS_OF_DEVICE 256

struct stats_launch;

void stats_run_on_host(const struct stats_launch *arguments, uint32_t blocks);

#endif
