/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copies_main handles|users FILE1 FILE2: two copies of a library (copies_lib.c) by handle, or through two libraries that
 * are linked to one each (copies_user.c). Each makes a communicator and a part of it; then one copy has a group open while
 * the other is called outside of one.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "copies.h"

static int load(struct copy *c, const char *how, const char *file)
{
	void *h = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	void (*user)(struct copy *);

	if (!h) {
		puts(dlerror());
		return 0;
	}
	if (strcmp(how, "users") == 0) {
		user = (void (*)(struct copy *))dlsym(h, "user_copy");
		user(c);
		return 1;
	}
	*(void **)&c->init = dlsym(h, "ncclCommInitRank");
	*(void **)&c->split = dlsym(h, "ncclCommSplit");
	*(void **)&c->group_start = dlsym(h, "ncclGroupStart");
	*(void **)&c->group_end = dlsym(h, "ncclGroupEnd");
	*(void **)&c->all_reduce = dlsym(h, "ncclAllReduce");
	return c->init && c->split && c->group_start && c->group_end && c->all_reduce;
}

int main(int argc, char **argv)
{
	struct copy copy[2];
	struct comm *comm[2], *part[2];
	float in[2] = {1, 2}, out[2][2] = {{0}};
	struct id id = {"one"};

	for (int i = 0; i < 2; i++)
		if (argc < 4 || !load(&copy[i], argv[1], argv[2 + i]))
			return 2;
	for (int i = 0; i < 2; i++) {
		copy[i].init(&comm[i], 1, id, 0);
		copy[i].split(comm[i], 0, 0, &part[i], NULL);
		copy[i].all_reduce(in, out[i], 2, 7, 0, part[i], NULL);
		printf("copy %d: %g %g\n", i, out[i][0], out[i][1]);
	}
	for (int i = 0; i < 2; i++) {
		struct copy *a = &copy[i], *b = &copy[1 - i];

		in[1] = 10;
		a->group_start();
		a->all_reduce(in, out[i], 2, 7, 0, part[i], NULL);
		b->all_reduce(in, out[1 - i], 2, 7, 0, part[1 - i], NULL);
		printf("outside: %g\n", out[1 - i][1]);
		out[1 - i][1] = 1000; /* it is complete, and may be used */
		in[1] = 30;
		a->group_end();
		printf("group: %g\n", out[i][1]);
	}
	return 0;
}
