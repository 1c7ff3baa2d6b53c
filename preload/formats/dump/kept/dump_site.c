/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/kept/dump_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "text/suffix.h"
#include "text/text.h"
#include "formats/dump/kept/dump_source.h"

#define FRAMES_BYTES 65536
#define LINE_BYTES 512
#define JOIN " <- "

struct site_frame {
	char file[1024], function[160];
	unsigned line;
};

/* Reads the frame at *at, and moves *at to the next one. Returns false after the last. */
static bool read_site_frame(const char **at, struct site_frame *f)
{
	const char *p = *at, *end, *colon, *blank = NULL;
	size_t n;

	if (!*p || strncmp(p, "...", 3) == 0)
		return false;
	end = strstr(p, JOIN);
	if (!end)
		end = p + strlen(p);
	for (const char *s = p; s < end; s++)
		if (*s == ' ')
			blank = s;
	*f = (struct site_frame){.line = 0};
	if (!blank)
		blank = end;
	for (colon = blank; colon > p && *colon != ':'; colon--)
		;
	n = (size_t)((colon > p ? colon : blank) - p);
	snprintf(f->file, sizeof(f->file), "%.*s", (int)n, p);
	if (colon > p)
		f->line = (unsigned)strtoul(colon + 1, NULL, 10);
	if (blank < end)
		snprintf(f->function, sizeof(f->function), "%.*s", (int)(end - blank - 1),
			blank + 1);
	*at = *end ? end + strlen(JOIN) : end;
	return true;
}

/* Returns the name without its enclosing scopes: forward for Net.forward. */
static const char *get_unscoped_name(const char *function)
{
	const char *dot = strrchr(function, '.');

	return dot && dot[1] ? dot + 1 : function;
}

/* A framework's files with functions that programs call, and the prefix of each. */
static const struct {
	char tail[48], prefix[16];
} python_side[] = {
	{"/torch/nn/functional.py", "Functional"},
	{"/torch/functional.py", "Torch"},
	{"/torch/_tensor.py", "Tensor"},
	{"/mindspore/mint/__init__.py", "Mint"},
	{"/mindspore/mint/nn/functional.py", "MintFunctional"},
	{"/mindspore/ops/auto_generate/gen_ops_def.py", "Functional"},
	{"/mindspore/common/tensor.py", "Tensor"},
};

/*
 * True for folders of MindSpore whose functions are between a program, or a cell, and an
 * operator.
 */
static bool is_mindspore_side(const char *file)
{
	static const char folders[][28] = {"/mindspore/ops/", "/mindspore/mint/",
		"/mindspore/common/", "/mindspore/communication/", "/mindspore/graph/",
		"/mindspore/_extends/"};

	for (unsigned i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (strstr(file, folders[i]))
			return true;
	return false;
}

static const char *get_python_prefix(const char *file)
{
	for (unsigned i = 0; i < sizeof(python_side) / sizeof(*python_side); i++)
		if (has_suffix(file, python_side[i].tail))
			return python_side[i].prefix;
	if (strstr(file, "/mindspore/ops/function/"))
		return "Functional";
	return NULL;
}

static bool is_distributed_file(const char *file)
{
	return strstr(file, "/torch/distributed/") ||
	       strstr(file, "/mindspore/mint/distributed/") ||
	       has_suffix(file, "/mindspore/communication/comm_func.py");
}

/*
 * True for collectives that programs call. If such a function is implemented with others, its
 * name is used.
 */
static bool is_public_collective(const char *name)
{
	static const char known[][24] = {"send", "recv", "isend", "irecv", "broadcast",
		"all_reduce", "reduce", "all_gather", "gather", "scatter", "reduce_scatter",
		"_reduce_scatter_base", "_all_gather_base", "all_to_all_single", "all_to_all",
		"all_gather_into_tensor", "reduce_scatter_tensor", "batch_isend_irecv"};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i], name) == 0)
			return true;
	return false;
}

/* Decorators around these functions. */
static bool is_decorator(const struct site_frame *f)
{
	const char *name = get_unscoped_name(f->function);

	return has_suffix(f->file, "/contextlib.py") || has_suffix(f->file, "/_contextlib.py") ||
	       has_suffix(f->file, "/_jit_internal.py") ||
	       has_suffix(f->file, "/typing_extensions.py") || strcmp(name, "wrapper") == 0 ||
	       strcmp(name, "wrapped") == 0 || strcmp(name, "inner") == 0 ||
	       strcmp(name, "fn") == 0 || strcmp(name, "decorate_context") == 0;
}

/* True if the frame belongs to the framework, inside the program's frames. Notes its function. */
static bool record_inner_frame(struct dump_site *s, const struct site_frame *f)
{
	const char *name = get_unscoped_name(f->function), *prefix = get_python_prefix(f->file);

	if (is_distributed_file(f->file)) {
		if ((has_suffix(f->file, "/distributed_c10d.py") ||
			    strstr(f->file, "/mindspore/")) &&
			!is_decorator(f)) {
			s->batch |= strcmp(name, "batch_isend_irecv") == 0;
			if (!s->dist[0] || is_public_collective(name))
				snprintf(s->dist, sizeof(s->dist), "%.90s", name);
		}
		return true;
	}
	if (prefix && !s->dist[0]) {
		/* If there are several, the outermost is used: the others are internal. */
		if (!is_decorator(f)) {
			snprintf(s->prefix, sizeof(s->prefix), "%s", prefix);
			snprintf(s->api, sizeof(s->api), "%.90s", name);
		}
		return true;
	}
	return is_mindspore_side(f->file) ||
	       ((s->dist[0] || s->api[0] || prefix) && is_decorator(f));
}

static void write_site_frame(
	struct text *out, const struct site_frame *f, const char *line, const char *sep)
{
	char buf[LINE_BYTES + 1400];
	struct text t = text_init(buf, sizeof(buf));

	text_add_format(&t, "File %s, line %u, in %s, \n %s", f->file, f->line,
		get_unscoped_name(f->function), line);
	text_add_string(out, sep);
	text_add_json(out, t.buf);
}

/* True for a frame in which Python starts a backward pass. */
static bool is_engine_frame(const struct site_frame *f)
{
	const char *name = get_unscoped_name(f->function);

	return strstr(f->file, "/torch/autograd/") &&
	       (strcmp(name, "_engine_run_backward") == 0 || strcmp(name, "backward") == 0 ||
		       strcmp(name, "grad") == 0);
}

struct dump_site *dump_site_parse(const char *text, struct dump_source *source)
{
	struct dump_site *s = calloc(1, sizeof(*s));
	char *buf = malloc(FRAMES_BYTES), line[LINE_BYTES];
	bool inner = true;
	struct site_frame f;
	struct text out;
	unsigned n = 0;

	if (!s || !buf) {
		free(s);
		free(buf);
		return NULL;
	}
	out = text_init(buf, FRAMES_BYTES);
	text_add_char(&out, '[');
	while (read_site_frame(&text, &f)) {
		size_t before = out.len;

		if (inner && record_inner_frame(s, &f))
			continue;
		if (inner)
			s->engine = is_engine_frame(&f);
		dump_source_read_line(source, f.file, f.line, line, sizeof(line));
		if (inner)
			s->line = strdup(line);
		inner = false;
		s->caller = hash_str(hash_u64(s->caller, f.line), f.file) | 1;
		write_site_frame(&out, &f, line, n++ ? ",\n   " : "\n   ");
		/* 16 bytes are reserved for the end of the array. */
		if (out.cut || out.len + 16 > FRAMES_BYTES) {
			out.len = before;
			out.buf[before] = 0;
			out.cut = false;
			break;
		}
	}
	text_add_string(&out, n ? "\n  ]" : "]");
	s->frames = strdup(buf);
	free(buf);
	if (!s->line)
		s->line = strdup("");
	if (s->frames && s->line)
		return s;
	dump_site_free(s);
	return NULL;
}

void dump_site_free(struct dump_site *s)
{
	if (!s)
		return;
	free(s->frames);
	free(s->line);
	free(s);
}

/* ---- operators ---- */

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Returns the position at which `word`, as a whole word, is called on the line, or NULL. */
static const char *find_called_word(const char *line, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = line; (p = strstr(p, word)); p++)
		if ((p == line || !is_name_char(p[-1])) && p[n] == '(')
			return p;
	return NULL;
}

/* Returns the prefix for the text before `.word(`: torch, F, nn.functional, or a tensor. */
static const char *find_prefix_before_dot(const char *line, const char *p, char *api, size_t cap)
{
	static const struct {
		char name[20], prefix[12];
	} modules[] = {{"torch", "Torch"}, {"F", "Functional"}, {"functional", "Functional"},
		{"linalg", "Torch"}, {"_VF", "VF"}, {"_nn", "Functional"}};
	const char *from = p - 1, *begin;
	char inside[SITE_NAME_MAX];

	if (p == line || *from != '.')
		return NULL;
	for (begin = from; begin > line && is_name_char(begin[-1]);)
		begin--;
	for (unsigned i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
		size_t n = strlen(modules[i].name);

		if ((size_t)(from - begin) != n || strncmp(begin, modules[i].name, n) != 0)
			continue;
		if (strcmp(modules[i].name, "linalg") == 0) {
			snprintf(inside, sizeof(inside), "linalg.%.80s", api);
			snprintf(api, cap, "%s", inside);
		}
		return modules[i].prefix;
	}
	return "Tensor";
}

/* Python's spelling of operators that are not calls. */
static const struct {
	char op[16], sign[4], method[16];
} python_signs[] = {
	{"add_", "+=", "__iadd__"},
	{"sub_", "-=", "__isub__"},
	{"mul_", "*=", "__imul__"},
	{"div_", "/=", "__itruediv__"},
	{"pow_", "**=", "__ipow__"},
	{"add", "+", "__add__"},
	{"sub", "-", "__sub__"},
	{"rsub", "-", "__rsub__"},
	{"mul", "*", "__mul__"},
	{"div", "/", "__truediv__"},
	{"matmul", "@", "__matmul__"},
	{"pow", "**", "__pow__"},
	{"neg", "-", "__neg__"},
	{"eq", "==", "__eq__"},
	{"ne", "!=", "__ne__"},
	{"lt", "<", "__lt__"},
	{"le", "<=", "__le__"},
	{"gt", ">", "__gt__"},
	{"ge", ">=", "__ge__"},
	{"remainder", "%", "__mod__"},
	{"floor_divide", "//", "__floordiv__"},
	{"index_put_", "] =", "__setitem__"},
	{"copy_", "] =", "__setitem__"},
	{"fill_", "] =", "__setitem__"},
};

bool dump_site_find_operator(
	const struct dump_site *s, const char *op, const char **prefix, char *api, size_t cap)
{
	const char *p;

	snprintf(api, cap, "%.*s", (int)strcspn(op, "."), op);
	if (s->engine)
		return false;
	if (s->api[0]) {
		*prefix = s->prefix;
		snprintf(api, cap, "%s", s->api);
		return true;
	}
	p = find_called_word(s->line, api);
	if (p && (*prefix = find_prefix_before_dot(s->line, p, api, cap)))
		return true;
	for (unsigned i = 0; i < sizeof(python_signs) / sizeof(*python_signs); i++)
		if (strcmp(python_signs[i].op, api) == 0 && strstr(s->line, python_signs[i].sign)) {
			snprintf(api, cap, "%s", python_signs[i].method);
			*prefix = "Tensor";
			return true;
		}
	return false;
}

bool dump_site_has_keyword(const struct dump_site *s, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = s->line; (p = strstr(p, name)); p++)
		if ((p == s->line || !is_name_char(p[-1])) && p[n] == '=' && p[n + 1] != '=')
			return true;
	return false;
}
