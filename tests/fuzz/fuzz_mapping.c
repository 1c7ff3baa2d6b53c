/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the files that the user gives `probe compare`: a data mapping, and rules of a layer mapping for two small dumps. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/probe/compare/layer_mapping.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_text_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void make_small_dump(const char *folder)
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
	char path[96];

	mkdir(folder, 0700);
	snprintf(path, sizeof(path), "%s/dump.json", folder);
	put_text_file(path, dump, strlen(dump));
	snprintf(path, sizeof(path), "%s/construct.json", folder);
	put_text_file(path, construct, strlen(construct));
	snprintf(path, sizeof(path), "%s/stack.json", folder);
	put_text_file(path, stack, strlen(stack));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char top[] = "/tmp/fuzz_mapping.XXXXXX", rules[64], small[80];
	static bool made;
	struct mapping *m;
	struct dump a, b;

	if (!made) {
		if (!mkdtemp(top) || !freopen("/dev/null", "w", stderr))
			abort();
		made = true;
		snprintf(small, sizeof(small), "%s/d", top);
		make_small_dump(small);
		snprintf(small, sizeof(small), "%s/d/dump.json", top);
		snprintf(rules, sizeof(rules), "%s/rules.yaml", top);
	}
	put_text_file(rules, data, size);
	m = read_data_mapping(rules);
	if (m)
		free_mapping(m);
	m = make_mapping();
	if (open_dump(&a, small, true) || open_dump(&b, small, true))
		abort();
	map_layers(m, rules, &a, &b);
	close_dump(&a);
	close_dump(&b);
	free_mapping(m);
	return 0;
}
