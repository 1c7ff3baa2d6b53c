/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The current gradients, and the buckets that collectives communicate.
 *
 * Lock: `lock` is a leaf; a forked child initialises it again. Lookups of gradients take it, some
 * in each collective.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/data/view.h"
#include "training/params/param.h"

#define GRADS 65536u /* size of the table; at most half of it is used */
#define BUCKETS 4096u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- gradients ---- */

static struct grad {
	const void *impl;
	uintptr_t lo;
	uint32_t id;
	/* round in which the gradient was seen; entries of other rounds count as empty */
	uint32_t round;
} * grads;
static uint32_t ngrads, grad_round = 1;

static struct grad *find_grad_slot(const void *impl)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)impl) % GRADS;

	while (grads[i].round == grad_round && grads[i].impl != impl)
		i = (i + 1) % GRADS;
	return &grads[i];
}

void train_record_grad(const struct train_param *p, const void *impl, uintptr_t lo, uintptr_t hi)
{
	struct grad *g;

	(void)hi;
	pthread_mutex_lock(&lock);
	if (!grads)
		grads = calloc(GRADS, sizeof(*grads));
	if (grads && ngrads < GRADS / 2) {
		g = find_grad_slot(impl);
		ngrads += g->round != grad_round;
		*g = (struct grad){impl, lo, p->id, grad_round};
	}
	pthread_mutex_unlock(&lock);
}

void train_reset_grads(void)
{
	pthread_mutex_lock(&lock);
	grad_round++;
	ngrads = 0;
	pthread_mutex_unlock(&lock);
}

uint32_t train_find_grad(const void *impl, uintptr_t lo)
{
	const struct grad *g;
	uint32_t name = 0;

	pthread_mutex_lock(&lock);
	g = grads ? find_grad_slot(impl) : NULL;
	if (g && g->round == grad_round && g->impl == impl && g->lo == lo)
		name = g->id | JOURNAL_NAME_GRAD;
	pthread_mutex_unlock(&lock);
	return name;
}

/* ---- buckets ---- */

static struct bucket {
	uint64_t key; /* hash of memory range and content */
	struct train_part *part; /* NULL: no memory */
	uint32_t n;
} buckets[BUCKETS];
static uint32_t nbuckets;

/* The bucket that the calling thread is about to communicate. */
static THREAD_OWN struct {
	uint32_t name;
	uintptr_t lo;
	uint64_t count;
} bucket_here;

static bool register_part(uint32_t bucket, const struct train_param *p,
	const struct train_part *part, uint8_t what, uint32_t flags)
{
	struct journal_name e = {.what = what,
		.id = p->id,
		.bucket = bucket,
		.vpp_stage = p->vpp_stage,
		.flags = flags | (part->grad ? JN_GRAD : 0),
		.offset = part->offset,
		.count = part->count};
	char name[TRAIN_NAME_MAX + 8];

	snprintf(name, sizeof(name), "%s%s", p->name, part->grad ? ".grad" : "");
	e.e.n = what == JN_PART ? p->ndim : 0;
	return train_write_name(&e, p->dims, name, p->module, "");
}

uint32_t train_register_bucket(
	uintptr_t lo, uint64_t count, const struct train_part *part, uint32_t n)
{
	const struct train_params *now = train_get_params();
	uint64_t key = hash_u64(hash_u64(1, lo), count);
	uint32_t number, lost = 0;

	for (uint32_t i = 0; i < n; i++)
		key = hash_u64(hash_u64(key, part[i].id), part[i].offset);
	pthread_mutex_lock(&lock);
	for (number = 0; number < nbuckets && buckets[number].key != key; number++)
		;
	if (number < nbuckets || number == BUCKETS) {
		pthread_mutex_unlock(&lock);
		return number < BUCKETS ? number | JOURNAL_NAME_BUCKET : 0;
	}
	buckets[number].key = key;
	buckets[number].part = malloc(n * sizeof(*part));
	if (buckets[number].part) {
		memcpy(buckets[number].part, part, n * sizeof(*part));
		buckets[number].n = n;
	}
	nbuckets++;
	pthread_mutex_unlock(&lock);
	for (uint32_t i = 0; i < n; i++)
		if (part[i].id && part[i].id <= now->n)
			lost += !register_part(
				number, &now->at[part[i].id - 1], &part[i], JN_PART, 0);
	if (lost)
		log_loss(LOSS_ENTRY,
			"the parameters of a bucket are not recorded: the journal is full");
	return number | JOURNAL_NAME_BUCKET;
}

uint32_t train_find_buffer_name(const struct buffer *v)
{
	const struct train_param *p;

	if (own(bucket_here).name && v->count == own(bucket_here).count)
		return own(bucket_here).name;
	p = train_find_param_by_address(train_get_params(), v->base);
	return p ? p->id : 0;
}

/* ---- NaN and Inf ---- */

#define BADS_MAX 256 /* maximum number of rows in a process */

/* NaN and Inf in the bucket that the calling thread is about to communicate. */
struct bad_found {
	uint32_t bucket, flags;
	struct train_part part;
	bool pending;
};
static THREAD_OWN struct bad_found bad_here;

struct bad_search {
	uint64_t at; /* number of elements before the current piece */
	uint64_t nan, inf; /* index of the first NaN and the first Inf; UINT64_MAX: none yet */
};

enum { FINITE, IS_NAN, IS_INF };

static int get_class_of_bits(uint64_t bits, unsigned exponent, unsigned fraction)
{
	uint64_t all = (UINT64_C(1) << exponent) - 1;

	if ((bits >> fraction & all) != all)
		return FINITE;
	return bits & ((UINT64_C(1) << fraction) - 1) ? IS_NAN : IS_INF;
}

static int get_class_of_element(const char *p, enum dtype dt)
{
	uint64_t bits = 0;

	memcpy(&bits, p, get_dtype_info(dt)->size);
	switch (dt) {
	case DT_FLOAT16:
		return get_class_of_bits(bits, 5, 10);
	case DT_BFLOAT16:
		return get_class_of_bits(bits, 8, 7);
	case DT_FLOAT32:
		return get_class_of_bits(bits, 8, 23);
	case DT_FLOAT64:
		return get_class_of_bits(bits, 11, 52);
	default:
		return FINITE;
	}
}

static void find_in_piece(void *arg, const void *p, uint64_t count, enum dtype dt, const void *next)
{
	struct bad_search *s = arg;
	unsigned size = get_dtype_info(dt)->size;

	(void)next;
	for (uint64_t i = 0; i < count && s->nan == UINT64_MAX && size <= 8; i++) {
		int is = get_class_of_element((const char *)p + i * size, dt);

		if (is == IS_NAN)
			s->nan = s->at + i;
		else if (is == IS_INF && s->inf == UINT64_MAX)
			s->inf = s->at + i;
	}
	s->at += count;
}

void train_find_bad(const struct buffer *v, const struct journal_tensor *t)
{
	static atomic_uint rows;
	const struct train_params *now = train_get_params();
	uint32_t number = t->name & JOURNAL_NAME_ID;
	struct bad_search s = {0, UINT64_MAX, UINT64_MAX};
	const struct bucket *b = &buckets[number % BUCKETS];
	uint64_t at;

	if (!(t->name & JOURNAL_NAME_BUCKET) || !b->part || !now ||
		t->name != own(bucket_here).name || own(bad_here).pending ||
		atomic_fetch_add(&rows, 1) >= BADS_MAX ||
		!buffer_read_pieces(v, true, find_in_piece, &s))
		return;
	at = s.nan != UINT64_MAX ? s.nan : s.inf;
	for (uint32_t i = 0; i < b->n && at != UINT64_MAX; i++) {
		struct train_part part = b->part[i];

		if (at < part.offset || at - part.offset >= part.count || part.id > now->n)
			continue;
		part.offset = at;
		part.count = t->stats.nans + t->stats.infs;
		/* The record of the call is being written, so this row is written afterwards. */
		own(bad_here) = (struct bad_found){
			number, s.nan != UINT64_MAX ? JN_NAN : JN_INF, part, true};
	}
}

bool train_open_bucket(uint32_t name, uintptr_t lo, uint64_t count)
{
	if (own(bucket_here).name)
		return false;
	own(bucket_here).name = name;
	own(bucket_here).lo = lo;
	own(bucket_here).count = count;
	own(bad_here).pending = false;
	return true;
}

void train_close_bucket(void)
{
	const struct train_params *now = train_get_params();

	own(bucket_here).name = 0;
	if (own(bad_here).pending && now && own(bad_here).part.id <= now->n)
		register_part(own(bad_here).bucket, &now->at[own(bad_here).part.id - 1],
			&own(bad_here).part, JN_BAD, own(bad_here).flags);
	own(bad_here).pending = false;
}

void train_buckets_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	nbuckets = 0;
	ngrads = 0;
	grad_round++;
}
