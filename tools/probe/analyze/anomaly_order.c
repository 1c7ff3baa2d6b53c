/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/analyze/anomaly_order.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "text/text.h"
#include "tools/lib/files/json.h"
#include "tools/lib/files/json_read.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"

#define ANALYSE_FILE "anomaly_analyse.json"
#define FILE_MOST ((size_t)256 << 20)

/*
 * Stage within a step, from the last word of the tag. NONE comes first, as in the tool that defines
 * this order.
 */
enum anomaly_stage { STAGE_NONE = -1, STAGE_FORWARD, STAGE_BACKWARD, STAGE_OPTIMIZER };

struct anomaly_read {
	char *key, *tag, *message;
	int64_t rank, step, micro_step, pp_stage, vpp_stage, call_id;
	unsigned nmates;
	int64_t *mate;
	enum anomaly_stage stage;
	unsigned place; /* position in the order of reading; the last sort key */
};

struct anomaly_set {
	struct anomaly_read *at;
	unsigned n, cap, files;
};

static enum anomaly_stage find_anomaly_stage(const char *tag)
{
	static const struct {
		const char *word;
		enum anomaly_stage stage;
	} words[] = {{"actv", STAGE_FORWARD}, {"actv_grad", STAGE_BACKWARD},
		{"pre_grad", STAGE_BACKWARD}, {"post_grad", STAGE_BACKWARD},
		{"acc_grad", STAGE_BACKWARD}, {"exp_avg", STAGE_OPTIMIZER},
		{"exp_avg_sq", STAGE_OPTIMIZER}};
	const char *last = strrchr(tag, '/');

	last = last ? last + 1 : tag;
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, last) == 0)
			return words[i].stage;
	return STAGE_NONE;
}

/* ---- reading ---- */

/* Returns the value of a number, or of a string that contains a number; 0 for any other node. */
static int64_t read_whole_number(const struct json_node *n)
{
	const char *s = json_get_scalar_text(n);

	return s ? strtoll(s, NULL, 10) : 0;
}

static void read_group_mates(const struct json_node *list, struct anomaly_read *a)
{
	if (list->kind != JSON_LIST)
		return;
	a->mate = tool_alloc(list->n * sizeof(*a->mate) + 1);
	for (const struct json_node *i = list->child; i; i = i->next)
		a->mate[a->nmates++] = read_whole_number(i);
}

/* Parses an anomaly. Returns false if the node has another form. */
static bool read_anomaly(const char *key, const struct json_node *n, struct anomaly_read *a)
{
	static const struct {
		const char *name;
		size_t at;
	} numbers[] = {{"rank", offsetof(struct anomaly_read, rank)},
		{"step", offsetof(struct anomaly_read, step)},
		{"micro_step", offsetof(struct anomaly_read, micro_step)},
		{"pp_stage", offsetof(struct anomaly_read, pp_stage)},
		{"vpp_stage", offsetof(struct anomaly_read, vpp_stage)},
		{"call_id", offsetof(struct anomaly_read, call_id)}};
	static const char *const texts[] = {"tag_name", "message"};
	char **to[] = {&a->tag, &a->message};
	const struct json_node *mates;

	*a = (struct anomaly_read){0};
	if (n->kind != JSON_OBJECT)
		return false;
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		*(int64_t *)((char *)a + numbers[i].at) =
			read_whole_number(json_get_member(n, numbers[i].name));
	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *text = json_get_scalar_text(json_get_member(n, texts[i]));

		*to[i] = tool_strdup(text ? text : "");
	}
	mates = json_get_member(n, "group_mates");
	if (mates)
		read_group_mates(mates, a);
	a->key = tool_strdup(key);
	a->stage = find_anomaly_stage(a->tag);
	return json_get_member(n, "step");
}

static void free_anomaly(struct anomaly_read *a)
{
	free(a->key);
	free(a->tag);
	free(a->message);
	free(a->mate);
}

static bool is_step_asked(const struct anomaly_query *q, int64_t step)
{
	for (unsigned i = 0; i < q->nspan; i++)
		if (step >= 0 && (uint64_t)step >= q->span[i].lo && (uint64_t)step <= q->span[i].hi)
			return true;
	return !q->nspan;
}

static int read_anomaly_file(const struct anomaly_query *q, struct anomaly_set *s, const char *path)
{
	struct json_tree tree = {0};
	const struct json_node *top;
	struct anomaly_read a;
	struct stat st;
	char *why;

	if (stat(path, &st)) {
		if (errno == ENOENT)
			return STATUS_DONE;
		tool_error("analyze: %s: %s", path, strerror(errno));
		return STATUS_USAGE;
	}
	if (!S_ISREG(st.st_mode) || (size_t)st.st_size > FILE_MOST) {
		tool_error("analyze: %s: not a regular file of at most 256 MiB", path);
		return STATUS_USAGE;
	}
	top = json_load_tree(&tree, path, 0, &why);
	if (!top) {
		tool_error("analyze: %s: not valid JSON: %s; it may be incomplete: try again", path,
			why);
		free(why);
		json_tree_free(&tree);
		return STATUS_USAGE;
	}
	s->files++;
	for (const struct json_node *key = top->kind == JSON_OBJECT ? top->child : NULL; key;
		key = key->next->next) {
		if (!read_anomaly(key->text, key->next, &a) || !is_step_asked(q, a.step)) {
			free_anomaly(&a);
			continue;
		}
		a.place = s->n;
		TOOL_GROW(s->at, s->n, s->cap);
		s->at[s->n++] = a;
	}
	json_tree_free(&tree);
	return STATUS_DONE;
}

static int compare_rank_numbers(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return (x > y) - (x < y);
}

/* Lists the numbers R of the folders rank<R> in dir, ascending. */
static unsigned find_rank_numbers(const char *dir, unsigned long **numbers)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned n = 0, cap = 0;
	char *end;

	*numbers = NULL;
	while (d && (e = readdir(d))) {
		unsigned long r;

		if (strncmp(e->d_name, "rank", 4) || e->d_name[4] < '0' || e->d_name[4] > '9')
			continue;
		r = strtoul(e->d_name + 4, &end, 10);
		if (*end)
			continue;
		TOOL_GROW(*numbers, n, cap);
		(*numbers)[n++] = r;
	}
	if (d)
		closedir(d);
	if (n)
		qsort(*numbers, n, sizeof(**numbers), compare_rank_numbers);
	return n;
}

static int read_all_anomalies(const struct anomaly_query *q, struct anomaly_set *s, const char *dir)
{
	unsigned long *rank;
	unsigned n = find_rank_numbers(dir, &rank);
	int status = STATUS_DONE;

	for (unsigned i = 0; i < n && !status; i++) {
		char *path = tool_format("%s/rank%lu/anomaly.json", dir, rank[i]);

		status = read_anomaly_file(q, s, path);
		free(path);
	}
	free(rank);
	return status;
}

/* ---- the order ---- */

static int compare_anomaly_numbers(int64_t number_a, int64_t number_b)
{
	return (number_a > number_b) - (number_a < number_b);
}

static int compare_anomalies(const void *x, const void *y)
{
	const struct anomaly_read *a = x, *b = y;
	int sign = a->stage == STAGE_FORWARD ? 1 : -1, c;

	if ((c = compare_anomaly_numbers(a->step, b->step)) ||
		(c = compare_anomaly_numbers(a->micro_step, b->micro_step)) ||
		(c = compare_anomaly_numbers(a->stage, b->stage)) ||
		(c = sign * compare_anomaly_numbers(a->vpp_stage, b->vpp_stage)) ||
		(c = sign * compare_anomaly_numbers(a->pp_stage, b->pp_stage)) ||
		(c = compare_anomaly_numbers(a->call_id, b->call_id)))
		return c;
	return (a->place > b->place) - (a->place < b->place);
}

/* ---- the file ---- */

static void write_analysed_number(struct text *t, const char *key, int64_t v)
{
	text_add_string(t, "  \"");
	text_add_string(t, key);
	text_add_string(t, "\": ");
	text_add_i64(t, v);
	text_add_string(t, ",\n");
}

static void write_analysed_anomaly(struct text *t, const struct anomaly_read *a)
{
	text_add_char(t, ' ');
	text_add_json(t, a->key);
	text_add_string(t, ": {\n");
	write_analysed_number(t, "rank", a->rank);
	write_analysed_number(t, "step", a->step);
	write_analysed_number(t, "micro_step", a->micro_step);
	write_analysed_number(t, "pp_stage", a->pp_stage);
	write_analysed_number(t, "vpp_stage", a->vpp_stage);
	write_analysed_number(t, "call_id", a->call_id);
	text_add_string(t, "  \"tag_name\": ");
	text_add_json(t, a->tag);
	text_add_string(t, ",\n  \"message\": ");
	text_add_json(t, a->message);
	text_add_string(t, ",\n  \"group_mates\": [");
	for (unsigned i = 0; i < a->nmates; i++) {
		text_add_string(t, i ? ",\n   " : "\n   ");
		text_add_i64(t, a->mate[i]);
	}
	text_add_string(t, a->nmates ? "\n  ]\n }" : "]\n }");
}

static int write_analysis(const struct anomaly_set *s, unsigned n, const char *dir)
{
	size_t cap = 16;
	struct text t;
	char *buf;
	int fd, err;

	for (unsigned i = 0; i < n; i++)
		cap += 512 +
		       6 * (strlen(s->at[i].key) + strlen(s->at[i].tag) +
				   strlen(s->at[i].message)) +
		       24 * (size_t)s->at[i].nmates;
	buf = tool_alloc(cap);
	t = text_init(buf, cap);
	text_add_string(&t, n ? "{\n" : "{");
	for (unsigned i = 0; i < n; i++) {
		write_analysed_anomaly(&t, &s->at[i]);
		text_add_string(&t, i + 1 < n ? ",\n" : "\n");
	}
	text_add_char(&t, '}');
	err = io_add_folders(dir);
	fd = err ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && !err)
		err = -errno;
	if (!err)
		err = io_replace_file(fd, ANALYSE_FILE, buf, t.len);
	if (fd >= 0)
		close(fd);
	free(buf);
	if (err) {
		tool_error("analyze: %s/%s: %s; -o names another folder", dir, ANALYSE_FILE,
			io_error_text(err));
		return STATUS_USAGE;
	}
	return STATUS_DONE;
}

/* ---- output ---- */

static void print_analysis(const struct anomaly_set *s, unsigned n, const char *file)
{
	printf("%s in %s; the first %u, possible causes before their effects "
	       "(%s):\n",
		out_format_plural(s->n, "anomaly", "anomalies"),
		out_format_plural(s->files, "file", "files"), n, file);
	for (unsigned i = 0; i < n; i++) {
		printf("  %2u  rank %lld, step %lld: ", i + 1, (long long)s->at[i].rank,
			(long long)s->at[i].step);
		out_print_clean(s->at[i].message);
		putchar('\n');
	}
}

static void print_analysis_json(const struct anomaly_set *s, unsigned n, const char *file)
{
	json_begin();
	json_object(NULL);
	json_u64("schema", 1);
	json_u64("anomalies", s->n);
	json_string("file", file);
	json_list("first");
	for (unsigned i = 0; i < n; i++) {
		const struct anomaly_read *a = &s->at[i];

		json_object(NULL);
		json_string("key", a->key);
		json_i64("rank", a->rank);
		json_i64("step", a->step);
		json_i64("micro_step", a->micro_step);
		json_i64("pp_stage", a->pp_stage);
		json_i64("vpp_stage", a->vpp_stage);
		json_i64("call_id", a->call_id);
		json_string("tag_name", a->tag);
		json_string("message", a->message);
		json_end();
	}
	json_end();
	json_end();
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int print_first_anomalies(const struct anomaly_query *q, const char *dir, bool json)
{
	char *below = tool_format("%s/anomaly_detected", dir), *file;
	const char *from = is_folder(below) ? below : dir, *to = q->output ? q->output : from;
	struct anomaly_set s = {0};
	int status = read_all_anomalies(q, &s, from);
	unsigned n;

	if (!status && !s.files) {
		tool_error("analyze: %s: no rank<R>/anomaly.json; record with `anomaly_json: true` "
			   "and rules in `alerts`",
			from);
		status = STATUS_USAGE;
	}
	if (!status) {
		if (s.n)
			qsort(s.at, s.n, sizeof(*s.at), compare_anomalies);
		n = s.n < q->top ? s.n : q->top;
		file = tool_format("%s/" ANALYSE_FILE, to);
		status = write_analysis(&s, n, to);
		if (!status && json)
			print_analysis_json(&s, n, file);
		else if (!status)
			print_analysis(&s, n, file);
		free(file);
		if (!status && s.n)
			status = STATUS_PROBLEM;
	}
	for (unsigned i = 0; i < s.n; i++)
		free_anomaly(&s.at[i]);
	free(s.at);
	free(below);
	return status;
}
