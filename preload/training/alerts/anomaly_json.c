/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anomaly.json in the form of msprobe's training monitor with `alert.dump: true`, for its anomaly_processor: an object
 * with one member for each time that a rule fired,
 *
 *	"<vpp>:<name>/rank<R>/<word>_step_<s>_call_<id>": {rank, step, micro_step, pp_stage, vpp_stage, call_id, tag_name,
 *	                                                   message, group_mates}
 *
 * That tool orders stages by the tag's last word, and knows only its own words: actv, actv_grad, pre_grad, post_grad,
 * acc_grad, exp_avg, exp_avg_sq. So gradients have these names here. call_id numbers the values of a step in order; -1:
 * a parameter itself. If several statistics of one tensor fire in a step, only the last one remains, because they share
 * the key.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "config/rooms/alerts.h"
#include "config/rooms/kinds.h"
#include "training/alerts/alerts.h"

#define ANOMALIES_MAX 5000
#define SAME_LOOK 64 /* entries searched backwards for another statistic of the same tensor */
#define ENTRY_BYTES 4096

struct anomaly {
	char *name, *word; /* word is in the same block as name */
	const char *rule, *op;
	uint32_t step, micro_step;
	uint16_t vpp_stage;
	int32_t call_id;
	double value, history;
};

struct anomalies {
	struct anomaly *at;
	unsigned n;
	uint64_t lost;
	bool changed;
};

struct anomalies *anomalies_init(void)
{
	struct anomalies *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->at = calloc(ANOMALIES_MAX, sizeof(*a->at));
	if (!a->at) {
		free(a);
		return NULL;
	}
	return a;
}

void anomalies_free(struct anomalies *a)
{
	if (!a)
		return;
	for (unsigned i = 0; i < a->n; i++)
		free(a->at[i].name);
	free(a->at);
	free(a);
}

void anomalies_add(struct anomalies *a, const struct alert_seen *v, const struct alert_rule *r,
	const char *op, double value, double history)
{
	struct anomaly *to = &a->at[a->n];
	const char *word = v->kind == TK_GRAD_REDUCED ? "post_grad"
			   : v->kind == TK_GRAD_UNREDUCED
				   ? v->micro_step == UINT32_MAX ? "pre_grad" : "acc_grad"
				   : v->word;
	size_t n = strlen(v->name) + 1;

	for (unsigned i = a->n; i && i + SAME_LOOK > a->n; i--) {
		struct anomaly *was = &a->at[i - 1];

		if (was->step == v->step && was->call_id == v->call &&
			was->vpp_stage == v->vpp_stage && strcmp(was->word, word) == 0 &&
			strcmp(was->name, v->name) == 0) {
			was->rule = alert_rule_words[r->rule];
			was->op = op;
			was->value = value;
			was->history = history;
			a->changed = true;
			return;
		}
	}
	if (a->n == ANOMALIES_MAX) {
		if (!a->lost++)
			log_loss(LOSS_ALERTS,
				"anomaly.json holds %d anomalies; further ones are not in it, "
				"alerts.jsonl counts them",
				ANOMALIES_MAX);
		return;
	}
	*to = (struct anomaly){.rule = alert_rule_words[r->rule],
		.op = op,
		.step = v->step,
		.micro_step = v->micro_step == UINT32_MAX ? 0 : v->micro_step,
		.vpp_stage = v->vpp_stage,
		.call_id = v->call,
		.value = value,
		.history = history,
		.name = malloc(n + strlen(word) + 1)};
	if (!to->name)
		return;
	memcpy(to->name, v->name, n);
	to->word = strcpy(to->name + n, word);
	a->n++;
	a->changed = true;
}

/* ---- the folder ---- */

void anomaly_place_read(struct anomaly_place *p, const struct config *cfg, int32_t *mate)
{
	const struct ranges *group = &get_kinds_keys(cfg)->process_group;

	memset(p, 0, sizeof(*p));
	p->mate = mate;
	snprintf(p->dir, sizeof(p->dir), "%s", get_alerts_keys(cfg)->anomaly_dir);
	for (uint32_t i = 0; i < group->n; i++)
		for (uint64_t r = group->item[i].lo;
			r <= group->item[i].hi && p->nmates < ANOMALY_MATES_MAX; r++)
			p->mate[p->nmates++] = (int32_t)r;
}

static void write_mates(struct text *t, const struct anomaly_place *p, int32_t world)
{
	uint32_t n = p->nmates ? p->nmates : world > 0 ? (uint32_t)world : 1;

	text_add_string(t, "  \"group_mates\": [");
	for (uint32_t i = 0; i < n && i < ANOMALY_MATES_MAX; i++) {
		text_add_string(t, i ? ",\n   " : "\n   ");
		text_add_i64(t, p->nmates ? p->mate[i] : (int32_t)i);
	}
	text_add_string(t, "\n  ]\n");
}

static int32_t find_stage(const struct anomaly_place *p)
{
	for (uint32_t i = 0; i < p->nmates; i++)
		if (p->mate[i] == p->rank)
			return (int32_t)i;
	return p->nmates ? 0 : p->rank;
}

static void write_tag(struct text *t, const struct anomaly *a, int32_t rank)
{
	text_add_u64(t, a->vpp_stage);
	text_add_char(t, ':');
	text_add_string(t, a->name);
	text_add_string(t, "/rank");
	text_add_i64(t, rank);
	text_add_char(t, '/');
	text_add_string(t, a->word);
}

static void write_count(struct text *t, const char *key, int64_t v)
{
	text_add_string(t, "  \"");
	text_add_string(t, key);
	text_add_string(t, "\": ");
	text_add_i64(t, v);
	text_add_string(t, ",\n");
}

static void write_anomaly(struct text *t, const struct anomaly *a, const struct anomaly_place *p)
{
	char buf[2048], tag[1200];
	struct text line = text_init(buf, sizeof(buf)), name = text_init(tag, sizeof(tag));

	write_tag(&name, a, p->rank);
	text_add_string(&line, tag);
	text_add_format(&line, "_step_%u_call_%d", a->step, a->call_id);
	text_add_char(t, ' ');
	text_add_json(t, buf);
	text_add_string(t, ": {\n");
	write_count(t, "rank", p->rank);
	write_count(t, "step", a->step);
	write_count(t, "micro_step", a->micro_step);
	write_count(t, "pp_stage", find_stage(p));
	write_count(t, "vpp_stage", a->vpp_stage);
	write_count(t, "call_id", a->call_id);
	text_add_string(t, "  \"tag_name\": ");
	text_add_json(t, tag);
	line = text_init(buf, sizeof(buf));
	text_add_format(&line,
		"Rule %s reports anomaly signal in ('%s', '%s') at step %u, current value ",
		a->rule, tag, a->op, a->step);
	text_add_double(&line, a->value, 17);
	text_add_string(&line, ", history mean ");
	text_add_double(&line, a->history, 17);
	text_add_char(&line, '.');
	text_add_string(t, ",\n  \"message\": ");
	text_add_json(t, buf);
	text_add_string(t, ",\n");
}

/*
 * Opens <dir>/anomaly_detected/rank<R>, and makes it if necessary. Returns a descriptor or
 * -errno.
 */
static int open_anomaly_folder(const struct anomaly_place *p, const char *folder)
{
	char path[4200];
	const char *end = strrchr(folder, '/');
	int n, fd;

	if (*p->dir)
		n = snprintf(path, sizeof(path), "%s/anomaly_detected/rank%d", p->dir, p->rank);
	else
		n = snprintf(path, sizeof(path), "%.*s/anomaly_detected/rank%d",
			end ? (int)(end - folder) : 1, end ? folder : ".", p->rank);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	n = io_add_folders(path);
	if (n)
		return n;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void anomalies_write(
	struct anomalies *a, const struct anomaly_place *p, const char *folder, int32_t world)
{
	size_t mates = p->nmates ? p->nmates : world > 0 ? (size_t)world : 1;
	size_t cap =
		16 +
		a->n * (ENTRY_BYTES + 16 * (mates < ANOMALY_MATES_MAX ? mates : ANOMALY_MATES_MAX));
	struct text t;
	char *buf;
	int fd, err;

	if (!a->changed)
		return;
	/* Only the part that is written becomes resident. */
	buf = malloc(cap);
	if (!buf)
		return;
	t = text_init(buf, cap);
	text_add_string(&t, "{\n");
	for (unsigned i = 0; i < a->n; i++) {
		write_anomaly(&t, &a->at[i], p);
		write_mates(&t, p, world);
		text_add_string(&t, i + 1 < a->n ? " },\n" : " }\n");
	}
	text_add_string(&t, "}\n");
	fd = open_anomaly_folder(p, folder);
	err = fd < 0 ? fd : io_replace_file(fd, "anomaly.json", buf, t.len);
	if (fd >= 0)
		close(fd);
	free(buf);
	if (err)
		log_loss(LOSS_ALERTS, "anomaly.json: %s; alerts.jsonl has the alerts",
			io_error_text(err));
	else
		a->changed = false;
}
