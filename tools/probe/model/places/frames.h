/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of a stack: strings joined by " <- ", the innermost first. */
#ifndef PROBE_TOOLS_FRAMES_H
#define PROBE_TOOLS_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

#define STACK_JOINT " <- "
#define STACK_PLACE_FRAMES 3 /* frames that usually identify a call site */

/*
 * Returns frame number n (from 0) of a stack, or NULL if it has fewer. *len: length of the frame.
 */
const char *stack_frame(const char *text, unsigned n, size_t *len);

/* Returns the index of the program's innermost frame in a Python stack, or 0 if there is none. */
unsigned stack_find_own_frame(const char *text);

/*
 * If a library called the program's innermost frame (a hook): returns the index of the program's
 * next frame, which called that library. Else, or if there is none, returns 0.
 */
unsigned stack_find_caller_of_library(const char *python);

/*
 * Returns how many frames of a Python stack identify a call site: the program's innermost frame and
 * its callers. If the program wraps all its calls in functions of one file: the frames up to the
 * first one of another file.
 */
unsigned stack_place_frames(const char *python);

/* Returns true if the frame f, n bytes long, begins with `word`. */
bool stack_frame_begins_with(const char *f, size_t n, const char *word);

/*
 * Returns true for a frame that starts a Python program or imports a module. Without this frame,
 * the stack still identifies the same call site.
 */
bool is_launcher_frame(const char *f, size_t n);

#endif
