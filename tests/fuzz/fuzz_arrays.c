/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a file of tensors (.npy, safetensors, torch.save()) and as a pickle. Beside crashes it looks for reading that
 * never ends, and for more elements than a tensor has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/lib/files/unpickle.h"
#include "tools/probe/compare/arrays/arrays.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define READ_MAX (1u << 20)

static void read_whole_array(const struct array_file *f, const struct array *a)
{
	struct array_reader *r = open_array(f, a);
	double v[512];
	uint64_t n = 0;
	unsigned k;

	while (n < READ_MAX && (k = read_elements(r, v, NULL, 512)))
		n += k;
	if (n > a->count)
		abort();
	close_array(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct unpickler u;
	struct array_file f;
	char path[64];

	if (fd < 0)
		fd = memfd_create("fuzz", 0);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (open_array_file(&f, path) == 0)
		for (unsigned i = 0; i < f.n && i < 64; i++)
			read_whole_array(&f, &f.array[i]);
	close_array_file(&f);
	read_pickle(&u, (const char *)data, size);
	free_pickle(&u);
	return 0;
}
