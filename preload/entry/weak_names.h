/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that find out by weak references which functions a library has (mpi4py's wheels: MPI_Bcast_c, or MPI_Bcast piece by
 * piece). A wrapper of ours would say yes for a function that nobody has. So before such an object is loaded those of our names that
 * it refers to so, and that no library in sight defines, are hidden from the loader, until one comes that does.
 *
 * Out of reach is what the loader binds before we are there: a program that is linked with libprobe.so in front of it.
 */
#ifndef PROBE_ENTRY_WEAK_NAMES_H
#define PROBE_ENTRY_WEAK_NAMES_H

#include "elf/elf_file.h"

/* An object that is about to be loaded, and all that come with it: file(i, arg), NULL behind the last. */
void weak_names_before_load(
	const struct elf_file *(*file)(unsigned i, const void *arg), const void *arg);

#endif
