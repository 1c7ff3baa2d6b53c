/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/stubs/hook_jump.inc"

	TAIL MPI_Pcontrol, mpi_look_pcontrol
	TAIL PMPI_Pcontrol, mpi_look_ppcontrol

	.section .note.GNU-stack, "", %progbits
