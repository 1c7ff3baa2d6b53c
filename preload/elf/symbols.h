/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for addresses, read from the modules' files (.symtab, or else .dynsym). Used on the
 * writer thread and by the tools, never on a thread of the job. Memory is limited to
 * `limit_bytes`; if more is needed, the largest tables are dropped.
 */
#ifndef PROBE_ELF_SYMBOLS_H
#define PROBE_ELF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "elf/loaded/modules.h"

struct symbols;

struct symbols *symbols_init(size_t limit_bytes);
void symbols_free(struct symbols *s);

/*
 * Sets a demangler; without one, C++ names are written as they are in the file. fn writes the
 * readable form of `name` into buf and returns its length, or -1 if `name` is not a C++ name.
 */
void symbols_set_demangler(struct symbols *s, int (*fn)(const char *name, char *buf, size_t cap));

/*
 * Sets the folder of files with separate symbols, <dir>/.build-id/xx/yyyy.debug; default
 * /usr/lib/debug. The string must stay valid.
 */
void symbols_set_debug_dir(struct symbols *s, const char *dir);

/* Adds a copy of *m. Modules whose addresses overlap with it are removed. */
void symbols_add_module(struct symbols *s, const struct module *m);

/*
 * Writes "module!function+0x1f" for the return address pc (module: base name of the path;
 * function: as in the symbol table; the address looked up is pc - 1, in the call instruction). If
 * no symbol covers the address, writes "module+0x1234" (the address in the file, for addr2line);
 * if no module does, "0x7f...". Returns the length as snprintf does. A file whose build id
 * differs from the module's is not used.
 */
int symbols_format_name(struct symbols *s, uint64_t pc, char *buf, size_t cap);

#endif
