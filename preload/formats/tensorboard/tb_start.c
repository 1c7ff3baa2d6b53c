/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/tensorboard/tb_start.h"

#include <stdlib.h>
#include <string.h>

#include "config/rooms/tensorboard.h"
#include "text/text.h"
#include "journal/meta_part.h"
#include "folder/json_member.h"

#define TEXT_MAX 65536

/* Charts of page `custom scalars`: regular expressions for their tags. */
static const struct tfevent_chart charts[] = {
	{"training", "loss", "^(loss|.*local_.*loss)(/.*)?$"},
	{"training", "learning rate", "^learning-rate(/.*)?$"},
	{"training", "norms", "^(grad-norm|weight_norm|device_local_norm)(/.*)?$"},
	{"training", "loss scale", "^loss-scale$"},
	{"speed", "time of a step, ms", "^[a-z]+-time$"},
	{"speed", "samples a second and card", "^throughput$"},
	{"speed", "TFLOP/s of a card", "^model-flops-throughput-per-npu$"},
	{"speed", "memory, bytes", "^memory-(rss|peak)$"},
	{"parameters", "norms of gradients", "^(grad_(un)?reduced/.*/norm|local_norm/.*)$"},
	{"parameters", "norms of weights", "^param_(origin|updated)/.*/norm$"},
	{"parameters", "norms of moments", "^(exp_avg(_sq)?/.*/norm|adam_[mv]_norm/.*)$"},
	{"parameters", "not a number", "^.*/nans$"},
};

/* Returns the JSON text of a part of meta.json, or NULL. */
static const char *get_meta_text(const struct journal *j, uint16_t part)
{
	const char *key = journal_dict_get(j, DICT_META, part);

	return key ? key + strlen(key) + 1 : NULL;
}

static void write_text_event(
	struct tfevents *e, double wall, const char *key, size_t n, const struct text *text)
{
	char tag[256];
	struct text t = text_init(tag, sizeof(tag));

	text_add_bytes(&t, key, n < 200 ? n : 200);
	text_add_string(&t, "/text_summary");
	tfevent_write_text(e, wall, 1, tag, text->buf, text->len);
}

/* Writes an object as a table of Markdown. */
static void write_member_table(struct text *out, const char *json)
{
	struct json_span key, value;

	text_add_string(out, "| | |\n|---|---|\n");
	while (json_member_next(&json, &key, &value)) {
		text_add_string(out, "| ");
		text_json_value(out, &key);
		text_add_string(out, " | ");
		for (size_t i = 0; i < value.n; i++)
			text_add_string(
				out, value.at[i] == '|' ? "\\|" : (char[2]){value.at[i], 0});
		text_add_string(out, " |\n");
	}
}

static void write_run_texts(struct tfevents *e, double wall, const struct journal *j, char *buf)
{
	static const struct {
		const char *key;
		uint16_t part;
	} of[] = {
		{"argv", META_PROGRAM}, {"environment", META_ENVIRONMENT}, {"probe", META_CONFIG}};

	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++) {
		const char *json = get_meta_text(j, of[i].part);
		struct text t = text_init(buf, TEXT_MAX);

		if (!json)
			continue;
		if (*json == '{')
			write_member_table(&t, json);
		else
			text_add_string(&t, json);
		write_text_event(e, wall, of[i].key, strlen(of[i].key), &t);
	}
}

/* Writes a training's own file as MindSpore Transformers does: a text for each key. */
static void write_training_texts(
	struct tfevents *e, double wall, const struct journal *j, char *buf)
{
	const char *json = get_meta_text(j, META_TRAINING);
	struct json_span key, value;

	while (json && json_member_next(&json, &key, &value)) {
		char name[256];
		struct text n = text_init(name, sizeof(name)), t = text_init(buf, TEXT_MAX);

		text_json_value(&n, &key);
		text_json_value(&t, &value);
		write_text_event(e, wall, name, n.len, &t);
	}
}

void tb_put_start(struct tfevents *e, const struct journal *j, const struct config *cfg,
	double wall, int64_t first_x)
{
	const struct tensorboard_keys *keys = get_tensorboard_keys(cfg);
	char *buf = malloc(TEXT_MAX);

	tfevent_write_version(e, wall);
	tfevent_session_start(e, wall, first_x);
	if (buf && keys->tensorboard_tags == TB_TAGS_PROBE) {
		write_run_texts(e, wall, j, buf);
		tfevent_write_layout(e, wall, charts, sizeof(charts) / sizeof(*charts));
	} else if (buf && keys->tensorboard_tags == TB_TAGS_MINDFORMERS) {
		write_training_texts(e, wall, j, buf);
	}
	free(buf);
}
