/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/stubs/hook_jump.inc"

	TAIL MPI_Pcontrol, mpi_handle_pcontrol
	TAIL PMPI_Pcontrol, mpi_handle_ppcontrol

	.section .note.GNU-stack, "", %progbits
