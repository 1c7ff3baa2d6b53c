/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts compiled in from configs/: they hold when no file is found beside the library. The table is made by the
 * generator (build/gen/builtin.c) and ends with {NULL, NULL}.
 */
#ifndef PROBE_CONFIG_BUILTIN_H
#define PROBE_CONFIG_BUILTIN_H

struct builtin_text {
	const char *name; /* as in configs/ */
	const char *text;
};

extern const struct builtin_text builtin_texts[];

#endif
