/* SPDX-License-Identifier: Apache-2.0 */
/* `probe compare --ckpt`: the parameters of two checkpoints, by name. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/lib/files/json.h"
#include "tools/lib/out.h"
#include "tools/lib/progress.h"
#include "tools/lib/target.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/arrays/checkpoints.h"
#include "tools/probe/compare/arrays/elements.h"

#define DEPTH_MAX 16
#define FILES_MAX 65536u
#define SHOWN 20

/* A tensor of a checkpoint, with its file. */
struct parameter {
	char *name;
	unsigned file, array;
};

struct checkpoint {
	const char *path;
	char **relative; /* path of each file, relative to the path of the checkpoint */
	struct array_file *file;
	unsigned n, cap, cap_file;
	struct parameter *param; /* sorted by name */
	unsigned nparam, cap_param;
	bool shared; /* several files have parameters with the same name */
};

struct similarity {
	const struct parameter *a, *b;
	double l2, cosine, relative; /* NaN: not computed. relative: l2 divided by the norm of b */
	const char *why; /* the reason why the two were not compared; NULL: they were compared */
	bool same;
};

static void add_checkpoint_file(struct checkpoint *c, const char *relative)
{
	if (c->n == FILES_MAX)
		return;
	TOOL_GROW(c->relative, c->n, c->cap);
	c->relative[c->n++] = tool_strdup(relative);
}

static void find_checkpoint_files(struct checkpoint *c, const char *folder, unsigned depth)
{
	char *path = tool_format("%s%s%s", c->path, *folder ? "/" : "", folder);
	DIR *d = depth < DEPTH_MAX ? opendir(path) : NULL;

	for (struct dirent *e; d && (e = readdir(d));) {
		char *relative, *whole;
		struct stat st;

		if (e->d_name[0] == '.')
			continue;
		relative = tool_format("%s%s%s", folder, *folder ? "/" : "", e->d_name);
		whole = tool_format("%s/%s", c->path, relative);
		if (stat(whole, &st) == 0 && S_ISDIR(st.st_mode))
			find_checkpoint_files(c, relative, depth + 1);
		else if (is_array_name(e->d_name))
			add_checkpoint_file(c, relative);
		free(whole);
		free(relative);
	}
	if (d)
		closedir(d);
	free(path);
}

static int compare_relative_paths(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static int compare_param_names(const void *x, const void *y)
{
	const struct parameter *a = x, *b = y;
	int order = strcmp(a->name, b->name);

	return order ? order : a->file < b->file ? -1 : a->file > b->file;
}

/*
 * Lists the tensors of file i. If there are too many files to keep them open, each is opened again
 * when it is read.
 */
static int read_checkpoint_names(struct checkpoint *c, unsigned i)
{
	char *whole = *c->relative[i] ? tool_format("%s/%s", c->path, c->relative[i])
				      : tool_strdup(c->path);
	int err = open_array_file(&c->file[i], whole);

	free(whole);
	if (err) {
		tool_error("compare: %s", c->file[i].why);
		return STATUS_USAGE;
	}
	for (unsigned k = 0; k < c->file[i].n; k++) {
		TOOL_GROW(c->param, c->nparam, c->cap_param);
		c->param[c->nparam++] =
			(struct parameter){tool_strdup(c->file[i].array[k].name), i, k};
	}
	close(c->file[i].fd);
	c->file[i].fd = -1;
	return 0;
}

static int open_checkpoint(struct checkpoint *c, const char *path)
{
	struct stat st;

	*c = (struct checkpoint){.path = path};
	if (stat(path, &st) < 0) {
		tool_error("compare: %s: %s", path, strerror(errno));
		return STATUS_USAGE;
	}
	if (S_ISDIR(st.st_mode))
		find_checkpoint_files(c, "", 0);
	else
		add_checkpoint_file(c, "");
	if (!c->n) {
		tool_error(
			"compare: %s: has no tensor file: .safetensors, .pt, .pth, .bin, .ckpt or "
			".npy",
			path);
		return STATUS_USAGE;
	}
	qsort(c->relative, c->n, sizeof(*c->relative), compare_relative_paths);
	c->file = tool_alloc(c->n * sizeof(*c->file));
	for (unsigned i = 0; i < c->n; i++)
		c->file[i].fd = -1;
	for (unsigned i = 0; i < c->n; i++)
		if (read_checkpoint_names(c, i))
			return STATUS_USAGE;
	if (c->nparam)
		qsort(c->param, c->nparam, sizeof(*c->param), compare_param_names);
	for (unsigned i = 0; i + 1 < c->nparam; i++)
		c->shared |= strcmp(c->param[i].name, c->param[i + 1].name) == 0;
	return 0;
}

/*
 * Puts the file's name before each parameter's name, if files share names, or a file has a single
 * tensor without a name.
 */
static void add_file_prefixes(struct checkpoint *c)
{
	for (unsigned i = 0; i < c->nparam; i++) {
		struct parameter *p = &c->param[i];
		char *old_name = p->name;

		p->name = tool_format("%s%s%s", c->relative[p->file],
			*c->relative[p->file] && *old_name ? ":" : "", old_name);
		free(old_name);
	}
	if (c->nparam)
		qsort(c->param, c->nparam, sizeof(*c->param), compare_param_names);
}

static void close_checkpoint(struct checkpoint *c)
{
	for (unsigned i = 0; i < c->nparam; i++)
		free(c->param[i].name);
	for (unsigned i = 0; i < c->n; i++) {
		if (c->file)
			close_array_file(&c->file[i]);
		free(c->relative[i]);
	}
	free(c->param);
	free(c->file);
	free(c->relative);
}

static bool open_array_file_again(struct array_file *f)
{
	struct array_file again;

	if (f->fd >= 0)
		return true;
	if (open_array_file(&again, f->path) || again.n != f->n) {
		close_array_file(&again);
		return false;
	}
	close_array_file(f);
	*f = again;
	return true;
}

/*
 * Divides by the root of the product of both squared norms, unless the product overflows. Two separate
 * roots would each be rounded; so equal tensors give exactly 1.
 */
static double compute_parameter_cosine(const struct element_sums *s)
{
	double product = s->squares_a * s->squares_b;

	return isfinite(product) && product > 1e-280
		       ? s->dot / sqrt(product)
		       : s->dot / (sqrt(s->squares_a) * sqrt(s->squares_b));
}

static void compute_similarity(struct similarity *s, struct checkpoint *a, struct checkpoint *b)
{
	struct array_file *fa = &a->file[s->a->file], *fb = &b->file[s->b->file];
	struct element_sums sums;
	const struct array *x, *y;
	double na, nb;

	s->l2 = s->cosine = s->relative = NAN;
	if (!open_array_file_again(fa) || !open_array_file_again(fb)) {
		s->why = "its file changed during the comparison";
		return;
	}
	x = &fa->array[s->a->array];
	y = &fb->array[s->b->array];
	if (x->ndim != y->ndim || memcmp(x->shape, y->shape, x->ndim * sizeof(*x->shape)) != 0) {
		s->why = "other shapes";
	} else {
		s->why = compute_element_sums(&sums, fa, x, fb, y);
		if (!s->why) {
			na = sqrt(sums.squares_a);
			nb = sqrt(sums.squares_b);
			s->l2 = sums.odd_places ? NAN : sqrt(sums.squares_diff);
			s->relative = nb > 0 ? s->l2 / nb : s->l2 > 0 ? INFINITY : 0;
			s->same = sums.same_bytes || (!sums.odd_places && sums.max_abs == 0);
			s->cosine = sums.odd_places	 ? NAN
				    : na == 0 && nb == 0 ? 1
				    : na == 0 || nb == 0 ? NAN
							 : compute_parameter_cosine(&sums);
			if (sums.odd_places)
				s->why = "NaN or Inf at different positions";
		}
	}
	/* Only one pair of files is open at a time. */
	close(fa->fd);
	fa->fd = -1;
	if (fb->fd >= 0)
		close(fb->fd);
	fb->fd = -1;
}

/* ---- output ---- */

static void write_shape_json(struct target *t, const struct array *a)
{
	char text[ARRAY_SHAPE_MAX];

	target_write_text(t, format_array_shape(text, a));
}

static void write_metric_json(struct target *t, const char *key, double v)
{
	char text[PYTHON_DOUBLE_MAX];

	target_print(
		t, "  \"%s\": %s,\n", key, isfinite(v) ? format_python_double(text, v) : "null");
}

/* Writes the format of msprobe's ckpt_similarity.json. */
static void write_similarity_json(struct target *t, const struct similarity *s, unsigned n,
	const struct checkpoint *a, const struct checkpoint *b)
{
	bool some = false;

	target_write_text(t, "{");
	for (unsigned i = 0; i < n; i++) {
		const struct array *x, *y;
		bool same_shape = true;

		if (!s[i].a || !s[i].b)
			continue;
		x = &a->file[s[i].a->file].array[s[i].a->array];
		y = &b->file[s[i].b->file].array[s[i].b->array];
		same_shape = x->ndim == y->ndim &&
			     memcmp(x->shape, y->shape, x->ndim * sizeof(*x->shape)) == 0;
		target_write_text(t, some ? ",\n " : "\n ");
		some = true;
		target_write_json(t, s[i].a->name);
		target_write_text(t, ": {\n");
		write_metric_json(t, "l2", s[i].l2);
		write_metric_json(t, "cos", s[i].cosine);
		if (x->count == y->count)
			target_print(t, "  \"numel\": %llu,\n", (unsigned long long)x->count);
		else
			target_print(t, "  \"numel\": [%llu, %llu],\n",
				(unsigned long long)x->count, (unsigned long long)y->count);
		target_write_text(t, same_shape ? "  \"shape\": " : "  \"shape\": [");
		write_shape_json(t, x);
		if (!same_shape) {
			target_write_text(t, ", ");
			write_shape_json(t, y);
			target_write_text(t, "]");
		}
		target_write_text(t, "\n }");
	}
	target_write_text(t, some ? "\n}\n" : "}\n");
}

static int write_similarities(const char *folder, const struct similarity *s, unsigned n,
	const struct checkpoint *a, const struct checkpoint *b)
{
	char *path = tool_format("%s/ckpt_similarity.json", folder);
	struct target t;
	int status;

	for (unsigned k = 1; access(path, F_OK) == 0; k++) {
		free(path);
		path = tool_format("%s/ckpt_similarity_%u.json", folder, k);
	}
	status = target_open(&t, path);
	if (!status) {
		write_similarity_json(&t, s, n, a, b);
		status = target_close(&t, true);
	}
	if (!status)
		printf("\ntable: %s\n", path);
	free(path);
	return status;
}

static int compare_similarities(const void *x, const void *y)
{
	const struct similarity *a = *(const struct similarity *const *)x,
				*b = *(const struct similarity *const *)y;
	double p = isnan(a->relative) ? INFINITY : a->relative,
	       q = isnan(b->relative) ? INFINITY : b->relative;

	return p > q ? -1 : p < q ? 1 : a < b ? -1 : 1;
}

static void print_worst(const struct similarity *s, unsigned n)
{
	static const char *const head[] = {"parameter", "l2", "of the norm of B", "cos", ""};
	const struct similarity **worst = tool_alloc((n + 1) * sizeof(*worst));
	struct out_table t;
	unsigned k = 0;
	char text[32];

	for (unsigned i = 0; i < n; i++)
		if (s[i].a && s[i].b && !s[i].same)
			worst[k++] = &s[i];
	if (k)
		qsort(worst, k, sizeof(*worst), compare_similarities);
	out_start_table(&t, 5, head, "lrrrl");
	for (unsigned i = 0; i < k && i < SHOWN; i++) {
		const struct similarity *w = worst[i];

		out_add_cell(&t, w->a->name);
		snprintf(text, sizeof(text), "%.4g", w->l2);
		out_add_cell(&t, isnan(w->l2) ? "" : text);
		out_add_cell(&t, isnan(w->relative) ? "" : out_format_percent(w->relative));
		snprintf(text, sizeof(text), "%.6f", w->cosine);
		out_add_cell(&t, isnan(w->cosine) ? "" : text);
		out_add_cell(&t, w->why ? w->why : "");
	}
	if (k) {
		out_print_heading("Parameters that differ, largest difference first");
		out_print_table(&t);
	}
	if (k > SHOWN)
		printf("  ... and %u more\n", k - SHOWN);
	free(worst);
}

static void print_lone_params(const struct similarity *s, unsigned n, bool of_a)
{
	unsigned k = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct parameter *p = of_a ? s[i].a : s[i].b;

		if (!p || (of_a ? s[i].b : s[i].a))
			continue;
		if (!k++)
			printf("\nonly in %s:\n", of_a ? "A" : "B");
		if (k <= SHOWN) {
			printf("  ");
			out_print_clean(p->name);
			printf("\n");
		}
	}
	if (k > SHOWN)
		printf("  ... and %u more\n", k - SHOWN);
}

/* ---- the comparison ---- */

static struct similarity *match_parameters(
	const struct checkpoint *a, const struct checkpoint *b, unsigned *n)
{
	struct similarity *s = tool_alloc((a->nparam + b->nparam + 1) * sizeof(*s));
	unsigned i = 0, k = 0;

	for (*n = 0; i < a->nparam || k < b->nparam; (*n)++) {
		int order = i == a->nparam   ? 1
			    : k == b->nparam ? -1
					     : strcmp(a->param[i].name, b->param[k].name);

		s[*n] = (struct similarity){.l2 = NAN, .cosine = NAN, .relative = NAN};
		if (order <= 0)
			s[*n].a = &a->param[i++];
		if (order >= 0)
			s[*n].b = &b->param[k++];
	}
	return s;
}

static uint64_t get_parameter_bytes(const struct checkpoint *c, const struct parameter *p)
{
	const struct array *a = &c->file[p->file].array[p->array];

	return a->count * get_dtype_info(a->dtype)->size;
}

static bool compare_parameters(
	struct similarity *s, unsigned n, struct checkpoint *a, struct checkpoint *b, bool show)
{
	struct progress bar;
	uint64_t total = 0, done = 0;
	bool same = true;

	for (unsigned i = 0; i < n; i++)
		total += s[i].a && s[i].b ? get_parameter_bytes(a, s[i].a) : 0;
	progress_start(&bar, show, total);
	for (unsigned i = 0; i < n; i++) {
		if (s[i].a && s[i].b) {
			done += get_parameter_bytes(a, s[i].a);
			compute_similarity(&s[i], a, b);
		}
		same &= s[i].same;
		if (progress_is_due(&bar))
			progress_print(&bar, done);
	}
	progress_stop(&bar);
	return same;
}

int compare_checkpoints(const char *path_a, const char *path_b, const char *output, bool json)
{
	struct checkpoint a = {0}, b = {0};
	struct similarity *s = NULL;
	unsigned n = 0, paired = 0, equal = 0;
	int status = STATUS_USAGE;
	bool same;

	if (open_checkpoint(&a, path_a) || open_checkpoint(&b, path_b))
		goto output;
	if (a.shared || b.shared) {
		add_file_prefixes(&a);
		add_file_prefixes(&b);
	}
	s = match_parameters(&a, &b, &n);
	same = compare_parameters(s, n, &a, &b, !json);
	for (unsigned i = 0; i < n; i++) {
		paired += s[i].a && s[i].b;
		equal += s[i].same;
	}
	status = same ? STATUS_DONE : STATUS_PROBLEM;
	if (!paired) {
		tool_error("compare: %s and %s: nothing was compared: A has %s, B has %s, and they "
			   "have no name in common",
			path_a, path_b, out_format_plural(a.nparam, "parameter", "parameters"),
			out_format_plural(b.nparam, "parameter", "parameters"));
		status = STATUS_USAGE;
	}
	if (json) {
		struct target t;

		if (target_open(&t, "-") == 0) {
			write_similarity_json(&t, s, n, &a, &b);
			if (target_close(&t, true))
				status = STATUS_USAGE;
		}
		goto output;
	}
	printf("A  %s\nB  %s\n\n%u parameters in A, %u in B, %u paired, %u of them equal\n", path_a,
		path_b, a.nparam, b.nparam, paired, equal);
	print_worst(s, n);
	print_lone_params(s, n, true);
	print_lone_params(s, n, false);
	if (output && write_similarities(output, s, n, &a, &b))
		status = STATUS_USAGE;
output:
	free(s);
	close_checkpoint(&a);
	close_checkpoint(&b);
	return status;
}
