/* SPDX-License-Identifier: Apache-2.0 */
#include "stack/cfi_read.h"

/* Encodings of the search table that every linker writes; a table with other encodings is ignored. */
#define HDR_COUNT_ENC 0x03 /* udata4 */
#define HDR_TABLE_ENC 0x3b /* datarel | sdata4 */
#define ENC_OMIT 0xff

static struct cursor init_cursor(uintptr_t lo, uintptr_t hi, uintptr_t at)
{
	struct cursor c = {.p = (const uint8_t *)at, .end = (const uint8_t *)hi};

	if (at < lo || at > hi) {
		c.p = c.end;
		c.bad = true;
	}
	return c;
}

static int32_t read_signed_32(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Returns the address of the entry for the last function that starts at or before pc; 0: none. */
static uintptr_t find_entry(uintptr_t table, uintptr_t lo, uintptr_t hi, uintptr_t pc)
{
	struct cursor c = init_cursor(lo, hi, table);
	uint8_t version = (uint8_t)cursor_get(&c, 1), frame_enc = (uint8_t)cursor_get(&c, 1);
	uint8_t count_enc = (uint8_t)cursor_get(&c, 1), table_enc = (uint8_t)cursor_get(&c, 1);
	uint64_t n, below = 0, above;

	if (version != 1 || count_enc != HDR_COUNT_ENC || table_enc != HDR_TABLE_ENC)
		return 0;
	if (frame_enc != ENC_OMIT)
		cursor_get_pointer(&c, frame_enc);
	n = cursor_get(&c, 4);
	if (c.bad || n > (uint64_t)(c.end - c.p) / 8)
		return 0;
	above = n;
	while (below < above) {
		uint64_t mid = below + (above - below) / 2;

		if (table + (uintptr_t)(intptr_t)read_signed_32(c.p + 8 * mid) <= pc)
			below = mid + 1;
		else
			above = mid;
	}
	return below ? table + (uintptr_t)(intptr_t)read_signed_32(c.p + 8 * below - 4) : 0;
}

/* Reads the length field of an entry; limits *c to the entry. The 64-bit format is not used in .eh_frame. */
static bool open_cfi_entry(struct cursor *c)
{
	uint64_t len = cursor_get(c, 4);

	if (c->bad || !len || len == 0xffffffff || len > (uint64_t)(c->end - c->p))
		return false;
	c->end = c->p + len;
	return true;
}

/*
 * Reads the "zPLRSBG" string and its data. 'R' defines how code addresses are read, so an unknown
 * letter before it is an error.
 */
static bool read_augmentation(struct cursor *c, const char *aug, struct cfi_common *cie)
{
	struct cursor data;
	uint64_t len;
	uint8_t enc;

	cie->enc = 0;
	if (*aug != 'z')
		return !*aug;
	cie->augmented = true;
	len = cursor_get_uleb(c);
	data = *c;
	cursor_skip(c, len);
	if (c->bad)
		return false;
	data.end = c->p;
	while (*++aug) {
		switch (*aug) {
		case 'R':
			cie->enc = (uint8_t)cursor_get(&data, 1);
			break;
		case 'L':
			cursor_get(&data, 1);
			break;
		case 'P':
			enc = (uint8_t)cursor_get(&data, 1);
			cursor_get_pointer(&data, enc & 0x0f);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* aarch64: return address signed with key B */
		case 'G': /* aarch64: tagged stack */
			break;
		default:
			return false;
		}
	}
	return !data.bad;
}

static bool read_common(struct cursor c, struct cfi_common *cie)
{
	const char *aug;
	uint8_t version;

	memset(cie, 0, sizeof(*cie));
	if (!open_cfi_entry(&c) || cursor_get(&c, 4) != 0)
		return false;
	version = (uint8_t)cursor_get(&c, 1);
	if (version != 1 && version != 3)
		return false;
	aug = (const char *)c.p;
	while (cursor_get(&c, 1))
		;
	cie->code_align = cursor_get_uleb(&c);
	cie->data_align = cursor_get_sleb(&c);
	cie->ra = version == 1 ? cursor_get(&c, 1) : cursor_get_uleb(&c);
	if (c.bad || !read_augmentation(&c, aug, cie))
		return false;
	cie->program = c;
	return true;
}

void cfi_find(uintptr_t table, uintptr_t lo, uintptr_t hi, uintptr_t pc, struct cfi_rule *r)
{
	uintptr_t entry = find_entry(table, lo, hi, pc), back;
	struct cursor c = init_cursor(lo, hi, entry);
	struct cfi_common cie;
	uint64_t start, range;

	memset(r, 0, sizeof(*r));
	if (!entry || !open_cfi_entry(&c))
		return;
	back = (uintptr_t)c.p;
	back -= (uintptr_t)cursor_get(&c, 4);
	if (c.bad || !read_common(init_cursor(lo, hi, back), &cie))
		return;
	start = cursor_get_pointer(&c, cie.enc);
	range = cursor_get_pointer(&c, cie.enc & 0x0f);
	if (c.bad || pc < start || pc - start >= range)
		return;
	/* Data for exception handlers; there is none if the string has no 'z'. */
	if (cie.augmented)
		cursor_skip(&c, cursor_get_uleb(&c));
	if (!c.bad && cfi_compute_rule(&cie, c, start, pc, r)) {
		r->kind = CFI_FRAME;
		r->exact = cie.signal;
	}
}
