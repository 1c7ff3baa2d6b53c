/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel.json: the role of each communicator in a training, from its traffic:
 *
 * - pipeline: messages, and little else
 * - expert: all-to-all in forward passes, if names of parameters or of the mesh contain experts or
 *   a router
 * - exchange: all-to-all in forward passes without such names: sequence parallelism, embedding
 *   tables on several ranks
 * - tensor: reductions in forward and in backward passes that are not of parameters' gradients
 * - data: reductions of gradients (by name, or in backward passes only)
 *
 * The file also has the program's own name for the mesh dimension of the communicator (PyTorch's
 * DeviceMesh), if there is one. It is replaced as a whole when a role has changed. Only records
 * that this process has seen are counted. After a crash only a few are left to be read; then an
 * existing file is more complete, and is kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/io.h"
#include "text/text.h"
#include "sink/format.h"
#include "formats/csv_training/parallel_json.h"

#define COMMS_MAX 256 /* maximum number; additional communicators are not in the file */
#define RANKS_TEXT 256 /* bytes of a list of ranks; longer ones are omitted */
#define ROW_TEXT (RANKS_TEXT + 400)
#define NUMBERS_MAX 16 /* largest number of elements in a count or mean that a program reduces */

struct parallel {
	struct files *files;
	struct carried *comm;
	unsigned n;
	bool stays, changed;
	bool experts; /* a parameter's name contains experts or a router */
	bool passes; /* calls in forward or backward passes were seen: it is a training */
	uint64_t written; /* hash of the text that was written */
};

static int open_parallel(void *state, struct files *files)
{
	struct parallel *p = state;
	struct stat st;

	p->files = files;
	p->stays = fstatat(files_get_dir(files), "parallel.json", &st, AT_SYMLINK_NOFOLLOW) == 0;
	return 0;
}

static struct carried *find_carried(struct parallel *p, uint64_t id)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->comm[i].id == id)
			return &p->comm[i];
	return NULL;
}

static int add_comm(void *state, const struct record_comm *e)
{
	struct parallel *p = state;
	struct carried *c;

	if (p->stays || e->size < 2 || find_carried(p, e->id) || p->n == COMMS_MAX)
		return 0;
	if (!p->comm)
		p->comm = calloc(COMMS_MAX, sizeof(*p->comm));
	if (!p->comm)
		return 0;
	c = &p->comm[p->n++];
	*c = (struct carried){.id = e->id, .size = e->size, .mpi = strcmp(e->lib, "mpi") == 0};
	if (strlen(e->world_ranks) < sizeof(c->ranks))
		strcpy(c->ranks, e->world_ranks);
	/* Names are identifiers, or nearly so; characters that JSON would escape are dropped. */
	if (strncmp(e->kind, "mesh_", 5) == 0 && strlen(e->kind) < sizeof(c->mesh) &&
		!strpbrk(e->kind, "\"\\"))
		strcpy(c->mesh, e->kind + 5);
	return 0;
}

/* ---- traffic ---- */

static bool is_any_of(const char *op, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(op, *list) == 0)
			return true;
	return false;
}

/*
 * gradients: the tensors are gradients of parameters, by name. Losses, counts and norms that a
 * program sums between two backward passes look like reductions of a forward pass, but they have
 * fewer elements than an activation.
 */
void parallel_add_call(struct carried *c, const char *op, unsigned phase, uint32_t step,
	uint64_t elements, bool gradients)
{
	static const char *const messages[] = {"send", "recv", "sendrecv", NULL};
	static const char *const reductions[] = {"all_reduce", "reduce", "reduce_scatter", NULL};
	unsigned pass = phase == PHASE_FORWARD ? 0 : phase == PHASE_BACKWARD ? 1 : 2;

	if (!c->calls || step > c->last_step)
		c->last_step = step;
	if (!c->calls || step < c->first_step)
		c->first_step = step;
	c->calls++;
	if (is_any_of(op, messages))
		c->messages++;
	else if (strcmp(op, "all_to_all") == 0)
		c->exchanges[pass]++;
	else if (is_any_of(op, reductions) && gradients)
		c->gradients++;
	else if (is_any_of(op, reductions) && (pass || elements > NUMBERS_MAX))
		c->reductions[pass]++;
}

enum comm_role parallel_find_role(const struct carried *c, double *sure, const char **why)
{
	uint64_t steps = (uint64_t)c->last_step - c->first_step + 1;

	*sure = 0;
	*why = "";
	if (2 * c->messages > c->calls) {
		*sure = 10 * c->messages > 9 * c->calls ? 0.9 : 0.7;
		*why = "it carries messages between ranks";
		return ROLE_PIPELINE;
	}
	if (c->exchanges[0]) {
		*sure = c->exchanges[1] ? 0.9 : 0.6;
		*why = c->experts ? "all-to-all in forward passes, and experts among the names"
				  : "all-to-all in forward passes";
		return c->experts ? ROLE_EXPERT : ROLE_EXCHANGE;
	}
	if (c->gradients) {
		*sure = 0.95;
		*why = "gradients of parameters are reduced";
		return ROLE_DATA;
	}
	/*
	 * More than one reduction per step: averaging a vector happens once per step. Phases are
	 * known from the first backward pass on.
	 */
	if (c->reductions[0] > steps && c->reductions[1]) {
		*sure = 0.8;
		*why = "reductions in forward and backward passes";
		return ROLE_TENSOR;
	}
	if (c->reductions[1]) {
		*sure = c->reductions[0] ? 0.7 : 0.8;
		*why = "reductions in backward passes";
		return ROLE_DATA;
	}
	return ROLE_NONE;
}

static int handle_parallel_call(void *state, const struct record *r)
{
	struct parallel *p = state;
	struct carried *c = p->n ? find_carried(p, r->call->comm) : NULL;
	bool gradients = false;
	uint64_t elements = 0;

	if (!c)
		return 0;
	for (unsigned i = 0; i < r->n; i++) {
		if (r->tensor[i]->count > elements)
			elements = r->tensor[i]->count;
		gradients |= (r->tensor[i]->name & (JOURNAL_NAME_GRAD | JOURNAL_NAME_BUCKET)) != 0;
	}
	p->passes |= r->call->phase == PHASE_FORWARD || r->call->phase == PHASE_BACKWARD;
	parallel_add_call(c, r->api.op, r->call->phase, r->call->step, elements, gradients);
	p->changed = true;
	return 0;
}

/* ---- the file ---- */

static void put_carried(
	struct text *t, const struct parallel *p, const struct carried *c, bool first)
{
	static const char *const words[] = {[ROLE_DATA] = "data",
		[ROLE_TENSOR] = "tensor",
		[ROLE_PIPELINE] = "pipeline",
		[ROLE_EXPERT] = "expert",
		[ROLE_EXCHANGE] = "exchange"};
	double sure;
	const char *why;
	enum comm_role role = parallel_find_role(c, &sure, &why);
	char line[ROW_TEXT];

	/*
	 * In a program that is not a training, neighbours that exchange halos look like pipeline
	 * stages.
	 */
	if (role == ROLE_NONE || (role == ROLE_PIPELINE && c->mpi && !p->passes))
		return;
	snprintf(line, sizeof(line),
		"%s\n  {\"comm\": \"%016llx\", \"role\": \"%s\", \"confidence\": %.2f, \"size\": "
		"%d, \"ranks\": \"%s\", \"mesh\": \"%s\", \"why\": \"%s\"}",
		first ? "" : ",", (unsigned long long)c->id, words[role], sure, c->size, c->ranks,
		c->mesh, why);
	text_add_string(t, line);
}

static bool is_name_of_experts(const char *name)
{
	return strstr(name, "expert") || strstr(name, "router") || strstr(name, ".moe.");
}

static int find_experts(void *state, const struct record_name *e)
{
	struct parallel *p = state;

	if (p->experts || !is_name_of_experts(e->name))
		return 0;
	p->experts = p->changed = true;
	return 0;
}

static void write_parallel(struct parallel *p)
{
	size_t cap = 64 + (size_t)p->n * ROW_TEXT;
	char *buf = malloc(cap);
	struct text t = text_init(buf, cap);
	size_t empty;
	uint64_t hash;

	if (!buf)
		return;
	text_add_string(&t, "{\"communicators\": [");
	empty = t.len;
	for (unsigned i = 0; i < p->n; i++) {
		const char *mesh = p->comm[i].mesh;

		p->comm[i].experts =
			p->experts || strcmp(mesh, "ep") == 0 || strstr(mesh, "expert");
		put_carried(&t, p, &p->comm[i], t.len == empty);
	}
	hash = hash_str(1, buf);
	if ((t.len > empty || p->written) && hash != p->written) {
		text_add_string(&t, "\n]}\n");
		if (!t.cut &&
			io_replace_file(files_get_dir(p->files), "parallel.json", buf, t.len) == 0)
			p->written = hash;
	}
	free(buf);
}

static void commit_parallel(void *state, bool written)
{
	struct parallel *p = state;

	if (!written || !p->changed || p->stays)
		return;
	p->changed = false;
	write_parallel(p);
}

static void close_parallel(void *state)
{
	struct parallel *p = state;

	free(p->comm);
	p->comm = NULL;
	p->n = 0;
}

const struct sink_format parallel_format = {
	.formats = FORMAT_FILES,
	.state_bytes = sizeof(struct parallel),
	.open = open_parallel,
	.record = handle_parallel_call,
	.comm = add_comm,
	.name = find_experts,
	.commit = commit_parallel,
	.close = close_parallel,
};
