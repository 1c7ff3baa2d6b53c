/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/csv_training/structure.h"

#include <stdlib.h>
#include <string.h>

#include "terms/dtype.h"
#include "base/io.h"
#include "text/text.h"

struct node {
	char *name; /* NULL: the number is not used */
	char *more; /* stored after the name: a module's class, or a parameter's module */
	uint16_t vpp_stage;
	uint8_t dtype, ndim;
	uint32_t flags;
	uint64_t dims[8]; /* additional ones are omitted */
};

struct list {
	struct node *at; /* index: number - 1 */
	uint32_t n;
};

struct structure {
	struct list module, param;
	size_t text; /* bytes of all names */
};

static bool add_list_space(struct list *l, uint32_t id)
{
	uint32_t want = (id + 1023) & ~1023u;
	struct node *more;

	if (id <= l->n)
		return true;
	more = realloc(l->at, want * sizeof(*more));
	if (!more)
		return false;
	memset(more + l->n, 0, (want - l->n) * sizeof(*more));
	l->at = more;
	l->n = want;
	return true;
}

void structure_add(struct structure **all, const struct record_name *e)
{
	size_t name = strlen(e->name) + 1,
	       more = strlen(e->what == JN_MODULE ? e->type : e->module) + 1;
	struct structure *s;
	struct list *l;
	struct node *n;
	char *text;

	if ((e->what != JN_PARAM && e->what != JN_MODULE) || !e->id || e->id > JOURNAL_NAME_ID)
		return;
	if (!*all)
		*all = calloc(1, sizeof(**all));
	s = *all;
	if (!s)
		return;
	l = e->what == JN_MODULE ? &s->module : &s->param;
	text = add_list_space(l, e->id) ? malloc(name + more) : NULL;
	if (!text)
		return;
	memcpy(text, e->name, name);
	memcpy(text + name, e->what == JN_MODULE ? e->type : e->module, more);
	n = &l->at[e->id - 1];
	free(n->name);
	*n = (struct node){.name = text,
		.more = text + name,
		.vpp_stage = e->vpp_stage,
		.dtype = e->dtype,
		.ndim = (uint8_t)(e->ndim < 8 ? e->ndim : 8),
		.flags = e->flags};
	if (n->ndim)
		memcpy(n->dims, e->dims, 8 * (size_t)n->ndim);
	s->text += 6 * (name + more) + 320;
}

static void write_param(struct text *t, const struct node *p)
{
	size_t below = strlen(p->more);
	const char *own = below && strncmp(p->name, p->more, below) == 0 && p->name[below] == '.'
				  ? p->name + below + 1
				  : p->name;

	text_add_string(t, "      ");
	text_add_json(t, own);
	text_add_string(t, ": {\"shape\": [");
	for (unsigned i = 0; i < p->ndim; i++) {
		if (i)
			text_add_string(t, ", ");
		text_add_u64(t, p->dims[i]);
	}
	text_add_format(t, "], \"dtype\": \"%s\", \"requires_grad\": %s}",
		get_dtype_info(p->dtype)->name, p->flags & JN_FROZEN ? "false" : "true");
}

/* Keys as in msprobe: <model chunk>:<module>. */
static void write_module_node(struct text *t, const struct structure *s, const struct node *m)
{
	bool first = true;

	text_add_format(t, "  \"%u:", (unsigned)m->vpp_stage);
	for (const char *c = m->name; *c; c++)
		text_add_char(t, *c == '"' || *c == '\\' || (unsigned char)*c < 0x20 ? '?' : *c);
	text_add_string(t, "\": {\n    \"class\": ");
	text_add_json(t, m->more);
	text_add_string(t, ",\n    \"parameters\": {");
	for (uint32_t i = 0; i < s->param.n; i++) {
		const struct node *p = &s->param.at[i];

		if (!p->name || p->flags & JN_UNNAMED || p->vpp_stage != m->vpp_stage ||
			strcmp(p->more, m->name) != 0)
			continue;
		text_add_string(t, first ? "\n" : ",\n");
		write_param(t, p);
		first = false;
	}
	text_add_string(t, first ? "}\n  }" : "\n    }\n  }");
}

void structure_write(const struct structure *s, int dirfd)
{
	size_t cap = s ? s->text + 64 : 0;
	char *buf = cap ? malloc(cap) : NULL;
	bool first = true;

	if (!buf)
		return;

	struct text t = text_init(buf, cap);

	text_add_string(&t, "{\n");
	for (uint32_t i = 0; i < s->module.n; i++) {
		if (!s->module.at[i].name)
			continue;
		if (!first)
			text_add_string(&t, ",\n");
		write_module_node(&t, s, &s->module.at[i]);
		first = false;
	}
	text_add_string(&t, "\n}\n");
	if (!t.cut)
		io_replace_file(dirfd, "module_struct.json", buf, t.len);
	free(buf);
}

static void free_nodes(struct list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		free(l->at[i].name);
	free(l->at);
}

void structure_free(struct structure *s)
{
	if (!s)
		return;
	free_nodes(&s->module);
	free_nodes(&s->param);
	free(s);
}
