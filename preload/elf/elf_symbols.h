/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function symbols of one ELF file. 12 bytes of each symbol are kept in memory; names stay in
 * the file and are read when needed. The file is read with pread, never mapped, so that
 * truncating or replacing it meanwhile (an upgrade, a checkpoint restore) causes an error instead
 * of SIGBUS. Nothing in the file is trusted.
 */
#ifndef PROBE_ELF_ELF_SYMBOLS_H
#define PROBE_ELF_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "elf/loaded/modules.h"

#define ELF_SYMBOL_INDEX 0x3fffffffu /* index in the symbol table */
#define ELF_SYMBOL_LOCAL 0x40000000u
#define ELF_SYMBOL_GUESSED 0x80000000u /* has no size: assumed to extend to the next symbol */

struct elf_symbol {
	uint32_t off; /* first address, relative to `base` */
	uint32_t size;
	uint32_t index; /* ELF_SYMBOL_INDEX and the flags above */
};

struct elf_symbols {
	struct elf_symbol *v; /* sorted by off */
	uint32_t n;
	size_t bytes; /* of v */
	uint64_t base; /* the file's lowest function address */
	bool full; /* from .symtab, not from .dynsym */
	/* The file that names are read from, and data to check that it has not been replaced. */
	char path[MODULE_PATH_MAX];
	uint64_t table, strings, strings_size;
	dev_t dev;
	ino_t ino;
	off_t file_size;
	struct timespec mtime;
};

/*
 * Reads file `path`, whose build id must be `id` (id_len 0: it must have none). Uses .symtab if
 * it has functions and fits, else .dynsym. Returns 0; -ESTALE: another build id; -EFBIG: needs
 * more than max_bytes; -ENOEXEC: not a 64-bit little-endian ELF file with function symbols, or
 * damaged; -ENOMEM; or open()'s error.
 */
int elf_symbols_load(struct elf_symbols *s, const char *path, const uint8_t *id, uint8_t id_len,
	size_t max_bytes);

void elf_symbols_free(struct elf_symbols *s);

/*
 * Finds the name of the function around vaddr (as in the file, without the module's bias), NUL-terminated and cut to cap, and
 * in *start its first address. Among several names it chooses the one that looks most public: not local, fewest leading
 * underscores, shortest. Returns 0, -ENOENT: no function there, -ESTALE: the file has changed, or open()'s error.
 */
int elf_symbols_find_name(
	const struct elf_symbols *s, uint64_t vaddr, char *name, size_t cap, uint64_t *start);

#endif
