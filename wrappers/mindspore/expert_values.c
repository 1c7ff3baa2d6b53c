/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/mindspore/expert_values.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/log.h"
#include "call/data/buffer_check.h"
#include "call/step.h"
#include "stats/stats.h"
#include "terms/dtype.h"
#include "text/suffix.h"
#include "training/params/expert_rows.h"
#include "training/params/experts.h"
#include "training/params/kind.h"
#include "training/params/metric.h"
#include "wrappers/mindspore/kernel_phase.h"
#include "wrappers/mindspore/kernel_values.h"
#include "wrappers/mindspore/parameters.h"

#define TOKEN_KINDS (KIND_BIT(TOKENS) | KIND_BIT(BALANCE))
#define EXPERT_KINDS (TOKEN_KINDS | KIND_BIT(ROUTER_SIMILARITY) | KIND_BIT(EXPERT_ENTROPY))

bool is_choosing_kernel(const char *name)
{
	static const char *const names[] = {
		"TopK", "TopkExt", "Argmax", "ArgMaxExt", "ArgMaxWithValue"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

bool is_copying_kernel(const char *name)
{
	return strcmp(name, "Cast") == 0 || strcmp(name, "Transpose") == 0;
}

bool is_routing_due(void)
{
	return train_get_kinds() & EXPERT_KINDS && train_are_kinds_due();
}

/* A leaf except for the locks of names of parameters and of the journal. A forked child initialises it again. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* ---- routers; the lock is held in all following functions but those of kernel_values.c ---- */

#define ROUTERS_MAX 512u
/*
 * Before the first backward pass of PYNATIVE mode, parameters have no names. Until then a matrix
 * with at most UNNAMED_EXPERTS_MAX rows, and at least twice as many columns (or the other way
 * round), may be a router's.
 */
#define UNNAMED_MAX 256u
#define UNNAMED_EXPERTS_MAX 512u

static struct router {
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
static uint32_t nrouter, loaded_generation;
static uint32_t content_step; /* 1 + the step whose kernels are handled */

/* Memory of graphs' arguments that are no router's weight. */
#define KNOWN_SLOTS 4096u
static struct known_memory {
	const void *data;
	uint32_t generation;
} known[KNOWN_SLOTS];

static bool has_parameter_names(void)
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

static struct router *find_router_at(const void *data)
{
	for (uint32_t i = 0; i < nrouter; i++)
		if (router_data[i] == data)
			return &routers[i];
	return NULL;
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
	uint32_t most = has_parameter_names() || ms_is_graph_running() ? ROUTERS_MAX : UNNAMED_MAX;

	if (!r && nrouter >= most)
		return NULL;
	if (!r) {
		router_data[nrouter] = data;
		r = &routers[nrouter++];
		*r = (struct router){.of_copy = NAN};
	} else if (!has_router_weight(r, dims, dtype)) {
		*r = (struct router){.of_copy = NAN};
	}
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

static struct buffer get_weight_buffer(const struct router *r)
{
	return (struct buffer){.base = router_data[r - routers],
		.count = (uint64_t)r->experts * r->width,
		.bytes = (uint64_t)r->experts * r->width * get_dtype_info(r->dtype)->size,
		.dtype = r->dtype,
		.layout = BUFFER_CONTIG,
		.width = sizeof(int64_t),
		.ndim = 2,
		.counts = r->dims};
}

/* Computes the similarity of a router's experts, once in a step. */
static void measure_weight(struct router *r, uint32_t step)
{
	struct buffer b = get_weight_buffer(r);

	if (r->measured == step)
		return;
	r->measured = step;
	if (!is_buffer_readable_now(&b) || !compute_router_similarity(&b, &r->similarity))
		r->similarity = NAN;
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

/*
 * Matrix b may be a copy of a router's weight that no kernel made, such as a transposed view. Returns
 * the router with exactly b's similarity. NULL: none, or several.
 */
static struct router *find_router_of_copy(const struct buffer *b, uint32_t step)
{
	const int64_t *dims = b->counts;
	uint32_t experts = get_expert_number(dims);
	uint32_t width = (uint32_t)(dims[0] < dims[1] ? dims[1] : dims[0]);
	struct router *found = NULL;
	double similarity = NAN;

	for (uint32_t i = 0; i < nrouter; i++) {
		struct router *r = &routers[i];

		if (r->experts != experts || r->width != width)
			continue;
		if (isnan(similarity) && !compute_router_similarity(b, &similarity))
			return NULL;
		if (is_measured_on_demand(r))
			measure_weight(r, step);
		if (r->measured != step ||
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

/* Returns the router whose weight is matrix b, or that may be one without a name; NULL: none. */
static struct router *find_router(const struct buffer *b, uint32_t step)
{
	struct router *r;

	load_named_routers();
	r = find_router_at(b->base);
	if (r && !has_router_weight(r, b->counts, b->dtype))
		r = NULL;
	if (!r && ms_is_graph_running())
		r = find_router_of_graph(b);
	if (!r)
		r = find_router_of_copy(b, step);
	if (!r && !has_parameter_names() && !ms_is_graph_running() && can_be_router(b))
		r = find_or_add_router(b->base, b->counts, b->dtype);
	return r;
}

/* A transposed view, as the matrix that is in memory. Returns false if b is no matrix of numbers. */
static bool get_matrix(const struct ms_tensor_view *s, struct buffer *b, int64_t *dims)
{
	const int64_t *size = s->v.counts, *stride = s->v.displs;

	*b = s->v;
	if (b->ndim != 2 || get_dtype_info(b->dtype)->cls != DTC_FLOAT || size[0] < 2 ||
		size[1] < 2)
		return false;
	if (b->layout == BUFFER_STRIDED && stride[0] == 1 && stride[1] == size[0]) {
		dims[0] = size[1];
		dims[1] = size[0];
		b->counts = dims;
		b->layout = BUFFER_CONTIG;
	}
	return true;
}

/* ---- rows ---- */

/* Rows of routers without a name, until names are known. */
#define UNNAMED_ROWS_MAX 65536u
#define UNNAMED_LOGITS_MAX (UINT64_C(1) << 25) /* as many of them are read at most */
static struct unnamed_row {
	double value;
	uint32_t step;
	uint16_t router;
	uint8_t kind;
	int16_t part;
} * unnamed_rows; /* UNNAMED_ROWS_MAX; NULL: none yet */
static _Atomic uint32_t nunnamed; /* read without the lock: are there any */
static uint64_t unnamed_logits;

static void write_routing_row(const struct unnamed_row *w)
{
	const char *router = train_get_short_name(routers[w->router].name);

	if (write_expert_row(
		    (struct train_value){.step = w->step}, w->kind, router, w->part, w->value))
		ms_set_kind_written(w->kind);
}

static void add_routing_row(const struct router *r, enum train_kind kind, int part, double value)
{
	struct unnamed_row w = {.value = value,
		.step = content_step - 1,
		.router = (uint16_t)(r - routers),
		.kind = (uint8_t)kind,
		.part = (int16_t)part};

	if (!(train_get_kinds() >> kind & 1))
		return;
	if (r->named) {
		write_routing_row(&w);
		return;
	}
	if (!unnamed_rows) {
		void *p = mmap(NULL, UNNAMED_ROWS_MAX * sizeof(w), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		unnamed_rows = p == MAP_FAILED ? NULL : p;
	}
	if (unnamed_rows && nunnamed < UNNAMED_ROWS_MAX)
		unnamed_rows[nunnamed++] = w;
	else
		log_loss(LOSS_ENTRY,
			"MindSpore: more than %u values of routers before their names are known: "
			"further ones are not recorded",
			UNNAMED_ROWS_MAX);
}

/* The named router that unnamed router r is, or is a copy of; NULL: none, or several. */
static const struct router *find_named_router(const struct router *r)
{
	const struct router *found = NULL;

	if (r->named)
		return r;
	for (uint32_t i = 0; i < nrouter; i++) {
		struct router *other = &routers[i];

		if (!other->named ||
			(other->generation && other->generation != loaded_generation) ||
			other->experts != r->experts || other->width != r->width)
			continue;
		measure_weight(other, step_now() + 1);
		if (!is_equal(other->similarity, r->similarity))
			continue;
		if (found)
			return NULL;
		found = other;
	}
	return found;
}

/* Writes rows of routers that have a name now, and drops the others. */
static void write_unnamed_rows(void)
{
	const struct router *last = NULL, *named = NULL;

	if (!unnamed_rows || !has_parameter_names())
		return;
	load_named_routers();
	for (uint32_t i = 0; i < nunnamed; i++) {
		const struct router *r = &routers[unnamed_rows[i].router];

		if (r != last)
			named = find_named_router(r);
		last = r;
		if (!named)
			continue;
		unnamed_rows[i].router = (uint16_t)(named - routers);
		write_routing_row(&unnamed_rows[i]);
	}
	munmap(unnamed_rows, UNNAMED_ROWS_MAX * sizeof(*unnamed_rows));
	unnamed_rows = NULL;
	nunnamed = 0;
	unnamed_logits = 0;
}

void ms_write_unnamed_experts(void)
{
	struct stats_fenv fenv;

	if (!atomic_load_explicit(&nunnamed, memory_order_acquire))
		return;
	stats_fenv_set(&fenv);
	pthread_mutex_lock(&lock);
	write_unnamed_rows();
	pthread_mutex_unlock(&lock);
	stats_fenv_reset(&fenv);
}

/* ---- the content of memory in this step ---- */

/* A call of a router. */
struct routing {
	struct router *router;
	uint64_t tokens;
	bool counted; /* its tokens have been counted: only the first choice counts */
};

#define CALLS_MAX 8192u
#define PLACES 16384u /* slots for pieces of memory; at most half of them are used */
static struct routing calls[CALLS_MAX];
static uint32_t ncall;
static struct memory_content {
	const void *data;
	uint32_t generation; /* the slot is free if this differs from the current generation */
	uint32_t weight; /* 1 + the index of the router whose weight was copied here; 0: none */
	uint32_t call; /* 1 + the index of the call whose scores these are; 0: none */
} contents[PLACES]; /* open addressing */
static uint32_t generation; /* increases with each step */
static uint32_t occupied;

static struct memory_content *find_routed_slot(const void *data)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)data) % PLACES;

	while (contents[i].generation == generation && contents[i].data != data)
		i = (i + 1) % PLACES;
	return &contents[i];
}

/* Removes routers that have no name although names are known. No content refers to a router. */
static void remove_unnamed_routers(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nrouter; i++)
		if (routers[i].named) {
			router_data[n] = router_data[i];
			routers[n++] = routers[i];
		}
	nrouter = n;
}

static void start_step(void)
{
	if (content_step == step_now() + 1)
		return;
	content_step = step_now() + 1;
	generation++;
	occupied = ncall = 0;
	if (!unnamed_rows && has_parameter_names())
		remove_unnamed_routers();
}

/* Logged once. */
static void record_full_step(void)
{
	log_loss(LOSS_ENTRY,
		"MindSpore: more than %u calls or %u tensors of routers in step %u: further ones "
		"are not measured",
		CALLS_MAX, PLACES / 2, content_step - 1);
}

static void set_routed_content(const void *data, uint32_t weight, uint32_t call)
{
	struct memory_content *c = find_routed_slot(data);
	bool new = c->generation != generation;

	if (new && !weight && !call)
		return;
	if (new &&occupied == PLACES / 2) {
		record_full_step();
		return;
	}
	occupied += new;
	*c = (struct memory_content){data, generation, weight, call};
}

static bool has_scores_of(const struct buffer *b, const struct routing *call)
{
	return has_number_per_expert(b, call->router->experts) &&
	       b->count == call->tokens * call->router->experts;
}

/* What a kernel has read: matrices that are a router's weight, or copies of one, and scores of a call. */
#define MATRICES_MAX 4u
struct read_content {
	struct router *router[MATRICES_MAX];
	int64_t dims[MATRICES_MAX][2]; /* of these matrices, as the kernel gets them */
	unsigned n;
	struct routing *call;
};

static void read_input(const struct kernel_tensors *in, unsigned i, struct read_content *read)
{
	const struct memory_content *c;
	struct ms_tensor_view s;
	struct router *r = NULL;
	int64_t dims[2];
	struct buffer b;

	if (!ms_read_kernel_tensor(in, i, &s) || !s.v.count)
		return;
	c = find_routed_slot(s.v.base);
	if (c->generation == generation && c->call) {
		struct routing *call = &calls[c->call - 1];

		/*
		 * Otherwise it is another view, such as groups of experts, or something else that
		 * no kernel has written.
		 */
		if (has_scores_of(&s.v, call)) {
			read->call = call;
			return;
		}
	}
	if (c->generation == generation && c->weight)
		r = &routers[c->weight - 1];
	if (read->n == MATRICES_MAX || !get_matrix(&s, &b, dims))
		return;
	if (!r)
		r = find_router(&b, content_step);
	if (r) {
		if (!is_measured_on_demand(r) || train_get_kinds() & KIND_BIT(ROUTER_SIMILARITY))
			measure_weight(r, content_step);
		read->router[read->n] = r;
		memcpy(read->dims[read->n++], s.v.counts, sizeof(*read->dims));
	}
}

/* Returns 1 + the index of a new call of router r with these logits, 0 if it cannot be measured. */
static uint32_t record_logits(struct router *r, const struct buffer *logits)
{
	double entropy;

	if (!r->named) {
		unnamed_logits += logits->count;
		if (unnamed_logits > UNNAMED_LOGITS_MAX)
			return 0;
	}
	if (ncall == CALLS_MAX) {
		record_full_step();
		return 0;
	}
	if (r->wrote != content_step && r->measured == content_step && !isnan(r->similarity))
		add_routing_row(r, TK_ROUTER_SIMILARITY, EXPERT_PART_NONE, r->similarity);
	r->wrote = content_step;
	if (train_get_kinds() & KIND_BIT(EXPERT_ENTROPY) &&
		compute_expert_entropy(logits, &entropy))
		add_routing_row(r, TK_EXPERT_ENTROPY, EXPERT_PART_NONE, entropy);
	calls[ncall] = (struct routing){r, logits->count / r->experts, false};
	return ++ncall;
}

static void add_token_row(void *arg, enum train_kind kind, int part, double value)
{
	add_routing_row(arg, kind, part, value);
}

/* Counts the tokens of each expert if b contains the chosen experts of each token. */
static void record_choice(struct routing *call, const struct buffer *b)
{
	static struct expert_counts counts; /* the lock is held */
	struct router *r = call->router;
	uint64_t top = b->count / call->tokens;

	counts.n = r->experts;
	if (call->counted || !top || top > TOP_MAX || top > r->experts ||
		top * call->tokens != b->count || !compute_index_counts(b, &counts))
		return;
	call->counted = true;
	emit_expert_tokens(&counts, add_token_row, r);
}

/* True if a kernel that has read matrix i of `read` has computed logits with it. */
static bool is_logits(const struct read_content *read, unsigned i, const struct buffer *b)
{
	const int64_t *dims = b->counts;

	return has_number_per_expert(b, read->router[i]->experts) &&
	       !(b->ndim == 2 && memcmp(dims, read->dims[i], sizeof(*read->dims)) == 0);
}

/* Returns 1 + the index of router r, of whose weight b is a copy. */
static uint32_t record_copy(struct router *r, const struct buffer *b)
{
	if (!compute_router_similarity(b, &r->of_copy))
		r->of_copy = NAN;
	return (uint32_t)(r - routers) + 1;
}

/* What an output contains, given what the kernel has read. */
static void handle_output(
	const struct ms_kernel *k, const struct read_content *read, const struct buffer *b)
{
	const struct routing *call = read->call;
	uint32_t weight = 0, scores = 0;

	for (unsigned i = 0; i < read->n && !scores && !weight; i++) {
		if (!k->copies && is_logits(read, i, b))
			scores = record_logits(read->router[i], b);
		else if (k->copies && b->ndim == 2 &&
			 b->count == (uint64_t)(read->dims[i][0] * read->dims[i][1]))
			weight = record_copy(read->router[i], b);
	}
	if (!scores && !weight && call && has_scores_of(b, call))
		scores = (uint32_t)(call - calls) + 1;
	set_routed_content(b->base, weight, scores);
}

void ms_record_experts(const struct ms_kernel *k, const struct kernel_tensors *in,
	const struct kernel_tensors *out)
{
	struct read_content read = {.n = 0};
	struct stats_fenv fenv;
	struct ms_tensor_view s;

	stats_fenv_set(&fenv);
	pthread_mutex_lock(&lock);
	start_step();
	if (nunnamed)
		write_unnamed_rows();
	for (unsigned i = 0; i < in->end - in->begin; i++)
		read_input(in, i, &read);
	for (unsigned i = 0; i < out->end - out->begin; i++) {
		if (!ms_read_kernel_tensor(out, i, &s) || !s.v.count)
			continue;
		if (read.call && k->chooses && get_dtype_info(s.v.dtype)->cls != DTC_FLOAT)
			record_choice(read.call, &s.v);
		handle_output(k, &read, &s.v);
	}
	pthread_mutex_unlock(&lock);
	stats_fenv_reset(&fenv);
}

void ms_experts_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	generation++;
	nrouter = content_step = 0;
	nunnamed = 0;
	unnamed_logits = 0;
	loaded_generation = 0;
	memset(known, 0, sizeof(known));
}
