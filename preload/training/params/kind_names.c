/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in the files of kinds (key squash_name), and which parameters are wanted (key targets).
 * Both are decided once per parameter and table of parameters, and stored in one byte each.
 *
 * Lock: `making` is a leaf; a thread that finds it taken decides without the table.
 */
#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "config/rooms/kinds.h"
#include "text/text.h"
#include "journal/meta_part.h"
#include "session/state.h"
#include "training/params/kind.h"
#include "training/params/health.h"

/* ---- squash_name ---- */

/*
 * Returns the last `.word` in the name, or NULL. dot: it must be followed by a dot and more text.
 */
static const char *find_last_part(const char *name, const char *word, bool dot)
{
	size_t n = strlen(word);
	const char *found = NULL;

	for (const char *p = strchr(name, '.'); p; p = strchr(p + 1, '.'))
		if (strncmp(p + 1, word, n) == 0 && (!dot || p[1 + n] == '.'))
			found = p + 1;
	return found;
}

const char *train_get_short_name(const char *name)
{
	/*
	 * Words at which names are cut, to the same result as the regular expression
	 * ^.*\.(word.*) of other monitors, or with `dot` ^.*\.(words?\..*): if the word occurs
	 * several times, the last one is used.
	 */
	static const struct {
		char word[12];
		bool dot;
	} parts[] = {{"layer", true}, {"embedding", true}, {"final", false}, {"output", false},
		{"norm", false}};

	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const char *one = find_last_part(name, parts[i].word, parts[i].dot), *many = NULL;
		char plural[14];

		if (parts[i].dot) {
			size_t n = strlen(parts[i].word);

			memcpy(plural, parts[i].word, n);
			memcpy(plural + n, "s", 2);
			many = find_last_part(name, plural, true);
		}
		if (one || many)
			return one > many ? one : many;
	}
	return name;
}

/* ---- targets ---- */

/* maximum number; additional entries match nothing, which the configuration reports */
#define TARGETS_MAX 256

struct target {
	const char *text;
	size_t len;
	bool pattern;
	/* "=name": for modules only this module; for parameters all whose names begin with it */
	bool exact;
	regex_t re;
};

/*
 * The targets of one value of the key: made once, never changed, kept as long as the process
 * lives.
 */
struct target_set {
	const char *words;
	unsigned n;
	struct target at[];
};
static _Atomic(struct target_set *) targets_made;
static unsigned target_sets; /* guarded by `making` */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

/* True if an entry is a regular expression: names contain dots, but no other special characters. */
static bool is_pattern(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (strchr("^$*+?()[]{}|\\", text[i]))
			return true;
	return false;
}

static unsigned get_target_line_count(const char *words)
{
	unsigned n = 0;

	for (const char *p = words; *p && n < TARGETS_MAX; p += strcspn(p, "\n"), p += *p == '\n')
		n++;
	return n;
}

/* words must live as long as the process. Returns NULL if there is no memory. */
static struct target_set *read_target_words(const char *words)
{
	struct target_set *s =
		calloc(1, sizeof(*s) + get_target_line_count(words) * sizeof(struct target));
	char one[512];

	if (!s)
		return NULL;
	s->words = words;
	for (size_t n; *words && s->n < TARGETS_MAX; words += n + (words[n] == '\n')) {
		struct target *t = &s->at[s->n];

		n = strcspn(words, "\n");
		t->exact = *words == '=';
		t->text = words + t->exact;
		t->len = n - t->exact;
		t->pattern = !t->exact && is_pattern(words, n);
		if (t->pattern) {
			if (n >= sizeof(one))
				continue;
			memcpy(one, words, n);
			one[n] = 0;
			if (regcomp(&t->re, one, REG_EXTENDED | REG_NOSUB))
				continue;
		}
		s->n++;
	}
	return s;
}

/*
 * Returns the targets of the configuration in use; a later one may have others. Returns NULL if
 * there are none, or no memory.
 */
static struct target_set *get_targets(bool locked)
{
	const struct kinds_keys *keys = get_kinds_keys(get_config());
	const char *words = keys->targets ? keys->targets : "";
	struct target_set *s = atomic_load_explicit(&targets_made, memory_order_acquire), *made;

	if (s && (s->words == words || strcmp(s->words, words) == 0))
		return s;
	if (!locked)
		pthread_mutex_lock(&making);
	s = atomic_load(&targets_made);
	if ((!s || strcmp(s->words, words)) && target_sets < GENERATIONS_MAX &&
		(made = read_target_words(words))) {
		target_sets++;
		atomic_store_explicit(&targets_made, made, memory_order_release);
		s = made;
	}
	if (!locked)
		pthread_mutex_unlock(&making);
	return s;
}

const void *train_get_targets(void)
{
	return get_targets(false);
}

/*
 * A plain text matches whole parts between dots: layers.1 matches module.layers.1.weight, but not
 * layers.10.weight.
 */
static bool match_plain(const char *name, const struct target *t)
{
	for (const char *p = name; (p = memmem(p, strlen(p), t->text, t->len)); p++)
		if ((p == name || p[-1] == '.') && (!p[t->len] || p[t->len] == '.'))
			return true;
	return false;
}

static bool match_target(const char *name, const struct target *t)
{
	if (t->exact)
		return !strncmp(name, t->text, t->len) ||
		       !strncmp(train_get_short_name(name), t->text, t->len);
	return t->pattern ? regexec(&t->re, name, 0, NULL, 0) == 0 : match_plain(name, t);
}

static bool is_kind_target(const char *name, bool (*matches)(const char *, const struct target *))
{
	const struct target_set *s = get_targets(false);

	for (unsigned i = 0; s && i < s->n; i++)
		if (matches(name, &s->at[i]))
			return true;
	return !s || !s->n;
}

bool train_is_target(const char *name)
{
	return is_kind_target(name, match_target);
}

static bool is_same_target(const char *name, const struct target *t)
{
	return !strncmp(name, t->text, t->len) && !name[t->len];
}

static bool is_module_matched(const char *name, const struct target *t)
{
	return t->exact ? is_same_target(name, t) || is_same_target(train_get_short_name(name), t)
			: match_target(name, t);
}

bool is_target_module(const char *name)
{
	return is_kind_target(name, is_module_matched);
}

/* ---- by parameter ---- */

enum { DECIDED = 1, TARGET = 2, SHORT = 4 };

static struct decisions {
	uint32_t generation, n;
	const struct target_set *targets;
	uint8_t *name_flags; /* index: id - 1 */
} decisions;

struct short_name {
	const char *name;
	uint32_t at;
};

static int compare_short(const void *a, const void *b)
{
	const struct short_name *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : (x->at > y->at) - (x->at < y->at);
}

/*
 * Decides which names are shortened: of several with the same short name only the first, as in
 * msprobe. The others keep their complete name.
 */
static void set_short_names(const struct train_params *all, uint8_t *name_flags)
{
	size_t bytes = all->n * sizeof(struct short_name);
	struct short_name *s =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		return;
	for (uint32_t i = 0; i < all->n; i++)
		s[i] = (struct short_name){train_get_short_name(all->at[i].name), i};
	qsort(s, all->n, sizeof(*s), compare_short);
	for (uint32_t i = 0, end; i < all->n; i = end) {
		/* True if another parameter has this short name as its complete name. */
		bool is_taken = false;

		for (end = i; end < all->n && !strcmp(s[end].name, s[i].name); end++)
			is_taken |= !strcmp(all->at[s[end].at].name, s[end].name);
		if (!is_taken || end == i + 1)
			name_flags[s[i].at] |= SHORT;
	}
	munmap(s, bytes);
}

#define NAMES_SHOWN 8 /* maximum number of names written for an entry */

/* Writes one entry of `targets` in meta.json. Returns how many parameters the entry matches. */
static uint32_t write_target_matches(
	struct text *out, const struct target *t, const struct train_params *all)
{
	char entry[512];
	uint32_t n = 0,
		 size = t->len < sizeof(entry) ? (uint32_t)t->len : (uint32_t)sizeof(entry) - 1;

	memcpy(entry, t->text, size);
	entry[size] = 0;
	text_add_string(out, "{\"entry\": ");
	text_add_json(out, entry);
	text_add_string(out, ", \"names\": [");
	for (uint32_t i = 0; i < all->n; i++) {
		if (!match_target(all->at[i].name, t) || n++ >= NAMES_SHOWN)
			continue;
		text_add_string(out, n > 1 ? ", " : "");
		text_add_json(out, all->at[i].name);
	}
	text_add_string(out, "], \"parameters\": ");
	text_add_u64(out, n);
	text_add_char(out, '}');
	return n;
}

/*
 * Writes the matches of each entry into meta.json, once, and reports entries without a match.
 * Called under `making`.
 */
static void record_targets(const struct train_params *all, const struct target_set *s)
{
	static char part[8192];
	static bool reported;
	struct text t = text_init(part, sizeof(part));
	bool modules = parse_kinds(get_kinds_keys(get_config())->kinds) &
		       (KIND_BIT(ACTV) | KIND_BIT(ACTV_GRAD));

	if (reported || !s || !s->n || !session.journal.head)
		return;
	reported = true;
	text_add_bytes(&t, "targets", sizeof("targets"));
	text_add_char(&t, '[');
	for (unsigned i = 0; i < s->n; i++) {
		text_add_string(&t, i ? ", " : "");
		if (!write_target_matches(&t, &s->at[i], all) && !modules)
			log_loss(LOSS_CONFIG,
				"targets: no parameter is named %.*s: no kind is written for it; "
				"names.csv has the names",
				(int)s->at[i].len, s->at[i].text);
	}
	text_add_char(&t, ']');
	if (!t.cut)
		journal_dict_add(&session.journal, DICT_META, META_TARGETS, part, t.len + 1);
}

/* Called under `making`. */
static void set_params_decisions(const struct train_params *all, const struct target_set *targets)
{
	uint8_t *name_flags =
		mmap(NULL, all->n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (name_flags == MAP_FAILED)
		return;
	if (get_kinds_keys(get_config())->squash_name)
		set_short_names(all, name_flags);
	if (decisions.name_flags)
		munmap(decisions.name_flags, decisions.n);
	decisions = (struct decisions){all->generation, all->n, targets, name_flags};
	record_targets(all, targets);
}

static uint8_t get_decision(const struct train_params *all, const struct train_param *p)
{
	uint8_t d = 0;

	pthread_mutex_lock(&making);

	const struct target_set *targets = get_targets(true);

	if (all->n && (decisions.generation != all->generation || decisions.targets != targets))
		set_params_decisions(all, targets);
	if (decisions.generation == all->generation && p->id <= decisions.n)
		d = decisions.name_flags[p->id - 1];
	pthread_mutex_unlock(&making);
	return d;
}

const char *train_get_kind_name(const struct train_params *all, const struct train_param *p)
{
	if (!get_kinds_keys(get_config())->squash_name)
		return p->name;
	return get_decision(all, p) & SHORT ? train_get_short_name(p->name) : p->name;
}

bool train_param_is_target(const struct train_params *all, const struct train_param *p)
{
	uint8_t d;

	if (health_is_embedding(all, p))
		return true;
	if (health_is_alone())
		return false;

	const struct target_set *targets = get_targets(false);

	if (targets && !targets->n)
		return true;
	d = get_decision(all, p);
	if (!(d & DECIDED)) {
		d |= DECIDED | (train_is_target(p->name) ? TARGET : 0);
		pthread_mutex_lock(&making);
		if (decisions.generation == all->generation && decisions.targets == targets &&
			p->id <= decisions.n)
			decisions.name_flags[p->id - 1] = d;
		pthread_mutex_unlock(&making);
	}
	return d & TARGET;
}

void train_kinds_forked(void)
{
	pthread_mutex_init(&making, NULL);
}
