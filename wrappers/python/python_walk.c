/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/python/python_walk.h"

#include <string.h>

#include "elf/memory.h"

#define TYPE 8 /* PyObject: ob_type */
#define OWNED_BY_GENERATOR 1
#define PLAUSIBLE_FRAMES 100000 /* deeper recursion is taken for an invalid stack */
#define EARLY 256 /* bytes of code in which a frame can still be incomplete */

static inline uintptr_t load_word(uintptr_t a)
{
	return *(const uintptr_t *)a;
}

static inline int32_t load_int32(uintptr_t a)
{
	return *(const int32_t *)a;
}

static inline uint8_t load_byte(uintptr_t a)
{
	return *(const uint8_t *)a;
}

static uintptr_t get_innermost_frame(const struct py_layout *l, uintptr_t tstate)
{
	uintptr_t f = load_word(tstate + l->frame);

	return l->inner < 0 ? f : f ? load_word(f + (uintptr_t)l->inner) : 0;
}

static inline uintptr_t get_frame_code(const struct py_layout *l, uintptr_t frame)
{
	return py_referred_object(load_word(frame + l->code));
}

/* Bytes from the code's first instruction to the current one. */
static inline intptr_t get_code_offset(const struct py_layout *l, uintptr_t frame, uintptr_t code)
{
	switch (l->at_form) {
	case PY_AT_BYTES:
		return load_int32(frame + l->at);
	case PY_AT_UNITS:
		return 2 * (intptr_t)load_int32(frame + l->at);
	default:
		return (intptr_t)(load_word(frame + l->at) - (code + l->start));
	}
}

static inline bool is_shim(const struct py_layout *l, uintptr_t frame)
{
	return l->owner && load_byte(frame + l->owner) >= l->shim;
}

/*
 * True if the frame is pushed but still being prepared (a finaliser may run then); tracebacks
 * omit such a frame.
 */
static inline bool is_incomplete(
	const struct py_layout *l, uintptr_t frame, uintptr_t code, intptr_t at)
{
	return l->traceable && at < EARLY && load_byte(frame + l->owner) != OWNED_BY_GENERATOR &&
	       at < 2 * (intptr_t)load_int32(code + l->traceable);
}

/* clang-format off */
MEMORY_RAW int py_read_stack(const struct py *p, uintptr_t tstate, struct foreign_frame *f, int max)
/* clang-format on */
{
	const struct py_layout *l = p->l;
	uintptr_t frame = get_innermost_frame(l, tstate);
	int n = 0;

	for (; frame && n < max; frame = load_word(frame + l->back)) {
		if (is_shim(l, frame))
			continue;

		uintptr_t code = get_frame_code(l, frame);

		if (!code || load_word(code + TYPE) != p->api.code_type)
			break;

		intptr_t at = get_code_offset(l, frame, code);

		if (is_incomplete(l, frame, code, at))
			continue;
		f[n].code = code;
		f[n].at = (uintptr_t)at;
		/* Older versions do not mark generators' frames, which may move. */
		f[n].frame =
			l->owner && load_byte(frame + l->owner) != OWNED_BY_GENERATOR ? frame : 0;
		/*
		 * Distinguishes a code object from a freed one at the same address: one of these
		 * values differs.
		 */
		f[n].check = (load_word(code + l->file) ^ load_word(code + l->name) << 20) +
			     (uint64_t)(uint32_t)load_int32(code + l->firstline);
		n++;
	}
	return n;
}

/* clang-format off */
MEMORY_RAW int py_read_frames(const struct py *p, uintptr_t tstate, uintptr_t *out, int max)
/* clang-format on */
{
	const struct py_layout *l = p->l;
	uintptr_t frame = get_innermost_frame(l, tstate);
	int n = 0;

	for (; frame && n < max; frame = load_word(frame + l->back)) {
		if (is_shim(l, frame))
			continue;

		uintptr_t code = get_frame_code(l, frame);

		if (!code || load_word(code + TYPE) != p->api.code_type)
			break;
		if (!is_incomplete(l, frame, code, get_code_offset(l, frame, code)))
			out[n++] = frame;
	}
	return n;
}

uintptr_t py_get_frame_code(const struct py *p, uintptr_t frame)
{
	return get_frame_code(p->l, frame);
}

/* ---- text ---- */

static size_t write_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)(c < 0x20 || c == 0x7f ? '?' : c); /* no line breaks in a table */
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c >= 0xd800 && c < 0xe000) { /* bytes of a file name that are not UTF-8 */
		out[0] = '?';
		return 1;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | (c >> 18 & 7));
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

/*
 * Writes a str as UTF-8. If it does not fit, its end is kept, which is the significant part of a
 * path.
 */
bool py_copy_text(const struct py *p, uintptr_t s, char *out, size_t cap)
{
	const struct py_layout *l = p->l;

	if (!s || load_word(s + TYPE) != p->api.str_type)
		return false;

	int64_t length = (int64_t)load_word(s + 16);
	/* Only the low byte is read: 3.14 leaves the rest of the word unchanged. */
	uint8_t state = load_byte(s + 32), width = state >> 2 & 7;
	bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
	uintptr_t data = s + (ascii ? l->ascii_data : l->other_data);
	int64_t first = 0, fits = (int64_t)(cap - 1) / (ascii ? 1 : 4);
	size_t n = 0;

	if (!compact || (width != 1 && width != 2 && width != 4) || length < 0)
		return false;
	if (length > fits)
		first = length - fits;
	for (int64_t i = first; i < length; i++) {
		const void *at = (const void *)(data + (uintptr_t)i * width);
		uint32_t c = width == 1	  ? *(const uint8_t *)at
			     : width == 2 ? *(const uint16_t *)at
					  : *(const uint32_t *)at;

		n += write_utf8(out + n, c);
	}
	out[n] = 0;
	return true;
}

/* clang-format off */
MEMORY_RAW bool py_read_frame_name(const struct py *p, const struct foreign_frame *f, struct foreign_name *n)
/* clang-format on */
{
	if (!py_copy_text(p, load_word(f->code + p->l->file), n->file, sizeof(n->file)) ||
		!py_copy_text(p, load_word(f->code + p->l->name), n->function, sizeof(n->function)))
		return false;
	n->line = p->api.line((void *)f->code, (int)f->at);
	if (n->line < 0)
		n->line = 0;
	return true;
}

/* ---- verification ---- */

static bool is_object_readable(uintptr_t a, unsigned bytes)
{
	return !(a & 7) && is_memory_readable(a) &&
	       (bytes <= 8 || is_memory_readable((a + bytes - 8) & ~(uintptr_t)7));
}

static bool is_str(const struct py *p, uintptr_t s)
{
	return is_object_readable(s, p->l->other_data) && load_word(s + TYPE) == p->api.str_type;
}

static const char *check_code(const struct py *p, uintptr_t code, intptr_t at)
{
	const struct py_layout *l = p->l;
	int line, first;

	if (!is_str(p, load_word(code + l->file)) || !is_str(p, load_word(code + l->name)))
		return "a code object has no names";
	first = load_int32(code + l->firstline);
	if (first < 0 || at < -2 || at > (1 << 28))
		return "a frame is not in its code";
	line = p->api.line((void *)code, (int)at);
	/* -1: an instruction that belongs to no line. */
	if (line < -1 || line > first + (1 << 24))
		return "a line number is out of range";
	return NULL;
}

MEMORY_RAW const char *py_check_layout(
	const struct py *p, uintptr_t tstate, int *frames, bool *held)
{
	const struct py_layout *l = p->l;
	uintptr_t frame, at = tstate + l->frame, globals = 0;

	*frames = 0;
	*held = p->api.holder && p->api.holder() == (void *)tstate;
	if (!is_object_readable(at, 8))
		return "the thread state cannot be read";
	if (l->inner >= 0) {
		at = load_word(at);
		if (at && !is_object_readable(at + (uintptr_t)l->inner, 8))
			return "the innermost frame cannot be read";
		at += at ? (uintptr_t)l->inner : 0;
	}
	frame = at ? load_word(at) : 0;
	for (int n = 0; frame && n < PLAUSIBLE_FRAMES; n++, frame = load_word(frame + l->back)) {
		uintptr_t code;

		if (!is_object_readable(frame, 80))
			return "a frame cannot be read";
		if (is_shim(l, frame))
			continue;
		code = get_frame_code(l, frame);
		if (!is_object_readable(code, 216) || load_word(code + TYPE) != p->api.code_type)
			return "a frame has no code object";

		intptr_t pos = get_code_offset(l, frame, code);

		if (is_incomplete(l, frame, code, pos))
			continue;

		const char *wrong = check_code(p, code, pos);

		if (wrong)
			return wrong;
		if (++*frames == 1)
			globals = load_word(frame + l->globals);
		if (*frames == FOREIGN_FRAMES_MAX)
			break;
	}
	if (*held && *frames && (uintptr_t)p->api.globals() != globals)
		return "the innermost frame differs from the interpreter's";
	return NULL;
}
