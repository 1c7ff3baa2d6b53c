/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as JSON and as a dump.json with the stack.json beside it. Beside crashes it looks for calls that were indexed and
 * cannot be read again, and for trees that differ between two readings.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/probe/compare/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_whole_file(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char folder[] = "/tmp/fuzz_dump.XXXXXX", dump_path[64], stack_path[64];
	struct entry e = {0};
	struct dump d;

	if (!*dump_path) {
		if (!mkdtemp(folder))
			abort();
		snprintf(dump_path, sizeof(dump_path), "%s/dump.json", folder);
		snprintf(stack_path, sizeof(stack_path), "%s/stack.json", folder);
	}
	write_whole_file(dump_path, data, size);
	write_whole_file(stack_path, data, size);
	if (open_dump(&d, dump_path, true) == 0) {
		fill_dump_stacks(&d);
		for (unsigned i = 0; i < d.n && i < 256; i++)
			if (!load_dump_entry(&d, i, &e))
				abort();
	}
	close_dump(&d);
	free_entry(&e);
	return 0;
}
