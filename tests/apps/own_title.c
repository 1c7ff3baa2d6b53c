/* SPDX-License-Identifier: Apache-2.0 */
/* own_title ARGS: overwrites its arguments with a title, as setproctitle does, and calls a function of tests/bench/standin.c. */
#include "../bench/standin.h"

#include <string.h>

int main(int argc, char **argv)
{
	float in = 1, out;
	size_t n = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]);

	memset(argv[0], 0, n);
	strcpy(argv[0], "ray::W");
	MPI_Init(0, 0);
	MPI_Allreduce(&in, &out, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
