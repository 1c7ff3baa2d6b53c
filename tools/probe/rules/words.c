/* SPDX-License-Identifier: Apache-2.0 */
/* Used by all parts of the report: findings, and strings for ranks, calls and stacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/report.h"

static const struct {
	enum severity severity;
	const char *word;
	enum finding_basis basis;
	const char *evidence;
} finding_kinds[] = {
#define FINDING_KIND(id, severity, word, help, basis, evidence) \
	{FIND_##severity, word, BASIS_##basis, evidence},
#include "tools/probe/rules/findings.def"
};

struct finding *add_finding(struct report *r, enum finding_kind kind, char *text)
{
	TOOL_GROW(r->finding, r->nfinding, r->cap_finding);

	struct finding *f = &r->finding[r->nfinding++];

	*f = (struct finding){.severity = finding_kinds[kind].severity,
		.kind = finding_kinds[kind].word,
		.basis = finding_kinds[kind].basis,
		.usual_evidence = finding_kinds[kind].evidence,
		.text = text};
	return f;
}

void set_finding_kind(struct finding *f, enum finding_kind kind)
{
	f->severity = finding_kinds[kind].severity;
	f->kind = finding_kinds[kind].word;
	f->basis = finding_kinds[kind].basis;
	f->usual_evidence = finding_kinds[kind].evidence;
}

void free_finding(struct finding *f)
{
	free(f->text);
	free(f->rank);
	free(f->other);
	free(f->evidence);
	free(f->next);
	for (unsigned i = 0; i < f->nconsequence; i++)
		free_finding(&f->consequence[i]);
	free(f->consequence);
}

/*
 * Adds the world rank of folder `index` to the list, if it is not in it. *mixed: the list is not in ascending
 * order, so all of it is searched for duplicates.
 */
static void add_world_rank(
	const struct report *r, int **list, unsigned *n, bool *mixed, uint32_t index)
{
	int rank = r->g.folders.dir[index].rank;

	if (rank < 0)
		return;
	for (unsigned i = *n; i-- > 0 && (*mixed || (*list)[i] >= rank);)
		if ((*list)[i] == rank)
			return;
	*mixed |= *n && (*list)[*n - 1] > rank;
	/* The capacity doubles. */
	if (!(*n & (*n - 1)))
		*list = tool_realloc(*list, (*n ? 2 * *n : 1) * sizeof(**list));
	(*list)[(*n)++] = rank;
}

void name_culprit(const struct report *r, struct finding *f, uint32_t index)
{
	add_world_rank(r, &f->rank, &f->nrank, &f->mixed[0], index);
}

void name_concerned(const struct report *r, struct finding *f, uint32_t index)
{
	add_world_rank(r, &f->other, &f->nother, &f->mixed[1], index);
}

/* Sets what the rule has not set itself: the evidence, and the next command. */
void complete_finding(const struct report *r, struct finding *f)
{
	const char *path = r->g.folders.path;
	char *who = NULL, *when = NULL;

	if (!f->evidence && f->usual_evidence)
		f->evidence = tool_strdup(f->usual_evidence);
	if (f->next || (f->severity == FIND_NOTE && !f->nrank && !f->has_call))
		return;
	if (f->nrank == 1)
		who = tool_format(" --rank %d", f->rank[0]);
	if (f->has_call)
		when = tool_format(" --step %llu-%llu",
			(unsigned long long)(f->call.step ? f->call.step - 1 : 0),
			(unsigned long long)f->call.step);
	f->next =
		tool_format("probe report --stacks%s%s %s", who ? who : "", when ? when : "", path);
	free(who);
	free(when);
}

void name_call(struct finding *f, const struct call *c)
{
	f->call = *c;
	f->has_call = true;
	f->event = c->start;
}

void name_step(struct finding *f, uint64_t step)
{
	struct call c = {.step = step,
		.comm_seq = NO_NUMBER,
		.comm_rank = NO_NUMBER,
		.size = NO_NUMBER,
		.root = NO_NUMBER,
		.peer = NO_NUMBER,
		.tag = NO_NUMBER};

	name_call(f, &c);
}

char *called_from_text(struct report *r, const struct call *c)
{
	char *brief = stack_brief(&r->stacks, stacks_get(&r->stacks, c->rank, c->stack), 3);
	char *all = *brief ? tool_format(", called from %s", brief) : tool_strdup("");

	free(brief);
	return all;
}

const char *severity_word(enum severity s)
{
	static const char *const words[] = {
#define FINDING_SEVERITY(id, word, help) word,
#include "tools/probe/rules/findings.def"
	};

	return words[s];
}

const char *report_rank(const struct report *r, uint32_t index)
{
	return r->g.folders.dir[index].label;
}

char *report_call(const struct report *r, const struct call *c)
{
	char label[COMM_LABEL_MAX];
	const char *op = intern_get_name(c->op), *api = intern_get_name(c->api);
	char number[32] = "", who[64] = "";
	int64_t peer = comm_get_number_in_group(comms_find(&r->g.comms, c->comm), c->peer);

	if (!*op)
		return tool_strdup(api);
	/* A constructor has the number of the collective that comes next. */
	if (c->comm_seq != NO_NUMBER && strncmp(op, "comm_", 5) != 0)
		snprintf(number, sizeof(number), " #%lld", (long long)c->comm_seq);
	if (c->peer != NO_NUMBER && (strcmp(op, "recv") == 0 || strcmp(op, "probe") == 0))
		snprintf(who, sizeof(who), " from %lld", (long long)peer);
	else if (c->peer != NO_NUMBER)
		snprintf(who, sizeof(who), " to %lld", (long long)peer);
	if (c->tag != NO_NUMBER)
		snprintf(who + strlen(who), sizeof(who) - strlen(who), " tag %lld",
			(long long)c->tag);
	if (!c->comm)
		return tool_format("%s%s (%s)", op, who, api);
	return tool_format("%s%s%s on %s (%s)", op, number, who,
		comm_format_label(&r->g.comms, c->comm, label), api);
}

char *report_kind(const struct report *r, const struct stuck *s)
{
	struct call c = s->sample->call;

	if (s->n > 1 && !s->joined)
		c.peer = c.tag = c.comm_seq = NO_NUMBER;
	return report_call(r, &c);
}

/* ---- stacks ---- */

/* Prints one frame per line. A native frame is followed by its source line. */
static void print_frames(struct report *r, const struct stack_text *t, bool python, unsigned indent)
{
	const char *text = python ? t->python : t->native, *f;
	char line[512] = "";
	size_t n;

	for (unsigned i = 0; (f = stack_frame(text, i, &n)); i++) {
		char *one = python ? tool_strndup(f, n) : stack_plain(f, n);

		printf("%*s%s%-8s%s", (int)indent, "", out_get_style(STYLE_FAINT),
			i	 ? ""
			: python ? "python"
				 : "native",
			out_get_plain());
		out_print_clean(one);
		if (!python)
			where_find(&r->stacks.where, (uint32_t)t->key.a, f, n, line, sizeof(line));
		printf("%s%s\n", *line ? "  " : "", line);
		free(one);
	}
}

void report_stack(struct report *r, uint32_t rank, uint32_t id, unsigned indent)
{
	const struct stack_text *t = stacks_get(&r->stacks, rank, id);
	char *brief;

	if (r->with_stacks) {
		print_frames(r, t, true, indent);
		print_frames(r, t, false, indent);
		return;
	}
	brief = stack_brief(&r->stacks, t, 4);
	if (*brief) {
		printf("%*s", (int)indent, "");
		out_print_wrapped(brief, indent, indent);
	}
	free(brief);
}

char *format_finding(const struct finding *f)
{
	char *text = tool_strdup(f->text);

	for (unsigned i = 0; i < f->nconsequence; i++) {
		const struct finding *k = &f->consequence[i];

		tool_add_text(&text, "\nconsequence: %s %.*s", k->kind, (int)strcspn(k->text, "\n"),
			k->text);
	}
	return text;
}
