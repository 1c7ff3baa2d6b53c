/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of process groups: reads the group, the tensors and the options. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/thread.h"
#include "call/comm.h"
#include "elf/loaded/elfsym.h"
#include "journal/layout.h"
#include "life/life.h"
#include "session/state.h"
#include "training/params/param.h"
#include "training/params/place.h"
#include "elf/memory.h"
#include "wrappers/layout_facts.h"
#include "wrappers/torch/tensors/on_device.h"
#include "wrappers/torch/numbers/scalars.h"
#include "wrappers/torch/numbers/split_sizes.h"
#include "wrappers/torch/tensors/torch.h"
#include "wrappers/torch/tensors/train_observers.h"

/* ---- groups ---- */

/*
 * c10d::Backend, before 2.0 c10d::ProcessGroup: vptr, reference counts, rank, size; then, from 2.1 on, a debug level and
 * the group's name as a std::string (pointer, length). torch/csrc/distributed/c10d/Backend.hpp.
 */
#define GROUP_SIZE 4 /* offset after the rank */
#define GROUP_NAME 16
/* size of a std::string; the group's description follows its name (from 2.2 on) */
#define GROUP_TEXT 32
/* different names of DeviceMesh dimensions; groups with more are of kind "group" */
#define MESHES_MAX 64
#define GROUP_RANKS_MAX 1000000

/*
 * Bytes of the vptr and the reference counts at the start of a group: 24 in 1.13 (two counts of 8
 * bytes), later 16. A group of 0 ranks means that the upper half of a count was read.
 */
static unsigned get_group_header_bytes(const char *group)
{
	return *(const int32_t *)(group + 16 + GROUP_SIZE) ? 16 : 24;
}

/* Reads the std::string at address `at`. */
static bool read_group_text(const char *at, char *out, size_t cap)
{
	const char *text = *(const char *const *)at;
	uint64_t len = *(const uint64_t *)(at + 8);

	out[0] = 0;
	if (!len || len >= cap)
		return false;
	/* A short text is in the string itself; another address is checked before it is read. */
	if (text != at + 16 && (!is_memory_readable((uintptr_t)text) ||
				       !is_memory_readable((uintptr_t)text + len - 1)))
		return false;
	for (uint64_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	memcpy(out, text, len);
	out[len] = 0;
	return true;
}

/*
 * Kinds of groups by the names of DeviceMeshes; never freed. Lock: a leaf, only tried; a forked
 * child initialises it again.
 */
static struct {
	pthread_mutex_t lock;
	char kind[MESHES_MAX][48];
	uint32_t n;
} meshes = {.lock = PTHREAD_MUTEX_INITIALIZER};

void torch_meshes_forked(void)
{
	pthread_mutex_init(&meshes.lock, NULL);
}

/*
 * The way the group was made: a DeviceMesh names the groups of each dimension ("mesh_dp",
 * "mesh_dim_0"). fields: address after the header, of a group with a name. The result is never
 * freed.
 */
static const char *read_group_kind(const char *fields)
{
	char text[sizeof(meshes.kind[0])];
	const char *kind = "group";

	if (!is_memory_readable((uintptr_t)fields + GROUP_NAME + 2 * GROUP_TEXT) ||
		!read_group_text(fields + GROUP_NAME + GROUP_TEXT, text, sizeof(text)) ||
		strncmp(text, "mesh_", 5) != 0 || strcmp(text, "mesh_default") == 0 ||
		pthread_mutex_trylock(&meshes.lock) != 0)
		return kind;
	for (uint32_t i = 0; i < meshes.n; i++)
		if (strcmp(meshes.kind[i], text) == 0)
			kind = meshes.kind[i];
	if (strcmp(kind, text) != 0 && meshes.n < MESHES_MAX) {
		strcpy(meshes.kind[meshes.n], text);
		kind = meshes.kind[meshes.n++];
	}
	pthread_mutex_unlock(&meshes.lock);
	return kind;
}

/*
 * The members' global ranks as the group's own method returns them; NULL if the group has no such
 * method or does not know its members.
 */
static const uint64_t *read_global_ranks(
	const struct torch_function *row, const void *group, uint32_t size)
{
	char name[128];
	struct provider p;
	const uint64_t *const *v;
	const char *end = strrchr(row->cxx.symbol, ':');
	size_t len = end ? (size_t)(end - 1 - row->cxx.symbol) : 0;
	size_t space = strcspn(row->cxx.symbol, ":"); /* c10d, c10d_npu */

	if (len < space + 4)
		return NULL;
	snprintf(name, sizeof(name), "_ZNK%zu%.*s%zu%.*s10groupRanksEv", space, (int)space,
		row->cxx.symbol, len - space - 2, (int)(len - space - 2),
		row->cxx.symbol + space + 2);
	if (elfsym_find_all(name, &p, 1) <= 0 || p.ifunc)
		return NULL;
	v = ((const void *(*)(const void *))p.addr)(group);
	if (!v || v[1] == v[0])
		return NULL;
	/* The group's size differs from the number of ranks that its method returned. */
	if ((size_t)(v[1] - v[0]) != size)
		session_record_layout_fact(LAYOUT_TORCH_GROUP, false);
	return (size_t)(v[1] - v[0]) == size ? v[0] : NULL;
}

static struct comm *add_group_comm(const struct torch_function *row, const char *group,
	int32_t rank, int32_t size, const char *name, const char *kind)
{
	if (session.world_rank < 0 && (strcmp(name, "0") == 0 || !*name))
		session_set_rank(rank, size);

	const uint64_t *ranks = read_global_ranks(row, group, (uint32_t)size);
	/*
	 * Before 2.1 groups do not know their members, but new_group() sorts them: a group of all ranks has the order of the
	 * world.
	 */
	const bool all = !*name && size == session.world_size && rank == session.world_rank;
	struct comm *m = comm_alloc(ranks || all ? (uint32_t)size : 0);
	char how[COMM_NAME_MAX + 96];

	if (!m)
		return NULL;
	for (uint32_t i = 0; i < m->nworld; i++)
		m->world[i] = ranks ? (int32_t)ranks[i] : (int32_t)i;
	m->lib = &adapter_c10d;
	m->handle = (uintptr_t)group;
	m->kind = kind;
	m->rank = rank;
	m->size = size;
	snprintf(m->name, sizeof(m->name), "%s", name);
	/*
	 * All members give a group the same name, which no other group of the job has. Each backend of a group counts its
	 * calls for itself. Without a name (before 2.1) groups of the same size are distinguished by their order, which is the
	 * same on all ranks only if all of them make all groups.
	 */
	snprintf(how, sizeof(how), "c10d %.*s %s",
		(int)(strrchr(row->cxx.symbol, ':') - row->cxx.symbol), row->cxx.symbol, name);
	m->id = comm_compute_id(0, how, size, m->world, m->nworld, NULL, 0);
	if (!*name && !all)
		m->flags |= CF_LOCALCOMM;
	comm_register(m);
	return m;
}

static struct comm *find_or_add_group_comm(const struct torch_function *row, const char *group)
{
	const char *fields = group + get_group_header_bytes(group);
	int32_t rank = *(const int32_t *)fields;
	int32_t size = *(const int32_t *)(fields + GROUP_SIZE);
	struct comm *m = comm_find(&adapter_c10d, (uintptr_t)group);
	const char *kind = "group";
	char name[COMM_NAME_MAX];

	if (get_layout_state(LAYOUT_TORCH_GROUP) == LAYOUT_FAILED)
		return NULL;
	if (size < 1 || size > GROUP_RANKS_MAX || rank < 0 || rank >= size) {
		session_record_layout_fact(LAYOUT_TORCH_GROUP, false);
		return NULL;
	}
	name[0] = 0;
	if (get_group_header_bytes(group) == 16)
		read_group_text(fields + GROUP_NAME, name, sizeof(name));
	/* If this fails, the known group was destroyed, and another one has its address. */
	if (m && m->rank == rank && m->size == size && strcmp(m->name, name) == 0)
		return m;
	if (*name)
		kind = read_group_kind(fields);
	m = add_group_comm(row, group, rank, size, name, kind);
	session_record_layout_fact(LAYOUT_TORCH_GROUP, true);
	return m;
}

/* ---- tensors ---- */

static void add_group_tensor(struct cxx_work *w, const void *impl, bool out)
{
	uint16_t *n = out ? &w->nout : &w->nin;
	struct buffer *v = out ? &w->out[*n] : &w->in[*n];

	if (*n == CXX_TENSORS_MAX || !torch_read_tensor(impl, v))
		return;
	v->io = out ? IO_OUT : IO_IN;
	v->index = *n;
	v->name = torch_find_tensor_name(impl, v->base);
	torch_set_grad_flag(impl, v);
	(out ? w->out_impl : w->in_impl)[*n] = impl;
	++*n;
}

static void add_list(struct cxx_work *w, struct torch_list l, bool out)
{
	for (uint64_t i = 0; i < l.n; i++)
		add_group_tensor(w, l.at[i], out);
}

static void add_lists(struct cxx_work *w, const void *vectors, bool out)
{
	for (uint64_t i = 0; i < torch_get_vector_count(vectors); i++)
		add_list(w, torch_get_vector(vectors, i), out);
}

/* in, out: this rank reads (in) or writes (out) the tensors. */
static void add_group_tensors(
	struct cxx_work *w, const struct torch_method *m, const union arg *v, bool in, bool out)
{
	switch (m->form) {
	case FORM_LIST:
	case FORM_SEND:
	case FORM_RECV:
	case FORM_RECV_ANY:
		if (in)
			add_list(w, torch_read_vector(v[1].p), false);
		if (out)
			add_list(w, torch_read_vector(v[1].p), true);
		break;
	case FORM_OUT_IN:
		add_group_tensor(w, *(void **)v[2].p, false);
		add_group_tensor(w, *(void **)v[1].p, true);
		break;
	case FORM_LISTS:
		add_list(w, torch_read_vector(v[2].p), false);
		add_list(w, torch_read_vector(v[1].p), true);
		break;
	case FORM_GATHER:
		if (in)
			add_list(w, torch_read_vector(v[2].p), false);
		if (out)
			add_lists(w, v[1].p, true);
		break;
	case FORM_SCATTER:
		if (in)
			add_lists(w, v[2].p, false);
		if (out)
			add_list(w, torch_read_vector(v[1].p), true);
		break;
	}
}

/* Records that a buffer of gradients is about to be reduced. */
static void record_gradients_sent(struct cxx_work *k, const struct comm *m, bool scatters)
{
	struct buffer sent;

	/* On a device the call's own description has no address yet (torch_set_device_addresses()). */
	for (unsigned i = 0; i < k->nin; i++)
		if (torch_find_buffer(k->in_impl[i], &sent))
			torch_gradients_sent(&sent);
	if (scatters && m && k->nin == 1 && !k->in[0].name)
		k->in[0].name = torch_open_shard_bucket(&k->in[0], (uint32_t)m->size);
}

/* Informs observers that need to know that gradients, or a norm, are equal on all ranks. */
static void handle_reduced_buffers(const struct operation *w)
{
	if (w->redop == REDOP_SUM)
		torch_record_norm_sum(w->comm->size);
	if (w->redop == REDOP_SUM || w->redop == REDOP_AVG)
		torch_bucket_reduced(w->comm->size);
}

/*
 * Records how a group is used, for keys that select one rank of a group. Gradients returned in
 * parts differ between ranks.
 */
static void record_group_use(
	const struct cxx_work *k, const struct comm *m, const struct torch_method *f)
{
	bool whole = strcmp(f->kind, "all_reduce") == 0, grads = false;
	uint64_t elements = 0;

	for (unsigned i = 0; i < k->nin; i++) {
		grads |= (train_find_buffer_name(&k->in[i]) &
				 (JOURNAL_NAME_GRAD | JOURNAL_NAME_BUCKET)) != 0;
		elements += k->in[i].count;
	}
	train_record_group_use(f->form >= FORM_SEND ? CARRIES_MESSAGE
			       : whole && grads	    ? CARRIES_GRADIENTS
			       : whole		    ? CARRIES_REDUCTION
						    : CARRIES_OTHER,
		m->id, m->rank, m->size, elements, thread_state.phase);
}

/* c10d::ReduceOp::RedOpType */
static const uint8_t redops[] = {
	REDOP_SUM, REDOP_AVG, REDOP_PROD, REDOP_MIN, REDOP_MAX, REDOP_BAND, REDOP_BOR, REDOP_BXOR};

static uint8_t read_redop(const char *at)
{
	uint8_t op = *(const uint8_t *)at;

	return op < sizeof(redops) ? redops[op] : REDOP_USER;
}

/* Reads the root at address `at`. Returns false if the value is not a rank of the group. */
static bool read_root(const char *at, const struct comm *m, int32_t *root)
{
	int64_t v = *(const int64_t *)at;
	bool is_rank = v >= 0 && v < m->size;

	if (get_layout_state(LAYOUT_TORCH_OPTIONS) == LAYOUT_FAILED)
		return false;
	if (is_rank != (get_layout_state(LAYOUT_TORCH_OPTIONS) == LAYOUT_VERIFIED))
		session_record_layout_fact(LAYOUT_TORCH_OPTIONS, is_rank);
	if (is_rank)
		*root = (int32_t)v;
	return is_rank;
}

/*
 * True if the first input and the first output have the same memory. Addresses are not available
 * on all devices.
 */
static bool is_same_memory(const struct cxx_work *k)
{
	return k->in_impl[0] == k->out_impl[0] ||
	       (k->in[0].base && k->out[0].base && is_buffer_overlap(&k->in[0], &k->out[0]));
}

/*
 * Flags for non-contiguous tensors: Gloo and NCCL ignore strides, and reduce or broadcast the
 * memory from the first element on.
 */
static uint32_t get_layout_flags(const struct buffer *v, unsigned n)
{
	uint32_t flags = 0;

	for (unsigned i = 0; i < n; i++)
		flags |= (buffer_is_permuted(&v[i]) ? CF_PERMUTED : 0) |
			 (buffer_has_gaps(&v[i]) ? CF_GAPS : 0);
	return flags;
}

/* all_to_all of one tensor: outputs, inputs, sizes of the parts received, and of those sent. */
#define SPLIT_NARGS 6
#define SPLIT_SIZES 4

bool torch_read_group_call(struct call *c)
{
	const struct torch_function *row = torch_get_function(c);
	const struct torch_method *m = row->method;
	struct operation *w = &c->op;
	const char *options = m->options ? c->v[m->options].cp : NULL;
	/* ReduceOp has such a header, too, and precedes the other fields of the options. */
	unsigned more = get_group_header_bytes(c->v[0].cp) - 16;
	bool in = true, out = true;
	struct cxx_work *k;

	torch_record_version();
	w->comm = find_or_add_group_comm(row, c->v[0].cp);
	w->flags = w->comm ? w->comm->flags : 0;
	k = torch_add_work(c);
	if (!k)
		return true;
	if (m->redop >= 0)
		w->redop = read_redop(options + m->redop + more);
	if (m->root >= 0 && w->comm &&
		read_root(options + m->root + (m->redop >= 0 ? more : 0), w->comm, &w->root)) {
		if (strcmp(m->kind, "broadcast") == 0 || m->form == FORM_SCATTER)
			in = w->comm->rank == w->root;
		else
			out = w->comm->rank == w->root;
	}
	if (m->form == FORM_SEND || m->form == FORM_RECV) {
		w->peer = (int32_t)c->v[2].i;
		w->tag = (int32_t)c->v[3].i;
	} else if (m->form == FORM_RECV_ANY) {
		w->tag = (int32_t)c->v[2].i;
	}
	if (m->form >= FORM_SEND) {
		in = m->form == FORM_SEND;
		out = !in;
	}
	add_group_tensors(k, m, c->v, in, out);
	if (k->nin == 1 && w->redop == REDOP_SUM && strcmp(m->kind, "all_reduce") == 0)
		torch_record_sum_buffer(&k->in[0]);
	if (w->comm && strcmp(m->kind, "all_reduce") == 0)
		handle_reduced_buffers(w);
	if (w->comm && k->nin == 1 && m->nargs == SPLIT_NARGS)
		record_split_sizes(w->comm->size, &k->in[0], c->v[SPLIT_SIZES].cp);
	if (strstr(m->kind, "reduce"))
		record_gradients_sent(k, w->comm, strstr(m->kind, "scatter"));
	if (w->comm && train_places_wanted())
		record_group_use(k, w->comm, m);
	if (m->form >= FORM_SEND && w->comm && w->peer != JOURNAL_NONE) {
		struct buffer *v = in ? k->in : k->out;

		if (k->nin + k->nout) {
			v->peer = w->peer;
			v->tag = w->tag;
			if (c->word & API_NUMBERED)
				v->comm_seq = comm_get_next_p2p(w->comm, in, w->peer, w->tag);
		}
	}
	if (k->nin == CXX_TENSORS_MAX || k->nout == CXX_TENSORS_MAX)
		w->flags |= CF_MORE;
	w->nin = k->nin;
	w->nout = k->nout;
	w->all_in = k->in;
	w->all_out = k->out;
	/* Gloo's own threads process tensors on the device, on their own streams. */
	if (row->backend != BACKEND_GLOO) {
		torch_set_device_addresses(c, k, false);
		torch_set_device_addresses(c, k, true);
	}
	if (k->nin && k->nout && is_same_memory(k))
		w->flags |= CF_INPLACE;
	w->flags |= get_layout_flags(k->in, k->nin) | get_layout_flags(k->out, k->nout);
	return true;
}
