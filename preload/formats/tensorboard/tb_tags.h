/* SPDX-License-Identifier: Apache-2.0 */
/* Tags of a training's numbers in TensorBoard's files, in the layout of key tensorboard_tags. */
#ifndef PROBE_SINK_TB_TAGS_H
#define PROBE_SINK_TB_TAGS_H

#include "terms/scalar.h"
#include "text/text.h"
#include "terms/train_kind.h"
#include "sink/record.h"

#define TB_TAG_MAX 1200

/*
 * Writes a scalar's tag as tensorboardX does, with some characters replaced. of_samples: the tag
 * with samples on the x axis.
 */
void tb_write_scalar_tag(struct text *out, const struct record_scalar *e, bool of_samples);

/* True if the scalar also has a tag with samples on the x axis. */
bool tb_scalar_has_samples(enum scalar which);

/* Writes {kind}/{name}/{what}. */
void tb_write_kind_tag(struct text *out, const struct record_kind *r, const char *what);

/* Writes {metric}/{parameter}. */
void tb_write_metric_tag(struct text *out, const struct record_kind *r);

/* Writes {parameter}/auto. */
void tb_write_summary_tag(struct text *out, const struct record_kind *r);

/*
 * Returns the word for a kind in tags of msprobe's monitor: acc_grad, post_grad, or the kind's
 * own word.
 */
const char *tb_get_monitor_word(const char *word);

/* Writes {vpp}:{name}[:{micro step}]/rank{r}/{kind}_{what}, as msprobe's monitor does. */
void tb_write_monitor_tag(
	struct text *out, const struct record_kind *r, int32_t rank, const char *what);

#endif
