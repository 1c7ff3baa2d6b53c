/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts compiled in from configs/, used if no file is found next to the library. The generator
 * makes the table (build/gen/builtin.c), which ends with {NULL, NULL}.
 */
#ifndef PROBE_CONFIG_BUILTIN_H
#define PROBE_CONFIG_BUILTIN_H

struct builtin_text {
	const char *name; /* as in configs/ */
	const char *text;
};

extern const struct builtin_text builtin_texts[];

#endif
