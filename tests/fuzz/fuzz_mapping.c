/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the files that the user gives `probe compare`: a data mapping, and rules of a layer mapping for two small dumps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_file.h"
#include "tools/probe/compare/entries/layer_mapping.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_small_dump(void)
{
	static const char dump[] =
		"{\"task\": \"statistics\", \"level\": \"mix\", \"framework\": \"pytorch\", "
		"\"data\": {"
		"\"Module.net.a.Linear.forward.0\": {\"input_args\": [], \"output\": []}, "
		"\"Functional.linear.0.forward\": {\"input_args\": [], \"output\": []}}}";
	static const char construct[] =
		"{\"Module.net.a.Linear.forward.0\": null, "
		"\"Functional.linear.0.forward\": \"Module.net.a.Linear.forward.0\"}";
	static const char stack[] = "{\"0\": [[\"Functional.linear.0.forward\"], [\"File t.py, "
				    "line 3, in f, \\n y\"]]}";

	make_fuzz_subfolder("d");
	put_fuzz_file("d/dump.json", dump, strlen(dump));
	put_fuzz_file("d/construct.json", construct, strlen(construct));
	put_fuzz_file("d/stack.json", stack, strlen(stack));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char rules[FUZZ_PATH_MAX], small[FUZZ_PATH_MAX];
	struct mapping *m;
	struct dump a, b;

	if (make_fuzz_folder()) {
		if (!freopen("/dev/null", "w", stderr))
			abort();
		make_small_dump();
		fuzz_path(small, "d/dump.json");
		fuzz_path(rules, "rules.yaml");
	}
	put_fuzz_file("rules.yaml", data, size);
	m = read_data_mapping(rules);
	if (m)
		free_mapping(m);
	m = mapping_init();
	if (open_dump(&a, small, true) || open_dump(&b, small, true))
		abort();
	map_layers(m, rules, &a, &b);
	close_dump(&a);
	close_dump(&b);
	free_mapping(m);
	return 0;
}
