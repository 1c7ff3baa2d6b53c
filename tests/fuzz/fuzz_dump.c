/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as JSON and as a dump.json with the stack.json beside it. Beside crashes it looks for calls that were indexed and
 * cannot be read again, and for trees that differ between two readings.
 */
#include <stdlib.h>

#include "fuzz_file.h"
#include "tools/probe/compare/entries/dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH_MAX];
	struct entry e = {0};
	struct dump d;

	make_fuzz_folder();
	put_fuzz_file("dump.json", data, size);
	put_fuzz_file("stack.json", data, size);
	if (open_dump(&d, fuzz_path(path, "dump.json"), true) == 0) {
		compute_stack_hashes(&d);
		for (unsigned i = 0; i < d.n && i < 256; i++)
			if (!load_dump_entry(&d, i, &e))
				abort();
	}
	close_dump(&d);
	free_entry(&e);
	return 0;
}
