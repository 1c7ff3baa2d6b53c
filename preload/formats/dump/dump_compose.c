/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/dump_compose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "config/rooms/dump.h"
#include "config/rooms/slices.h"
#include "formats/dump/dump_bench.h"
#include "formats/dump/dump_composing.h"
#include "formats/dump/dump_folder.h"
#include "formats/dump/dump_tensors.h"

#define NODES_MAX (1u << 21)

/* ---- entries ---- */

int compose_add_stack(struct compose *c, uint32_t stack, uint32_t name, uint32_t number)
{
	if (c->nuse == c->cap_use) {
		uint32_t want = c->cap_use ? c->cap_use * 2 : 1024;
		struct stack_use *more = realloc(c->uses, want * sizeof(*more));

		if (!more)
			return -ENOMEM;
		c->uses = more;
		c->cap_use = want;
	}
	c->uses[c->nuse++] = (struct stack_use){stack, name, number};
	return 0;
}

static int record_made_nodes(
	struct compose *c, const struct dump_group *g, uint32_t name, uint32_t number)
{
	for (unsigned i = 0; i < g->n; i++) {
		const struct journal_call *call = g->call[i].call;
		uint64_t first = JOURNAL_NODE_FIRST(call->comm_seq);

		if (!(g->call[i].flags & CF_NODE))
			continue;
		if (c->nnode == c->cap_node) {
			uint32_t want = c->cap_node ? c->cap_node * 2 : 1024;
			struct made_nodes *more =
				want <= NODES_MAX ? realloc(c->nodes, want * sizeof(*more)) : NULL;

			if (!more)
				return -ENOMEM;
			c->nodes = more;
			c->cap_node = want;
		}
		c->nodes[c->nnode++] = (struct made_nodes){.first = first,
			.last = first + JOURNAL_NODE_MORE(call->comm_seq),
			.tid = call->tid,
			.name = name,
			.number = number,
			.module = c->module};
	}
	return 0;
}

/* Finds the call that made a node: the latest of the same thread, or else of another. */
static struct made_nodes *find_maker(struct compose *c, uint64_t node, uint32_t tid)
{
	struct made_nodes *other = NULL;

	for (uint32_t i = c->nnode; i-- > 0;) {
		struct made_nodes *m = &c->nodes[i];

		if (node < m->first || node > m->last)
			continue;
		if (m->tid == tid)
			return m;
		if (!other)
			other = m;
	}
	return other;
}

static void write_construct(struct compose *c, const char *name, const char *parent)
{
	dump_write_json_raw(&c->construct, c->parents++ ? ",\n " : "\n ");
	dump_write_json_text(&c->construct, name);
	dump_write_json_raw(&c->construct, ": ");
	if (parent)
		dump_write_json_text(&c->construct, parent);
	else
		dump_write_json_raw(&c->construct, "null");
}

void compose_start_entry(struct compose *c, const char *parent)
{
	dump_write_json_raw(&c->data, c->entries++ ? ",\n  " : "\n  ");
	dump_write_json_text(&c->data, c->w.name);
	dump_write_json_raw(&c->data, ": {");
	write_construct(c, c->w.name, parent);
}

/*
 * Writes the parent of a forward call. As in msprobe, calls of the optimizer's step have a node
 * of its own as parent if modules are recorded, because msprobe's data2db skips calls without a
 * root.
 */
static const char *format_forward_parent(struct compose *c, char *out, size_t cap)
{
	const struct dump_keys *keys = get_dump_keys(c->cfg);
	const struct journal_call *call = c->group.call[0].call;

	if (c->mindspore || call->phase != PHASE_OPTIMIZER ||
		(keys->level != DUMP_L0 && keys->level != DUMP_MIX))
		return compose_find_parent_name(c, c->module, false, out, cap);
	if (!c->optimizer)
		write_construct(c, "optimizer", NULL);
	c->optimizer = true;
	return "optimizer";
}

static bool is_backward_call(const struct staged_call *call)
{
	return strncmp(call->symbol, "torch::autograd::", 17) == 0;
}

static bool is_of_mindspore(const struct staged_call *call)
{
	return strcmp(call->lib, "mindspore") == 0;
}

/* True for a kernel of MindSpore that is not a collective. */
static bool is_operator(const struct staged_call *call)
{
	return strcmp(call->lib, "aten") == 0 ||
	       (is_of_mindspore(call) && strncmp(call->symbol, "ms::", 4) == 0);
}

/* Writes prefix and function of a call that is not a node of autograd. */
static void name_dumped_call(const struct dump_group *g, char *out, size_t cap)
{
	const struct staged_call *call = &g->call[0];
	const char *prefix = is_of_mindspore(call) ? "Primitive" : "Aten";
	char api[SITE_NAME_MAX];

	snprintf(api, sizeof(api), "%.*s", (int)strcspn(call->op, "."), call->op);
	if (is_operator(call)) {
		if (g->site)
			dump_site_find_operator(g->site, call->op, &prefix, api, sizeof(api));
		snprintf(out, cap, "%s.%s", prefix, api);
	} else if (is_of_mindspore(call) && g->site && g->site->dist[0]) {
		snprintf(out, cap, "Distributed.%s", g->site->dist);
	} else if (strcmp(call->lib, "c10d") != 0) {
		snprintf(out, cap, "Distributed.%s", api);
	} else if (g->site && g->site->batch) {
		snprintf(out, cap, "Distributed.batch_isend_irecv");
	} else if (g->site && g->site->dist[0]) {
		snprintf(out, cap, "Distributed.%s", g->site->dist);
	} else {
		snprintf(out, cap, "Distributed.cxx_%s", api);
	}
}

static int write_forward(struct compose *c)
{
	struct dump_group *g = &c->group;
	const struct staged_call *call = &g->call[0];
	char base[DUMP_NAME_MAX - 32];
	char parent[DUMP_NAME_MAX];
	uint32_t name, number;
	int err;

	name_dumped_call(g, base, sizeof(base));
	name = dump_names_find(c->names, base);
	if (name == UINT32_MAX)
		return -ENOMEM;
	number = dump_names_add_call(c->names, name);
	err = record_made_nodes(c, g, name, number);
	if (err)
		return err;
	compose_format_full_name(c->w.name, sizeof(c->w.name), base, number, "forward");
	if (!compose_is_entry_wanted(c, "forward", c->module))
		return 0;
	g->api = strchr(base, '.') + 1;
	compose_start_entry(c, format_forward_parent(c, parent, sizeof(parent)));
	if (get_dump_keys(c->cfg)->task != DUMP_STRUCTURE) {
		if (is_operator(call))
			dump_write_operator(&c->w, g);
		else
			dump_put_distributed(&c->w, g);
	}
	dump_write_json_raw(&c->data, "\n  }");
	return call->call->stack ? compose_add_stack(c, call->call->stack, name, number) : 0;
}

#define SUMS_MAX 16 /* maximum number of gradients of a node that autograd changed */

/*
 * Writes the values of a node, with the gradients as autograd passed them on, which are parts of
 * the node's record.
 */
static void write_backward_values(struct compose *c, const struct dump_group *g)
{
	struct staged_call part[SUMS_MAX];
	void *item[SUMS_MAX] = {NULL};
	size_t cap[SUMS_MAX] = {0};
	uint32_t n;
	unsigned nparts = 0;
	const struct dump_part *p = dump_order_find_parts(&c->order, g->call[0].call->seq, &n);

	for (uint32_t i = 0; i < n && nparts < SUMS_MAX; i++) {
		const struct staged_head *h =
			dump_order_read_item(&c->order, p[i].ref, &item[nparts], &cap[nparts]);

		if (h && staged_call_read(h, &part[nparts]) && is_backward_call(&part[nparts]))
			nparts++;
	}
	dump_write_backward(&c->w, g, part, nparts);
	for (unsigned i = 0; i < SUMS_MAX; i++)
		free(item[i]);
}

static int write_backward(struct compose *c)
{
	struct dump_group *g = &c->group;
	const struct staged_call *call = &g->call[0];
	struct made_nodes *m = NULL;
	char base[DUMP_NAME_MAX - 32], parent[DUMP_NAME_MAX];
	uint32_t name, number, module;

	if (call->flags & CF_NODE)
		m = find_maker(c, JOURNAL_NODE_FIRST(call->call->comm_seq), call->call->tid);
	/*
	 * Only the last node that a call made receives the gradient of the call's result; the
	 * others are internal.
	 */
	if (m && m->met)
		return 0;
	if (m) {
		m->met = true;
		name = m->name;
		number = m->number;
	} else {
		snprintf(base, sizeof(base), "Aten.%.150s", call->op);
		name = dump_names_find(c->names, base);
		if (name == UINT32_MAX)
			return -ENOMEM;
		number = dump_names_add_call(c->names, name);
	}
	module = m ? m->module : 0;
	compose_format_full_name(c->w.name, sizeof(c->w.name), dump_names_get_text(c->names, name),
		number, "backward");
	if (!compose_is_entry_wanted(c, "backward", module))
		return 0;
	compose_start_entry(c, compose_find_parent_name(c, module, true, parent, sizeof(parent)));
	if (get_dump_keys(c->cfg)->task != DUMP_STRUCTURE)
		write_backward_values(c, g);
	dump_write_json_raw(&c->data, "\n  }");
	return 0;
}

/* True for a tensor that the program saved by its own call. */
static bool is_saved(const struct staged_call *call)
{
	return strcmp(call->lib, "probe") == 0;
}

/* Makes the text usable in file names. */
static void clean_saved_name(const char *from, char *out, size_t cap)
{
	size_t n = 0;

	for (; *from && n + 1 < cap; from++, n++)
		out[n] = strchr("/\\ \t\n\"'", *from) || (unsigned char)*from < ' ' ? '_' : *from;
	out[n] = 0;
}

static void write_dump_head(struct compose *c, struct dump_json *j);

static int write_saved(struct compose *c)
{
	const struct staged_call *call = &c->group.call[0];
	char base[DUMP_NAME_MAX - 32], name[DUMP_NAME_MAX], file[DUMP_NAME_MAX + 64];
	uint32_t at;

	clean_saved_name(call->op, base, sizeof(base));
	at = dump_names_find(c->names, base);
	if (at == UINT32_MAX)
		return -ENOMEM;
	if (!c->debugs) {
		if (dump_json_open(&c->debug, c->dirfd, DUMP_DEBUG_JSON))
			return c->debug.err;
		write_dump_head(c, &c->debug);
	}
	snprintf(name, sizeof(name), "%s.%u.debug", base, dump_names_add_call(c->names, at));
	dump_write_json_raw(&c->debug, c->debugs++ ? ",\n  " : "\n  ");
	dump_write_json_text(&c->debug, name);
	dump_write_json_raw(&c->debug, ": ");
	if (call->n) {
		compose_format_tensor_file(c, call, call->tensor[0], name, file, sizeof(file));
		dump_write_tensor(&c->debug, c->cfg, call->tensor[0], false, file);
	} else {
		dump_write_json_raw(&c->debug, "null");
	}
	return 0;
}

/* ---- calls that belong together ---- */

/* True if the call continues the group: messages of one batch, or operators of one Python function. */
static bool is_of_group(
	const struct dump_group *g, const struct staged_call *call, const struct dump_site *site)
{
	const struct staged_call *first = &g->call[0];

	if (!g->n || g->n == DUMP_GROUP_MAX || !site || !g->site || !site->caller ||
		site->caller != g->site->caller || call->call->tid != first->call->tid)
		return false;
	if (is_backward_call(call) || is_backward_call(first) ||
		is_operator(call) != is_operator(first))
		return false;
	if (!is_operator(call))
		return site->batch && g->site->batch && site != NULL;
	if (!site->api[0] || strcmp(site->api, g->site->api) != 0)
		return false;
	/* The same operator from the same call site means that the function was called again. */
	for (unsigned i = 0; i < g->n; i++)
		if (g->call[i].call->stack == call->call->stack &&
			strcmp(g->call[i].op, call->op) == 0)
			return false;
	return true;
}

int compose_write_group(struct compose *c)
{
	const struct dump_keys *keys = get_dump_keys(c->cfg);
	int err = 0;

	if (c->group.n && is_saved(&c->group.call[0]))
		err = write_saved(c);
	else if (c->group.n && (keys->level == DUMP_DEBUG || keys->level == DUMP_L0))
		err = 0;
	else if (c->group.n)
		err = is_backward_call(&c->group.call[0]) ? write_backward(c) : write_forward(c);
	c->group.n = 0;
	return err;
}

void compose_start_group(struct compose *c, const struct staged_call *call)
{
	struct dump_group *g = &c->group;

	g->site = dump_book_get_site(c->book, call->call->stack);
	g->comm = call->call->comm ? dump_book_find_comm(c->book, call->call->comm) : NULL;
	g->world_size = c->f->j->head->world_size;
	c->module = dump_modules_get_current(c->modules, call->call->tid);
}

/* True for a call inside another call of the dump: it is internal, also in msprobe. */
static bool is_inner_call(const struct compose *c, const struct staged_call *call)
{
	return call->call->parent && !is_backward_call(call) && strcmp(call->lib, "c10d") != 0 &&
	       dump_order_has(&c->order, call->call->parent);
}

static int take_staged_call(struct compose *c, uint32_t i)
{
	struct dump_group *g = &c->group;
	const struct staged_head *h;
	struct staged_call call;
	unsigned at;
	int err;

	/* The group is full: the next call would overwrite its items. */
	if (g->n == DUMP_GROUP_MAX) {
		err = compose_write_group(c);
		if (err)
			return err;
	}
	at = g->n;
	h = dump_order_read_item(&c->order, i, &c->item[at], &c->item_cap[at]);
	if (!h || !staged_call_read(h, &call)) {
		c->f->j->head->damaged++;
		return 0;
	}
	if (dump_get_module_part(&call) != MODULE_PARTS)
		return compose_module_record(c, &call, i);
	/* Parts of a node's record are read together with the record. */
	if (is_inner_call(c, &call) || (call.flags & CF_PART && is_backward_call(&call)))
		return 0;
	if (!is_of_group(g, &call, dump_book_get_site(c->book, call.call->stack))) {
		void *buf = c->item[at];
		size_t cap = c->item_cap[at];

		err = compose_write_group(c);
		if (err)
			return err;
		/* The call that was read is the first of the next group. */
		c->item[at] = c->item[0];
		c->item_cap[at] = c->item_cap[0];
		c->item[0] = buf;
		c->item_cap[0] = cap;
		compose_start_group(c, &call);
	}
	g->call[g->n++] = call;
	return 0;
}

/* ---- files ---- */

static int compare_uses(const void *x, const void *y)
{
	const struct stack_use *a = x, *b = y;

	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int write_stacks(struct compose *c, int dirfd)
{
	struct dump_json *j = &c->data;
	unsigned n = 0;
	char name[DUMP_NAME_MAX + 32];

	if (dump_json_open(j, dirfd, DUMP_STACK_JSON))
		return j->err;
	dump_write_json_raw(j, "{");
	if (c->nuse)
		qsort(c->uses, c->nuse, sizeof(*c->uses), compare_uses);
	for (uint32_t i = 0, k; i < c->nuse && get_dump_keys(c->cfg)->extra_info; i = k) {
		const struct dump_site *s = dump_book_get_site(c->book, c->uses[i].stack);

		dump_write_json_raw(j, n ? ",\n \"" : "\n \"");
		dump_write_json_u64(j, n++);
		dump_write_json_raw(j, "\": [\n  [");
		for (k = i; k < c->nuse && c->uses[k].stack == c->uses[i].stack; k++) {
			compose_format_full_name(name, sizeof(name),
				dump_names_get_text(c->names, c->uses[k].name), c->uses[k].number,
				"forward");
			dump_write_json_raw(j, k > i ? ",\n   " : "\n   ");
			dump_write_json_text(j, name);
		}
		dump_write_json_raw(j, "\n  ],\n  ");
		dump_write_json_raw(j, s ? s->frames : "[]");
		dump_write_json_raw(j, "\n ]");
	}
	dump_write_json_raw(j, n ? "\n}\n" : "}\n");
	return dump_json_close(j);
}

static const char *get_task_word(const struct config *cfg)
{
	switch (get_dump_keys(cfg)->task) {
	case DUMP_TENSOR:
	case DUMP_DIFF_CHECK:
		return "tensor";
	case DUMP_STRUCTURE:
		return "structure";
	case DUMP_OVERFLOW_CHECK:
		return "overflow_check";
	default:
		return "statistics";
	}
}

static const char *get_level_word(const struct config *cfg)
{
	static const char *const word[] = {
		[DUMP_L1] = "L1", [DUMP_L0] = "L0", [DUMP_MIX] = "mix", [DUMP_DEBUG] = "debug"};

	return word[get_dump_keys(cfg)->level];
}

/* Writes the folder of tensor files; null if there are no files. */
static void write_data_folder(struct compose *c, struct dump_json *j)
{
	const struct dump_keys *keys = get_dump_keys(c->cfg);
	char link[48], path[4096 + 32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", c->dirfd);
	n = keys->task == DUMP_TENSOR || *keys->tensor_list || j == &c->debug
		    ? readlink(link, path, 4096)
		    : -1;
	if (n <= 0) {
		dump_write_json_raw(j, "null");
		return;
	}
	snprintf(path + n, sizeof(path) - (size_t)n, "/" DUMP_DATA_FOLDER);
	dump_write_json_text(j, path);
}

static void write_dump_head(struct compose *c, struct dump_json *j)
{
	dump_write_json_raw(j, "{\n \"task\": \"");
	dump_write_json_raw(j, get_task_word(c->cfg));
	dump_write_json_raw(j, "\",\n \"level\": \"");
	dump_write_json_raw(j, get_level_word(c->cfg));
	dump_write_json_raw(j, "\",\n \"framework\": \"");
	j->mindspore = c->mindspore;
	dump_write_json_raw(j, c->mindspore ? "mindspore" : "pytorch");
	dump_write_json_raw(j, "\",\n \"dump_data_dir\": ");
	write_data_folder(c, j);
	if (*get_slices_keys(c->cfg)->request_id) {
		dump_write_json_raw(j, ",\n \"request_id\": ");
		dump_write_json_text(j, get_slices_keys(c->cfg)->request_id);
	}
	dump_write_json_raw(j, ",\n \"data\": {");
}

#define LOOKED_AT 256 /* number of calls among which one of a framework is searched */

/* True if the first call that belongs to a framework belongs to MindSpore. */
static bool is_step_of_mindspore(struct compose *c)
{
	for (uint32_t i = 0; i < c->order.n && i < LOOKED_AT; i++) {
		const struct staged_head *h =
			dump_order_read_item(&c->order, i, &c->item[0], &c->item_cap[0]);
		struct staged_call call;

		if (!h || !staged_call_read(h, &call))
			continue;
		if (is_of_mindspore(&call))
			return true;
		if (strcmp(call.lib, "aten") == 0 || strcmp(call.lib, "c10d") == 0)
			return false;
	}
	return false;
}

static int write_entries(struct compose *c, int dirfd)
{
	int err = dump_json_open(&c->data, dirfd, DUMP_JSON);

	if (err)
		return err;
	err = dump_json_open(&c->construct, dirfd, DUMP_CONSTRUCT_JSON);
	c->mindspore = is_step_of_mindspore(c);
	write_dump_head(c, &c->data);
	dump_write_json_raw(&c->construct, "{");
	for (uint32_t i = 0; i < c->order.n && !err; i++)
		err = take_staged_call(c, i);
	if (!err)
		err = compose_write_group(c);
	if (!err)
		compose_write_parameter_gradients(c);
	dump_write_json_raw(&c->data, c->entries ? "\n }\n}\n" : "}\n}\n");
	dump_write_json_raw(&c->construct, c->parents ? "\n}\n" : "}\n");
	if (err && !c->data.err)
		c->data.err = c->construct.err = err;

	int late = dump_json_close(&c->construct);

	if (c->debugs) {
		dump_write_json_raw(&c->debug, "\n }\n}\n");
		c->debug.err = c->debug.err ? c->debug.err : err;
		dump_json_close(&c->debug);
	}

	err = dump_json_close(&c->data);
	return err ? err : late;
}

static void free_compose(struct compose *c)
{
	for (unsigned i = 0; i < DUMP_GROUP_MAX; i++)
		free(c->item[i]);
	dump_order_free(&c->order);
	dump_names_free(c->names);
	dump_modules_free(c->modules);
	dump_bench_free(c->bench);
	free(c->nodes);
	free(c->uses);
	free(c);
}

int dump_write_step(struct files *f, struct dump_book *book, uint32_t step, bool own, int64_t *left)
{
	struct compose *c = calloc(1, sizeof(*c));
	const struct dump_keys *keys;
	int err, dirfd = -1;

	if (!c)
		return -ENOMEM;
	c->f = f;
	c->cfg = files_get_config_at(f, step);
	keys = get_dump_keys(c->cfg);
	c->book = book;
	c->left = left;
	if (keys->task == DUMP_DIFF_CHECK)
		c->bench = dump_bench_open(keys->bench_path, step, f->j->head->rank);
	c->order.fd = -1;
	c->names = dump_names_open();
	c->modules = dump_modules_open();
	c->w = (struct dump_writer){.j = &c->data, .cfg = c->cfg, .arg = c};
	err = c->names && c->modules ? dump_order_read(&c->order, files_get_dir(f), step) : -ENOMEM;
	if (!err)
		err = dirfd = dump_folder_open(f, step, own);
	c->dirfd = dirfd;
	if (err >= 0)
		err = write_entries(c, dirfd);
	if (!err)
		err = write_stacks(c, dirfd);
	if (!err)
		dump_tensors_remove_unmoved(f, step, &c->order);
	if (dirfd >= 0)
		close(dirfd);
	if (!err && c->order.lost)
		f->j->head->lost_rows += c->order.lost;
	free_compose(c);
	return err;
}
