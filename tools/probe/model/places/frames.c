/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/places/frames.h"

#include <string.h>

#define WRAPPERS_MAX 6 /* frames */

const char *stack_frame(const char *text, unsigned n, size_t *len)
{
	const char *p = text, *end;

	for (; n; n--) {
		p = strstr(p, STACK_JOINT);
		if (!p)
			return NULL;
		p += strlen(STACK_JOINT);
	}
	if (!*p)
		return NULL;
	end = strstr(p, STACK_JOINT);
	*len = end ? (size_t)(end - p) : strlen(p);
	return p;
}

bool stack_frame_begins_with(const char *f, size_t n, const char *word)
{
	return n >= strlen(word) && memcmp(f, word, strlen(word)) == 0;
}

/*
 * Returns true for a frame of an installed package or of Python's own library. Users look for the
 * line of their program, which is five frames further out when a gradient is reduced.
 */
static bool is_library_frame(const char *f, size_t n)
{
	static const char *const part[] = {"/site-packages/", "/dist-packages/", "/lib/python3"};

	for (unsigned i = 0; i < sizeof(part) / sizeof(*part); i++)
		if (memmem(f, n, part[i], strlen(part[i])))
			return true;
	return stack_frame_begins_with(f, n, "<frozen ");
}

/*
 * Returns true for a frame that starts a Python program or imports a module (runpy of `python -m`,
 * importlib): without it the program has the same stack. These modules are frozen into the
 * interpreter since 3.11; before, runpy was a file.
 */
bool is_launcher_frame(const char *f, size_t n)
{
	const char *file = is_library_frame(f, n) ? memmem(f, n, "/runpy.py:", 10) : NULL;

	return file || stack_frame_begins_with(f, n, "<frozen runpy>") ||
	       stack_frame_begins_with(f, n, "<frozen importlib");
}

unsigned stack_find_own_frame(const char *text)
{
	const char *f;
	size_t n;

	for (unsigned i = 0; (f = stack_frame(text, i, &n)); i++)
		if (!is_library_frame(f, n))
			return i;
	return 0;
}

unsigned stack_find_caller_of_library(const char *python)
{
	unsigned own = stack_find_own_frame(python);
	const char *f;
	size_t n;

	for (unsigned i = own + 1; (f = stack_frame(python, i, &n)); i++)
		if (!is_library_frame(f, n))
			return i > own + 1 ? i : 0;
	return 0;
}

/* Returns the length of the file name in "path/file.py:12 function". */
static size_t python_file_length(const char *f, size_t n)
{
	const char *space = memrchr(f, ' ', n), *colon;

	colon = space ? memrchr(f, ':', (size_t)(space - f)) : NULL;
	return colon ? (size_t)(colon - f) : n;
}

unsigned stack_place_frames(const char *python)
{
	unsigned own = stack_find_own_frame(python),
		 usual = STACK_PLACE_FRAMES + (own ? own - 1 : 0), i;
	size_t n, m, l;
	const char *f = stack_frame(python, own, &n), *k = NULL;

	if (!f)
		return usual;
	m = python_file_length(f, n);
	for (i = 1; (k = stack_frame(python, own + i, &n)); i++) {
		l = python_file_length(k, n);
		if (l != m || memcmp(f, k, l) != 0)
			break;
	}
	/* If the whole program is in one file, frames further out may differ between ranks. */
	if (!k || i > WRAPPERS_MAX || own + i < usual || is_library_frame(k, n))
		return usual;
	return own + i + 1;
}
