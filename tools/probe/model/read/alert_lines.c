/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/alert_lines.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/lib/files/json_read.h"
#include "tools/lib/files/whole_file.h"
#include "tools/lib/tool.h"

#define ALERTS_BYTES ((size_t)8 << 20) /* maximum size of a line as a tree */

static uint64_t get_alert_count(const struct json_node *n, const char *key)
{
	double v = 0;

	return json_get_number(json_get_member(n, key), &v) && v > 0 ? (uint64_t)v : 0;
}

static const char *get_alert_text(const struct json_node *n, const char *key)
{
	const char *s = json_get_text(json_get_member(n, key));

	return s ? s : "";
}

static void handle_alert_line(const char *line, const struct json_node *n,
	void (*take)(void *arg, const struct alert_line *a), void *arg)
{
	take(arg, &(struct alert_line){.first_step = get_alert_count(n, "first_step"),
			  .last_step = get_alert_count(n, "last_step"),
			  .count = get_alert_count(n, "count"),
			  .id = get_alert_text(n, "id"),
			  .rule = get_alert_text(n, "rule"),
			  .text = get_alert_text(n, "text"),
			  .action = get_alert_text(n, "action"),
			  .json = line});
}

uint64_t read_alert_lines(
	const char *folder, void (*take)(void *arg, const struct alert_line *a), void *arg)
{
	char *path = tool_format("%s/alerts.jsonl", folder), *line = NULL, *why = NULL;
	struct json_tree tree = {.max = ALERTS_BYTES};
	const struct json_node *n;
	uint64_t damaged = 0;
	size_t cap = 0;
	ssize_t bytes;
	FILE *f = open_regular_stream(path, 0);

	while (f && (bytes = getline(&line, &cap, f)) > 0) {
		bool complete = line[bytes - 1] == '\n';

		if (complete)
			line[--bytes] = 0;
		free(why);
		why = NULL;
		n = json_parse_tree(&tree, line, (size_t)bytes, &why);
		if (n && n->kind == JSON_OBJECT)
			handle_alert_line(line, n, take, arg);
		else
			damaged += complete;
	}
	if (f)
		fclose(f);
	json_tree_free(&tree);
	free(why);
	free(line);
	free(path);
	return damaged;
}
