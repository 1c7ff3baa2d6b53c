/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/alert_rules.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/alert_lines.h"
#include "tools/probe/model/read/folders.h"

static struct ran_rule *find_ran_rule(struct alert_rules *a, const char *word, size_t len)
{
	for (unsigned i = 0; i < a->n; i++)
		if (strlen(a->rule[i].word) == len && memcmp(a->rule[i].word, word, len) == 0)
			return &a->rule[i];
	TOOL_GROW(a->rule, a->n, a->cap);
	a->rule[a->n] = (struct ran_rule){.word = tool_strndup(word, len)};
	return &a->rule[a->n++];
}

/* words: "AnomalyNan,inf"; checked: "true,false", or "" if it is not known. */
static void add_configured_rules(struct alert_rules *a, const char *words, const char *checked)
{
	while (*words) {
		size_t len = strcspn(words, ",");
		struct ran_rule *r = find_ran_rule(a, words, len);

		if (*checked == 't')
			r->checked = ALERT_CHECKED_VALUES;
		else if (*checked == 'f' && !r->checked)
			r->checked = ALERT_CHECKED_NOTHING;
		words += len + (words[len] == ',');
		checked += strcspn(checked, ",");
		checked += *checked == ',';
	}
}

struct taking {
	struct alert_rules *rules;
	int rank;
};

static void add_fired_rule(void *arg, const struct alert_line *line)
{
	const struct taking *t = arg;
	struct ran_rule *r = find_ran_rule(t->rules, line->rule, strlen(line->rule));

	if (!r->alerts || line->first_step < r->first_step)
		r->first_step = line->first_step;
	r->alerts++;
	r->count += line->count;
	r->checked = ALERT_CHECKED_VALUES;
	if (r->nrank && r->rank[r->nrank - 1] == t->rank)
		return;
	TOOL_GROW(r->rank, r->nrank, r->cap);
	r->rank[r->nrank++] = t->rank;
}

void read_alert_rules(struct alert_rules *a, const struct folders *f)
{
	for (unsigned i = 0; i < f->n; i++)
		add_configured_rules(a, f->dir[i].meta.cfg_alerts, f->dir[i].meta.alerts_checked);
	for (unsigned i = 0; i < f->n; i++)
		a->damaged += read_alert_lines(
			f->dir[i].path, add_fired_rule, &(struct taking){a, f->dir[i].rank});
}

void free_alert_rules(struct alert_rules *a)
{
	for (unsigned i = 0; i < a->n; i++) {
		free(a->rule[i].word);
		free(a->rule[i].rank);
	}
	free(a->rule);
	*a = (struct alert_rules){0};
}

static char *format_fired(const struct ran_rule *r)
{
	char *ranks = out_format_ranks(r->rank, r->nrank), *text;

	text = tool_format("%s fired %s, first in step %llu on %s", r->word,
		out_format_plural(r->count, "time", "times"), (unsigned long long)r->first_step,
		ranks);
	free(ranks);
	return text;
}

/* Appends the rules that did not fire and have this state: "AnomalyNan, inf did not fire". */
static void append_silent(char **all, const struct alert_rules *a, bool nothing, const char *rest)
{
	const char *sep = **all ? "; " : "";
	bool any = false;

	for (unsigned i = 0; i < a->n; i++) {
		const struct ran_rule *r = &a->rule[i];

		if (r->alerts || nothing != (r->checked == ALERT_CHECKED_NOTHING))
			continue;
		tool_add_text(all, "%s%s", any ? ", " : sep, r->word);
		any = true;
	}
	if (any)
		tool_add_text(all, " %s", rest);
}

char *format_alert_rules(const struct alert_rules *a)
{
	char *all = tool_strdup("");

	for (unsigned i = 0; i < a->n; i++) {
		char *fired;

		if (!a->rule[i].alerts)
			continue;
		fired = format_fired(&a->rule[i]);
		tool_add_item(&all, "; ", "%s", fired);
		free(fired);
	}
	append_silent(&all, a, false, "did not fire");
	append_silent(&all, a, true, "had no values to check");
	return all;
}
