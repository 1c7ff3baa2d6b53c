/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of a stub on aarch64. x16, x17 are reserved for the linker; a go closure expects its
 * context in x18.
 */
#include <string.h>

#include "entry/stubs/stub_elf.h"

#define BTI_C 0xd503245fu

void stub_code_aarch64(uint8_t *out, uint64_t at, uint64_t entry_address)
{
	/*
	 * Distance in pages of 4 KiB from the adrp, which is the second instruction, to the
	 * entry.
	 */
	uint32_t pages = (uint32_t)((entry_address >> 12) - ((at + 4) >> 12));
	uint32_t low = (uint32_t)(entry_address & 0xfff);
	const uint32_t code[] = {
		BTI_C,
		0x90000010u | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5, /* adrp x16, entry */
		0xf9400210u | low / 8 << 10, /* ldr x16, [x16, #low] */
		0xa9404a11u, /* ldp x17, x18, [x16] */
		0xd61f0220u, /* br x17 */
	};

	memset(out, 0, STUB_BYTES); /* udf */
	memcpy(out, code, sizeof(code));
}
