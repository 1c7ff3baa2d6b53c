/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of a stack, as texts joined by " <- ", innermost first. */
#ifndef PROBE_TOOLS_FRAMES_H
#define PROBE_TOOLS_FRAMES_H

#include <stdbool.h>
#include <stddef.h>

#define STACK_JOINT " <- "
#define STACK_PLACE_FRAMES 3 /* frames that usually make a place */

/* The n-th frame of a text, or NULL. *len: its length. */
const char *stack_frame(const char *text, unsigned n, size_t *len);

/* Index of the innermost frame of the program itself in a Python stack; 0 if there is none. */
unsigned stack_own_frame(const char *text);

/*
 * Number of frames of a Python stack that identify a place: the program's innermost frame and its callers. If a program wraps
 * all its calls in functions of one file: the frames up to the first one of another file.
 */
unsigned stack_place_frames(const char *python);

/* The frame, of length n, begins with that word. */
bool stack_frame_begins_with(const char *f, size_t n, const char *word);

/* True for a frame that starts a Python program or imports a module: without it the program has the same stack. */
bool is_launcher_frame(const char *f, size_t n);

#endif
