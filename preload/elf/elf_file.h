/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shared object on disk, before the loader loads it: the libraries it needs, and the functions it exports. Nothing in
 * the file is trusted: every offset is checked against its size, and invalid parts count as absent.
 */
#ifndef PROBE_ELF_ELF_FILE_H
#define PROBE_ELF_ELF_FILE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct elf_file {
	const uint8_t *map;
	size_t size;
	dev_t dev;
	ino_t ino;
	const ElfW(Phdr) * phdr;
	unsigned nphdr;
	const ElfW(Dyn) * dyn;
	size_t ndyn;
	const ElfW(Sym) * sym;
	uint32_t nsym, first; /* only symbols first..nsym-1 can be defined */
	const ElfW(Half) * versym; /* array of nsym, or NULL */
	const uint32_t *gnu_hash;
	size_t gnu_words; /* 32-bit words from gnu_hash to the end of the file */
	const char *str;
	size_t strsz; /* str[strsz - 1] is 0 */
	const char *soname, *rpath, *runpath; /* NULL: none */
	bool no_default; /* DF_1_NODEFLIB: neither cache nor standard folders */
};

/*
 * Maps the file. Returns 0, -errno of opening it, or -ENOEXEC if it is not a shared object or
 * program for this machine.
 */
int elf_file_open(struct elf_file *f, const char *path);

/*
 * Like elf_file_open(), for a file in memory, which elf_file_close() does not free. Returns 0 or
 * -ENOEXEC.
 */
int elf_file_open_memory(struct elf_file *f, const void *bytes, size_t size);
void elf_file_close(struct elf_file *f);

/* Returns the name in the next DT_NEEDED entry, or NULL after the last. *at: 0 at first. */
const char *elf_file_needed(const struct elf_file *f, size_t *at);

struct elf_function {
	const char *name;
	bool versioned; /* the symbol has a version */
	bool old; /* name@VERSION, to which the linker binds no new references */
};

/* Calls visit() for each function that the file exports, until visit() returns false. */
void elf_file_handle_functions(const struct elf_file *f,
	bool (*visit)(const struct elf_function *fn, void *arg), void *arg);

/* Calls visit() for each weak undefined name of the file, until visit() returns false. */
void elf_file_handle_weak_names(
	const struct elf_file *f, bool (*visit)(const char *name, void *arg), void *arg);

/* True if the file exports a function called `name`. */
bool elf_file_has_function(const struct elf_file *f, const char *name);

#endif
