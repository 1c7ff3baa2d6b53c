/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/tensorboard/tb_tags.h"

#include <string.h>

#include "sink/column.h"

static bool is_tag_char(unsigned char c)
{
	return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || c == '_' || c == '-' || c == '.' || c == '/';
}

/* As _clean_tag in tensorboardX's summary.py: characters other than letters, digits and -/_. become _. */
static void format_clean_tag(struct text *out, size_t from)
{
	for (size_t i = from; i < out->len; i++)
		if (!is_tag_char((unsigned char)out->buf[i]))
			out->buf[i] = '_';
}

void tb_write_scalar_tag(struct text *out, const struct record_scalar *e, bool of_samples)
{
	size_t from = out->len;

	write_scalar_name(out, e);
	if (of_samples)
		text_add_string(out, " vs samples");
	format_clean_tag(out, from);
}

bool tb_scalar_has_samples(enum scalar which)
{
	static const uint8_t with[] = {SCALAR_LOSS, SCALAR_LEARNING_RATE, SCALAR_GRAD_NORM,
		SCALAR_LOSS_SCALE, SCALAR_BATCH_SIZE, SCALAR_ITERATION_TIME, SCALAR_THROUGHPUT};

	for (unsigned i = 0; i < sizeof(with); i++)
		if (with[i] == which)
			return true;
	return false;
}

void tb_write_kind_tag(struct text *out, const struct record_kind *r, const char *what)
{
	const struct journal_kind_row *k = r->kind;
	size_t from = out->len;

	text_add_string(out, r->word);
	text_add_char(out, '/');
	/* The chunks of a pipeline have the same names, so the chunk is part of the tag. */
	if (k->vpp_stage) {
		text_add_string(out, "vp");
		text_add_u64(out, k->vpp_stage);
		text_add_char(out, '.');
	}
	text_escaped(out, *r->name ? r->name : "model");
	text_add_char(out, '/');
	if (k->micro_step != UINT32_MAX && k->micro_step) {
		text_add_string(out, "micro");
		text_add_u64(out, k->micro_step);
		text_add_char(out, '/');
	}
	text_add_string(out, what);
	format_clean_tag(out, from);
}

void tb_write_metric_tag(struct text *out, const struct record_kind *r)
{
	size_t from = out->len;

	text_add_string(out, r->word);
	text_add_char(out, '/');
	text_escaped(out, r->name);
	format_clean_tag(out, from);
}

void tb_write_summary_tag(struct text *out, const struct record_kind *r)
{
	size_t from = out->len;

	text_escaped(out, r->name);
	text_add_string(out, "/auto");
	format_clean_tag(out, from);
}

const char *tb_get_monitor_word(const char *word)
{
	return strcmp(word, train_kinds[TK_GRAD_UNREDUCED].word) == 0 ? "acc_grad"
	       : strcmp(word, train_kinds[TK_GRAD_REDUCED].word) == 0 ? "post_grad"
								      : word;
}

void tb_write_monitor_tag(
	struct text *out, const struct record_kind *r, int32_t rank, const char *what)
{
	text_add_u64(out, r->kind->vpp_stage);
	text_add_char(out, ':');
	text_escaped(out, r->name);
	if (r->kind->micro_step != UINT32_MAX) {
		text_add_char(out, ':');
		text_add_u64(out, r->kind->micro_step);
	}
	text_add_string(out, "/rank");
	text_add_i64(out, rank);
	text_add_char(out, '/');
	text_add_string(out, tb_get_monitor_word(r->word));
	text_add_char(out, '_');
	text_add_string(out, what);
}
