/* SPDX-License-Identifier: Apache-2.0 */
#include "call/stackid.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/private_stack.h"
#include "base/hash.h"
#include "base/log.h"
#include "config/rooms/calls.h"
#include "text/text.h"
#include "call/record.h"
#include "call/step.h"
#include "call/recorder.h"
#include "elf/loaded/modules.h"
#include "session/state.h"

/*
 * Lock-free open addressing: an entry contains 40 bits of the stack's hash, and its number. The
 * stack is written to the journal before the entry is set, so a thread that loses the race writes
 * a stack without references; ids stay nearly dense. 64 bits of the hash decide (24 by the
 * position, 40 in the entry): among 50,000 stacks, two are confused with a probability of 10^-6.
 */
#define PLACES 65536u
#define ID_BITS 24

static _Atomic(_Atomic uint64_t *) table;
static _Atomic uint32_t last_id;
static uint32_t first_id; /* numbers up to this one belong to an earlier run */

static _Atomic uint64_t *get_or_map_stack_ids(void)
{
	_Atomic uint64_t *t = atomic_load_explicit(&table, memory_order_acquire), *none = NULL;

	if (t)
		return t;
	t = mmap(NULL, PLACES * sizeof(*t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
	if (t == MAP_FAILED)
		return NULL;
	if (!atomic_compare_exchange_strong(&table, &none, t)) {
		munmap(t, PLACES * sizeof(*t));
		t = none;
	}
	return t;
}

/* ---- the modules that contain the addresses ---- */

#define MODULES_MAX 4096u

/*
 * Hashes of modules that the journal's dictionary already has. `modules_lock` is a leaf, and rarely taken: only for new
 * stacks.
 */
static uint64_t known_modules[MODULES_MAX];
static uint64_t known_generation;
static bool modules_looked;
static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_new_module(uint64_t hash)
{
	for (uint32_t i = (uint32_t)hash % MODULES_MAX, k = 0; k < 64;
		i = (i + 1) % MODULES_MAX, k++) {
		if (known_modules[i] == hash)
			return false;
		if (!known_modules[i]) {
			known_modules[i] = hash;
			return true;
		}
	}
	return false;
}

static void write_module_json(void *arg, const struct module *m)
{
	char buf[MODULE_PATH_MAX + 128];
	struct text t = text_init(buf, sizeof(buf));

	(void)arg;
	if (!is_new_module(hash_str(hash_u64(m->lo, m->bias), m->path) | 1))
		return;
	text_add_hex(&t, m->lo, 1);
	text_add_char(&t, ' ');
	text_add_hex(&t, m->hi, 1);
	text_add_char(&t, ' ');
	text_add_hex(&t, m->bias, 1);
	text_add_char(&t, ' ');
	for (unsigned i = 0; i < m->build_id_len; i++)
		text_add_hex(&t, m->build_id[i], 2);
	if (!m->build_id_len)
		text_add_char(&t, '-');
	text_add_bytes(&t, "", 1);
	text_add_string(&t, m->path);
	journal_dict_add(&session.journal, DICT_MODULE, 0, buf, t.len + 1);
}

/*
 * Adds the modules to the dictionary: addresses have a meaning only together with the current
 * mappings.
 */
static void write_modules(void)
{
	uint64_t generation = modules_get_generation();

	pthread_mutex_lock(&modules_lock);
	if (!modules_looked || known_generation != generation) {
		modules_handle_each(write_module_json, NULL);
		known_generation = generation;
		modules_looked = true;
	}
	pthread_mutex_unlock(&modules_lock);
}

/* ---- one call's stack ---- */

#define ID_MASK ((1u << ID_BITS) - 1)
#define ID_UNWANTED ID_MASK /* the stack is known, and key codeline excludes its calls */

static _Atomic(struct foreign_rules *) stack_rules;
/*
 * Increased when the rules change: decisions about a stack under earlier rules (its text, whether
 * it is selected) are then invalid.
 */
static _Atomic uint64_t rules_epoch;
_Atomic bool stack_id_by_code;

void stack_id_update(void)
{
	static const struct calls_keys *rules_of;
	const struct calls_keys *keys = get_calls_keys(get_config());
	struct foreign_rules *r;
	const char *wrong;
	char why[128];

	if (rules_of && strcmp(rules_of->codeline, keys->codeline) == 0 &&
		strcmp(rules_of->stack_blacklist, keys->stack_blacklist) == 0)
		return;
	rules_of = keys;

	/*
	 * The expressions were compiled once when the configuration was read, so only lack of
	 * memory can make this fail.
	 */
	r = foreign_rules_new(keys->codeline, keys->stack_blacklist, &wrong, why, sizeof(why));
	atomic_fetch_add(&rules_epoch, 1);
	/* The old rules are not freed: a thread may be reading them, and there are few. */
	atomic_store(&stack_rules, r);
	stack_id_by_code = foreign_rules_have_selection(r);
}

static uint32_t get_next_id(void)
{
	uint32_t id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;

	if (id - first_id <= STACKS_MAX)
		return id;
	atomic_fetch_sub_explicit(&last_id, 1, memory_order_relaxed);
	log_loss(LOSS_STACKS,
		"more than %d different stacks: further ones are not recorded; lower "
		"stack_depth",
		STACKS_MAX);
	return 0;
}

/*
 * Writes the stack's addresses and text into the journal with a new number. Returns 0 if the
 * journal is full, or no number is left. Must be called before the number is in the table: a
 * thread that finds it in the table may have its record written, or be killed, at once.
 */
static uint32_t write_stack(struct thread *t, const struct api *api, const struct walked *w,
	const char *text, size_t text_len)
{
	uint32_t bytes = (uint32_t)(sizeof(struct journal_stack) + (size_t)w->n * 8 +
				    ((text_len + 7) & ~(size_t)7)),
		 id;
	struct journal_stack *e;

	write_modules();
	e = thread_reserve(t, bytes);
	if (!e)
		return 0;
	id = get_next_id();
	if (!id)
		return 0;
	memset(e, 0, bytes);
	e->e.type = JE_STACK;
	e->e.bytes = bytes;
	e->e.n = (uint16_t)w->n;
	e->id = id;
	e->step = step_now();
	e->api = record_api(api);
	e->text_bytes = (uint32_t)text_len;
	for (int i = 0; i < w->n; i++)
		((uint64_t *)(e + 1))[i] = w->pcs[i];
	memcpy((uint64_t *)(e + 1) + w->n, text, text_len);
	chain_publish(&t->chain, bytes);
	return id;
}

struct new_stack {
	struct thread *t;
	const struct api *api;
	uint32_t id;
};

/* The text takes 12 KiB of stack. */
static void write_stack_text(void *arg)
{
	struct new_stack *new = arg;
	struct walked *w = new->t->walked;
	char text[FOREIGN_TEXT_MAX];
	size_t len = 0;
	const struct foreign_rules *rules = atomic_load(&stack_rules);
	bool selected = !foreign_rules_have_selection(rules);

	/* The stack is a new one, so objects may have been loaded, and with them a language. */
	if (!w->foreign.language)
		foreign_find_languages();
	if (w->foreign.language)
		len = foreign_write_text(&w->foreign, rules, text, sizeof(text), &selected);
	if (!selected)
		new->id = ID_UNWANTED;
	else if (get_calls_keys(get_config())->stack)
		new->id = write_stack(new->t, new->api, w, text, len);
}

__attribute__((noinline)) static uint32_t add_stack(struct thread *t, const struct api *api)
{
	struct new_stack new = {t, api, 0};

	private_stack_call(write_stack_text, &new);
	return new.id;
}

/*
 * Stores the number with the cached native stack. Besides the native frames, it depends only on
 * the frames of a language, the rules, and the depth.
 */
static uint32_t set_cached_id(const struct thread *t, struct stack_note *note, uint32_t id)
{
	note->value = id == ID_UNWANTED ? STACK_UNWANTED : id;
	stack_note_copy(&t->bounds, t->stacks, note);
	return (uint32_t)note->value;
}

/* All that a stack's number depends on, besides the native frames. */
static inline uint64_t compute_check(uint64_t foreign, uint64_t epoch, const struct calls_keys *k)
{
	return foreign ^
	       ((epoch + 1) << 8 | (uint64_t)k->stack_depth) * UINT64_C(0x9e3779b97f4a7c15);
}

__attribute__((noinline)) static uint32_t find_or_add_stack(struct thread *t, const struct api *api,
	const struct calls_keys *keys, uintptr_t pc, uintptr_t frame, uint64_t epoch)
{
	struct walked *w = t->walked;
	_Atomic uint64_t *tab;
	uint64_t h;
	struct stack_note note = {.check = compute_check(w->foreign.hash, epoch, keys)};
	uint32_t mine = 0;

	/* A fiber's stack, or a signal handler's: how far it may be read is not known. */
	w->n = keys->stack && stack_has(&t->bounds, frame)
		       ? stack_walk_noted(&t->bounds, t->stacks, pc, frame, w->pcs,
				 (int)keys->stack_depth, &note)
		       : 0;
	if (w->n < 0)
		return (uint32_t)note.value;
	tab = get_or_map_stack_ids();
	if (!tab || (w->n <= 0 && !stack_id_by_code))
		return 0;
	h = (uint64_t)w->n ^ w->foreign.hash ^ epoch << 32;
	for (int i = 0; i < w->n; i++)
		h = (h ^ w->pcs[i]) * UINT64_C(0x9e3779b97f4a7c15) + (h >> 29);
	h = hash_mix(h);

	uint64_t key = h >> ID_BITS << ID_BITS;

	if (!key)
		key = UINT64_C(1) << ID_BITS;
	for (uint32_t i = (uint32_t)h % PLACES, k = 0; k < PLACES; i = (i + 1) % PLACES, k++) {
		uint64_t have = atomic_load_explicit(&tab[i], memory_order_acquire);

		if (!have) {
			if (!mine) {
				uint64_t t0 = clock_ticks();

				mine = add_stack(t, api);
				thread_add_exact_time(t, clock_ticks() - t0);
			}
			if (!mine)
				break;
			if (atomic_compare_exchange_strong(&tab[i], &have, key | mine))
				return set_cached_id(t, &note, mine);
		}
		if (have >> ID_BITS == key >> ID_BITS)
			return set_cached_id(t, &note, (uint32_t)(have & ID_MASK));
	}
	/*
	 * If no stacks are recorded, selected calls have no number, and their stacks are checked
	 * in each call.
	 */
	if (keys->stack)
		thread_count(t, JC_DROP_STACKS);
	return 0;
}

uint32_t stack_id(struct thread *t, const struct api *api, uintptr_t pc, uintptr_t frame)
{
	struct foreign_stack *foreign = &t->walked->foreign;
	const struct calls_keys *keys = get_calls_keys(get_config());
	uint64_t epoch = atomic_load_explicit(&rules_epoch, memory_order_relaxed);
	struct stack_note note;

	if (__builtin_expect(
		    atomic_load_explicit(&foreign_languages_absent, memory_order_acquire), 1)) {
		foreign->language = NULL;
		foreign->n = 0;
		foreign->hash = 0;
	} else {
		foreign_read_stack(foreign);
	}
	note.check = compute_check(foreign->hash, epoch, keys);
	/* The frame is in the thread's stack if the words are, of which one is its return address. */
	if (__builtin_expect(keys->stack && t->stacks &&
				     stack_find_note(t->stacks, &t->bounds, pc, frame, &note),
		    1))
		return (uint32_t)note.value;
	return find_or_add_stack(t, api, keys, pc, frame, epoch);
}

bool stack_write_named(struct thread *t, const struct api *row)
{
	struct walked *w = t->walked;
	uint64_t start = clock_ticks();
	uint32_t id;

	w->n = 0;
	foreign_read_stack(&w->foreign);
	if (!w->foreign.language || !get_or_map_stack_ids())
		return false;
	id = add_stack(t, row);
	thread_add_exact_time(t, clock_ticks() - start);
	return id && id != ID_UNWANTED;
}

void stack_id_set_first(uint32_t last)
{
	/* A larger number would not fit into an entry of the table. */
	if (last >= ID_UNWANTED - STACKS_MAX)
		last = 0;
	first_id = last;
	atomic_store(&last_id, last);
}

void stack_id_reset(void)
{
	if (table)
		memset((void *)table, 0, PLACES * sizeof(*table));
	/*
	 * Makes numbers invalid that threads have stored with their stacks: they are the
	 * parent's.
	 */
	atomic_fetch_add(&rules_epoch, 1);
	stack_id_set_first(0);
	memset(known_modules, 0, sizeof(known_modules));
	modules_looked = false;
	pthread_mutex_init(&modules_lock, NULL);
}
