/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gloo. A collective is described by its options, whose layout is that of gloo's headers since
 * 2019 (0.5.0 to 2022). Elements have a size but no type, so buffers are recorded as bytes. A
 * context has no number that all its members know, and gloo does not report its end, so each call
 * compares the context's rank and size with the known ones.
 */
#include <string.h>

#include "call/call.h"
#include "call/comm.h"
#include "elf/loaded/object_of.h"
#include "gloo_gen.h"
#include "journal/layout.h"
#include "life/life.h"
#include "session/state.h"
#include "wrappers/layout_facts.h"

#define GLOO_RANKS_MAX 1000000
#define GLOO_ELEMENT_MAX 64 /* bytes */

/*
 * Offsets of the options' fields in bytes; 0 if a kind of options lacks the field. The context is
 * at offset 0.
 */
struct options_layout {
	const char *list_name;
	uint8_t in, out, element_size, root;
	bool in_list, out_list; /* a std::vector of buffers */
	bool from_root, to_root; /* only the root's input is read, only its output is a result */
};

static const struct options_layout layouts[] = {
	{"gloo::allreduce", 32, 56, 88, 0, true, true, false, false},
	{"gloo::allgather", 16, 24, 32, 0, false, false, false, false},
	{"gloo::allgatherv", 16, 24, 56, 0, false, false, false, false},
	{"gloo::alltoall", 16, 24, 32, 0, false, false, false, false},
	{"gloo::alltoallv", 16, 24, 128, 0, false, false, false, false},
	{"gloo::barrier", 0, 0, 0, 0, false, false, false, false},
	{"gloo::broadcast", 16, 24, 40, 48, false, false, true, false},
	{"gloo::gather", 16, 24, 32, 40, false, false, false, true},
	{"gloo::gatherv", 16, 24, 56, 64, false, false, false, true},
	{"gloo::reduce", 16, 24, 40, 48, false, false, false, true},
	{"gloo::scatter", 16, 40, 48, 56, true, false, true, false},
};

static const struct options_layout *get_options_layout(const struct call *c)
{
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (strcmp(layouts[i].list_name, c->api->spec->list_name) == 0)
			return &layouts[i];
	return NULL;
}

/* ---- contexts ---- */

static void register_context(uint64_t handle, int32_t rank, int32_t size, const void *from)
{
	static _Atomic uint64_t whole;
	struct comm *m = comm_alloc(0);

	if (!m)
		return;
	m->lib = &adapter_gloo;
	m->from = from;
	m->handle = handle;
	m->kind = "context";
	m->rank = rank;
	m->size = size;
	/*
	 * A context of all ranks is numbered by how many such contexts were used before, which is
	 * the same on all ranks in most programs.
	 */
	if (size == session.world_size || session.world_size <= 0) {
		m->id = comm_compute_id(
			0, "gloo", (int64_t)atomic_fetch_add(&whole, 1), NULL, 0, NULL, 0);
		m->flags |= CF_GUESSED;
		session_set_guessed_rank(rank, size);
	} else {
		m->id = comm_compute_id(
			handle, "gloo", (int64_t)comm_get_serial(), NULL, 0, NULL, 0);
		m->flags |= CF_LOCALCOMM;
	}
	comm_register(m);
}

/*
 * gloo::Context begins with the pointer to its virtual functions (8 bytes), rank and size (an int
 * each).
 */
static struct comm *find_gloo_context(const struct call *c, const char *options)
{
	const char *context = *(const char *const *)options;
	int32_t rank, size;
	struct comm *m;

	if (!context)
		return NULL;
	memcpy(&rank, context + 8, sizeof(rank));
	memcpy(&size, context + 12, sizeof(size));
	if (size <= 0 || size > GLOO_RANKS_MAX || rank < 0 || rank >= size) {
		session_record_layout_fact(LAYOUT_GLOO_OPTIONS, false);
		return NULL;
	}
	m = comm_find(&adapter_gloo, (uint64_t)(uintptr_t)context);
	if (m && (m->rank != rank || m->size != size)) {
		/* The known context was destroyed, and another one has its address. */
		comm_remove(&adapter_gloo, m->handle);
		m = NULL;
	}
	if (!m) {
		register_context((uint64_t)(uintptr_t)context, rank, size, c->real);
		m = comm_find(&adapter_gloo, (uint64_t)(uintptr_t)context);
	}
	return m;
}

/* ---- buffers ---- */

/* gloo::transport::UnboundBuffer. */
struct unbound_buffer {
	const void *functions;
	void *at;
	uint64_t bytes;
};

static void add_unbound(
	struct operation *w, const struct unbound_buffer *b, uint64_t element, enum tensor_io io)
{
	uint16_t *n = io == IO_OUT ? &w->nout : &w->nin;

	if (!b)
		return;
	if (*n == KIND_VIEWS) {
		w->flags |= CF_MORE;
		return;
	}
	(io == IO_OUT ? w->out : w->in)[*n] = (struct buffer){
		.base = b->at,
		.count = element ? b->bytes / element : 0,
		.bytes = b->bytes,
		.unit = (int64_t)element,
		.dtype = DT_OTHER,
		.layout = BUFFER_CONTIG,
		.nostats = 1,
		.io = (uint8_t)io,
		.index = *n,
		.ndim = JOURNAL_NDIM_NONE,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.comm_seq = JOURNAL_NONE64,
	};
	++*n;
}

/* Adds the buffer, or the list of buffers, that the field at offset `field` refers to. */
static void add_field(
	struct operation *w, const char *field, bool list, uint64_t element, enum tensor_io io)
{
	const struct unbound_buffer *const *at = (const struct unbound_buffer *const *)field,
					   *const *end = at + 1;

	if (list) {
		end = ((const struct unbound_buffer *const *const *)field)[1];
		at = ((const struct unbound_buffer *const *const *)field)[0];
	}
	for (; at < end; at++)
		add_unbound(w, *at, element, io);
}

static void add_fields(struct operation *w, const struct options_layout *l, const char *options)
{
	uint64_t element;
	int32_t root;

	if (!l->in)
		return;
	memcpy(&element, options + l->element_size, sizeof(element));
	if (l->root) {
		memcpy(&root, options + l->root, sizeof(root));
		w->root = root;
	}
	if (!l->to_root || w->root == w->comm->rank)
		add_field(w, options + l->out, l->out_list, element, IO_OUT);
	if (l->from_root && w->root != w->comm->rank)
		return;
	add_field(w, options + l->in, l->in_list, element, IO_IN);
	/* Without an input buffer the data are in the output's memory. */
	if (!w->nin) {
		add_field(w, options + l->out, l->out_list, element, IO_IN);
		w->flags |= CF_INPLACE;
	}
}

/* True if the options match the layout. Checked until one call with a buffer has confirmed it. */
static bool has_valid_options(const struct options_layout *l, const char *options)
{
	const struct unbound_buffer *b;
	uint64_t element;
	bool holds;

	if (!l->in || l->in_list || get_layout_state(LAYOUT_GLOO_OPTIONS) == LAYOUT_VERIFIED)
		return true;
	memcpy(&element, options + l->element_size, sizeof(element));
	memcpy(&b, options + l->out, sizeof(b));
	if (!b)
		return true;
	holds = element && element <= GLOO_ELEMENT_MAX && b->bytes % element == 0;
	session_record_layout_fact(LAYOUT_GLOO_OPTIONS, holds);
	return holds;
}

/*
 * True for a call by PyTorch, which calls from threads of its process groups; these collectives
 * are recorded as c10d's.
 */
static bool is_called_by_torch(const struct call *c)
{
	char file[16];

	return strncmp(sibling_copy_file_name((const void *)c->pc, file, sizeof(file)), "libtorch",
		       8) == 0;
}

static bool read_gloo_call(struct call *c)
{
	const char *options = call_get_arg(c, ROLE_ITEMS)->cp;
	const struct options_layout *l = get_options_layout(c);

	if (!options || !l || get_layout_state(LAYOUT_GLOO_OPTIONS) == LAYOUT_FAILED ||
		is_called_by_torch(c) || !has_valid_options(l, options))
		return false;
	c->op.comm = find_gloo_context(c, options);
	if (!c->op.comm)
		return false;
	c->op.flags |= c->op.comm->flags;
	add_fields(&c->op, l, options);
	return true;
}

const struct adapter adapter_gloo = {
	LIB_GLOO_SPEC,
	.groups = true,
	.describe = read_gloo_call,
};
