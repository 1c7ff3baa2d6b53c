/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/files/csv.h"
#include "tools/lib/tool.h"
#include "journal/columns.h"

#define NAME_SHOWN 120
#define STACKS_MAX 65536u

void stacks_init(struct stacks *s, const struct gather *g)
{
	*s = (struct stacks){.g = g};
	s->none.python = s->none.native = tool_strdup("");
	where_init(&s->where, g);
	table_init(&s->table, sizeof(struct stack_text), STACKS_MAX);
}

void stacks_free(struct stacks *s)
{
	for (uint32_t i = 0; i < s->table.n; i++) {
		struct stack_text *t = table_at(&s->table, i);

		free(t->python);
		free(t->native);
	}
	table_free(&s->table);
	free(s->none.python);
	where_free(&s->where);
}

void read_stack_text(struct stack_text *t, const char *dir, uint64_t id)
{
	char *path = tool_format("%s/stack_info.csv", dir);
	struct csv c;
	uint64_t v;

	if (csv_open(&c, path, UINT64_MAX, true, 65536) == 0) {
		int col[STACK_COLUMNS];

		csv_find_columns(&c, STACK_HEADER, col);
		while (!t->python && csv_read_row(&c)) {
			if (!csv_parse_u64(csv_get_field(&c, col[STACK_COL_stack_id]), &v) ||
				v != id)
				continue;
			t->python = csv_copy_field(csv_get_field(&c, col[STACK_COL_python_stack]));
			t->native = csv_copy_field(csv_get_field(&c, col[STACK_COL_native_stack]));
		}
	}
	csv_close(&c);
	free(path);
}

const struct stack_text *stacks_get(struct stacks *s, uint32_t rank, uint32_t id)
{
	struct stack_text *t = id ? table_get(&s->table, rank, id) : NULL;

	if (!t)
		return &s->none;
	if (t->looked)
		return t;
	t->looked = true;
	read_stack_text(t, s->g->folders.dir[rank].path, id);
	if (!t->python && s->g->rank[rank].overlay.path)
		read_stack_text(t, s->g->rank[rank].overlay.path, id);
	if (!t->python) {
		t->python = tool_strdup("");
		t->native = tool_strdup("");
	}
	return t;
}

#define LINE_MAX 512

char *stack_whole(struct stacks *s, const struct stack_text *t, bool lines)
{
	char *all, line[LINE_MAX];
	const char *f;
	size_t n;

	if (!lines)
		return tool_format("%s%s%s", t->python, *t->python && *t->native ? STACK_JOINT : "",
			t->native);
	all = tool_strdup(t->python);
	for (unsigned i = 0; (f = stack_frame(t->native, i, &n)); i++) {
		where_find(&s->where, (uint32_t)t->key.a, f, n, line, sizeof(line));
		tool_add_item(&all, STACK_JOINT, "%.*s%s%s%s", (int)n, f, *line ? " (" : "", line,
			*line ? ")" : "");
	}
	return all;
}

/* Returns true for a frame that every program has above main(). */
static bool is_start(const char *f, size_t n)
{
	const char *bang = memchr(f, '!', n);
	const char *name = bang ? bang + 1 : f;
	size_t len = n - (size_t)(name - f);

	return stack_frame_begins_with(name, len, "__libc_start") ||
	       stack_frame_begins_with(name, len, "_start+");
}

/* Returns the function of a frame. bang, plus: the separators before and after it. */
static char *frame_function_name(const char *bang, const char *plus)
{
	char *name = tool_strndup(bang + 1, (size_t)(plus - bang - 1));

	/* Lambdas in templates can have names a page long. */
	if (strlen(name) > NAME_SHOWN)
		strcpy(name + NAME_SHOWN - 3, "...");
	return name;
}

char *stack_plain(const char *f, size_t n)
{
	const char *bang = memchr(f, '!', n), *plus = memrchr(f, '+', n);
	char *name, *all;

	if (!bang || !plus || plus < bang)
		return tool_strndup(f, n);
	name = frame_function_name(bang, plus);
	all = tool_format("%.*s%s%.*s", (int)(bang + 1 - f), f, name, (int)(f + n - plus), plus);
	free(name);
	return all;
}

/* Formats "module!function+0x1f" without the parts that people do not read. */
char *brief_stack_frame(struct stacks *s, const struct stack_text *t, const char *f, size_t n)
{
	char line[LINE_MAX];
	const char *bang = memchr(f, '!', n), *plus = memrchr(f, '+', n), *slash;

	if (!bang || !plus || plus < bang)
		return tool_strndup(f, n);
	where_find(&s->where, (uint32_t)t->key.a, f, n, line, sizeof(line));
	slash = strrchr(line, '/');

	char *name = frame_function_name(bang, plus);
	char *one = *line ? tool_format("%s (%s)", name, slash ? slash + 1 : line)
			  : tool_format("%s (%.*s)", name, (int)(bang - f), f);

	free(name);
	return one;
}

/* Formats "path/file.py:12 function" in the order of native frames. */
static char *brief_python_frame(const char *f, size_t n)
{
	const char *space = memrchr(f, ' ', n),
		   *slash = space ? memrchr(f, '/', (size_t)(space - f)) : NULL;
	const char *file = slash ? slash + 1 : f;

	if (!space)
		return tool_strndup(f, n);
	return tool_format(
		"%.*s (%.*s)", (int)(f + n - space - 1), space + 1, (int)(space - file), file);
}

static void join_text(char **all, const char *joint, char *one)
{
	tool_add_item(all, joint, "%s", one);
	free(one);
}

char *stack_brief(struct stacks *s, const struct stack_text *t, unsigned frames)
{
	const char *text = *t->python ? t->python : t->native, *f;
	unsigned first = *t->python ? stack_find_own_frame(text) : 0, shown = 0;
	char *all = tool_strdup("");
	size_t n;

	/* Adds frames up to the line that called the program's own wrapper functions. */
	if (*t->python && frames == STACK_PLACE_FRAMES && stack_place_frames(text) > first + frames)
		frames = stack_place_frames(text) - first;
	for (unsigned i = 0; (f = stack_frame(text, first + i, &n)); i++) {
		if (!*t->python && is_start(f, n))
			break;
		if (i && *t->python && is_launcher_frame(f, n))
			continue;
		join_text(&all, STACK_JOINT,
			shown == frames ? tool_strdup("...")
			: *t->python	? brief_python_frame(f, n)
					: brief_stack_frame(s, t, f, n));
		if (shown++ == frames)
			break;
	}
	/*
	 * Adds the framework function that the program called: backward() and step() issue
	 * different collectives.
	 */
	if (first && (f = stack_frame(text, first - 1, &n)))
		join_text(&all, ", through ", brief_python_frame(f, n));
	return all;
}

bool stack_line(
	struct stacks *s, const struct stack_text *t, char *file, size_t cap, unsigned *line)
{
	const char *text = *t->python ? t->python : t->native, *f, *space;
	char buf[LINE_MAX], *colon;
	size_t n;

	f = stack_frame(text, *t->python ? stack_find_own_frame(text) : 0, &n);
	if (!f)
		return false;
	if (*t->python) {
		space = memrchr(f, ' ', n);
		snprintf(buf, sizeof(buf), "%.*s", (int)(space ? space - f : (long)n), f);
	} else {
		where_find(&s->where, (uint32_t)t->key.a, f, n, buf, sizeof(buf));
	}
	colon = strrchr(buf, ':');
	if (!colon || colon[1] < '0' || colon[1] > '9')
		return false;
	*line = (unsigned)strtoul(colon + 1, NULL, 10);
	*colon = 0;
	snprintf(file, cap, "%s", buf);
	return true;
}
