/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types and number of the arguments of an operator's first function are not known. Its tensors
 * and lists are recognised because the program made them with functions that are observed. Its
 * last argument is the address of the executor, preceded by the address of the workspace's size.
 * Which word that is becomes known with the first call of the operator's second function, which
 * gets both values. Until then each pair of words that may be these two addresses is kept.
 *
 * Locks: one for each shard, and one for executors whose argument position is not known yet; a
 * tensor's lock is taken inside.
 */
#include "wrappers/aclnn/executor.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "api/api_spec.h"
#include "base/hash.h"
#include "base/log.h"
#include "elf/memory.h"

#define SHARDS 64u
#define PLACES 32u /* slots per shard */
#define WAITING 64u /* executors whose argument position is not known yet */

struct shard {
	pthread_mutex_t lock;
	struct aclnn_executor x[PLACES];
};

static struct waiting {
	pthread_mutex_t lock;
	struct aclnn_executor *x; /* WAITING of them */
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct shard *_Atomic shards;
static _Atomic uint64_t ages;

static void init_locks(struct shard *s)
{
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_init(&s[i].lock, NULL);
}

void aclnn_executors_forked(void)
{
	struct shard *s = atomic_load(&shards);

	if (s)
		init_locks(s);
	pthread_mutex_init(&waiting.lock, NULL);
}

/* Only touched pages of these 22 MiB use memory: one page for an operator with up to 24 tensors. */
static struct shard *get_or_map_shards(void)
{
	struct shard *s = atomic_load_explicit(&shards, memory_order_acquire), *none = NULL;
	size_t bytes = SHARDS * sizeof(*s) + WAITING * sizeof(struct aclnn_executor);

	if (s)
		return s;
	s = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		-1, 0);
	if (s == MAP_FAILED) {
		log_loss(LOSS_PENDING, "no memory for executors of Ascend's operators: they are "
				       "recorded without tensors");
		return NULL;
	}
	init_locks(s);
	if (!atomic_compare_exchange_strong(&shards, &none, s)) {
		munmap(s, bytes);
		return none;
	}
	pthread_mutex_lock(&waiting.lock);
	waiting.x = (struct aclnn_executor *)(s + SHARDS);
	pthread_mutex_unlock(&waiting.lock);
	return s;
}

static struct shard *get_executor_shard(struct shard *all, uint64_t handle)
{
	return &all[hash_mix(handle) % SHARDS];
}

/* Returns a free slot, or else the oldest one. The lock is held. */
static struct aclnn_executor *find_executor_slot(
	struct aclnn_executor *x, unsigned n, const struct aclnn_operator *op, uint64_t handle)
{
	struct aclnn_executor *best = x;

	for (unsigned i = 0; i < n; i++, x++) {
		if (handle && x->op == op && x->handle == handle)
			return x;
		if (best->op && (!x->op || x->age < best->age))
			best = x;
	}
	return best;
}

/* ---- the first phase ---- */

/* True if the word may be an address at which the caller stores a word. */
static bool is_possible_address(uint64_t word)
{
	return word >= MEMORY_PAGE && word < UINT64_C(1) << 56 && word % sizeof(uint64_t) == 0;
}

static bool read_kept_word(uint64_t at, uint64_t *value)
{
	if (!is_possible_address(at) || !is_memory_readable(at))
		return false;
	*value = memory_load(at);
	return true;
}

static void add_tensor(
	struct aclnn_executor *x, const struct acl_tensor *t, unsigned word, uint64_t item)
{
	if (x->n == ACLNN_TENSORS_MAX) {
		x->more = true;
		return;
	}
	x->tensor[x->n++] = (struct aclnn_tensor){
		*t, (uint8_t)word, (uint8_t)(item < UINT8_MAX ? item : UINT8_MAX)};
}

/* Adds the word if it is a tensor, or a list of tensors. */
static bool add_word(struct aclnn_executor *x, uint64_t word, unsigned i)
{
	uint64_t items[ACL_LIST_MAX], n;
	struct acl_tensor t;

	if (acl_tensor_get(word, &t)) {
		add_tensor(x, &t, i, 0);
		return true;
	}
	n = acl_list_get(word, items);
	for (uint64_t k = 0; k < n && k < ACL_LIST_MAX; k++)
		if (acl_tensor_get(items[k], &t))
			add_tensor(x, &t, i, k + 1);
	x->more |= n > ACL_LIST_MAX;
	return n != 0;
}

/* Reads a text of the characters used in communicator names (HCCL's own: "127.0.0.1%lo_6000_0_17"). */
static bool read_group(uint64_t at, char out[ACLNN_GROUP_MAX])
{
	unsigned n = 0;

	if (at < MEMORY_PAGE || at >= UINT64_C(1) << 56)
		return false;
	for (; n < ACLNN_GROUP_MAX; n++) {
		if ((n == 0 || (at + n) % MEMORY_PAGE == 0) &&
			!is_memory_readable((at + n) & ~UINT64_C(7)))
			return false;
		out[n] = *(const volatile char *)(uintptr_t)(at + n);
		if (out[n] <= ' ' || out[n] > '~')
			break;
	}
	/* A shorter text may be a small number at the start of an object. */
	return n >= 3 && n < ACLNN_GROUP_MAX && out[n] == 0;
}

static void add_candidate(struct aclnn_executor *x, const uint64_t *words, unsigned i)
{
	struct aclnn_candidate *k = &x->candidate[x->ncandidates];

	if (!i || x->ncandidates == CANDIDATES_MAX || !read_kept_word(words[i - 1], &k->bytes) ||
		!read_kept_word(words[i], &k->executor) || !is_possible_address(k->executor))
		return;
	k->word = (uint8_t)i;
	x->ncandidates++;
}

/* end: index of the word after the last one that may be a tensor. */
static void set_executor(struct aclnn_executor *x, struct aclnn_operator *op, const uint64_t *words,
	unsigned end, bool guess)
{
	x->op = op;
	x->age = atomic_fetch_add(&ages, 1) + 1;
	x->repeatable = x->ending = x->more = false;
	x->n = x->ncandidates = 0;
	x->group[0] = 0;
	for (unsigned i = 0; i < end; i++) {
		if (add_word(x, words[i], i))
			continue;
		if (op->communicates && !x->group[0]) {
			x->group_word = (uint8_t)i;
			if (!read_group(words[i], x->group))
				x->group[0] = 0;
		}
		if (guess)
			add_candidate(x, words, i);
	}
}

void aclnn_executor_add(struct aclnn_operator *op, const uint64_t *words)
{
	unsigned at = atomic_load_explicit(&op->executor_word, memory_order_relaxed);
	struct shard *all = get_or_map_shards(), *s;
	struct aclnn_executor *x;
	uint64_t handle = 0, bytes;

	if (!all)
		return;
	if (at && read_kept_word(words[at], &handle) && handle &&
		read_kept_word(words[at - 1], &bytes)) {
		s = get_executor_shard(all, handle);
		pthread_mutex_lock(&s->lock);
		x = find_executor_slot(s->x, PLACES, op, handle);
		x->handle = handle;
		set_executor(x, op, words, at - 1, false);
		pthread_mutex_unlock(&s->lock);
		return;
	}
	pthread_mutex_lock(&waiting.lock);
	if (waiting.x) {
		x = find_executor_slot(waiting.x, WAITING, op, 0);
		x->handle = 0;
		set_executor(x, op, words, API_OPEN_WORDS, true);
	}
	pthread_mutex_unlock(&waiting.lock);
}

/* ---- the second phase ---- */

/* The position of the executor's address among its words; 0: none matches. */
static unsigned find_candidate(const struct aclnn_executor *x, uint64_t handle, uint64_t bytes)
{
	unsigned found = 0, n = 0;

	for (unsigned i = 0; i < x->ncandidates; i++) {
		const struct aclnn_candidate *k = &x->candidate[i];

		if (k->executor != handle)
			continue;
		if (k->bytes == bytes)
			return k->word;
		found = k->word;
		n++;
	}
	return n == 1 ? found : 0;
}

static bool find_waiting(struct aclnn_operator *op, uint64_t handle, uint64_t bytes,
	aclnn_executor_fn *fn, void *arg)
{
	const struct aclnn_executor *found = NULL;
	unsigned at = 0;

	pthread_mutex_lock(&waiting.lock);
	for (unsigned i = 0; waiting.x && i < WAITING; i++) {
		const struct aclnn_executor *x = &waiting.x[i];
		unsigned word;

		if (x->op != op || x->ending || (found && x->age < found->age))
			continue;
		word = find_candidate(x, handle, bytes);
		if (word) {
			found = x;
			at = word;
		}
	}
	if (found) {
		atomic_store_explicit(&op->executor_word, (uint8_t)at, memory_order_relaxed);
		fn(found, at - 1, arg);
	}
	pthread_mutex_unlock(&waiting.lock);
	return found != NULL;
}

bool aclnn_executor_find(struct aclnn_operator *op, uint64_t handle, uint64_t bytes,
	aclnn_executor_fn *fn, void *arg)
{
	struct shard *all = atomic_load_explicit(&shards, memory_order_acquire), *s;
	bool found = false;

	if (!all || !handle)
		return false;
	s = get_executor_shard(all, handle);
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < PLACES && !found; i++)
		if (s->x[i].op == op && s->x[i].handle == handle && !s->x[i].ending) {
			fn(&s->x[i], API_OPEN_WORDS, arg);
			found = true;
		}
	pthread_mutex_unlock(&s->lock);
	return found || find_waiting(op, handle, bytes, fn, arg);
}

static bool may_have_handle(const struct aclnn_executor *x, uint64_t handle)
{
	if (x->handle)
		return x->handle == handle;
	for (unsigned i = 0; i < x->ncandidates; i++)
		if (x->candidate[i].executor == handle)
			return true;
	return false;
}

/* Called for one executor; returns true to stop the search. */
typedef bool visit_fn(struct aclnn_executor *x, uint64_t age);

static bool handle_matching_executors(
	struct aclnn_executor *x, unsigned n, uint64_t handle, visit_fn *visit, uint64_t age)
{
	for (; n; n--, x++)
		if (x->op && may_have_handle(x, handle) && visit(x, age))
			return true;
	return false;
}

/* Calls visit for each operator's entry with executor `handle`. */
static void handle_executors(uint64_t handle, visit_fn *visit, uint64_t age)
{
	struct shard *all = atomic_load_explicit(&shards, memory_order_acquire), *s;
	bool done;

	if (!all || !handle)
		return;
	s = get_executor_shard(all, handle);
	pthread_mutex_lock(&s->lock);
	done = handle_matching_executors(s->x, PLACES, handle, visit, age);
	pthread_mutex_unlock(&s->lock);
	if (done)
		return;
	pthread_mutex_lock(&waiting.lock);
	if (waiting.x)
		handle_matching_executors(waiting.x, WAITING, handle, visit, age);
	pthread_mutex_unlock(&waiting.lock);
}

static bool end_if_used(struct aclnn_executor *x, uint64_t age)
{
	if (x->age != age)
		return false;
	if (!x->repeatable)
		x->op = NULL;
	return true;
}

static bool set_executor_ending(struct aclnn_executor *x, uint64_t age)
{
	(void)age;
	x->ending = true;
	return false;
}

static bool reset_executor_ending(struct aclnn_executor *x, uint64_t ended)
{
	if (x->ending && ended)
		x->op = NULL;
	x->ending = false;
	return false;
}

static bool set_repeatable(struct aclnn_executor *x, uint64_t age)
{
	(void)age;
	x->repeatable = true;
	return false;
}

void aclnn_executor_used(uint64_t handle, uint64_t age)
{
	handle_executors(handle, end_if_used, age);
}

void aclnn_executor_set_repeatable(uint64_t handle)
{
	handle_executors(handle, set_repeatable, 0);
}

void aclnn_executor_start_ending(uint64_t handle)
{
	handle_executors(handle, set_executor_ending, 0);
}

void aclnn_executor_handle_ended(uint64_t handle, bool ended)
{
	handle_executors(handle, reset_executor_ending, ended);
}
