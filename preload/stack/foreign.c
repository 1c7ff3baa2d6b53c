/* SPDX-License-Identifier: Apache-2.0 */
#include "stack/foreign.h"

#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/hash.h"
#include "text/text.h"
#include "base/thread.h"
#include "elf/loaded/modules.h"

#define LANGUAGES_MAX 4
#define MORE " <- ..."

/*
 * State of each language. One thread searches at a time; the others continue without the language
 * until it has finished. A forked child clears `looking`: the thread that searches may not exist
 * there.
 */
enum { UNKNOWN, ABSENT, PRESENT };
static _Atomic uint8_t known[LANGUAGES_MAX];
static atomic_flag looking = ATOMIC_FLAG_INIT;
_Atomic bool foreign_languages_absent;
static _Atomic uint64_t looked_at; /* generation of the modules at the last search */

static const struct stack_language *get_stack_language(unsigned i)
{
	return stack_languages && i < LANGUAGES_MAX ? stack_languages[i] : NULL;
}

static void find_languages(bool again)
{
	bool absent = true;
	uint64_t now;

	if (atomic_flag_test_and_set_explicit(&looking, memory_order_acquire))
		return;
	now = modules_get_generation();
	for (unsigned i = 0; get_stack_language(i); i++) {
		uint8_t k = atomic_load_explicit(&known[i], memory_order_relaxed);

		if (k == UNKNOWN || (k == ABSENT && again && now != looked_at)) {
			k = get_stack_language(i)->find() ? PRESENT : ABSENT;
			atomic_store_explicit(&known[i], k, memory_order_release);
		}
		absent &= k == ABSENT;
	}
	atomic_store_explicit(&foreign_languages_absent, absent, memory_order_release);
	atomic_store_explicit(&looked_at, now, memory_order_relaxed);
	atomic_flag_clear_explicit(&looking, memory_order_release);
}

void foreign_find_languages(void)
{
	find_languages(true);
}

void foreign_start_end_watch(void)
{
	for (unsigned i = 0; get_stack_language(i); i++)
		if (get_stack_language(i)->watch_end)
			get_stack_language(i)->watch_end();
}

/* ---- lent frames ---- */

/*
 * `lending` is a leaf, held while a stack is copied. A forked child initialises it again: foreign_forked().
 */
static pthread_mutex_t lending = PTHREAD_MUTEX_INITIALIZER;
static struct foreign_stack lent;
static _Atomic uint32_t lenders;

static bool copy_lent_stack(struct foreign_stack *s)
{
	bool any;

	if (!atomic_load_explicit(&lenders, memory_order_acquire))
		return false;
	pthread_mutex_lock(&lending);
	any = lenders && lent.language;
	if (any) {
		s->language = lent.language;
		s->hash = lent.hash;
		s->owner = lent.owner;
		s->n = lent.n;
		memcpy(s->frame, lent.frame, (size_t)lent.n * sizeof(lent.frame[0]));
	}
	pthread_mutex_unlock(&lending);
	return any;
}

static void set_lent_stack(void *arg)
{
	struct foreign_stack s;

	(void)arg;

	/* The counter is always incremented, because foreign_unlend() decrements it. */
	bool own = foreign_read_own_stack(&s) || foreign_read_given_stack(&s);

	pthread_mutex_lock(&lending);
	if (own) {
		lent.language = s.language;
		lent.hash = s.hash;
		lent.owner = s.owner;
		lent.n = s.n;
		memcpy(lent.frame, s.frame, (size_t)s.n * sizeof(s.frame[0]));
	}
	lenders++;
	pthread_mutex_unlock(&lending);
}

void foreign_start_lending(void)
{
	private_stack_call(set_lent_stack, NULL);
}

void foreign_stop_lending(void)
{
	pthread_mutex_lock(&lending);
	lent.language = NULL;
	if (lenders)
		lenders--;
	pthread_mutex_unlock(&lending);
}

void foreign_forked(void)
{
	atomic_flag_clear(&looking);
	pthread_mutex_init(&lending, NULL);
	lenders = 0;
	lent.language = NULL;
}

/* ---- walks ---- */

bool foreign_read_own_stack(struct foreign_stack *s)
{
	s->language = NULL;
	s->n = 0;
	s->hash = 0;
	for (unsigned i = 0; get_stack_language(i); i++) {
		uint8_t k = atomic_load_explicit(&known[i], memory_order_acquire);

		if (k == UNKNOWN) {
			find_languages(false);
			k = atomic_load_explicit(&known[i], memory_order_acquire);
		}
		if (k != PRESENT)
			continue;
		s->n = get_stack_language(i)->walk(s->frame, FOREIGN_FRAMES_MAX);
		if (s->n <= 0)
			continue;
		s->language = get_stack_language(i);
		break;
	}
	if (!s->language) {
		s->n = 0;
		return false;
	}

	uint64_t h = (uint64_t)s->n;

	s->owner = (uintptr_t)&thread_state;

	for (int i = 0; i < s->n; i++) {
		const struct foreign_frame *f = &s->frame[i];

		h = (h ^ f->code ^ f->at << 48) * UINT64_C(0x9e3779b97f4a7c15) + (h >> 29);
		h = (h ^ f->check) * UINT64_C(0xbf58476d1ce4e5b9) + (h >> 31);
	}
	s->hash = hash_mix(h);
	return true;
}

void foreign_read_stack(struct foreign_stack *s)
{
	if (!foreign_read_own_stack(s) && !foreign_read_given_stack(s))
		copy_lent_stack(s);
}

/* ---- rules ---- */

struct foreign_rules {
	regex_t select, drop;
	bool has_select, has_drop;
};

static bool parse_rule(regex_t *re, const char *text, char *why, size_t cap)
{
	int err = regcomp(re, text, REG_EXTENDED | REG_NOSUB);

	if (err)
		regerror(err, re, why, cap);
	return err == 0;
}

struct foreign_rules *foreign_rules_new(
	const char *select, const char *drop, const char **wrong, char *why, size_t cap)
{
	struct foreign_rules *r;

	*wrong = NULL;
	if ((!select || !*select) && (!drop || !*drop))
		return NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	if (select && *select) {
		r->has_select = parse_rule(&r->select, select, why, cap);
		if (!r->has_select)
			*wrong = "codeline";
	}
	if (!*wrong && drop && *drop) {
		r->has_drop = parse_rule(&r->drop, drop, why, cap);
		if (!r->has_drop)
			*wrong = "stack_blacklist";
	}
	if (*wrong) {
		foreign_rules_free(r);
		return NULL;
	}
	return r;
}

void foreign_rules_free(struct foreign_rules *r)
{
	if (!r)
		return;
	if (r->has_select)
		regfree(&r->select);
	if (r->has_drop)
		regfree(&r->drop);
	free(r);
}

bool foreign_rules_have_selection(const struct foreign_rules *r)
{
	return r && r->has_select;
}

static bool match_rule(const regex_t *re, const char *text)
{
	return regexec(re, text, 0, NULL, 0) == 0;
}

static void check_frame(
	const struct foreign_rules *r, const struct foreign_name *n, bool *selected, bool *dropped)
{
	char line[sizeof(n->file) + sizeof(n->function) + 24];

	snprintf(line, sizeof(line), "%s[%d] %s", n->file, n->line, n->function);
	*dropped = r->has_drop && match_rule(&r->drop, line);
	if (!*dropped && r->has_select && !*selected)
		*selected = match_rule(&r->select, line);
}

size_t foreign_write_text(const struct foreign_stack *s, const struct foreign_rules *rules,
	char *buf, size_t cap, bool *selected)
{
	struct text t = text_init(buf, cap - sizeof(MORE));
	bool whole = s->n < FOREIGN_FRAMES_MAX;

	*selected = !foreign_rules_have_selection(rules);
	for (int i = 0; i < s->n; i++) {
		struct foreign_name n;
		size_t before = t.len;
		bool dropped = false;

		if (!s->language->describe(&s->frame[i], &n))
			continue;
		if (rules)
			check_frame(rules, &n, selected, &dropped);
		if (dropped || t.cut)
			continue;
		text_add_format(&t, "%s%s:%d %s", t.len ? " <- " : "", n.file, n.line, n.function);
		if (t.cut) {
			t.len = before;
			buf[before] = 0;
			whole = false;
		}
	}
	if (!whole) {
		memcpy(buf + t.len, MORE, sizeof(MORE));
		t.len += sizeof(MORE) - 1;
	}
	return t.len;
}

bool is_foreign_continued(const struct foreign_stack *was, const struct foreign_stack *now)
{
	int n = was->n < now->n ? was->n : now->n;

	/* If a list is full, the outermost frames may be missing. */
	if (was->n == FOREIGN_FRAMES_MAX || now->n == FOREIGN_FRAMES_MAX)
		return false;
	for (int i = 1; i <= n; i++) {
		const struct foreign_frame *a = &was->frame[was->n - i],
					   *b = &now->frame[now->n - i];

		if (a->code != b->code || a->check != b->check || a->frame != b->frame)
			return false;
		if (a->at != b->at)
			return b->at > a->at;
	}
	return false;
}
