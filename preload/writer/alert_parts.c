/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/alert_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "journal/meta_part.h"
#include "session/state.h"

#define MATES_MAX 4096
#define PART_BYTES 65536

static void put_alert_part(
	struct journal *j, enum meta_part part, const char *key, void put(struct text *t))
{
	char *buf = malloc(PART_BYTES);
	struct text t;
	int err = -1;

	if (buf) {
		t = text_over(buf, PART_BYTES);
		text_put(&t, key, strlen(key) + 1);
		put(&t);
		if (!t.cut)
			err = journal_dict_add(j, DICT_META, (uint16_t)part, buf, t.len + 1);
	}
	free(buf);
	if (err)
		log_loss(LOSS_ALERTS, "alerts: the rules do not fit into the journal: there are no "
				      "alerts; give fewer, or raise journal_mib");
}

static void put_rules(struct text *t)
{
	text_char(t, '[');
	for (const char *line = config_now()->alerts; *line;) {
		size_t n = strcspn(line, "\n");

		text_put(t, line, n);
		line += n;
		if (*line) {
			text_str(t, ", ");
			line++;
		}
	}
	text_char(t, ']');
}

static void put_anomaly_place(struct text *t)
{
	const struct ranges *group = &config_now()->process_group;
	unsigned n = 0;

	text_str(t, "{\"dir\": ");
	text_json(t, config_now()->anomaly_dir);
	text_str(t, ", \"group\": [");
	for (uint32_t i = 0; i < group->n; i++)
		for (uint64_t r = group->item[i].lo; r <= group->item[i].hi && n < MATES_MAX; r++) {
			text_str(t, n++ ? ", " : "");
			text_u64(t, r);
		}
	text_str(t, "]}");
}

void alert_parts_put(struct journal *j)
{
	if (!*config_now()->alerts)
		return;
	put_alert_part(j, META_ALERTS, "alerts", put_rules);
	if (config_now()->anomaly_json)
		put_alert_part(j, META_ANOMALY, "anomaly_json", put_anomaly_place);
}
