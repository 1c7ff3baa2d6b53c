/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of modules: Module.fc1.Linear.forward.0, .backward.0, .parameters_grad.0. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/rooms/dump.h"
#include "formats/dump/dump_composing.h"

/* ---- names ---- */

void compose_format_full_name(
	char *out, size_t cap, const char *base, uint32_t number, const char *direction)
{
	if (strncmp(base, "Module.", 7) == 0)
		snprintf(out, cap, "%s.%s.%u", base, direction, number);
	else
		snprintf(out, cap, "%s.%u.%s", base, number, direction);
}

const char *compose_find_parent_name(
	struct compose *c, uint32_t module, bool backward, char *out, size_t cap)
{
	struct dump_module_call *m = dump_modules_get(c->modules, module);

	while (m && !(m->written && (!backward || m->gradients)))
		m = dump_modules_get(c->modules, m->outer);
	if (!m)
		return NULL;
	compose_format_full_name(out, cap, dump_names_get_text(c->names, m->name), m->number,
		backward ? "backward" : "forward");
	return out;
}

/* ---- records ---- */

static bool are_modules_wanted(const struct compose *c)
{
	const struct dump_keys *keys = get_dump_keys(c->cfg);

	return keys->level == DUMP_L0 || keys->level == DUMP_MIX;
}

/*
 * Reads a call into the group, perhaps as its first one. Returns false if it cannot be read, or
 * the group is full.
 */
static bool add_to_group(struct compose *c, uint32_t ref)
{
	struct dump_group *g = &c->group;
	const struct staged_head *h;

	if (g->n == DUMP_GROUP_MAX)
		return false;
	h = dump_order_read_item(&c->order, ref, &c->item[g->n], &c->item_cap[g->n]);
	if (!h || !staged_call_read(h, &g->call[g->n]))
		return false;
	g->n++;
	return true;
}

/*
 * Adds parts of call `parent` to the group: either its gradients, or all others. Returns true if
 * the call has gradients.
 */
static bool add_parts(struct compose *c, uint64_t parent, bool gradients)
{
	struct dump_group *g = &c->group;
	uint32_t n;
	const struct dump_part *p = dump_order_find_parts(&c->order, parent, &n);
	bool any = false;

	for (uint32_t i = 0; i < n; i++) {
		bool is;

		/* The last entry of the group is reserved for the outputs, which come last. */
		if (g->n == DUMP_GROUP_MAX - 1 && i + 1 < n)
			continue;
		if (!add_to_group(c, p[i].ref))
			continue;
		is = dump_get_module_part(&g->call[g->n - 1]) == MODULE_GRADIENT;
		any |= is;
		if (is != gradients)
			g->n--;
	}
	return any;
}

static int write_module(struct compose *c, uint32_t ref)
{
	struct dump_group *g = &c->group;
	const struct staged_call *call = &g->call[0];
	char base[DUMP_NAME_MAX - 32], parent[DUMP_NAME_MAX];
	struct dump_module_call *m;
	uint32_t at;

	if (!add_to_group(c, ref))
		return 0;
	compose_start_group(c, call);
	at = dump_modules_open_call(c->modules, call->call);
	m = dump_modules_get(c->modules, at);
	if (!m)
		return -ENOMEM;
	snprintf(base, sizeof(base), "Module.%.700s", call->op);
	m->name = dump_names_find(c->names, base);
	if (m->name == UINT32_MAX)
		return -ENOMEM;
	m->number = dump_names_add_call(c->names, m->name);
	m->gradients = add_parts(c, call->call->seq, false);
	compose_format_full_name(c->w.name, sizeof(c->w.name), base, m->number, "forward");
	m->listed = (m->outer && dump_modules_get(c->modules, m->outer)->listed) ||
		    compose_list_has(c, c->w.name);
	if (!compose_is_entry_wanted(c, "forward", at))
		return 0;
	m->written = true;
	compose_start_entry(
		c, compose_find_parent_name(c, m->outer, false, parent, sizeof(parent)));
	if (get_dump_keys(c->cfg)->task != DUMP_STRUCTURE)
		dump_write_module(&c->w, g);
	dump_write_json_raw(&c->data, "\n  }");
	return call->call->stack ? compose_add_stack(c, call->call->stack, m->name, m->number) : 0;
}

static int write_module_backward(struct compose *c, uint64_t parent_call)
{
	struct dump_module_call *m =
		dump_modules_get(c->modules, dump_modules_find(c->modules, parent_call));
	char parent[DUMP_NAME_MAX];

	if (!m || m->backward_done)
		return 0;
	m->backward_done = true;
	add_parts(c, parent_call, true);
	compose_format_full_name(c->w.name, sizeof(c->w.name),
		dump_names_get_text(c->names, m->name), m->number, "backward");
	if (!c->group.n ||
		!compose_is_entry_wanted(c, "backward", dump_modules_find(c->modules, parent_call)))
		return 0;
	compose_start_entry(c, compose_find_parent_name(c, m->outer, true, parent, sizeof(parent)));
	if (get_dump_keys(c->cfg)->task != DUMP_STRUCTURE)
		dump_write_module_backward(&c->w, &c->group);
	dump_write_json_raw(&c->data, "\n  }");
	return 0;
}

/* Notes a gradient of a parameter. They come one by one, and are grouped at the end. */
static int add_parameter_gradient(struct compose *c, const struct staged_call *call, uint32_t ref)
{
	char base[DUMP_NAME_MAX - 32];
	struct dump_module_gradient g = {.ref = ref};
	uint32_t own;

	snprintf(base, sizeof(base), "Module.%.700s", call->op);
	own = dump_names_find(c->names, base);
	*strrchr(base, '.') = 0;
	g.module = dump_names_find(c->names, base);
	if (own == UINT32_MAX || g.module == UINT32_MAX)
		return -ENOMEM;
	g.number = dump_names_add_call(c->names, own);
	return dump_modules_add_gradient(c->modules, &g);
}

void compose_write_parameter_gradients(struct compose *c)
{
	uint32_t n;
	const struct dump_module_gradient *g = dump_modules_get_gradients(c->modules, &n);

	for (uint32_t i = 0, k; i < n; i = k) {
		c->group.n = 0;
		for (k = i; k < n && g[k].module == g[i].module && g[k].number == g[i].number; k++)
			add_to_group(c, g[k].ref);
		compose_format_full_name(c->w.name, sizeof(c->w.name),
			dump_names_get_text(c->names, g[i].module), g[i].number, "parameters_grad");
		if (!c->group.n || get_dump_keys(c->cfg)->task == DUMP_STRUCTURE ||
			!compose_is_entry_wanted(c, "backward", 0))
			continue;
		dump_write_json_raw(&c->data, c->entries++ ? ",\n  " : "\n  ");
		dump_write_json_text(&c->data, c->w.name);
		dump_write_json_raw(&c->data, ": {");
		dump_write_module_parameters(&c->w, &c->group);
		dump_write_json_raw(&c->data, "\n  }");
	}
	c->group.n = 0;
}

int compose_module_record(struct compose *c, const struct staged_call *call, uint32_t ref)
{
	enum module_part part = dump_get_module_part(call);
	uint64_t parent = call->call->parent;
	int err;

	if (!are_modules_wanted(c))
		return 0;
	if (part == MODULE_PARAMETER_GRADIENT)
		return add_parameter_gradient(c, call, ref);
	if (part == MODULE_KEYWORD || part == MODULE_PARAMETER)
		return 0; /* keywords and parameters are written as part of their call's entry */
	/* Ends the previous group. This call is then read again, as the first of its own group. */
	err = compose_write_group(c);
	if (part == MODULE_FORWARD && !err)
		err = write_module(c, ref);
	else if (part == MODULE_GRADIENT && !err)
		err = write_module_backward(c, parent);
	c->group.n = 0;
	if (part == MODULE_OUTPUT) {
		dump_modules_close_call(c->modules, parent);
		if (c->scope == SCOPE_LAST && c->scope_last == parent)
			c->scope = SCOPE_BEHIND;
	}
	return err;
}
