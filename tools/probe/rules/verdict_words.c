/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"

static const char *const group_words[] = {
#define CHECK_GROUP(id, word) word,
#include "tools/probe/rules/verdict.def"
};

struct listed {
	const struct run_verdict *verdict;
	const struct check *sample; /* one of the checks, for state and reason */
	bool done[CHECKED_KINDS];
};

static bool has_same_reason(const struct listed *l, unsigned i)
{
	const struct check *c = &l->verdict->check[i];

	return c->state == l->sample->state &&
	       (c->state == CHECKED || strcmp(c->reason, l->sample->reason) == 0);
}

static void append_word(char **all, const char *word)
{
	char *before = *all;

	*all = tool_format("%s%s%s", before, *before ? ", " : "", word);
	free(before);
}

/*
 * Formats the kinds with the same state and reason as the sample; "" for all kinds. One word
 * replaces a group if all its kinds are listed and the reason is that of the group.
 */
static char *format_alike(struct listed *l)
{
	unsigned n[CHECK_GROUPS] = {0}, of[CHECK_GROUPS] = {0}, whole = 0;
	char *all = tool_strdup("");

	for (unsigned i = 0; i < CHECKED_KINDS; i++) {
		enum check_group group = l->verdict->check[i].group;

		of[group] += l->verdict->check[i].state != NOT_OF_THIS_RUN;
		n[group] += has_same_reason(l, i);
	}
	for (unsigned k = 0; k < CHECK_GROUPS; k++)
		whole += n[k] == of[k];
	for (unsigned i = 0; i < CHECKED_KINDS; i++) {
		enum check_group group = l->verdict->check[i].group;

		if (!has_same_reason(l, i))
			continue;
		l->done[i] = true;
		if (l->sample->state == CHECKED || n[group] < of[group])
			append_word(&all, l->verdict->check[i].kind);
		else if (whole < CHECK_GROUPS && n[group])
			append_word(&all, group_words[group]);
		if (l->sample->state != CHECKED && n[group] == of[group])
			n[group] = of[group] = 0;
	}
	return all;
}

/*
 * Appends the line of a state: "not checked: values (statistics were off); times (there is one
 * rank)". Appends nothing if no kind has this state.
 */
static void append_state(char **text, const struct run_verdict *v, enum check_state state)
{
	static const char *const word[] = {"checked", "partly checked", "not checked"};
	struct listed l = {.verdict = v};
	char *before, *list;
	bool any = false;

	for (unsigned i = 0; i < CHECKED_KINDS; i++) {
		if (v->check[i].state != state || l.done[i])
			continue;
		l.sample = &v->check[i];
		list = format_alike(&l);
		before = *text;
		*text = tool_format("%s%s%s%s%s%s%s", before, any ? "; " : word[state],
			any ? "" : ": ", list, state == CHECKED || !*list ? "" : " (",
			state == CHECKED ? "" : l.sample->reason,
			state == CHECKED || !*list ? "" : ")");
		free(before);
		free(list);
		any = true;
	}
	if (any) {
		before = *text;
		*text = tool_format("%s\n", before);
		free(before);
	}
}

char *format_verdict_detail(const struct run_verdict *v)
{
	char *all = tool_strdup(""), *before, *alerts;

	/* The list of checks matters only if nothing was found. */
	if (!v->faults)
		append_state(&all, v, CHECKED);
	append_state(&all, v, CHECKED_PARTLY);
	append_state(&all, v, NOT_CHECKED);
	alerts = format_alert_rules(&v->alerts);
	if (*alerts) {
		before = all;
		all = tool_format("%salerts: %s\n", before, alerts);
		free(before);
	}
	free(alerts);
	return all;
}

char *format_verdict(const struct run_verdict *v)
{
	static const char *const rest[] = {"checked", "partly", "not checked"},
				 *const whole[] = {"checked", "partly checked", "not checked"};
	char *text, *before;
	unsigned n[NOT_OF_THIS_RUN + 1] = {0};
	bool any = false;

	for (unsigned i = 0; i < CHECKED_KINDS; i++)
		n[v->check[i].state]++;
	if (v->faults)
		text = tool_format("%s found", out_format_plural(v->faults, "fault", "faults"));
	else
		text = tool_strdup(
			v->incomplete ? "Nothing found in what was recorded" : "No fault found");
	if (v->warnings) {
		before = text;
		text = tool_format(
			"%s, %s", before, out_format_plural(v->warnings, "warning", "warnings"));
		free(before);
	}
	for (unsigned s = v->faults ? CHECKED_PARTLY : CHECKED; s <= NOT_CHECKED; s++) {
		if (!n[s])
			continue;
		before = text;
		text = any ? tool_format("%s, %u %s", before, n[s], rest[s])
			   : tool_format("%s (%s %s", before,
				     out_format_plural(n[s], "kind", "kinds"), whole[s]);
		free(before);
		any = true;
	}
	if (any) {
		before = text;
		text = tool_format("%s)", before);
		free(before);
	}
	return text;
}
