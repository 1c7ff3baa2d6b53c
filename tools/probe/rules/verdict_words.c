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

static const char *const state_words[] = {
	[CHECKED] = "checked", [CHECKED_PARTLY] = "partly checked", [NOT_CHECKED] = "not checked"};

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
			tool_add_item(&all, ", ", "%s", l->verdict->check[i].kind);
		else if (whole < CHECK_GROUPS && n[group])
			tool_add_item(&all, ", ", "%s", group_words[group]);
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
	struct listed l = {.verdict = v};
	char *list;
	bool any = false;

	for (unsigned i = 0; i < CHECKED_KINDS; i++) {
		if (v->check[i].state != state || l.done[i])
			continue;
		l.sample = &v->check[i];
		list = format_alike(&l);
		tool_add_text(
			text, "%s%s%s", any ? "; " : state_words[state], any ? "" : ": ", list);
		if (state != CHECKED && *list)
			tool_add_text(text, " (%s)", l.sample->reason);
		else if (state != CHECKED)
			tool_add_text(text, "%s", l.sample->reason);
		free(list);
		any = true;
	}
	if (any)
		tool_add_text(text, "\n");
}

char *format_verdict_detail(const struct run_verdict *v)
{
	char *all = tool_strdup(""), *alerts;

	/* The list of checks matters only if nothing was found. */
	if (!v->faults)
		append_state(&all, v, CHECKED);
	append_state(&all, v, CHECKED_PARTLY);
	append_state(&all, v, NOT_CHECKED);
	alerts = format_alert_rules(&v->alerts);
	if (*alerts)
		tool_add_text(&all, "alerts: %s\n", alerts);
	free(alerts);
	return all;
}

char *format_verdict(const struct run_verdict *v)
{
	char *text;
	unsigned n[NOT_OF_THIS_RUN + 1] = {0};
	bool any = false;

	for (unsigned i = 0; i < CHECKED_KINDS; i++)
		n[v->check[i].state]++;
	if (v->faults)
		text = tool_format("%s found", out_format_plural(v->faults, "fault", "faults"));
	else
		text = tool_strdup(
			v->incomplete ? "Nothing found in what was recorded" : "No fault found");
	if (v->warnings)
		tool_add_text(&text, ", %s", out_format_plural(v->warnings, "warning", "warnings"));
	for (unsigned s = v->faults ? CHECKED_PARTLY : CHECKED; s <= NOT_CHECKED; s++) {
		if (!n[s])
			continue;
		if (any)
			tool_add_text(&text, ", %u %s", n[s],
				s == CHECKED_PARTLY ? "partly" : state_words[s]);
		else
			tool_add_text(&text, " (%s %s", out_format_plural(n[s], "kind", "kinds"),
				state_words[s]);
		any = true;
	}
	if (any)
		tool_add_text(&text, ")");
	return text;
}
