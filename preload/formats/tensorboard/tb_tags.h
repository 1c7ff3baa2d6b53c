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
 * A scalar's tag as tensorboardX writes it, with some characters replaced. of_samples: the tag whose x axis is samples.
 */
void tb_scalar_tag(struct text *out, const struct record_scalar *e, bool of_samples);

/* True if it has a tag whose x axis is samples. */
bool tb_scalar_has_samples(enum scalar which);

/* {kind}/{name}/{what}. */
void tb_kind_tag(struct text *out, const struct record_kind *r, const char *what);

/* {metric}/{parameter}. */
void tb_metric_tag(struct text *out, const struct record_kind *r);

/* {parameter}/auto. */
void tb_summary_tag(struct text *out, const struct record_kind *r);

/* That tool's word for a kind in its tags: acc_grad, post_grad, or the kind's own word. */
const char *tb_monitor_word(const char *word);

/* {vpp}:{name}[:{micro step}]/rank{r}/{kind}_{what}, as msprobe's monitor. */
void tb_monitor_tag(struct text *out, const struct record_kind *r, int32_t rank, const char *what);

#endif
