/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/mindspore/expert_values.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/log.h"
#include "call/step.h"
#include "stats/stats.h"
#include "terms/dtype.h"
#include "training/params/expert_rows.h"
#include "training/params/experts.h"
#include "training/params/kind.h"
#include "wrappers/mindspore/kernel_values.h"
#include "wrappers/mindspore/routers.h"

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

/*
 * Guards all variables of this file. Held to look something up and to store a result, never while a
 * tensor is measured or a row is written (as in routers.c). When a result is stored, the step may
 * have ended: then its rows are written, and the content of its memory is not stored. Order: before
 * the lock of routers.c, and after no lock of libprobe. A forked child initialises it again.
 */
static pthread_mutex_t content_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t content_step; /* 1 + the step whose kernels are handled */

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

/* ---- rows; the caller does not hold the lock ---- */

/* Rows of routers without a name, until names are known. */
#define UNNAMED_ROWS_MAX 65536u
#define UNNAMED_LOGITS_MAX (UINT64_C(1) << 25) /* as many of them are read at most */
static struct unnamed_row {
	double value;
	uint64_t router; /* its id */
	uint32_t step;
	uint8_t kind;
	int16_t part;
} * unnamed_rows; /* UNNAMED_ROWS_MAX; NULL: none yet */
static _Atomic uint32_t nunnamed; /* read without the lock: are there any */
static uint64_t unnamed_logits;
static uint32_t nwriting; /* threads that write rows of unnamed routers: these stay until then */

static void write_routing_row(const struct unnamed_row *w, const char *name)
{
	if (write_expert_row((struct train_value){.step = w->step}, w->kind,
		    train_get_short_name(name), w->part, w->value))
		ms_set_kind_written(w->kind);
}

static void add_unnamed_row(const struct unnamed_row *w)
{
	bool added = false;

	pthread_mutex_lock(&content_lock);
	if (!unnamed_rows) {
		void *p = mmap(NULL, UNNAMED_ROWS_MAX * sizeof(*w), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		unnamed_rows = p == MAP_FAILED ? NULL : p;
	}
	if (unnamed_rows && nunnamed < UNNAMED_ROWS_MAX) {
		unnamed_rows[nunnamed++] = *w;
		added = true;
	}
	pthread_mutex_unlock(&content_lock);
	if (!added)
		log_loss(LOSS_ENTRY,
			"MindSpore: more than %u values of routers before their names are known: "
			"further ones are not recorded",
			UNNAMED_ROWS_MAX);
}

static void add_routing_row(const struct router_copy *router, uint32_t step, enum train_kind kind,
	int part, double value)
{
	struct unnamed_row w = {.value = value,
		.router = router->id,
		.step = step - 1,
		.kind = (uint8_t)kind,
		.part = (int16_t)part};

	if (!(train_get_kinds() >> kind & 1))
		return;
	if (router->named)
		write_routing_row(&w, router->name);
	else
		add_unnamed_row(&w);
}

/* Takes the rows of routers that had no name, if names are known. Returns their number. */
static uint32_t remove_unnamed_rows(struct unnamed_row **rows)
{
	uint32_t n = 0;

	pthread_mutex_lock(&content_lock);
	if (unnamed_rows && ms_has_parameter_names()) {
		*rows = unnamed_rows;
		n = nunnamed;
		unnamed_rows = NULL;
		nunnamed = 0;
		unnamed_logits = 0;
		nwriting += n != 0;
	}
	pthread_mutex_unlock(&content_lock);
	return n;
}

/* Writes rows of routers that have a name now, and drops the others. */
static void write_unnamed_rows(void)
{
	struct unnamed_row *rows;
	uint32_t n = remove_unnamed_rows(&rows);
	char name[TRAIN_NAME_MAX];
	bool has_name = false;
	uint64_t last = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (rows[i].router != last)
			has_name = ms_find_router_name(rows[i].router, name);
		last = rows[i].router;
		if (has_name)
			write_routing_row(&rows[i], name);
	}
	if (!n)
		return;
	munmap(rows, UNNAMED_ROWS_MAX * sizeof(*rows));
	pthread_mutex_lock(&content_lock);
	nwriting--;
	pthread_mutex_unlock(&content_lock);
}

void ms_write_unnamed_experts(void)
{
	struct stats_fenv fenv;

	if (!atomic_load_explicit(&nunnamed, memory_order_acquire))
		return;
	stats_fenv_set(&fenv);
	write_unnamed_rows();
	stats_fenv_reset(&fenv);
}

/* ---- the content of memory in this step; the caller holds the lock ---- */

/* A call of a router. */
struct routing {
	uint64_t router; /* its id */
	uint64_t tokens;
	uint32_t experts;
	bool counted; /* its tokens have been counted: only the first choice counts */
};

#define CALLS_MAX 8192u
#define PLACES 16384u /* slots for pieces of memory; at most half of them are used */
static struct routing calls[CALLS_MAX];
static uint32_t ncall;
static struct memory_content {
	const void *data;
	uint64_t weight; /* the id of the router whose weight was copied here; 0: none */
	uint32_t generation; /* the slot is free if this differs from the current generation */
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

static void start_step(void)
{
	if (content_step == step_now() + 1)
		return;
	content_step = step_now() + 1;
	generation++;
	occupied = ncall = 0;
	if (!unnamed_rows && !nwriting && ms_has_parameter_names())
		ms_remove_unnamed_routers();
}

/* Logged once. */
static void record_full_step(void)
{
	log_loss(LOSS_ENTRY,
		"MindSpore: more than %u calls or %u tensors of routers in step %u: further ones "
		"are not measured",
		CALLS_MAX, PLACES / 2, content_step - 1);
}

static void set_routed_content(const void *data, uint64_t weight, uint32_t call)
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
	*c = (struct memory_content){data, weight, generation, call};
}

static bool has_scores_of(const struct buffer *b, const struct routing *call)
{
	return has_number_per_expert(b, call->experts) && b->count == call->tokens * call->experts;
}

/* ---- kernels; the caller does not hold the lock ---- */

/* What a kernel has read: matrices that are a router's weight, or copies of one, and scores of a call. */
#define MATRICES_MAX 4u
struct read_content {
	uint32_t step, generation; /* when the kernel's tensors were read first */
	struct read_matrix {
		uint64_t router; /* its id */
		uint32_t experts;
		int64_t dims[2]; /* of the matrix, as the kernel gets it */
	} matrix[MATRICES_MAX];
	unsigned n;
	uint32_t call; /* 1 + its index; 0: no scores */
	struct routing routing; /* a copy of this call */
};

static void start_reading(struct read_content *read)
{
	pthread_mutex_lock(&content_lock);
	start_step();
	read->step = content_step;
	read->generation = generation;
	pthread_mutex_unlock(&content_lock);
}

/*
 * Sets the call whose scores are in b, if there is one, or the router whose weight was copied there.
 * Scores of another shape are another view, such as groups of experts, or something else that no
 * kernel has written.
 */
static void read_known_content(
	struct read_content *read, const struct buffer *b, bool *has_scores, uint64_t *router)
{
	const struct memory_content *c;

	*has_scores = false;
	*router = 0;
	pthread_mutex_lock(&content_lock);
	c = find_routed_slot(b->base);
	if (read->generation == generation && c->generation == generation) {
		*router = c->weight;
		*has_scores = c->call && has_scores_of(b, &calls[c->call - 1]);
		if (*has_scores) {
			read->call = c->call;
			read->routing = calls[c->call - 1];
		}
	}
	pthread_mutex_unlock(&content_lock);
}

/* Adds matrix b, a router's weight. */
static void add_read_matrix(struct read_content *read, uint64_t id, const struct buffer *b)
{
	struct read_matrix *m = &read->matrix[read->n];
	struct router_copy router;

	if (!ms_copy_router(id, &router))
		return;
	*m = (struct read_matrix){.router = id, .experts = router.experts};
	memcpy(m->dims, b->counts, sizeof(m->dims));
	read->n++;
	ms_measure_read_router(id, read->step);
}

static void read_input(const struct kernel_tensors *in, unsigned i, struct read_content *read)
{
	struct ms_tensor_view s;
	int64_t dims[2];
	uint64_t router;
	bool has_scores;
	struct buffer b;

	if (!ms_read_kernel_tensor(in, i, &s) || !s.v.count)
		return;
	read_known_content(read, &s.v, &has_scores, &router);
	if (has_scores || read->n == MATRICES_MAX || !get_matrix(&s, &b, dims))
		return;
	if (!router)
		router = ms_find_router(&b, read->step);
	if (router)
		add_read_matrix(read, router, &s.v);
}

/*
 * True if these logits of a router may be measured: those of routers without a name are counted.
 * *call: 1 + the index of a new call; 0: the step has ended.
 */
static bool add_routing_call(const struct read_content *read, const struct router_copy *router,
	const struct buffer *logits, uint32_t *call)
{
	bool readable = true;

	*call = 0;
	pthread_mutex_lock(&content_lock);
	if (!router->named) {
		unnamed_logits += logits->count;
		readable = unnamed_logits <= UNNAMED_LOGITS_MAX;
	}
	if (readable && read->generation == generation && ncall == CALLS_MAX) {
		record_full_step();
		readable = false;
	} else if (readable && read->generation == generation) {
		calls[ncall] = (struct routing){
			router->id, logits->count / router->experts, router->experts, false};
		*call = ++ncall;
	}
	pthread_mutex_unlock(&content_lock);
	return readable;
}

/* Returns 1 + the index of a new call of router `id` with these logits; 0: there is none. */
static uint32_t record_logits(
	const struct read_content *read, uint64_t id, const struct buffer *logits)
{
	double similarity, entropy;
	struct router_copy router;
	uint32_t call;

	if (!ms_copy_router(id, &router) || !add_routing_call(read, &router, logits, &call))
		return 0;
	similarity = ms_remove_unwritten_similarity(id, read->step);
	if (!isnan(similarity))
		add_routing_row(
			&router, read->step, TK_ROUTER_SIMILARITY, EXPERT_PART_NONE, similarity);
	if (train_get_kinds() & KIND_BIT(EXPERT_ENTROPY) &&
		compute_expert_entropy(logits, &entropy))
		add_routing_row(&router, read->step, TK_EXPERT_ENTROPY, EXPERT_PART_NONE, entropy);
	return call;
}

struct token_source {
	struct router_copy router;
	uint32_t step;
};

static void add_token_row(void *arg, enum train_kind kind, int part, double value)
{
	const struct token_source *source = arg;

	add_routing_row(&source->router, source->step, kind, part, value);
}

/* Sets that the tokens of the call whose scores were read are counted. Returns false if they were. */
static bool set_call_counted(const struct read_content *read)
{
	bool first = true;

	pthread_mutex_lock(&content_lock);
	/* If the step has ended, another call may be at this index. */
	if (read->generation == generation) {
		first = !calls[read->call - 1].counted;
		calls[read->call - 1].counted = true;
	}
	pthread_mutex_unlock(&content_lock);
	return first;
}

/* Counts the tokens of each expert if b contains the chosen experts of each token. */
static void record_choice(const struct read_content *read, const struct buffer *b)
{
	const struct routing *call = &read->routing;
	uint64_t top = b->count / call->tokens;
	struct token_source source = {.step = read->step};
	struct expert_counts counts;

	counts.n = call->experts;
	if (call->counted || !top || top > TOP_MAX || top > call->experts ||
		top * call->tokens != b->count || !compute_index_counts(b, &counts))
		return;
	if (ms_copy_router(call->router, &source.router) && set_call_counted(read))
		emit_expert_tokens(&counts, add_token_row, &source);
}

/* True if a kernel that has read matrix m has computed logits with it. */
static bool is_logits(const struct read_matrix *m, const struct buffer *b)
{
	const int64_t *dims = b->counts;

	return has_number_per_expert(b, m->experts) &&
	       !(b->ndim == 2 && memcmp(dims, m->dims, sizeof(m->dims)) == 0);
}

/* What an output contains, given what the kernel has read. */
static void handle_output(
	const struct ms_kernel *k, const struct read_content *read, const struct buffer *b)
{
	uint64_t weight = 0;
	uint32_t scores = 0;

	for (unsigned i = 0; i < read->n && !scores && !weight; i++) {
		const struct read_matrix *m = &read->matrix[i];

		if (!k->copies && is_logits(m, b)) {
			scores = record_logits(read, m->router, b);
		} else if (k->copies && b->ndim == 2 &&
			   b->count == (uint64_t)(m->dims[0] * m->dims[1])) {
			ms_record_router_weight(m->router, b);
			weight = m->router;
		}
	}
	if (!scores && !weight && read->call && has_scores_of(b, &read->routing))
		scores = read->call;
	pthread_mutex_lock(&content_lock);
	if (read->generation == generation)
		set_routed_content(b->base, weight, scores);
	pthread_mutex_unlock(&content_lock);
}

void ms_record_experts(const struct ms_kernel *k, const struct kernel_tensors *in,
	const struct kernel_tensors *out)
{
	struct read_content read = {.n = 0};
	struct stats_fenv fenv;
	struct ms_tensor_view s;

	stats_fenv_set(&fenv);
	start_reading(&read);
	if (nunnamed)
		write_unnamed_rows();
	for (unsigned i = 0; i < in->end - in->begin; i++)
		read_input(in, i, &read);
	for (unsigned i = 0; i < out->end - out->begin; i++) {
		if (!ms_read_kernel_tensor(out, i, &s) || !s.v.count)
			continue;
		if (read.call && k->chooses && get_dtype_info(s.v.dtype)->cls != DTC_FLOAT)
			record_choice(&read, &s.v);
		handle_output(k, &read, &s.v);
	}
	stats_fenv_reset(&fenv);
}

void ms_experts_forked(void)
{
	pthread_mutex_init(&content_lock, NULL);
	generation++;
	content_step = 0;
	nunnamed = 0;
	unnamed_logits = 0;
	nwriting = 0;
}
