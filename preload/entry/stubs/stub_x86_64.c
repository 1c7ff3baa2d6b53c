/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of a stub on x86-64. r10 and r11 carry no arguments; a go closure expects its context in
 * r10.
 */
#include <string.h>

#include "entry/stubs/stub_elf.h"

void stub_code_x86_64(uint8_t *out, uint64_t at, uint64_t entry_address)
{
	static const uint8_t code[] = {
		0xf3, 0x0f, 0x1e, 0xfa, /* endbr64 */
		0x4c, 0x8b, 0x1d, 0, 0, 0, 0, /* mov entry(%rip), %r11 */
		0x4d, 0x8b, 0x53, 0x08, /* mov 8(%r11), %r10 */
		0x41, 0xff, 0x23, /* jmp *(%r11) */
	};
	int32_t rel = (int32_t)(entry_address - (at + 11));

	memset(out, 0xcc, STUB_BYTES);
	memcpy(out, code, sizeof(code));
	memcpy(out + 7, &rel, sizeof(rel));
}
