/* SPDX-License-Identifier: Apache-2.0 */
/* What the numbers of a training are called in TensorBoard's files, by whose layout is asked for (key tensorboard_tags). */
#ifndef PROBE_SINK_TB_TAGS_H
#define PROBE_SINK_TB_TAGS_H

#include "terms/scalar.h"
#include "text/text.h"
#include "terms/train_kind.h"
#include "sink/record.h"

#define TB_TAG_MAX 1200

/* A scalar's tag as tensorboardX writes it, which replaces characters; of_samples: the one whose x are samples. */
void tb_scalar_tag(struct text *out, const struct record_scalar *e, bool of_samples);

/* Has it a tag whose x are samples? */
bool tb_scalar_has_samples(enum scalar which);

/* {kind}/{name}/{what}. */
void tb_kind_tag(struct text *out, const struct record_kind *r, const char *what);

/* {metric}/{parameter}. */
void tb_metric_tag(struct text *out, const struct record_kind *r);

/* {parameter}/auto. */
void tb_summary_tag(struct text *out, const struct record_kind *r);

/* What that tool calls a kind in its tags: acc_grad, post_grad, or the kind's own word. */
const char *tb_monitor_word(const char *word);

/* {vpp}:{name}[:{micro step}]/rank{r}/{kind}_{what}, as msprobe's monitor. */
void tb_monitor_tag(struct text *out, const struct record_kind *r, int32_t rank, const char *what);

#endif
