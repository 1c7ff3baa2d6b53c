/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as meta.json.
 *
 *	clang -std=gnu11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -Ipreload -I. tests/fuzz/fuzz_meta.c \
 *		tools/probe/model/read/read_meta.c tools/lib/tool.c preload/base/io.c -lyaml -o fuzz_meta
 *	./fuzz_meta -max_len=20000 corpus/
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/model/read/read_meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                        \
	do {                                                                            \
		if (!(x)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                        \
		}                                                                       \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct meta m;
	char *wrong = meta_read_text(&m, (const char *)data, size);

	CHECK(!wrong || *wrong);
	CHECK(m.rank >= -1 && m.world_size >= -1);
	CHECK(m.state && m.run && m.version && m.step_source && m.program && m.journal_path);
	CHECK(strlen(m.program) < 4200 && !strchr(m.program, '\n'));
	CHECK(m.ndropped <= META_LIST_MAX && m.nmissing <= META_LIST_MAX &&
		m.nlibraries <= META_LIST_MAX);
	for (unsigned i = 0; i < m.nmissing; i++)
		CHECK(m.missing[i].name && m.missing[i].text);
	free(wrong);
	meta_free(&m);
	return 0;
}
