/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BLAS, as C (CBLAS) and as Fortran calls it. Its YAML files say everything; call/matrix.h reads
 * them.
 */
#include "blas_gen.h"
#include "cblas_gen.h"

const struct adapter adapter_blas = {LIB_BLAS_SPEC};
const struct adapter adapter_cblas = {LIB_CBLAS_SPEC};
