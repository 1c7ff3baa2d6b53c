/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/monitor/tokens_lines.h"

#include <stdlib.h>
#include <string.h>

#include "config/rooms/room.h"

#define EXPERT "/expert_"
#define HEAD_BYTES 192

/* The experts of a router in a micro step: n counts from `first` on. */
struct tokens_line {
	bool mtp;
	uint32_t mtp_idx, layer, micro_step;
	size_t first, n;
};

/*
 * Finds the place of a router by the numbers after `layers` in its name: layers.<n>, mtp.layers.<i> or
 * mtp.layers.<i>....layers.<n>. Returns false if there is none.
 */
static bool find_tokens_place(const char *name, struct tokens_line *line)
{
	unsigned found = 0;
	uint32_t number[2] = {0};

	for (const char *s = name; (s = strstr(s, "layers.")) && found < 2; s += 7) {
		char *end;
		unsigned long v = strtoul(s + 7, &end, 10);

		if ((s > name && s[-1] != '.') || end == s + 7 || *end != '.' || v > UINT32_MAX)
			continue;
		if (!found)
			line->mtp = s >= name + 4 && strncmp(s - 4, "mtp.", 4) == 0 &&
				    (s == name + 4 || s[-5] == '.');
		number[found++] = (uint32_t)v;
	}
	line->mtp_idx = number[0];
	line->layer = line->mtp ? number[1] : number[0];
	return found;
}

/* The first expert's row begins a line. Returns false if the row is of another router or micro step, or not the next expert. */
static bool is_tokens_line_continued(
	const struct token_count *count, const struct tokens_line *line, size_t i)
{
	const struct token_count *first = &count[line->first], *now = &count[i];
	const char *at = strstr(now->name, EXPERT);
	size_t n = at ? (size_t)(at - now->name) + strlen(EXPERT) : 0;

	return n && now->micro_step == first->micro_step &&
	       strncmp(now->name, first->name, n) == 0 &&
	       strtoull(now->name + n, NULL, 10) == i - line->first;
}

static int compare_tokens_line_order(const void *x, const void *y)
{
	const struct tokens_line *a = x, *b = y;

	if (a->mtp != b->mtp)
		return a->mtp ? 1 : -1;
	if (a->mtp && a->mtp_idx != b->mtp_idx)
		return a->mtp_idx < b->mtp_idx ? -1 : 1;
	if (a->layer != b->layer)
		return a->layer < b->layer ? -1 : 1;
	if (a->micro_step != b->micro_step)
		return a->micro_step < b->micro_step ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static bool is_tokens_line_wanted(const struct tokens_line *line, const struct tokens_step *step)
{
	if ((step->micro_steps_before + line->micro_step + 1) % step->interval)
		return false;
	return !step->layers->n || (!line->mtp && ranges_has(step->layers, line->layer));
}

static bool write_tokens_line(const struct tokens_line *line, const struct token_count *count,
	const struct tokens_step *step, tokens_line_fn *add, void *arg)
{
	size_t bytes = HEAD_BYTES + 24 * line->n;
	char *buf = malloc(bytes);
	struct text t;
	bool ok;

	if (!buf)
		return false;
	t = text_init(buf, bytes);
	text_add_string(&t, "{\"iter\": ");
	text_add_u64(&t, step->micro_steps_before + line->micro_step + 1);
	text_add_string(&t, ", \"step\": ");
	text_add_u64(&t, step->step);
	text_add_string(&t, ", \"micro_step\": ");
	text_add_u64(&t, line->micro_step);
	text_add_string(
		&t, line->mtp ? ", \"block\": \"mtp\", \"mtp_idx\": " : ", \"block\": \"decoder\"");
	if (line->mtp)
		text_add_u64(&t, line->mtp_idx);
	text_add_string(&t, ", \"layer\": ");
	text_add_u64(&t, line->layer);
	text_add_string(&t, ", \"tpe\": [[");
	for (size_t i = 0; i < line->n; i++) {
		if (i)
			text_add_string(&t, ", ");
		text_add_u64(&t, count[line->first + i].tokens);
	}
	text_add_string(&t, "]]}\n");
	ok = add(arg, &t);
	free(buf);
	return ok;
}

bool write_tokens_lines(const struct token_count *count, size_t n, const struct tokens_step *step,
	tokens_line_fn *add, void *arg)
{
	struct tokens_line *lines = malloc((n + 1) * sizeof(*lines));
	size_t nlines = 0, end;
	bool ok = lines != NULL;

	for (size_t i = 0; ok && i < n; i = end) {
		struct tokens_line *line = &lines[nlines];

		*line = (struct tokens_line){.first = i, .micro_step = count[i].micro_step};
		for (end = i; end < n && is_tokens_line_continued(count, line, end);)
			end++;
		line->n = end - i;
		if (!line->n)
			end++;
		else if (find_tokens_place(count[i].name, line) &&
			 is_tokens_line_wanted(line, step))
			nlines++;
	}
	if (nlines)
		qsort(lines, nlines, sizeof(*lines), compare_tokens_line_order);
	for (size_t i = 0; ok && i < nlines; i++)
		ok = write_tokens_line(&lines[i], count, step, add, arg);
	free(lines);
	return ok;
}
