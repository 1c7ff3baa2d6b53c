/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `ckpt`. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "text/text.h"
#include "tools/lib/cli.h"
#include "tools/lib/files/json.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/ckpt/ckpt.h"

#define HEALTH_FILE "health_ckpts.json"

static const char help[] =
	"usage: probe ckpt [options] DIR [CHECKPOINTS...]\n"
	"\n"
	"Judges which checkpoints of a run are healthy, and writes DIR/health_ckpts.json. "
	"DIR is its output folder; CHECKPOINTS\n"
	"are folders, files or patterns: torch.save, safetensors, folders of "
	"torch.distributed.checkpoint, any other file.\n"
	"Without CHECKPOINTS: those that the job judged itself (key health_checkpoint).\n"
	"A checkpoint belongs to the last step that had ended when its first file was "
	"created. It is unhealthy if an alert\n"
	"(key alerts) fired after the previous checkpoint, or if on any rank the "
	"embedding's gradient of that step, before\n"
	"reduction, is too large or not finite. Record the run with kinds: "
	"[grad_unreduced] and scalars: [iteration-time];\n"
	"targets: [embed] restricts the gradients to the embedding's.\n"
	"\n"
	"  -l, --latest-healthy   prints only the path of the newest complete healthy "
	"checkpoint\n"
	"  -t, --threshold X      the smallest unhealthy value (1.0)\n"
	"      --norm WORD        the value compared: sum_squares (default), as MindSpore "
	"Transformers computes it, or l2\n"
	"  -e, --embedding REGEX  name of the embedding's parameter\n"
	"      --elements N       number of elements of the embedding: hidden size times "
	"vocabulary. Default of both\n"
	"                         options: the parameter is found by its usual names\n"
	"      --json             prints the list as JSON\n"
	"\n"
	"Exit status: 0 done; 1 one is unhealthy, or (--latest-healthy) none is healthy; 2 "
	"usage, or input that cannot be read.\n"
	"\n"
	"examples:\n"
	"  probe ckpt /scratch/run7 /scratch/ckpts\n"
	"  python train.py --load_checkpoint $(probe ckpt --latest-healthy /scratch/run7 "
	"'/scratch/ckpts/*.pt')\n";

enum { OPT_LATEST, OPT_THRESHOLD, OPT_NORM, OPT_EMBEDDING, OPT_ELEMENTS, OPT_JSON };

static const struct cli_option options[] = {
	[OPT_LATEST] = {"latest-healthy", 'l', false},
	[OPT_THRESHOLD] = {"threshold", 't', true},
	[OPT_NORM] = {"norm", 0, true},
	[OPT_EMBEDDING] = {"embedding", 'e', true},
	[OPT_ELEMENTS] = {"elements", 0, true},
	[OPT_JSON] = {"json", 0, false},
};

struct asked {
	struct ckpt_rule rule;
	const char *dir;
	const char **pattern;
	unsigned npattern, cap;
	bool latest, json;
};

/*
 * Writes the file in the format of MindSpore Transformers: 0 healthy, 1 not. Only checkpoints that
 * are complete and were judged are listed.
 */
static int write_health_file(const struct checkpoints *c, const char *dir)
{
	size_t cap = 16;
	unsigned n = 0;
	struct text t;
	char *buf;
	int fd, err;

	for (unsigned i = 0; i < c->n; i++)
		cap += 128 + 6 * strlen(c->at[i].name);
	buf = tool_alloc(cap);
	t = text_init(buf, cap);
	text_add_char(&t, '[');
	for (unsigned i = 0; i < c->n; i++) {
		const struct checkpoint *at = &c->at[i];

		if (at->state != CKPT_COMPLETE || !at->judged)
			continue;
		text_add_string(&t, n++ ? ",\n    {\n" : "\n    {\n");
		text_add_format(
			&t, "        \"is_health\": %d,\n        \"ckpt_name\": ", !at->healthy);
		text_add_json(&t, at->name);
		text_add_string(&t, "\n    }");
	}
	text_add_string(&t, n ? "\n]" : "]");
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = fd < 0 ? -errno : io_replace_file(fd, HEALTH_FILE, buf, t.len);
	if (fd >= 0)
		close(fd);
	free(buf);
	if (err)
		tool_warn("ckpt: %s/" HEALTH_FILE ": %s: the list is printed but not written", dir,
			io_error_text(err));
	return STATUS_DONE;
}

static const char *get_health_word(const struct checkpoint *c)
{
	if (c->state != CKPT_COMPLETE)
		return "incomplete";
	return !c->judged ? "not judged" : c->healthy ? "healthy" : "unhealthy";
}

static void print_checkpoints(const struct checkpoints *c)
{
	static const char *const head[] = {"checkpoint", "format", "step", "health", "rank", "why"};
	struct out_table t;

	out_start_table(&t, 6, head, "llrlrl");
	for (unsigned i = 0; i < c->n; i++) {
		const struct checkpoint *at = &c->at[i];
		char number[24] = "";

		out_add_cell(&t, at->name);
		out_add_cell(&t, at->format);
		if (at->step >= 0)
			snprintf(number, sizeof(number), "%lld", (long long)at->step);
		out_add_cell(&t, number);
		out_add_cell(&t, get_health_word(at));
		number[0] = 0;
		if (at->rank >= 0)
			snprintf(number, sizeof(number), "%d", at->rank);
		out_add_cell(&t, number);
		out_add_cell(&t, at->reason ? at->reason : "");
	}
	out_print_table(&t);
}

static void print_checkpoints_json(const struct checkpoints *c)
{
	json_begin();
	json_object(NULL);
	json_u64("schema", 1);
	json_list("checkpoints");
	for (unsigned i = 0; i < c->n; i++) {
		const struct checkpoint *at = &c->at[i];

		json_object(NULL);
		json_string("path", at->path);
		json_string("ckpt_name", at->name);
		json_string("format", at->format);
		json_bool("complete", at->state == CKPT_COMPLETE);
		if (at->step >= 0)
			json_i64("step", at->step);
		else
			json_null("step");
		if (at->judged)
			json_i64("is_health", !at->healthy);
		else
			json_null("is_health");
		json_double("embedding_local_norm", at->value);
		if (at->rank >= 0)
			json_i64("rank", at->rank);
		json_string("why", at->reason ? at->reason : "");
		json_end();
	}
	json_end();
	json_end();
}

static int print_latest_healthy(const struct checkpoints *c)
{
	for (unsigned i = c->n; i--;) {
		const struct checkpoint *at = &c->at[i];

		if (at->state == CKPT_COMPLETE && at->judged && at->healthy) {
			puts(at->path);
			return STATUS_DONE;
		}
	}
	tool_error("ckpt: none of %s is complete and healthy",
		out_format_plural(c->n, "checkpoint", "checkpoints"));
	return STATUS_PROBLEM;
}

static int check_asked_checkpoints(const struct asked *a)
{
	struct checkpoints c = {0};
	struct folders f;
	bool unhealthy = false;
	int status;

	if (folders_open(&f, a->dir))
		return STATUS_USAGE;
	for (unsigned i = 0; i < a->npattern; i++)
		if (!checkpoints_find(&c, a->pattern[i]))
			tool_warn("ckpt: %s: no checkpoint there", a->pattern[i]);
	if (!a->npattern)
		checkpoints_read_health(&c, f.folder);
	checkpoints_sort(&c);
	if (!c.n && !a->npattern)
		tool_error("ckpt: no checkpoints: none was given (probe ckpt DIR CHECKPOINTS...), "
			   "and the job judged none (key health_checkpoint)");
	status = c.n			    ? checkpoints_check(&c, &f, &a->rule)
		 : a->latest && a->npattern ? STATUS_DONE
		 : a->latest		    ? STATUS_PROBLEM
					    : STATUS_USAGE;
	if (!status)
		status = write_health_file(&c, f.folder);
	if (!status && a->latest) {
		status = print_latest_healthy(&c);
	} else if (!status) {
		for (unsigned i = 0; i < c.n; i++)
			unhealthy |= c.at[i].judged && !c.at[i].healthy;
		if (a->json)
			print_checkpoints_json(&c);
		else
			print_checkpoints(&c);
		status = unhealthy ? STATUS_PROBLEM : STATUS_DONE;
	}
	checkpoints_free(&c);
	folders_close(&f);
	return status;
}

static bool set_ckpt_number(double *number, const char *option, const char *text)
{
	char *end;

	*number = strtod(text, &end);
	if (end > text && !*end && *number >= 0 && isfinite(*number))
		return true;
	tool_error("ckpt: --%s %s: accepted: a number of 0 or more", option, text);
	return false;
}

static bool set_ckpt_norm(struct ckpt_rule *r, const char *word)
{
	r->l2 = strcmp(word, "l2") == 0;
	if (r->l2 || strcmp(word, "sum_squares") == 0)
		return true;
	tool_error("ckpt: --norm %s: accepted: sum_squares, l2", word);
	return false;
}

static bool set_ckpt_name(struct ckpt_rule *r, const char *pattern)
{
	char why[128];
	int err;

	if (r->named)
		regfree(&r->name);
	err = regcomp(&r->name, pattern, REG_EXTENDED | REG_NOSUB);
	r->named = !err;
	if (err) {
		regerror(err, &r->name, why, sizeof(why));
		tool_error("ckpt: --embedding %s: %s; accepted: an extended regular expression",
			pattern, why);
	}
	return r->named;
}

static bool set_ckpt_option(struct asked *a, int o, const char *value)
{
	double v;

	switch (o) {
	case OPT_LATEST:
		return a->latest = true;
	case OPT_JSON:
		return a->json = true;
	case OPT_THRESHOLD:
		return set_ckpt_number(&a->rule.threshold, "threshold", value);
	case OPT_NORM:
		return set_ckpt_norm(&a->rule, value);
	case OPT_EMBEDDING:
		return set_ckpt_name(&a->rule, value);
	case OPT_ELEMENTS:
		if (!set_ckpt_number(&v, "elements", value))
			return false;
		a->rule.elements = (uint64_t)v;
		return true;
	case CLI_OPERAND:
		if (!a->dir) {
			a->dir = value;
			return true;
		}
		TOOL_GROW(a->pattern, a->npattern, a->cap);
		a->pattern[a->npattern++] = value;
		return true;
	}
	return false;
}

int verb_ckpt(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	struct asked a = {.rule.threshold = 1};
	int o, status = STATUS_DONE;

	while (!status && (o = cli_read_argument(&c)) != CLI_END) {
		if (o == CLI_HELP) {
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		}
		if (!set_ckpt_option(&a, o, c.value))
			status = STATUS_USAGE;
	}
	if (!status && !a.dir) {
		tool_error("ckpt: no output folder given: probe ckpt DIR [CHECKPOINTS...]; --help "
			   "says more");
		status = STATUS_USAGE;
	}
	if (!status)
		status = check_asked_checkpoints(&a);
	if (a.rule.named)
		regfree(&a.rule.name);
	free(a.pattern);
	return tool_close_output(status);
}
