/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the build id in ELF notes, in memory or read from a file. */
#ifndef PROBE_ELF_ELF_NOTE_H
#define PROBE_ELF_ELF_NOTE_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "elf/loaded/modules.h"

/*
 * notes: `size` bytes of notes, aligned to `align` (8; all other values mean 4). Copies the build
 * id and returns its length; returns 0 if there is none, or if it is longer than BUILD_ID_MAX.
 */
static inline uint8_t elf_note_copy_build_id(
	const void *notes, uint64_t size, uint64_t align, uint8_t id[BUILD_ID_MAX])
{
	const uint8_t *p = notes;
	uint64_t pad = align == 8 ? 7 : 3;

	while (size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h;
		uint64_t desc, next;

		memcpy(&h, p, sizeof(h)); /* the same layout in 32-bit and 64-bit files */
		desc = (sizeof(h) + h.n_namesz + pad) & ~pad;
		next = (desc + h.n_descsz + pad) & ~pad;
		if (desc > size || h.n_descsz > size - desc)
			return 0;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
			!memcmp(p + sizeof(h), "GNU", 4)) {
			if (!h.n_descsz || h.n_descsz > BUILD_ID_MAX)
				return 0;
			memcpy(id, p + desc, h.n_descsz);
			return (uint8_t)h.n_descsz;
		}
		if (next >= size)
			return 0;
		p += next;
		size -= next;
	}
	return 0;
}

#endif
