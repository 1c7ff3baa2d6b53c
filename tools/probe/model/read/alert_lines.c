/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/alert_lines.h"

#include <stdlib.h>

#include "tools/lib/files/json_read.h"
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

/* One object per line: reading continues after the last one that was read. */
void read_alert_lines(
	const char *folder, void (*take)(void *arg, const struct alert_line *a), void *arg)
{
	char *path = tool_format("%s/alerts.jsonl", folder);
	struct json_tree tree = {.max = ALERTS_BYTES};
	const struct json_node *n;
	struct json_in j;

	if (json_open(&j, path) == 0) {
		enum json_token t = json_read_token(&j);

		while (t == JSON_OBJECT && (n = json_read_tree(&j, &tree, t))) {
			take(arg,
				&(struct alert_line){.first_step = get_alert_count(n, "first_step"),
					.last_step = get_alert_count(n, "last_step"),
					.count = get_alert_count(n, "count"),
					.rule = get_alert_text(n, "rule"),
					.text = get_alert_text(n, "text")});
			if (json_seek(&j, j.base + j.at))
				break;
			t = json_read_token(&j);
		}
	}
	json_close(&j);
	json_tree_free(&tree);
	free(path);
}
