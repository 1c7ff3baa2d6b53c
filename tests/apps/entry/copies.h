/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COPIES_H
#define COPIES_H

#include <stddef.h>

struct comm;
struct id {
	char bytes[128];
};

/* The functions of one copy, as a program calls them. */
struct copy {
	int (*init)(struct comm **c, int n, struct id id, int rank);
	int (*split)(struct comm *c, int color, int key, struct comm **out, void *config);
	int (*group_start)(void);
	int (*group_end)(void);
	int (*all_reduce)(const float *in, float *out, size_t n, int type, int op, struct comm *c,
		void *stream);
};

#endif
