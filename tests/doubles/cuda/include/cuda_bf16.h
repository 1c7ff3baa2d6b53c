/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.h includes it and uses nothing of it. */
#include <cuda_runtime.h>
