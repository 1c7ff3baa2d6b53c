/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/mindspore/routers.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "call/data/buffer_check.h"
#include "call/step.h"
#include "terms/dtype.h"
#include "text/suffix.h"
#include "training/params/expert_rows.h"
#include "training/params/experts.h"
#include "training/params/kind.h"
#include "training/params/metric.h"
#include "wrappers/mindspore/kernel_phase.h"
#include "wrappers/mindspore/parameters.h"

/*
 * Guards all variables of this file. Held to look something up and to store a result, never while a
 * weight is measured: kernels of a graph run on several threads, and one thread's measurement does
 * not delay the kernels of the others. Order: after the lock of expert_values.c, before those of
 * names of parameters. A forked child initialises it again.
 *
 * A measurement is in three parts: copy what is needed (a router's id, address and shape), measure,
 * store the result. When it is stored, the id may be that of no router any more: then there is
 * nothing to store. Two threads may measure the same weight: the first result is stored.
 */
static pthread_mutex_t routers_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the table; the caller holds the lock ---- */

#define ROUTERS_MAX 512u
/*
 * Before the first backward pass of PYNATIVE mode, parameters have no names. Until then a matrix
 * with at most UNNAMED_EXPERTS_MAX rows, and at least twice as many columns (or the other way
 * round), may be a router's.
 */
#define UNNAMED_MAX 256u
#define UNNAMED_EXPERTS_MAX 512u

static struct router {
	uint64_t
		id; /* its place, and how many routers were added before it; 0: the place is free */
	uint32_t experts, width;
	int64_t dims[2]; /* experts and width, in the order of the parameter */
	uint8_t dtype;
	bool named; /* false: it may be a router */
	uint32_t generation; /* of the table of parameters that contains it; 0: none */
	uint32_t measured, wrote; /* 1 + the step in which similarity was computed, was written */
	double similarity;
	double of_copy; /* similarity of the last copy, which may be rounded; NAN: none */
	char name[TRAIN_NAME_MAX];
} routers[ROUTERS_MAX];
static const void *router_data[ROUTERS_MAX]; /* the parameters' memory */
static uint32_t nrouter; /* places from here on are free */
static uint64_t nadded; /* routers that were added so far */
static uint32_t loaded_generation;

/* Memory of graphs' arguments that are no router's weight. */
#define KNOWN_SLOTS 4096u
static struct known_memory {
	const void *data;
	uint32_t generation;
} known[KNOWN_SLOTS];

bool ms_has_parameter_names(void)
{
	const struct train_params *all = train_get_params();

	return all && all->n;
}

/*
 * Removes ".weight" from a parameter's name. Returns false if it is not the name of a router's
 * weight: neither its cell is a router, nor the one around a cell named dense.
 */
static bool get_router_name(char *name)
{
	char *dense;
	bool is_router;

	if (!has_suffix(name, ".weight"))
		return false;
	name[strlen(name) - strlen(".weight")] = 0;
	if (is_router_name(name))
		return true;
	if (!has_suffix(name, ".dense"))
		return false;
	dense = name + strlen(name) - strlen(".dense");
	*dense = 0;
	is_router = is_router_name(name);
	*dense = '.';
	return is_router;
}

/* Returns NULL if the router was removed, or another one is at its place. */
static struct router *get_router(uint64_t id)
{
	struct router *r = &routers[id % ROUTERS_MAX];

	return id && r->id == id ? r : NULL;
}

static struct router *find_router_at(const void *data)
{
	for (uint32_t i = 0; data && i < nrouter; i++)
		if (router_data[i] == data)
			return &routers[i];
	return NULL;
}

static void init_router(struct router *r)
{
	*r = (struct router){
		.id = ++nadded * ROUTERS_MAX + (uint64_t)(r - routers), .of_copy = NAN};
}

/* Returns NULL if there is no free place below `most`. */
static struct router *add_router(const void *data, uint32_t most)
{
	uint32_t i = 0;

	while (i < most && routers[i].id)
		i++;
	if (i == most)
		return NULL;
	if (i == nrouter)
		nrouter++;
	router_data[i] = data;
	init_router(&routers[i]);
	return &routers[i];
}

/* False for a parameter that is no longer in the table, or if other data are in its memory. */
static bool has_router_weight(const struct router *r, const int64_t *dims, uint8_t dtype)
{
	return r->dtype == dtype && memcmp(r->dims, dims, sizeof(r->dims)) == 0 &&
	       (!r->generation || r->generation == loaded_generation);
}

static struct router *find_or_add_router(const void *data, const int64_t *dims, uint8_t dtype)
{
	struct router *r = find_router_at(data);
	uint32_t most =
		ms_has_parameter_names() || ms_is_graph_running() ? ROUTERS_MAX : UNNAMED_MAX;

	if (!r)
		r = add_router(data, most);
	else if (!has_router_weight(r, dims, dtype))
		init_router(r);
	if (!r)
		return NULL;
	r->experts = get_expert_number(dims);
	r->width = (uint32_t)(dims[0] < dims[1] ? dims[1] : dims[0]);
	memcpy(r->dims, dims, sizeof(r->dims));
	r->dtype = dtype;
	return r;
}

/* Sets the routers of a new table of parameters. */
static void load_named_routers(void)
{
	const struct train_params *all = train_get_params();
	char name[TRAIN_NAME_MAX];

	if (!all || loaded_generation == all->generation + 1)
		return;
	loaded_generation = all->generation + 1;
	for (uint32_t i = 0; i < all->n; i++) {
		const struct train_param *p = &all->at[i];
		int64_t dims[2];
		struct router *r;

		if (p->ndim != 2 || !p->lo)
			continue;
		dims[0] = (int64_t)p->dims[0];
		dims[1] = (int64_t)p->dims[1];
		snprintf(name, sizeof(name), "%s", p->name);
		r = get_router_name(name) ? find_or_add_router((const void *)p->lo, dims, p->dtype)
					  : NULL;
		if (!r)
			continue;
		if (!r->named)
			r->measured = 0; /* what was in its memory before was another matrix */
		r->named = true;
		r->generation = loaded_generation;
		strcpy(r->name, name);
	}
}

/* dims: space for the dimensions, which may be used after the lock is released. */
static struct buffer get_weight_buffer(const struct router *r, int64_t *dims)
{
	memcpy(dims, r->dims, sizeof(r->dims));
	return (struct buffer){.base = router_data[r - routers],
		.count = (uint64_t)r->experts * r->width,
		.bytes = (uint64_t)r->experts * r->width * get_dtype_info(r->dtype)->size,
		.dtype = r->dtype,
		.layout = BUFFER_CONTIG,
		.width = sizeof(int64_t),
		.ndim = 2,
		.counts = dims};
}

/*
 * True if the weight's address is known for the whole step, so that the similarity is computed only
 * when another matrix is compared with it.
 */
static bool is_measured_on_demand(const struct router *r)
{
	return r->named && loaded_generation && r->generation == loaded_generation;
}

static bool can_be_router(const struct buffer *b)
{
	const int64_t *dims = b->counts;
	int64_t experts = dims[0] < dims[1] ? dims[0] : dims[1];
	int64_t width = dims[0] < dims[1] ? dims[1] : dims[0];

	return experts <= UNNAMED_EXPERTS_MAX && width >= 2 * experts;
}

static bool is_equal(double a, double b)
{
	return a <= b && a >= b;
}

static bool has_router_shape(const struct router *r, const int64_t *dims)
{
	return r->experts == get_expert_number(dims) &&
	       r->width == (uint32_t)(dims[0] < dims[1] ? dims[1] : dims[0]);
}

static bool has_router_of_shape(const int64_t *dims)
{
	for (uint32_t i = 0; i < nrouter; i++)
		if (has_router_shape(&routers[i], dims))
			return true;
	return false;
}

/*
 * Returns the router with exactly this similarity, or with that of its last copy. NULL: none, or
 * several.
 */
static struct router *find_router_by_similarity(
	const int64_t *dims, double similarity, uint32_t step)
{
	struct router *found = NULL;

	for (uint32_t i = 0; i < nrouter; i++) {
		struct router *r = &routers[i];

		if (!has_router_shape(r, dims) || r->measured != step ||
			!(is_equal(similarity, r->similarity) || is_equal(similarity, r->of_copy)))
			continue;
		if (found)
			return NULL;
		found = r;
	}
	return found;
}

/* An argument of a graph. NULL: it is not known, or is no router's weight. */
static struct router *find_router_of_graph(const struct buffer *b)
{
	struct known_memory *k = &known[hash_mix((uintptr_t)b->base) % KNOWN_SLOTS];
	char name[TRAIN_NAME_MAX];
	struct router *r;

	if (k->data == b->base && k->generation == loaded_generation)
		return NULL;
	if (!ms_copy_argument_name(b->base, name, sizeof(name)))
		return NULL;
	if (!get_router_name(name)) {
		*k = (struct known_memory){b->base, loaded_generation};
		return NULL;
	}
	r = find_or_add_router(b->base, b->counts, b->dtype);
	if (r) {
		r->named = true;
		strcpy(r->name, name);
	}
	return r;
}

static struct router *find_known_router(const struct buffer *b)
{
	struct router *r;

	load_named_routers();
	r = find_router_at(b->base);
	if (r && !has_router_weight(r, b->counts, b->dtype))
		r = NULL;
	return !r && ms_is_graph_running() ? find_router_of_graph(b) : r;
}

/* ---- measuring weights; the caller does not hold the lock ---- */

/* Computes the similarity of a router's experts, unless it was stored in this step. */
static void measure_weight(uint64_t id, uint32_t step)
{
	double similarity = NAN;
	uint32_t measured = 0;
	const struct router *r;
	struct router *now;
	int64_t dims[2];
	struct buffer b;
	bool due;

	pthread_mutex_lock(&routers_lock);
	r = get_router(id);
	due = r && r->measured != step;
	if (due) {
		measured = r->measured;
		b = get_weight_buffer(r, dims);
	}
	pthread_mutex_unlock(&routers_lock);
	if (!due)
		return;
	if (!is_buffer_readable_now(&b) || !compute_router_similarity(&b, &similarity))
		similarity = NAN;
	pthread_mutex_lock(&routers_lock);
	now = get_router(id);
	if (now && now->measured == measured) {
		now->measured = step;
		now->similarity = similarity;
	}
	pthread_mutex_unlock(&routers_lock);
}

/* True of a router that measure_routers() is to measure. */
typedef bool router_filter(const struct router *r, const struct router *like);

/* Measures all routers of the same shape as `like` that `filter` selects. */
static void measure_routers(const struct router *like, router_filter *filter, uint32_t step)
{
	for (uint32_t i = 0; i < ROUTERS_MAX; i++) {
		uint64_t id = 0;

		pthread_mutex_lock(&routers_lock);
		while (i < nrouter &&
			!(has_router_shape(&routers[i], like->dims) && filter(&routers[i], like)))
			i++;
		if (i < nrouter)
			id = routers[i].id;
		pthread_mutex_unlock(&routers_lock);
		if (!id)
			return;
		measure_weight(id, step);
	}
}

static bool is_on_demand_filter(const struct router *r, const struct router *like)
{
	(void)like;
	return is_measured_on_demand(r);
}

/*
 * Matrix b may be a copy of a router's weight that no kernel made, such as a transposed view. Returns
 * the id of the router with exactly b's similarity. 0: none, or several.
 */
static uint64_t find_router_of_copy(const struct buffer *b, uint32_t step)
{
	struct router like = {.id = 0};
	const struct router *r;
	double similarity;
	uint64_t id;

	if (!compute_router_similarity(b, &similarity))
		return 0;
	memcpy(like.dims, b->counts, sizeof(like.dims));
	measure_routers(&like, is_on_demand_filter, step);
	pthread_mutex_lock(&routers_lock);
	r = find_router_by_similarity(like.dims, similarity, step);
	id = r ? r->id : 0;
	pthread_mutex_unlock(&routers_lock);
	return id;
}

uint64_t ms_find_router(const struct buffer *b, uint32_t step)
{
	const struct router *r;
	bool may_be_copy;
	uint64_t id;

	pthread_mutex_lock(&routers_lock);
	r = find_known_router(b);
	id = r ? r->id : 0;
	may_be_copy = !r && has_router_of_shape(b->counts);
	pthread_mutex_unlock(&routers_lock);
	if (may_be_copy)
		id = find_router_of_copy(b, step);
	if (id || ms_has_parameter_names() || ms_is_graph_running() || !can_be_router(b))
		return id;
	pthread_mutex_lock(&routers_lock);
	r = find_or_add_router(b->base, b->counts, b->dtype);
	id = r ? r->id : 0;
	pthread_mutex_unlock(&routers_lock);
	return id;
}

/* True if the router has a name, and its weight is still at its address. */
static bool is_named_filter(const struct router *r, const struct router *like)
{
	return r->named && r->id != like->id &&
	       (!r->generation || r->generation == loaded_generation);
}

/*
 * Copies the name of the named router that unnamed router `like` is, or is a copy of. Returns false
 * if there is none, or several. The caller holds the lock.
 */
static bool copy_name_by_similarity(char *name, const struct router *like)
{
	const struct router *found = NULL;

	for (uint32_t i = 0; i < nrouter; i++) {
		const struct router *r = &routers[i];

		if (!has_router_shape(r, like->dims) || !is_named_filter(r, like) ||
			!is_equal(r->similarity, like->similarity))
			continue;
		if (found)
			return false;
		found = r;
	}
	if (found)
		strcpy(name, found->name);
	return found != NULL;
}

bool ms_find_router_name(uint64_t id, char *name)
{
	const struct router *r;
	struct router copy;
	bool found;

	pthread_mutex_lock(&routers_lock);
	load_named_routers();
	r = get_router(id);
	if (r)
		copy = *r;
	pthread_mutex_unlock(&routers_lock);
	if (!r)
		return false;
	if (copy.named) {
		strcpy(name, copy.name);
		return true;
	}
	measure_routers(&copy, is_named_filter, step_now() + 1);
	pthread_mutex_lock(&routers_lock);
	found = copy_name_by_similarity(name, &copy);
	pthread_mutex_unlock(&routers_lock);
	return found;
}

/* ---- what other files call: without the lock ---- */

bool ms_copy_router(uint64_t id, struct router_copy *to)
{
	const struct router *r;

	pthread_mutex_lock(&routers_lock);
	r = get_router(id);
	if (r) {
		*to = (struct router_copy){.id = id, .experts = r->experts, .named = r->named};
		strcpy(to->name, r->name);
	}
	pthread_mutex_unlock(&routers_lock);
	return r != NULL;
}

void ms_measure_read_router(uint64_t id, uint32_t step)
{
	const struct router *r;
	bool needed;

	pthread_mutex_lock(&routers_lock);
	r = get_router(id);
	needed =
		r && (!is_measured_on_demand(r) || train_get_kinds() & KIND_BIT(ROUTER_SIMILARITY));
	pthread_mutex_unlock(&routers_lock);
	if (needed)
		measure_weight(id, step);
}

double ms_remove_unwritten_similarity(uint64_t id, uint32_t step)
{
	double similarity = NAN;
	struct router *r;

	pthread_mutex_lock(&routers_lock);
	r = get_router(id);
	if (r && r->wrote != step && r->measured == step)
		similarity = r->similarity;
	if (r)
		r->wrote = step;
	pthread_mutex_unlock(&routers_lock);
	return similarity;
}

void ms_record_router_weight(uint64_t id, const struct buffer *b)
{
	double similarity;
	struct router *r;

	if (!compute_router_similarity(b, &similarity))
		similarity = NAN;
	pthread_mutex_lock(&routers_lock);
	r = get_router(id);
	if (r)
		r->of_copy = similarity;
	pthread_mutex_unlock(&routers_lock);
}

void ms_remove_unnamed_routers(void)
{
	pthread_mutex_lock(&routers_lock);
	for (uint32_t i = 0; i < nrouter; i++)
		if (!routers[i].named) {
			router_data[i] = NULL;
			routers[i] = (struct router){.id = 0};
		}
	pthread_mutex_unlock(&routers_lock);
}

void ms_routers_forked(void)
{
	pthread_mutex_init(&routers_lock, NULL);
	for (uint32_t i = 0; i < nrouter; i++)
		routers[i].id = 0;
	nrouter = 0;
	loaded_generation = 0;
	memset(known, 0, sizeof(known));
}
