/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneCCL's C++ interface. An operation is complete when its event reports so, to the first thread that asks. An event
 * or communicator is identified by the pointer that it begins with, because the program may move it.
 */
#include <string.h>

#include "base/hash.h"
#include "call/async.h"
#include "call/describe.h"
#include "call/recorder.h"
#include "device/device.h"
#include "elf/loaded/object_of.h"
#include "oneccl_cxx_gen.h"
#include "wrappers/ccl/ccl.h"

/* The pointer that the object begins with, which identifies it; 0 if the object was moved away. */
static uint64_t get_object_pointer(const union arg *object)
{
	return object && object->cp ? *(const uint64_t *)object->cp : 0;
}

/* ---- communicators ---- */

#define KVS_BYTES 256 /* ccl::kvs::address_type */

/* A key-value store's address, then the index of a communicator among those made with it. */
struct kvs_id {
	char address[KVS_BYTES];
	uint64_t store_index;
};

/*
 * Number of communicators made from each store. A process has few stores; communicators of
 * further stores have no number that is equal on all ranks.
 */
static struct {
	_Atomic uint64_t hash;
	_Atomic uint64_t made;
} stores[64];

/* Sets the index of the communicator among those made with its store. Returns false if the table of stores is full. */
static bool set_store_index(struct kvs_id *id)
{
	uint64_t h = 1, word;

	for (unsigned i = 0; i < KVS_BYTES; i += sizeof(word)) {
		memcpy(&word, id->address + i, sizeof(word));
		h = hash_u64(h, word);
	}
	for (unsigned i = 0; i < sizeof(stores) / sizeof(*stores); i++) {
		uint64_t is = 0;

		if (atomic_compare_exchange_strong(&stores[i].hash, &is, h) || is == h) {
			id->store_index = atomic_fetch_add(&stores[i].made, 1);
			return true;
		}
	}
	return false;
}

/*
 * Reads the id that all ranks of a new communicator were given. Returns false if the store is an
 * object of the program's own class.
 */
static bool read_kvs_id(const struct call *c, struct kvs_id *id)
{
	const uint64_t *const *kvs =
		(const uint64_t *const *)get_object_pointer(call_get_arg(c, ROLE_ID));
	uint64_t get_id =
		(uint64_t)(uintptr_t)sibling_find_symbol(c->real, "_ZN3ccl2v13kvs6get_idEv");
	void (*get_address)(void *, const void *) = (void (*)(void *,
		const void *))sibling_find_symbol(c->real, "_ZNK3ccl2v13kvs11get_addressEv");

	/* The virtual functions of ccl::kvs_interface: two destructors, get, set, get_id. */
	if (!kvs || !get_id || !get_address || (*kvs)[4] != get_id)
		return false;
	get_address(id->address, kvs);
	return set_store_index(id);
}

/*
 * The library reads only the first word of a communicator, so a variable that holds `pointer`
 * serves as the object.
 */
static struct comm *find_or_add_comm(uint64_t pointer)
{
	uint64_t object[2] = {pointer, 0};

	return pointer ? ccl_find_comm_by_argument(
				 &ccl_oneccl_cxx, pointer, (uint64_t)(uintptr_t)object)
		       : NULL;
}

static union arg *copy_arguments(const struct call *c, union arg *to)
{
	memcpy(to, c->v, c->api->spec->nargs * sizeof(*to));
	return to;
}

/* Registers a communicator like wrappers/ccl, except for the position of the id. */
static void register_cxx_comm(struct call *c)
{
	union arg own[API_ARGS_MAX], *given = c->v;
	struct kvs_id id;

	c->v = copy_arguments(c, own);
	if (call_get_arg(c, ROLE_ID))
		call_get_arg(c, ROLE_ID)->cp = read_kvs_id(c, &id) ? &id : NULL;
	ccl_handle_leave(&ccl_oneccl_cxx, c, 0);
	c->v = given;
}

/* ---- operations ---- */

/*
 * Replaces the argument, a std::vector with a count for each rank, by the address of the first
 * count, which the description of buffers needs. Returns false if it is too short.
 */
static bool set_counts_argument(union arg *vector, const struct comm *m)
{
	const uint64_t *const *at = vector ? vector->cp : NULL;

	if (!vector)
		return true;
	if (m && at[1] - at[0] < m->size)
		return false;
	vector->cp = at[0];
	return true;
}

/* True if the first and the last byte of each part can be read. */
static bool has_readable_parts(const struct buffer *v)
{
	uint64_t size = get_dtype_info(v->dtype)->size;

	for (uint32_t i = 0; i < v->n; i++) {
		uint64_t n = ((const uint64_t *)v->counts)[i];

		if (n && !device_probe(((const void *const *)v->displs)[i], n * size))
			return false;
	}
	return true;
}

/*
 * vector: a std::vector of pointers, one for each rank. counts: number of elements of each, NULL
 * if all are equal; then the number is stored in c->note as often as fits.
 */
static void set_part_buffers(struct call *c, struct buffer *v, const union arg *vector,
	const union arg *counts, const struct comm *m)
{
	const uint64_t *const *at = vector->cp;
	uint32_t n = (uint32_t)m->size;
	unsigned space = sizeof(c->note.shape) / sizeof(uint64_t);
	uint64_t *same = (uint64_t *)c->note.shape;

	v->base = NULL;
	v->layout = BUFFER_SEGMENTS;
	v->nostats = 1;
	v->unit = 1;
	v->width = v->dwidth = sizeof(uint64_t);
	v->n = 0;
	v->counts = v->displs = NULL;
	if (at[1] - at[0] < m->size || (!counts && n > space))
		return;
	for (uint32_t i = 0; !counts && i < n; i++)
		same[i] = v->count / n;
	v->counts = counts ? counts->cp : same;
	v->displs = at[0];
	v->n = n;
	v->nostats = v->dtype == DT_OTHER || !has_readable_parts(v);
}

/* Handles functions that are given a buffer for each rank; they have kinds of their own. */
static void set_list_buffers(struct call *c, const struct comm *m)
{
	static const char tail[] = "_lists";
	const char *kind = c->api->spec->kind->name;
	size_t n = strlen(kind);

	if (!m || n < sizeof(tail) || strcmp(kind + n - (sizeof(tail) - 1), tail) != 0)
		return;
	if (strncmp(kind, "alltoall", 8) == 0 && c->op.nin)
		set_part_buffers(c, &c->op.in[0], call_get_arg(c, ROLE_SEND),
			call_get_arg(c, ROLE_SCOUNTS), m);
	if (c->op.nout)
		set_part_buffers(c, &c->op.out[0], call_get_arg(c, ROLE_RECV),
			call_get_arg(c, ROLE_RCOUNTS), m);
}

static bool read_oneccl_cxx_call(struct call *c)
{
	union arg own[API_ARGS_MAX], *given = c->v;
	struct comm *m = find_or_add_comm(get_object_pointer(call_get_arg(c, ROLE_COMM)));
	bool fits;

	c->v = copy_arguments(c, own);
	fits = set_counts_argument(call_get_arg(c, ROLE_SCOUNTS), m) &&
	       set_counts_argument(call_get_arg(c, ROLE_RCOUNTS), m);
	if (fits) {
		describe_by_kind(c, m);
		set_list_buffers(c, m);
	}
	c->v = given;
	return fits;
}

static void handle_operation_return(struct call *c)
{
	uint64_t event = get_object_pointer(call_get_arg(c, ROLE_REQUEST));

	if (!event) {
		async_record_complete(c, c->end);
		return;
	}
	if (async_has_request(event))
		async_reused(c, event, false);
	async_started(c, event, false);
}

/* ---- events ---- */

static struct async_claims *get_event_claims(struct call *c)
{
	return (struct async_claims *)&c->note;
}
_Static_assert(sizeof(struct async_claims) <= sizeof(((struct call *)0)->note), "");

static void handle_event_begin(struct call *c)
{
	uint64_t event =
		pending_get_count() ? get_object_pointer(call_get_arg(c, ROLE_REQUEST)) : 0;

	async_claim_one(get_event_claims(c), event ? thread_get() : NULL, event);
	if (get_event_claims(c)->thread && c->api->spec->task == TASK_WAIT)
		async_wait_begin(c);
}

static void handle_event_return(struct call *c, int64_t ret)
{
	struct async_claims *a = get_event_claims(c);
	uint64_t end;

	if (!async_has_claims(a))
		return;
	if (c->api->spec->task == TASK_WAIT)
		async_wait_end(c);
	if (c->api->spec->task == TASK_REQUEST) {
		async_freed(c, a->claim, c->end, CF_FREED, 0);
	} else if (c->api->spec->task == TASK_WAIT || (ret & 0xff)) {
		end = call_ended(c);
		async_record_done(c, a->claim, end, end - c->start, 0, 0, NULL, NULL, false);
	}
	async_close_claims(a);
}

static bool is_event_task(const struct call *c)
{
	unsigned task = c->api->spec->task;

	return task == TASK_WAIT || task == TASK_TEST || task == TASK_REQUEST;
}

static void handle_oneccl_cxx_begin(struct call *c)
{
	if (is_event_task(c))
		handle_event_begin(c);
	else
		ccl_handle_enter(&ccl_oneccl_cxx, c);
}

static void handle_oneccl_cxx_return(struct call *c, int64_t ret)
{
	if (is_event_task(c))
		handle_event_return(c, ret);
	else if (c->api->spec->task == TASK_DATA)
		handle_operation_return(c);
	else if (c->api->spec->task == TASK_COMM_NEW)
		register_cxx_comm(c);
	else
		ccl_handle_leave(&ccl_oneccl_cxx, c, ret);
}

const struct adapter adapter_oneccl_cxx = {
	LIB_ONECCL_CXX_SPEC,
	.unsure = true, /* memory: may be a device's */
	.comm = find_or_add_comm,
	.describe = read_oneccl_cxx_call,
	.enter = handle_oneccl_cxx_begin,
	.leave = handle_oneccl_cxx_return,
};
