/* SPDX-License-Identifier: Apache-2.0 */
/* The names of types that nccl.h needs from CUDA's headers, for machines without them. */
#ifndef TESTS_DOUBLES_CUDA_RUNTIME_H
#define TESTS_DOUBLES_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#define CUDART_VERSION 12000
#define __CUDA_BF16_TYPES_EXIST__ 1

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;

#endif
