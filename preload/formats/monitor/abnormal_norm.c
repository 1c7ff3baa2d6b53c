/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink of <output_dir>/abnormal_global_norm.json (key check_for_global_norm), in the form of MindSpore
 * Transformers: for each step, from 1, whose global norm was at or above the threshold, or not finite, its norms, one
 * for each time that the step was run:
 *
 *	{"300": [3.3], "1201": [44.3, 12.5]}
 *
 * Only rank 0 writes it. Entries of an earlier run are kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "config/rooms/alerts.h"
#include "config/rooms/files.h"
#include "text/pytext.h"
#include "terms/scalar.h"
#include "text/text.h"
#include "sink/format.h"
#include "folder/json_member.h"

#define NORM_FILE "abnormal_global_norm.json"
#define NORMS_PASS 256 /* maximum number in a pass */
#define FILE_MOST ((size_t)1 << 20)

struct abnormal {
	struct files *files;
	struct {
		uint64_t step; /* from 1 */
		double norm;
	} at[NORMS_PASS];
	unsigned n, before;
	bool reported;
};

static int open_abnormal(void *state, struct files *files)
{
	((struct abnormal *)state)->files = files;
	return 0;
}

static bool abnormal_is_idle(const void *state)
{
	const struct config *cfg = ((const struct abnormal *)state)->files->cfg;

	return !cfg || !get_alerts_keys(cfg)->check_for_global_norm;
}

static int record_abnormal(void *state, const struct record_scalar *e)
{
	struct abnormal *a = state;
	double most = get_alerts_keys(a->files->cfg)->global_norm_spike_threshold;

	a->before = a->n;
	if (e->which != SCALAR_GRAD_NORM || e->optimizer || e->value < most)
		return 0;
	if (a->n == NORMS_PASS)
		return -ENOBUFS;
	a->at[a->n].step = (uint64_t)e->step + 1;
	a->at[a->n++].norm = e->value;
	return 0;
}

static void remove_abnormal(void *state)
{
	struct abnormal *a = state;

	a->n = a->before;
}

/* Writes a float as Python's json module does. */
static void write_abnormal_norm(struct text *t, double v)
{
	if (isnan(v))
		text_add_string(t, "NaN");
	else if (isinf(v))
		text_add_string(t, v > 0 ? "Infinity" : "-Infinity");
	else
		text_add_python_float(t, (double)(float)v);
}

/*
 * Writes the file's content with one more norm. have: the present content, a JSON object, or
 * nothing.
 */
static void write_with(struct text *t, const char *have, uint64_t step, double norm)
{
	char name[32];
	struct text key = text_init(name, sizeof(name));
	struct json_span k, v;
	bool any = false, there = false;

	/* Keys include their quotes. */
	text_add_char(&key, '"');
	text_add_u64(&key, step);
	text_add_char(&key, '"');
	text_add_char(t, '{');
	while (json_member_next(&have, &k, &v)) {
		text_add_string(t, any ? ", " : "");
		text_add_bytes(t, k.at, k.n);
		text_add_string(t, ": ");
		any = true;
		if (there || k.n != key.len || memcmp(k.at, name, k.n) != 0 || v.n < 2 ||
			v.at[v.n - 1] != ']') {
			text_add_bytes(t, v.at, v.n);
			continue;
		}
		text_add_bytes(t, v.at, v.n - 1);
		text_add_string(t, v.n > 2 ? ", " : "");
		write_abnormal_norm(t, norm);
		text_add_char(t, ']');
		there = true;
	}
	if (!there) {
		text_add_string(t, any ? ", " : "");
		text_add_string(t, name);
		text_add_string(t, ": [");
		write_abnormal_norm(t, norm);
		text_add_char(t, ']');
	}
	text_add_char(t, '}');
}

/* Returns 0 or -errno. */
static int add_abnormal(const struct abnormal *a)
{
	char path[4300], *have = malloc(FILE_MOST), *want = malloc(FILE_MOST);
	struct text t, p = text_init(path, sizeof(path));
	ssize_t n;
	int err = -ENOMEM;

	text_add_string(&p, get_files_keys(a->files->cfg)->output_dir);
	text_add_string(&p, "/" NORM_FILE);
	if (have && want && !p.cut) {
		n = io_read_file(AT_FDCWD, path, have, FILE_MOST - 1);
		err = n < 0 && n != -ENOENT ? (int)n : 0;
		have[n > 0 ? n : 0] = 0;
		/*
		 * A file that libprobe did not write, or could not read completely, is not
		 * replaced.
		 */
		if (n == (ssize_t)FILE_MOST - 1)
			err = -EFBIG;
		else if (n > 0 && *have != '{')
			err = -EINVAL;
		for (unsigned i = 0; i < a->n && !err; i++) {
			char *other = have;

			t = text_init(want, FILE_MOST);
			write_with(&t, *have == '{' ? have : "{}", a->at[i].step, a->at[i].norm);
			err = t.cut ? -EFBIG : 0;
			have = want;
			want = other;
		}
		if (!err)
			err = io_replace_file(AT_FDCWD, path, have, strlen(have));
	}
	free(have);
	free(want);
	return err;
}

static void handle_abnormal_written(void *state, bool written)
{
	struct abnormal *a = state;
	int err;

	if (written && a->n && a->files->j->head->rank <= 0) {
		err = add_abnormal(a);
		if (err && !a->reported)
			log_loss(LOSS_SKIP, NORM_FILE ": %s; alerts.jsonl has the steps",
				io_error_text(err));
		a->reported |= err != 0;
	}
	a->n = a->before = 0;
}

const struct sink_format abnormal_norm_format = {
	.formats = ~SINK_FROM_FILES,
	.state_bytes = sizeof(struct abnormal),
	.open = open_abnormal,
	.idle = abnormal_is_idle,
	.scalar = record_abnormal,
	.retract = remove_abnormal,
	.commit = handle_abnormal_written,
};
