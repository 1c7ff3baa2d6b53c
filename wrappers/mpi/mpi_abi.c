/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which MPI is loaded, its constants, and the meaning of its handles for types and operations. */
#include <stdio.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/log.h"
#include "elf/loaded/elfsym.h"
#include "life/life.h"
#include "wrappers/layout_facts.h"
#include "resolve/real.h"
#include "session/state.h"
#include "wrappers/mpi/mpi.h"

struct mpi mpi;

/* Predefined types and operations by handle, filled in once before the state becomes active. */
#define PLACES 512u

static struct place {
	uint64_t handle;
	const struct abi_const *row;
} dtypes[PLACES], redops[PLACES];

static uint64_t get_constant(const struct abi_const *k)
{
	const struct abi_cell *c = &k->at[mpi.flavour];

	return c->form == ABI_ADDRESS ? (uint64_t)(uintptr_t)elfsym_find_data(c->symbol)
	       : c->form == ABI_VALUE ? (uint64_t)c->value
				      : 0;
}

static inline struct place *find_constant_place(struct place *table, uint64_t handle)
{
	uint32_t i = (uint32_t)(handle ^ handle >> 4 ^ handle >> 13) % PLACES;

	while (table[i].row && table[i].handle != handle)
		i = (i + 1) % PLACES;
	return &table[i];
}

static void set_constant_table(struct place *table, const struct abi_const *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t h = get_constant(&rows[i]);
		struct place *p;

		if (rows[i].at[mpi.flavour].form == ABI_NONE || !h)
			continue;
		p = find_constant_place(table, h);
		/* If two names have the same handle (MPI_LONG_LONG), the first is used. */
		if (!p->row)
			*p = (struct place){h, &rows[i]};
	}
}

/*
 * The library's version does not help: MPICH 5 and Open MPI 6 come with two libraries each, one with their own constants and
 * one with those of the standard's binary interface, and both report the same version. Open MPI's own objects are in either of
 * its two.
 */
static int find_flavour(void)
{
	struct provider p;

	if (elfsym_find_after_us("PMPI_Comm_rank", &p, 1)) {
		const char *base = strrchr(p.path, '/');

		if (strncmp(base ? base + 1 : p.path, "libmpi_abi", 10) == 0)
			return ABI_MPI_STD;
	}
	return elfsym_find_data("ompi_mpi_comm_world") ? ABI_MPI_OMPI : ABI_MPI_MPICH;
}

/*
 * Returns false if a function is missing. The search is repeated only after a library was loaded:
 * otherwise each call of a program whose MPI lacks a function would search all objects for all of
 * them.
 */
static bool find_functions(void)
{
	/* real_get_loads() + 1 when the functions were not found */
	static _Atomic uint32_t missed_at;
	uint32_t loads = real_get_loads() + 1;
	const char *missing = NULL;

	if (atomic_load_explicit(&missed_at, memory_order_relaxed) == loads)
		return false;

	static const struct {
		const char *name;
		size_t at;
	} want[] = {
#define F(field, name) {"PMPI_" name, offsetof(struct mpi_functions, field)}
		F(initialized, "Initialized"),
		F(finalized, "Finalized"),
		F(get_library_version, "Get_library_version"),
		F(comm_rank, "Comm_rank"),
		F(comm_size, "Comm_size"),
		F(comm_remote_size, "Comm_remote_size"),
		F(comm_test_inter, "Comm_test_inter"),
		F(comm_group, "Comm_group"),
		F(comm_remote_group, "Comm_remote_group"),
		F(group_size, "Group_size"),
		F(group_rank, "Group_rank"), /* for sessions only: may be missing */
		F(group_translate_ranks, "Group_translate_ranks"),
		F(group_free, "Group_free"),
		F(type_size, "Type_size"),
		F(type_get_extent, "Type_get_extent"),
		F(get_elements_x, "Get_elements_x"),
		F(test_cancelled, "Test_cancelled"),
		F(request_get_status, "Request_get_status"),
		F(isend, "Isend"),
		F(wait, "Wait"),
		F(cartdim_get, "Cartdim_get"),
		F(graph_neighbors_count, "Graph_neighbors_count"),
		F(dist_graph_neighbors_count, "Dist_graph_neighbors_count"),
#undef F
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		void *f = real_find_symbol(want[i].name);

		memcpy((char *)&mpi.f + want[i].at, &f, sizeof(f));
		if (!f && want[i].at != offsetof(struct mpi_functions, group_rank))
			missing = want[i].name;
	}
	if (missing) {
		log_loss(LOSS_REAL,
			"%s: not in the MPI library of this program; no MPI call is recorded",
			missing);
		atomic_store_explicit(&missed_at, loads, memory_order_relaxed);
	}
	return !missing;
}

static void record_mpi_version(void)
{
	char text[8192], line[LIBRARY_TEXT_MAX];
	int n = 0;

	if (!mpi.f.get_library_version || mpi.f.get_library_version(text, &n) != 0)
		return;
	text[sizeof(line) - 1] = 0;
	/* After "MPICH Version:\t4.0.2\n", MPICH lists its whole configuration. */
	text[strcspn(text, "\n")] = 0;
	strcpy(line, text);
	for (char *p = line; *p; p++)
		if (*p == '\t')
			*p = ' ';
	session_record_library("mpi", line);
}

/* Open MPI uses the handles of its own ABI in the standard's ABI, too. */
static void find_request_marks(void)
{
	mpi.done = (uint64_t)mpi.constant[CONST_REQUEST_DONE];
	mpi.done_mask = mpi.done ? (uint64_t)mpi.constant[CONST_REQUEST_DONE_MASK] : 0;
	mpi.done_send = (uint64_t)(uintptr_t)elfsym_find_data("ompi_request_empty_send");
	if (mpi.flavour == ABI_MPI_STD && elfsym_find_data("ompi_request_empty")) {
		mpi.done = (uint64_t)(uintptr_t)elfsym_find_data("ompi_request_empty");
		mpi.done_mask = UINT64_MAX;
	}
	atomic_store(&mpi.marks_unknown, mpi.flavour == ABI_MPI_STD && !mpi.done);
}

static void load_mpi_constants(void *arg)
{
	(void)arg;
	mpi.flavour = find_flavour();
	for (int i = 0; i <= CONST_STATUS_ERROR; i++)
		mpi.constant[i] = (int64_t)get_constant(&mpi_abi_consts[i]);
	mpi.handle_size = (unsigned)mpi.constant[CONST_HANDLE_SIZE];
	find_request_marks();
	if (!find_functions())
		return;
	set_constant_table(
		dtypes, mpi_abi_dtypes, sizeof(mpi_abi_dtypes) / sizeof(*mpi_abi_dtypes));
	set_constant_table(
		redops, mpi_abi_redops, sizeof(mpi_abi_redops) / sizeof(*mpi_abi_redops));
	for (unsigned i = 0; i < PLACES; i++)
		if (dtypes[i].row && strcmp(dtypes[i].row->name, "MPI_BYTE") == 0)
			mpi.byte = dtypes[i].handle;
	mpi_comm_predefined();
	record_mpi_version();
	atomic_store_explicit(&mpi.state, MPI_ACTIVE, memory_order_release);
}

bool mpi_load(void)
{
	if (atomic_load_explicit(&mpi.state, memory_order_acquire) == MPI_UNKNOWN)
		private_stack_call(load_mpi_constants, NULL);
	return atomic_load_explicit(&mpi.state, memory_order_acquire) == MPI_ACTIVE;
}

/* The slow part of mpi_is_ready(), which every call executes. */
__attribute__((noinline)) static bool is_mpi_ready_by_now(void)
{
	int flag = 0;

	if (atomic_load_explicit(&mpi.state, memory_order_acquire) == MPI_OVER)
		return false;
	/*
	 * The call of MPI_Init may not have been seen (a Fortran program, or a tool that called
	 * PMPI_Init directly). MPI_Initialized may be called at any time.
	 */
	int (*initialized)(int *) = (int (*)(int *))real_find_symbol("PMPI_Initialized");
	int (*finalized)(int *) = (int (*)(int *))real_find_symbol("PMPI_Finalized");

	if (!initialized || !finalized || initialized(&flag) || !flag || finalized(&flag) || flag)
		return false;
	return mpi_load();
}

bool mpi_is_ready(void)
{
	int state = atomic_load_explicit(&mpi.state, memory_order_acquire);

	return __builtin_expect(state == MPI_ACTIVE, 1) || is_mpi_ready_by_now();
}

uint64_t mpi_handle_at(const void *p, uint64_t i)
{
	if (mpi.handle_size == 4) {
		uint32_t h;

		memcpy(&h, (const char *)p + 4 * i, 4);
		return h;
	}

	uint64_t h;

	memcpy(&h, (const char *)p + 8 * i, 8);
	return h;
}

/* Queries MPI about a derived type, or a type whose size only MPI knows. */
__attribute__((noinline)) static void read_derived_dtype(uint64_t h, struct dtype_desc *d)
{
	int size = 0;
	int64_t lb = 0, extent = 0;

	/*
	 * A query about the null type ends the job. A program may pass the null type if no data
	 * is moved.
	 */
	if (!h || h == (uint64_t)mpi.constant[CONST_MPI_DATATYPE_NULL])
		return;
	if (mpi.f.type_size((mpi_handle)h, &size) == 0 && size > 0)
		d->size = (uint64_t)size;
	if (mpi.f.type_get_extent((mpi_handle)h, &lb, &extent) == 0)
		d->extent = extent;
}

void mpi_find_dtype(uint64_t handle, struct dtype_desc *d)
{
	uint64_t h = mpi_get_clean_handle(handle);
	const struct abi_const *row = find_constant_place(dtypes, h)->row;

	set_plain_dtype(d, row ? row->to : DT_OTHER);
	d->derived = !row || row->derived;
	if (__builtin_expect(!d->size, 0))
		read_derived_dtype(h, d);
}

enum redop mpi_find_redop(uint64_t handle)
{
	const struct place *p = find_constant_place(redops, mpi_get_clean_handle(handle));

	return p->row ? (enum redop)p->row->to : REDOP_USER;
}

bool mpi_is_no_op(uint64_t handle)
{
	return mpi_get_clean_handle(handle) == (uint64_t)mpi.constant[CONST_MPI_NO_OP];
}

int32_t mpi_get_status_int(const void *status, int which)
{
	int32_t v;

	memcpy(&v, (const char *)status + mpi.constant[which], sizeof(v));
	return v;
}

void mpi_set_received_count(struct buffer *v, const void *status)
{
	int64_t bytes = -1;

	/* Counted in bytes, because the message may not hold a whole number of elements of the type. */
	if (mpi.f.get_elements_x(status, (mpi_handle)mpi.byte, &bytes) == 0 && bytes >= 0 &&
		(uint64_t)bytes <= v->bytes) {
		uint64_t size = v->count ? v->bytes / v->count : 0;

		v->bytes = (uint64_t)bytes;
		/* For elements of 0 bytes the number of arrived elements is not known. */
		v->count = size ? (uint64_t)bytes / size : v->count;
	}
}

void mpi_received(struct operation *w, const void *status)
{
	int32_t source = mpi_get_status_int(status, CONST_STATUS_SOURCE),
		tag = mpi_get_status_int(status, CONST_STATUS_TAG);

	if (!w->nout)
		return;

	struct buffer *v = &w->out[0];
	bool wildcard = v->peer == JOURNAL_NONE || v->tag == JOURNAL_NONE;

	/* Intel MPI 2021.19 leaves the status of MPI_Isendrecv as it found it. */
	if (!wildcard && w->nin && v->peer >= 0 && (source != v->peer || tag != v->tag))
		return;
	mpi_set_received_count(v, status);
	if (!wildcard) {
		if (get_layout_state(LAYOUT_MPI_STATUS) == LAYOUT_UNSEEN && v->bytes &&
			v->peer >= 0)
			session_record_layout_fact(
				LAYOUT_MPI_STATUS, source == v->peer && tag == v->tag);
		return;
	}
	if (get_layout_state(LAYOUT_MPI_STATUS) == LAYOUT_FAILED)
		return;
	v->peer = source >= 0 ? source : JOURNAL_NONE;
	v->tag = tag >= 0 ? tag : JOURNAL_NONE;
	if (w->comm && source >= 0 && !w->unnumbered)
		v->comm_seq = comm_get_next_p2p(w->comm, false, source, tag);
	if (!w->nin) {
		w->peer = v->peer;
		w->tag = v->tag;
	}
}
