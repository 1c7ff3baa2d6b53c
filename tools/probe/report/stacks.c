/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/report/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "tools/probe/read/csv.h"
#include "spec/demangle.h"
#include "tools/probe/tool.h"

#define JOINT " <- "
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

static void look(struct stack_text *t, const char *dir, uint64_t id)
{
	char *path = tool_format("%s/stack_info.csv", dir);
	struct csv c;
	uint64_t v;

	if (csv_open(&c, path, UINT64_MAX, true, 65536) == 0) {
		int of = csv_column(&c, "stack_id"), py = csv_column(&c, "python_stack");
		int native = csv_column(&c, "native_stack");

		while (!t->python && csv_next(&c)) {
			if (!csv_u64(csv_at(&c, of), &v) || v != id)
				continue;
			t->python = tool_strndup(csv_at(&c, py)->s, csv_at(&c, py)->n);
			t->native = tool_strndup(csv_at(&c, native)->s, csv_at(&c, native)->n);
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
	look(t, s->g->folders.dir[rank].path, id);
	if (!t->python && s->g->rank[rank].overlay.path)
		look(t, s->g->rank[rank].overlay.path, id);
	if (!t->python) {
		t->python = tool_strdup("");
		t->native = tool_strdup("");
	}
	return t;
}

const char *stack_frame(const char *text, unsigned n, size_t *len)
{
	const char *p = text, *end;

	for (; n; n--) {
		p = strstr(p, JOINT);
		if (!p)
			return NULL;
		p += strlen(JOINT);
	}
	if (!*p)
		return NULL;
	end = strstr(p, JOINT);
	*len = end ? (size_t)(end - p) : strlen(p);
	return p;
}

#define LINE_MAX 512

char *stack_whole(struct stacks *s, const struct stack_text *t, bool lines)
{
	char *all, *was, line[LINE_MAX];
	const char *f;
	size_t n;

	if (!lines)
		return tool_format(
			"%s%s%s", t->python, *t->python && *t->native ? JOINT : "", t->native);
	all = tool_strdup(t->python);
	for (unsigned i = 0; (f = stack_frame(t->native, i, &n)); i++) {
		where_find(&s->where, (uint32_t)t->key.a, f, n, line, sizeof(line));
		was = all;
		all = tool_format("%s%s%.*s%s%s%s", was, *was ? JOINT : "", (int)n, f,
			*line ? " (" : "", line, *line ? ")" : "");
		free(was);
	}
	return all;
}

static bool begins(const char *f, size_t n, const char *word)
{
	return n >= strlen(word) && memcmp(f, word, strlen(word)) == 0;
}

/* What every program has above main(). */
static bool is_start(const char *f, size_t n)
{
	const char *bang = memchr(f, '!', n);
	const char *name = bang ? bang + 1 : f;
	size_t len = n - (size_t)(name - f);

	return begins(name, len, "__libc_start") || begins(name, len, "_start+");
}

/* The frame's function, a C++ name without its arguments. bang, plus: the marks around it. */
static char *function_name(const char *bang, const char *plus)
{
	char *name = tool_strndup(bang + 1, (size_t)(plus - bang - 1)), plain[1024];

	if (strncmp(name, "_Z", 2) == 0 && demangle(name, plain, sizeof(plain), NULL) > 0) {
		free(name);
		name = tool_strdup(plain);
	}
	/* Lambdas in templates have names of a page. */
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
	name = function_name(bang, plus);
	all = tool_format("%.*s%s%.*s", (int)(bang + 1 - f), f, name, (int)(f + n - plus), plus);
	free(name);
	return all;
}

/* "module!function+0x1f" without what only machines read. */
char *stack_one(struct stacks *s, const struct stack_text *t, const char *f, size_t n)
{
	char line[LINE_MAX];
	const char *bang = memchr(f, '!', n), *plus = memrchr(f, '+', n), *slash;

	if (!bang || !plus || plus < bang)
		return tool_strndup(f, n);
	where_find(&s->where, (uint32_t)t->key.a, f, n, line, sizeof(line));
	slash = strrchr(line, '/');

	char *name = function_name(bang, plus);
	char *one = *line ? tool_format("%s (%s)", name, slash ? slash + 1 : line)
			  : tool_format("%s (%.*s)", name, (int)(bang - f), f);

	free(name);
	return one;
}

/* "path/file.py:12 function" in the order of the others. */
static char *python_one(const char *f, size_t n)
{
	const char *space = memrchr(f, ' ', n),
		   *slash = space ? memrchr(f, '/', (size_t)(space - f)) : NULL;
	const char *file = slash ? slash + 1 : f;

	if (!space)
		return tool_strndup(f, n);
	return tool_format(
		"%.*s (%.*s)", (int)(f + n - space - 1), space + 1, (int)(space - file), file);
}

/*
 * A frame of an installed package or of Python's own library. People look for the line of their program, which is
 * behind five frames of the framework where a gradient is reduced.
 */
static bool of_library(const char *f, size_t n)
{
	static const char *const part[] = {"/site-packages/", "/dist-packages/", "/lib/python3"};

	for (unsigned i = 0; i < sizeof(part) / sizeof(*part); i++)
		if (memmem(f, n, part[i], strlen(part[i])))
			return true;
	return begins(f, n, "<frozen ");
}

/* Index of the innermost frame of the program itself; 0 where there is none. */
static unsigned own_frame(const char *text)
{
	const char *f;
	size_t n;

	for (unsigned i = 0; (f = stack_frame(text, i, &n)); i++)
		if (!of_library(f, n))
			return i;
	return 0;
}

static void join(char **all, const char *joint, char *one)
{
	char *was = *all;

	*all = tool_format("%s%s%s", was, *was ? joint : "", one);
	free(was);
	free(one);
}

char *stack_brief(struct stacks *s, const struct stack_text *t, unsigned frames)
{
	const char *text = *t->python ? t->python : t->native, *f;
	unsigned first = *t->python ? own_frame(text) : 0;
	char *all = tool_strdup("");
	size_t n;

	for (unsigned i = 0; (f = stack_frame(text, first + i, &n)); i++) {
		if (!*t->python && is_start(f, n))
			break;
		join(&all, JOINT,
			i == frames  ? tool_strdup("...")
			: *t->python ? python_one(f, n)
				     : stack_one(s, t, f, n));
		if (i == frames)
			break;
	}
	/* What the program called there: backward() and step() issue different collectives. */
	if (first && (f = stack_frame(text, first - 1, &n)))
		join(&all, ", through ", python_one(f, n));
	return all;
}
