/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stub object: a shared object with one small function ("stub") per name. A stub jumps through its entry:
 *
 *	struct stub_entry *e = its own;         x86-64                         aarch64
 *	load t = e->target                      mov  e->target(%rip), %r11     ldr x16, [e->target]
 *	load context                            mov  8(%r11), %r10             ldp x17, x18, [x16]
 *	jump to t->code                         jmp  *(%r11)                   br  x17
 *
 * A target is never changed once it is visible. So a thread in a stub whose target is replaced sees the old or the new
 * target as a whole, and an armed stub needs no branch to differ from one that jumps straight to the real function. At
 * first the target is in the entry itself and leads to probe_stub_entry in libprobe.so (stub_entry.S), which finds the
 * called stub from %r11 / x16.
 *
 * The object has three segments, readable, executable, writable; none is both writable and executable. It has the
 * dynamic section, hash table, symbols and relocations that the loader needs, and no section headers. Its DT_SONAME
 * distinguishes it from other objects.
 *
 * References bind to stubs, but dlsym does not find them: a program that looks up a function gets the same answer as
 * without us, and dl_hooks.c decides what to return. Symbol versions achieve this. glibc accepts a symbol with the
 * hidden version of index 2 for an unversioned reference (index below 3), but not for dlsym (index below 2):
 * check_match() in elf/dl-lookup.c. It does not accept it for a versioned reference either. So a name that its library
 * gives a version has the base version here, which is accepted for all, and which dlsym finds.
 */
#ifndef PROBE_ENTRY_STUB_ELF_H
#define PROBE_ENTRY_STUB_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STUB_BYTES 32 /* code of a stub, a multiple of 16 */
#define STUB_MAX 262144 /* maximum number of names in an object */

struct stub_target {
	void *code, *context;
};

struct stub_entry {
	_Atomic(const struct stub_target *) target;
	struct stub_target first;
	uint64_t name; /* bytes from the entry back to its name in the object's string table */
};

static inline const char *stub_entry_name(const struct stub_entry *e)
{
	return (const char *)e - e->name;
}

struct stub_name {
	char *text;
	bool versioned; /* a library defines it with a version: references to it have one */
	bool old; /* a library defines it with more than one version */
};

/*
 * Builds the object. needed: a library that the loader must load together with it, or NULL.
 * machine: EM_X86_64 or EM_AARCH64. Returns the image (free with munmap) and its size, or NULL
 * with *size = 0 if there is no memory, or nothing to build.
 */
void *stub_elf_build(
	int machine, const struct stub_name *name, uint32_t n, const char *needed, size_t *size);

/* Returns EM_* of this processor. */
int stub_elf_machine(void);

/* Writes the code of a stub for address `at` into out[STUB_BYTES]; it jumps through the struct stub_entry at entry_address. */
void stub_code_x86_64(uint8_t *out, uint64_t at, uint64_t entry_address);
void stub_code_aarch64(uint8_t *out, uint64_t at, uint64_t entry_address);

#endif
