/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weak_main FILE...: loads each with RTLD_GLOBAL, and says what plugins (weak_plugin.c) among them have found at their weak
 * references; with WHERE in the environment, in which file MPI_Bcast_c lies for them.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *h = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
		int (*bcast)(void) = h ? (int (*)(void))dlsym(h, "has_bcast_c") : NULL;
		int (*init)(void) = h ? (int (*)(void))dlsym(h, "has_init") : NULL;

		void *(*where)(void) = h ? (void *(*)(void))dlsym(h, "where_bcast_c") : NULL;
		Dl_info in;

		if (getenv("WHERE")) {
			if (where && where() && dladdr(where(), &in))
				printf("file %d: %s\n", i, strrchr(in.dli_fname, '/') + 1);
			continue;
		}
		printf("file %d: %s\n", i, h ? "loaded" : dlerror());
		if (bcast && init)
			printf("file %d: MPI_Bcast_c %d MPI_Init %d, dlsym %d\n", i, bcast(),
				init(), dlsym(RTLD_DEFAULT, "MPI_Bcast_c") != NULL);
	}
	return 0;
}
