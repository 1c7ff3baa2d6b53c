/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink of monitor.log: for each step the lines that MindSpore Transformers 2.1 logs (see its
 * core/callback/callback.py, MFLossMonitor.print_output_info and TrainingStateMonitor._to_log), selected by key
 * monitor_log:
 *
 *	{ Epoch:[%3d/%3d], step:[%5d/%5d], loss: %5.6f, per_step_time: %dms, lr: %s, overflow cond: %s, loss_scale: %s, global_norm: %s
 *	  %4.1f%% |<50 cells>| %.5f samples/s/p  %s }
 *	Epoch:[%3d/%3d], step:[%5d/%5d] <metric>: %s
 *	opt_global_step: %d, skip_data_grad_norm_threshold: %s, is_skip: [ True]
 *	Current global norm %s of step %d has been %d consecutive times greater than threshold: %s
 *	lines of tokens_lines.h
 *
 * Numbers of a step are kept until step() ends it, because threads are drained one after the other. They are written as
 * text with the pass, so that after a crash each line is there once.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/rooms/alerts.h"
#include "config/rooms/monitor.h"
#include "config/rooms/steps.h"
#include "terms/metric.h"
#include "text/pytext.h"
#include "terms/scalar.h"
#include "text/text.h"
#include "terms/train_kind.h"
#include "formats/monitor/tokens_lines.h"
#include "sink/format.h"

#define LOG_FILE "monitor.log"
/* maximum bytes of all numbers that wait for the end of their steps */
#define KEPT_BYTES ((size_t)4 << 20)
#define NAME_BYTES 400
#define LINE_BYTES 1024
#define CELLS 50

/* A number that waits: of a step, or of a parameter (whose name follows). */
struct kept_number {
	uint32_t bytes, step;
	double value;
	uint16_t which; /* enum scalar, or SCALARS + enum train_kind */
	uint16_t group; /* JOURNAL_NO_GROUP: for all groups; of tokens_per_expert: the micro step */
	char name[];
};

/* State on which the lines of a step depend, besides the step's own numbers. */
struct log_progress {
	uint32_t next; /* lines of steps below this number are written */
	uint64_t shown; /* the last step, from 1, with lines of the loss; 0: none yet */
	uint64_t epoch; /* epoch to which `sum` belongs */
	double sum; /* sum of the epoch's losses */
	uint64_t losses;
	uint64_t withheld; /* number of optimizer steps that were withheld */
	uint64_t micro_steps; /* of the steps whose lines are written */
};

struct monitor_log {
	struct files *files;
	char *kept; /* KEPT_BYTES; NULL until the first number */
	size_t len, before,
		/* before: length without the last entry; carried: length from earlier passes */
		carried;
	struct log_progress now, last, committed; /* last: state before the last step() */
	bool stepped; /* the last entry was a step() */
	char *text; /* text of the pass, for stderr; NULL: none */
	size_t ntext, cap_text, text_before;
};

static int open_monitor_log(void *state, struct files *files)
{
	struct monitor_log *m = state;

	m->files = files;
	return 0;
}

static bool monitor_log_is_idle(const void *state)
{
	const struct config *cfg = ((const struct monitor_log *)state)->files->cfg;

	return !cfg ||
	       (!get_monitor_keys(cfg)->monitor_log && !get_alerts_keys(cfg)->health_checkpoint &&
		       !get_alerts_keys(cfg)->use_skip_data_by_global_norm);
}

static void close_monitor_log(void *state)
{
	struct monitor_log *m = state;

	free(m->kept);
	free(m->text);
}

/* ---- numbers ---- */

static int record_number(struct monitor_log *m, const struct kept_number *n, const char *name)
{
	size_t len = strnlen(name, NAME_BYTES), bytes = (sizeof(*n) + len + 8) & ~(size_t)7;
	struct kept_number *to;

	m->before = m->len;
	m->stepped = false;
	if (!m->kept && !(m->kept = malloc(KEPT_BYTES)))
		return -ENOBUFS;
	if (KEPT_BYTES - m->len < bytes) {
		/*
		 * Full. If half of it was there before this pass, these steps do not end: the
		 * number is lost, so that other records continue.
		 */
		if (m->carried < KEPT_BYTES / 2)
			return -ENOBUFS;
		m->files->j->head->lost_rows++;
		return 0;
	}
	to = (struct kept_number *)(m->kept + m->len);
	*to = *n;
	to->bytes = (uint32_t)bytes;
	memcpy(to->name, name, len);
	to->name[len] = 0;
	m->len += bytes;
	return 0;
}

static int record_log_scalar(void *state, const struct record_scalar *e)
{
	return e->optimizer ? 0
			    : record_number(state,
				      &(struct kept_number){.step = e->step,
					      .value = e->value,
					      .which = e->which,
					      .group = e->group},
				      "");
}

static bool are_tokens_logged(const struct monitor_log *m)
{
	return get_monitor_keys(m->files->cfg)->monitor_log >> MONITOR_LOG_TOKENS & 1;
}

static int record_log_kind(void *state, const struct record_kind *r)
{
	struct monitor_log *m = state;

	m->before = m->len;
	m->stepped = false;
	if (r->kind->kind < TK_LOCAL_NORM || r->kind->e.n != 1 ||
		(r->kind->kind == TK_TOKENS && !are_tokens_logged(m)))
		return 0;
	return record_number(m,
		&(struct kept_number){.step = r->kind->step,
			.value = r->value[0],
			.which = (uint16_t)(SCALARS + r->kind->kind),
			.group = r->kind->kind == TK_TOKENS ? (uint16_t)r->kind->micro_step
							    : JOURNAL_NO_GROUP},
		r->name);
}

/* ---- lines ---- */

/* The waiting numbers of one step, in the order in which they came. */
struct step_numbers {
	const struct kept_number *const *at;
	size_t n;
};

/*
 * Finds a number of the step. If there are several groups, that of the last one, as in MindSpore
 * Transformers. Returns false if it is not known.
 */
static bool find_kept(const struct step_numbers *s, enum scalar which, double *v)
{
	for (size_t i = s->n; i-- > 0;)
		if (s->at[i]->which == which) {
			*v = s->at[i]->value;
			return true;
		}
	return false;
}

static int compare_kept_numbers(const void *x, const void *y)
{
	const struct kept_number *a = *(const struct kept_number *const *)x;
	const struct kept_number *b = *(const struct kept_number *const *)y;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	return (a > b) - (a < b);
}

/*
 * Returns all numbers of steps below `next`, sorted by step, malloc'd. Returns NULL if there is
 * no memory.
 */
static const struct kept_number **copy_sorted_numbers(
	const struct monitor_log *m, uint32_t next, size_t *n)
{
	const struct kept_number **all =
		malloc((m->len / sizeof(struct kept_number) + 1) * sizeof(struct kept_number *));

	*n = 0;
	for (size_t at = 0; all && at < m->len;) {
		const struct kept_number *k = (const struct kept_number *)(m->kept + at);

		if (k->step < next)
			all[(*n)++] = k;
		at += k->bytes;
	}
	if (all)
		qsort(all, *n, sizeof(struct kept_number *), compare_kept_numbers);
	return all;
}

/* A step's position in the training, from 1. */
struct log_place {
	uint64_t epoch, epochs, step, of, global, total;
};

static struct log_place get_step_place(const struct config *cfg, uint64_t step)
{
	const struct monitor_keys *keys = get_monitor_keys(cfg);
	uint64_t of = (uint64_t)keys->steps_per_epoch, total = (uint64_t)keys->total_steps;
	uint64_t epochs = (uint64_t)keys->epochs;
	struct log_place p;

	if (!of && total)
		of = epochs > 1 ? total / epochs : total;
	if (!total)
		total = of * epochs;
	if (!epochs)
		epochs = of && total ? (total + of - 1) / of : 1;
	p = (struct log_place){1, epochs, step, of, step, total};
	if (of) {
		p.epoch = (step - 1) / of + 1;
		p.step = (step - 1) % of + 1;
	}
	if (p.epoch > p.epochs)
		p.epochs = p.epoch;
	return p;
}

static void put_padded(struct text *t, uint64_t v, int width)
{
	char digits[24];
	struct text d = text_init(digits, sizeof(digits));

	text_add_u64(&d, v);
	for (int i = (int)d.len; i < width; i++)
		text_add_char(t, ' ');
	text_add_string(t, digits);
}

static void write_log_place(struct text *t, const struct log_place *p)
{
	text_add_string(t, "Epoch:[");
	put_padded(t, p->epoch, 3);
	text_add_char(t, '/');
	put_padded(t, p->epochs, 3);
	text_add_string(t, "], step:[");
	put_padded(t, p->step, 5);
	text_add_char(t, '/');
	put_padded(t, p->of, 5);
	text_add_char(t, ']');
}

/*
 * Returns the duration of a step in ms. Before the first step no step has ended: the sum of the
 * step's known parts is used. 0: not known.
 */
static double get_step_time(const struct step_numbers *s)
{
	static const uint8_t parts[] = {
		SCALAR_DATA_TIME, SCALAR_FORWARD_TIME, SCALAR_BACKWARD_TIME, SCALAR_OPTIMIZER_TIME};
	double sum = 0, v;

	if (find_kept(s, SCALAR_ITERATION_TIME, &v) && v >= 0)
		return v;
	for (unsigned i = 0; i < sizeof(parts); i++)
		if (find_kept(s, (enum scalar)parts[i], &v) && v >= 0)
			sum += v;
	return sum;
}

static void write_loss(struct text *t, const struct monitor_log *m, double loss)
{
	const struct log_progress *p = &m->now;

	if (!get_monitor_keys(m->files->cfg)->print_loss_mean) {
		text_add_string(t, ", loss: ");
		text_fixed(t, loss, 5, 6);
		return;
	}
	text_add_string(t, ", loss:[");
	text_fixed(t, loss, 5, 6);
	text_add_char(t, '/');
	text_fixed(t, p->sum / (double)(p->losses ? p->losses : 1), 5, 6);
	text_add_char(t, ']');
}

static void write_log_loss_line(struct text *t, const struct monitor_log *m,
	const struct step_numbers *s, const struct log_place *p, double loss, double ms)
{
	double v, norm = 0;
	bool scaled = find_kept(s, SCALAR_LOSS_SCALE, &v);
	bool normed = find_kept(s, SCALAR_GRAD_NORM, &norm), overflow = scaled && !isfinite(norm);

	text_add_string(t, "{ ");
	write_log_place(t, p);
	write_loss(t, m, loss);
	text_add_string(t, ", per_step_time: ");
	text_add_u64(t, (uint64_t)ms);
	text_add_string(t, "ms");
	if (find_kept(s, SCALAR_LEARNING_RATE, &v)) {
		text_add_string(t, ", lr: ");
		text_add_python_float(t, v);
	}
	text_add_string(t, overflow ? ", overflow cond: True" : ", overflow cond: False");
	text_add_string(t, ", loss_scale: ");
	if (find_kept(s, SCALAR_LOSS_SCALE, &v))
		text_add_python_float(t, v);
	else
		text_add_string(t, "unavailable");
	text_add_string(t, ", global_norm: ");
	if (normed)
		text_add_numpy_single(t, (float)norm);
	else
		text_add_string(t, "None");
	if (find_kept(s, SCALAR_MODEL_FLOPS, &v)) {
		text_add_string(t, ", train_throughput_per_npu: ");
		text_fixed(t, v, 0, 3);
		text_add_char(t, 'T');
	}
	text_add_char(t, '\n');
}

/* Returns samples per second and card; 0: not known. */
static double compute_step_rate(
	const struct monitor_log *m, const struct step_numbers *s, double ms)
{
	int32_t world = m->files->j->head->world_size;
	double v;

	if (find_kept(s, SCALAR_THROUGHPUT, &v))
		return v;
	if (!(ms > 0) || !find_kept(s, SCALAR_BATCH_SIZE, &v))
		return 0;
	return v / (world > 0 ? world : 1) / ms * 1e3;
}

static void write_progress_line(struct text *t, const struct log_place *p, double rate, double ms)
{
	double share = p->total ? (double)p->global / (double)p->total : 0;
	uint64_t left = p->total > p->global ? p->total - p->global : 0;
	int full = share >= 1 ? CELLS : (int)(share * CELLS);

	text_add_string(t, "  ");
	text_fixed(t, share * 100, 4, 1);
	text_add_string(t, "% |");
	for (int i = 0; i < CELLS; i++)
		text_add_string(t, i < full ? "\xe2\x96\x88" : " ");
	text_add_string(t, "| ");
	text_fixed(t, rate, 0, 5);
	text_add_string(t, " samples/s/p  ");
	text_add_timedelta(t, (uint64_t)(ms * (double)left / 1e3));
	text_add_string(t, " }\n");
}

/* Returns the metric to which a number belongs; MONITOR_LOG_WORDS: none. */
static unsigned get_number_metric(unsigned which)
{
	switch (which) {
	case SCALAR_LINEARITY:
		return MONITOR_LOG_LINEARITY;
	case SCALAR_DEVICE_LOCAL_NORM:
		return METRIC_DEVICE_LOCAL_NORM;
	case SCALAR_WEIGHT_NORM:
		return METRIC_WEIGHT_NORM;
	case SCALAR_LOCAL_LOSS:
	case SCALAR_MICRO_LOSS:
		return METRIC_LOCAL_LOSS;
	case SCALAR_DEVICE_LOCAL_LOSS:
		return METRIC_DEVICE_LOCAL_LOSS;
	case SCALARS + TK_LOCAL_NORM:
		return METRIC_LOCAL_NORM;
	case SCALARS + TK_ADAM_M_NORM:
	case SCALARS + TK_ADAM_V_NORM:
		return METRIC_ADAM_NORM;
	case SCALARS + TK_STABLE_RANK:
	case SCALARS + TK_EIGENVALUE:
		return METRIC_STABLE_RANK;
	default:
		return MONITOR_LOG_WORDS;
	}
}

static void write_metric_line(
	struct text *t, const struct kept_number *n, const struct log_place *p)
{
	write_log_place(t, p);
	text_add_char(t, ' ');
	/* MindSpore Transformers uses this name for the local loss in its log. */
	if (n->which == SCALAR_LOCAL_LOSS || n->which == SCALAR_MICRO_LOSS)
		text_add_string(t, "micro_local_lm_loss");
	else
		text_add_string(t, n->which < SCALARS ? scalar_names[n->which]
						      : train_kinds[n->which - SCALARS].word);
	if (n->which >= SCALARS) {
		text_add_char(t, '/');
		text_escaped(t, n->name);
	}
	text_add_string(t, ": ");
	text_add_python_float(t, n->value);
	text_add_char(t, '\n');
}

/* Appends a line. Returns false if there is no memory. */
static bool add_log_text(struct monitor_log *m, const struct text *line)
{
	while (m->ntext + line->len + 1 > m->cap_text) {
		size_t cap = m->cap_text ? 2 * m->cap_text : 8192;
		char *more = realloc(m->text, cap);

		if (!more)
			return false;
		m->text = more;
		m->cap_text = cap;
	}
	memcpy(m->text + m->ntext, line->buf, line->len + 1);
	m->ntext += line->len;
	return true;
}

/*
 * True for every n-th step from the training's first step on; if steps are missing, for the next
 * step that exists.
 */
static bool is_loss_due(struct monitor_log *m, uint64_t step)
{
	const struct config *cfg = m->files->cfg;
	uint64_t n = (uint64_t)get_monitor_keys(cfg)->print_interval,
		 start = (uint64_t)get_steps_keys(cfg)->start_iteration;

	if (!m->now.shown && step > start)
		m->now.shown = start + (step - 1 - start) / n * n;
	if (step < m->now.shown + n)
		return false;
	m->now.shown = step;
	return true;
}

static bool add_loss_lines(
	struct monitor_log *m, const struct step_numbers *s, const struct log_place *p)
{
	char buf[LINE_BYTES];
	struct text line = text_init(buf, sizeof(buf));
	double ms = get_step_time(s), loss;

	/*
	 * A rank without the loss, as in the earlier stages of a pipeline, has no such lines in
	 * MindSpore Transformers either.
	 */
	if (!find_kept(s, SCALAR_LOSS, &loss))
		return true;
	if (m->now.epoch != p->epoch) {
		m->now.epoch = p->epoch;
		m->now.sum = 0;
		m->now.losses = 0;
	}
	m->now.sum += loss;
	m->now.losses++;
	if (!is_loss_due(m, p->global))
		return true;
	write_log_loss_line(&line, m, s, p, loss, ms);
	write_progress_line(&line, p, compute_step_rate(m, s, ms), ms);
	return add_log_text(m, &line);
}

static bool add_metric_lines(
	struct monitor_log *m, const struct step_numbers *s, const struct log_place *p)
{
	uint64_t words = get_monitor_keys(m->files->cfg)->monitor_log;
	double loss;
	bool has_micro = find_kept(s, SCALAR_MICRO_LOSS, &loss);

	for (size_t i = 0; i < s->n; i++) {
		char buf[LINE_BYTES];
		struct text line = text_init(buf, sizeof(buf));
		unsigned metric = get_number_metric(s->at[i]->which);

		if (metric == MONITOR_LOG_WORDS || !(words >> metric & 1))
			continue;
		/* There is a line for each micro-batch, and none for their mean. */
		if (has_micro && s->at[i]->which == SCALAR_LOCAL_LOSS)
			continue;
		write_metric_line(&line, s->at[i], p);
		if (!add_log_text(m, &line))
			return false;
	}
	return true;
}

static bool add_tokens_line(void *arg, const struct text *line)
{
	return add_log_text(arg, line);
}

/* The micro steps before the first step whose lines are written are not known: as many in each as that one has. */
static bool add_tokens_lines(
	struct monitor_log *m, const struct step_numbers *s, const struct log_place *p)
{
	const struct monitor_keys *keys = get_monitor_keys(m->files->cfg);
	struct token_count *count = malloc((s->n + 1) * sizeof(*count));
	uint32_t micro_steps = 1;
	size_t n = 0;
	bool ok;

	if (!count)
		return false;
	for (size_t i = 0; i < s->n; i++) {
		const struct kept_number *k = s->at[i];

		if (k->which != SCALARS + TK_TOKENS)
			continue;
		count[n++] = (struct token_count){
			.name = k->name, .tokens = (uint64_t)k->value, .micro_step = k->group};
		if (k->group >= micro_steps)
			micro_steps = k->group + 1u;
	}
	if (!m->now.micro_steps)
		m->now.micro_steps = (p->global - 1) * micro_steps;

	struct tokens_step step = {.step = p->global,
		.micro_steps_before = m->now.micro_steps,
		.interval = (uint64_t)keys->tokens_log_interval,
		.layers = &keys->tokens_log_layers};

	ok = write_tokens_lines(count, n, &step, add_tokens_line, m);
	m->now.micro_steps += micro_steps;
	free(count);
	return ok;
}

/*
 * As in MindSpore Transformers, this line does not show the step; it comes after the lines of its
 * step.
 */
static bool add_embedding_line(struct monitor_log *m, const struct step_numbers *s)
{
	char buf[LINE_BYTES];
	struct text line = text_init(buf, sizeof(buf));
	double v;

	if (!find_kept(s, SCALAR_EMBEDDING_NORM, &v))
		return true;
	text_add_string(&line, "embedding_local_norm: ");
	text_add_python_single(&line, (float)v);
	text_add_char(&line, '\n');
	return add_log_text(m, &line);
}

/*
 * Adds the lines of a withheld step. If the step ends the job, the second line is missing: its
 * text is that of the exception. If the norm is NaN, MindSpore Transformers writes nothing.
 */
static bool add_withheld_lines(
	struct monitor_log *m, const struct step_numbers *s, const struct log_place *p)
{
	const struct config *cfg = m->files->cfg;
	const struct alerts_keys *keys = get_alerts_keys(cfg);
	int64_t limit = keys->global_norm_spike_count_threshold;
	char buf[LINE_BYTES];
	struct text line = text_init(buf, sizeof(buf));
	double count, norm = NAN;

	if (!keys->use_skip_data_by_global_norm || !find_kept(s, SCALAR_WITHHELD, &count))
		return true;
	find_kept(s, SCALAR_GRAD_NORM, &norm);
	m->now.withheld++;
	text_add_string(&line, "opt_global_step: ");
	text_add_u64(&line, p->global - m->now.withheld);
	text_add_string(&line, ", skip_data_grad_norm_threshold: ");
	text_add_python_float(&line, keys->global_norm_spike_threshold);
	text_add_string(&line, ", is_skip: [ True]\n");
	if (limit <= 0 || count < (double)limit) {
		text_add_string(&line, "Current global norm ");
		text_add_numpy_single(&line, (float)norm);
		text_add_string(&line, " of step ");
		text_add_u64(&line, p->global);
		text_add_string(&line, " has been ");
		text_add_u64(&line, (uint64_t)count);
		text_add_string(&line, isnan(norm) ? " consecutive times not finite, threshold: "
						   : " consecutive times greater than threshold: ");
		text_add_python_float(&line, keys->global_norm_spike_threshold);
		text_add_char(&line, '\n');
	}
	return add_log_text(m, &line);
}

/*
 * Writes the lines of all steps below `next`. A late number of a step whose lines are written
 * gets only its own line.
 */
static bool add_step_lines(struct monitor_log *m, uint32_t next)
{
	const struct config *cfg = m->files->cfg;
	const struct kept_number **all;
	size_t n, end;
	bool ok;

	all = copy_sorted_numbers(m, next, &n);
	ok = all != NULL;
	for (size_t i = 0; ok && i < n; i = end) {
		uint32_t step = all[i]->step;
		struct log_place p = get_step_place(cfg, (uint64_t)step + 1);
		struct step_numbers s = {.at = all + i};

		for (end = i; end < n && all[end]->step == step;)
			end++;
		s.n = end - i;
		if (step >= m->now.next &&
			get_monitor_keys(cfg)->monitor_log >> MONITOR_LOG_LOSS & 1)
			ok = add_loss_lines(m, &s, &p);
		if (step >= m->now.next && are_tokens_logged(m))
			ok = ok && add_tokens_lines(m, &s, &p);
		ok = ok && add_withheld_lines(m, &s, &p) && add_metric_lines(m, &s, &p) &&
		     add_embedding_line(m, &s);
	}
	free(all);
	if (ok)
		m->now.next = next;
	return ok;
}

static int write_log_lines(struct monitor_log *m, size_t from)
{
	size_t n = m->ntext - from;
	struct out_file *o;
	char *at;

	if (!n)
		return 0;
	if (files_table_is_full(m->files, LOG_FILE, n)) {
		m->files->j->head->lost_rows++;
		return 0;
	}
	at = files_get_table_space(m->files, LOG_FILE, "", n, &o);
	if (!at)
		return -ENOBUFS;
	memcpy(at, m->text + from, n);
	files_add_length(m->files, o, n);
	return 0;
}

static int close_log_step(void *state, uint32_t next)
{
	struct monitor_log *m = state;
	int err;

	m->last = m->now;
	m->text_before = m->ntext;
	err = m->len && !add_step_lines(m, next) ? -ENOBUFS : write_log_lines(m, m->text_before);
	m->stepped = !err;
	if (err) {
		m->now = m->last;
		m->ntext = m->text_before;
	}
	return err;
}

/* ---- passes ---- */

static void remove_log_entry(void *state)
{
	struct monitor_log *m = state;

	if (m->stepped) {
		m->now = m->last;
		m->ntext = m->text_before;
		m->stepped = false;
	} else {
		m->len = m->before;
	}
}

static void remove_shown_numbers(struct monitor_log *m)
{
	size_t to = 0;

	for (size_t at = 0; at < m->len;) {
		struct kept_number *n = (struct kept_number *)(m->kept + at);
		uint32_t bytes = n->bytes;

		if (n->step >= m->now.next) {
			memmove(m->kept + to, n, bytes);
			to += bytes;
		}
		at += bytes;
	}
	m->len = to;
}

/* Writes lines to stderr: only in the recorded process, not when its files are completed later. */
static void print_log_lines(struct monitor_log *m)
{
	for (char *line = m->text, *end; line < m->text + m->ntext; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			break;
		*end = 0;
		log_info(1, "- INFO - %s", line);
	}
}

static void handle_log_written(void *state, bool written)
{
	struct monitor_log *m = state;

	if (!written) {
		m->len = m->carried;
		m->now = m->committed;
	} else {
		if (m->ntext && get_monitor_keys(m->files->cfg)->monitor_stderr && m->files->look)
			print_log_lines(m);
		if (m->kept)
			remove_shown_numbers(m);
		m->carried = m->len;
		m->committed = m->now;
	}
	m->ntext = 0;
	m->stepped = false;
}

static enum sink_file get_monitor_log_kind(const char *path)
{
	return strcmp(path, LOG_FILE) == 0 ? SINK_FILE_LINES : SINK_FILE_OTHER;
}

const struct sink_format monitor_log_format = {
	.formats = FORMAT_FILES,
	.state_bytes = sizeof(struct monitor_log),
	.open = open_monitor_log,
	.idle = monitor_log_is_idle,
	.kind = record_log_kind,
	.scalar = record_log_scalar,
	.step = close_log_step,
	.retract = remove_log_entry,
	.commit = handle_log_written,
	.close = close_monitor_log,
	.owns = get_monitor_log_kind,
};
