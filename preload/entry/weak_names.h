/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that use weak references to find out which functions a library has (mpi4py's wheels:
 * MPI_Bcast_c, or MPI_Bcast piece by piece). libprobe's wrapper would make a missing function
 * seem present. So before such an object is loaded, its weak names that libprobe exports and no
 * visible library defines are hidden from the loader, until a library defines them.
 *
 * This does not help for references that the loader binds before libprobe runs: in a program that
 * is linked with libprobe.so in front of the library.
 */
#ifndef PROBE_ENTRY_WEAK_NAMES_H
#define PROBE_ENTRY_WEAK_NAMES_H

#include "elf/elf_file.h"

/*
 * Called for an object that is about to be loaded. file(i, arg) returns it and all objects that
 * are loaded with it, NULL after the last.
 */
void weak_names_before_load(
	const struct elf_file *(*file)(unsigned i, const void *arg), const void *arg);

#endif
