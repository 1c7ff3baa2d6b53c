/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_PROBE_RECOVER_RECOVER_STRUCT_H
#define PROBE_TOOLS_PROBE_RECOVER_RECOVER_STRUCT_H

/*
 * Writes the file of key print_struct again from names.csv, if names.csv contains modules. dirfd:
 * the folder.
 */
void write_recovered_structure(int dirfd);

#endif
