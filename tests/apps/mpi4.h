/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an MPI has what MPI 4 added. Open MPI 5 calls itself 3.1 and has all of it but the functions with large counts. */
#ifndef MPI4_H
#define MPI4_H

#include <mpi.h>

#define HAS_LARGE_COUNTS (MPI_VERSION >= 4)
#ifdef OMPI_MAJOR_VERSION
#define HAS_MPI_4 (MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5)
#else
#define HAS_MPI_4 (MPI_VERSION >= 4)
#endif

#endif
