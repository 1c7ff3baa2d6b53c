/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches functions of key watch_functions, and the one of key request_tokens. A number is an int, a float, or a tensor of one
 * element in host memory. Arguments are written before the function runs, because it may change a
 * tensor. There is no lock: all is done with the GIL held.
 */
#include "wrappers/torch/passes/function_watch.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/step.h"
#include "config/marker.h"
#include "config/rooms/kinds.h"
#include "config/rooms/slices.h"
#include "life/life.h"
#include "session/state.h"
#include "terms/dtype.h"
#include "training/params/kind.h"
#include "wrappers/python/function_hook.h"
#include "wrappers/python/objects.h"
#include "wrappers/torch/names/module_names.h"
#include "wrappers/torch/numbers/scalars.h"
#include "wrappers/torch/passes/request_tokens.h"
#include "wrappers/torch/tensors/torch.h"
#include "wrappers/torch/tensors/train_observers.h"

#define WATCHED_MAX 32
#define NUMBERS_MAX 32 /* maximum for one call's arguments, and for one result */
#define SERIES_MAX 160 /* bytes: function and texts */
#define TEXT_MAX 48
#define TRIES_MAX 64 /* searches in a row between which nothing was imported */

/* ---- what is watched ---- */

static struct watched {
	char name[96]; /* as in the key */
	const char *text; /* text of the key, without what follows the function */
	size_t len;
	/* an argument of the function, from which request_tokens.c reads; NULL: its numbers are written */
	const char *argument;
	py_object *function; /* NULL: not found yet */
	py_object *parameters; /* NULL: not known */
	size_t npositional;
} watched[WATCHED_MAX];
static unsigned nwatched, nhooked;
static bool is_list_read;
/* the function that all watched functions had originally */
static py_vectorcall_fn *_Atomic run_function;

bool torch_has_watch_list(void)
{
	const char *words = get_kinds_keys(get_config())->watch_functions;

	return (words && *words) || torch_find_request_argument(get_config(), &(size_t){0});
}

/* Adds the function that the text names. Returns NULL, or the reason why it cannot be watched. */
static const char *add_watched(const char *text, size_t len, const char *argument)
{
	struct watched *w = &watched[nwatched];
	const char *wrong;
	struct marker m;

	if (nwatched == WATCHED_MAX)
		return "there are too many";
	wrong = marker_parse(text, len, &m);
	if (wrong)
		return wrong;
	if (m.form != MARKER_LANGUAGE || m.nlanguage != 6 || memcmp(m.language, "python", 6) != 0)
		return "not of the form python:FILE:FUNCTION";
	if (m.nfunction >= sizeof(w->name))
		return "the name is too long";
	w->text = text;
	w->len = len;
	w->argument = argument;
	memcpy(w->name, m.function, m.nfunction);
	w->name[m.nfunction] = 0;
	nwatched++;
	return NULL;
}

static void read_watch_list(void)
{
	const struct config *cfg = get_first_generation()->cfg;
	const char *words = get_kinds_keys(cfg)->watch_functions, *argument, *wrong;
	size_t n;

	argument = torch_find_request_argument(cfg, &n);
	wrong = argument ? add_watched(get_slices_keys(cfg)->request_tokens, n, argument) : NULL;
	if (wrong)
		log_loss(LOSS_CONFIG, "request_tokens: %s: %s; tensors are recorded whole",
			get_slices_keys(cfg)->request_tokens, wrong);
	for (; words && *words; words += n + (words[n] == '\n')) {
		n = strcspn(words, "\n");
		wrong = add_watched(words, n, NULL);
		if (wrong)
			log_loss(LOSS_CONFIG, "watch_functions: %.*s: %s; it is ignored", (int)n,
				words, wrong);
	}
	is_list_read = true;
}

/* ---- a call ---- */

struct number {
	char name[TEXT_MAX];
	double value;
};

/* The numbers in a call's arguments or in its result, written on a separate stack. */
struct number_list {
	const char *series;
	struct number number[NUMBERS_MAX];
	unsigned n;
};

static void write_watched_numbers(void *arg)
{
	const struct number_list *s = arg;
	uint32_t micro = step_micro();
	char name[SERIES_MAX + TEXT_MAX + 2];

	for (unsigned i = 0; i < s->n; i++) {
		struct train_value v = {.kind = TK_WATCHED,
			.name = name,
			.step = step_now(),
			.micro_step = micro == UINT32_MAX ? 0 : micro,
			.dtype = DT_FLOAT64,
			.count = 1,
			.nvalue = 1,
			.value = &s->number[i].value};

		snprintf(name, sizeof(name), "%s/%s", s->series, s->number[i].name);
		train_kind_write(&v);
	}
}

/* Reads a number; a bool is a flag and not counted as one. */
static bool get_watched_number(py_object *o, double *value)
{
	const void *impl;

	if (!o || py_is_true(o) || py_is_false(o))
		return false;
	if (py_get_number(o, value))
		return true;
	impl = torch_get_object_tensor(o);
	return impl && torch_read_number(impl, value);
}

static void add_watched_number(struct number_list *s, const char *name, double value)
{
	if (s->n == NUMBERS_MAX)
		return;
	snprintf(s->number[s->n].name, sizeof(s->number[s->n].name), "%s", name);
	s->number[s->n++].value = value;
}

static void format_parameter_name(const struct watched *w, size_t i, size_t npositional,
	py_object *const *keywords, char *out)
{
	py_object *name = NULL;

	if (i >= npositional)
		name = keywords ? keywords[i - npositional] : NULL;
	else if (w->parameters && i < w->npositional)
		name = py_get_item(w->parameters, i);
	if (!name || !py_get_text(name, out, TEXT_MAX))
		snprintf(out, TEXT_MAX, "arg%zu", i);
}

/*
 * True if argument `name` is the number of a layer, which, like a text, distinguishes the series
 * of one function.
 */
static bool is_part_of_series(const char *name, py_object *o)
{
	int64_t i;

	return strncmp(name, "layer", 5) == 0 && py_get_integer(o, &i);
}

static void read_watched_arguments(const struct watched *w, struct number_list *s, char *series,
	py_object *const *args, size_t npositional, size_t n, py_object *const *keywords)
{
	size_t len = (size_t)snprintf(series, SERIES_MAX, "%s", w->name);

	for (size_t i = 0; i < n; i++) {
		char name[TEXT_MAX], text[TEXT_MAX];
		double value;

		format_parameter_name(w, i, npositional, keywords, name);
		if (py_is_str(args[i]) && py_get_text(args[i], text, sizeof(text))) {
			if (len < SERIES_MAX)
				len += (size_t)snprintf(
					series + len, SERIES_MAX - len, "/%s", text);
		} else if (get_watched_number(args[i], &value)) {
			if (!is_part_of_series(name, args[i]))
				add_watched_number(s, name, value);
			else if (len < SERIES_MAX)
				len += (size_t)snprintf(
					series + len, SERIES_MAX - len, "/%s%.0f", name, value);
		}
	}
	s->series = series;
}

static void read_watched_result(struct number_list *s, py_object *result)
{
	char name[TEXT_MAX], key_text[TEXT_MAX - 8];
	void *key, *value;
	double number;
	size_t at = 0;

	if (get_watched_number(result, &number)) {
		add_watched_number(s, "result", number);
	} else if (py_is_tuple(result) || py_is_list(result)) {
		for (size_t i = 0; i < py_get_item_count(result) && i < NUMBERS_MAX; i++) {
			snprintf(name, sizeof(name), "result.%zu", i);
			if (get_watched_number(py_get_item(result, i), &number))
				add_watched_number(s, name, number);
		}
	} else if (py_is_dict(result)) {
		while (s->n < NUMBERS_MAX && py_get_next_entry(result, &at, &key, &value)) {
			if (!py_get_text(key, key_text, sizeof(key_text)) ||
				!get_watched_number(value, &number))
				continue;
			snprintf(name, sizeof(name), "result.%s", key_text);
			add_watched_number(s, name, number);
		}
	}
}

static const struct watched *find_watched(const py_object *function)
{
	for (unsigned i = 0; i < nwatched; i++)
		if (watched[i].function == function)
			return &watched[i];
	return NULL;
}

static __attribute__((noinline)) void write_watched_arguments(const struct watched *w, char *series,
	py_object *const *args, size_t nargsf, py_object *kwnames)
{
	size_t npositional = py_get_nargs(nargsf), more = 0;
	py_object *const *keywords = NULL;
	struct number_list s;
	struct py_object_lock hold;
	const char *why;
	int error = errno;

	s.n = 0;
	thread_state.busy++;
	if (py_lock_objects(&hold, &why)) {
		if (kwnames)
			py_get_sequence(kwnames, &keywords, &more);
		read_watched_arguments(
			w, &s, series, args, npositional, npositional + more, keywords);
		py_unlock_objects(&hold);
		if (s.n)
			private_stack_call(write_watched_numbers, &s);
	}
	thread_state.busy--;
	errno = error;
}

/* Finds the argument of key request_tokens, and reads the batch's requests from it. */
static __attribute__((noinline)) void read_request(
	const struct watched *w, py_object *const *args, size_t nargsf, py_object *kwnames)
{
	size_t npositional = py_get_nargs(nargsf), more = 0, len = strcspn(w->argument, ".");
	py_object *const *keywords = NULL;
	struct py_object_lock hold;
	const char *why;
	int error = errno;

	thread_state.busy++;
	if (py_lock_objects(&hold, &why)) {
		py_object *found = NULL;

		if (kwnames)
			py_get_sequence(kwnames, &keywords, &more);
		for (size_t i = 0; i < npositional + more && !found; i++) {
			char name[TEXT_MAX];

			format_parameter_name(w, i, npositional, keywords, name);
			if (strlen(name) == len && memcmp(name, w->argument, len) == 0)
				found = args[i];
		}
		torch_read_request(found, w->argument + len);
		py_unlock_objects(&hold);
	}
	thread_state.busy--;
	errno = error;
}

static __attribute__((noinline)) void write_result(const char *series, py_object *result)
{
	struct number_list s;
	struct py_object_lock hold;
	const char *why;
	int error = errno;

	s.n = 0;
	s.series = series;
	thread_state.busy++;
	if (py_lock_objects(&hold, &why)) {
		read_watched_result(&s, result);
		py_unlock_objects(&hold);
		if (s.n)
			private_stack_call(write_watched_numbers, &s);
	}
	thread_state.busy--;
	errno = error;
}

/* Replaces the vectorcall of the functions. */
static py_object *call_watched(
	py_object *function, py_object *const *args, size_t nargsf, py_object *kwnames)
{
	py_vectorcall_fn *run = atomic_load_explicit(&run_function, memory_order_relaxed);
	const struct watched *w;
	char series[SERIES_MAX] = "";
	py_object *result;

	if (thread_state.busy || !(w = find_watched(function)))
		return run(function, args, nargsf, kwnames);
	if (w->argument)
		read_request(w, args, nargsf, kwnames);
	if (w->argument || !train_are_kinds_due())
		return run(function, args, nargsf, kwnames);
	write_watched_arguments(w, series, args, nargsf, kwnames);
	result = run(function, args, nargsf, kwnames);
	if (result && *series)
		write_result(series, result);
	return result;
}

/* ---- finding them ---- */

static bool is_watched_file(const void *arg, const char *file)
{
	const struct watched *w = arg;
	struct marker m;

	return !marker_parse(w->text, w->len, &m) && marker_is(&m, "python", file, w->name);
}

static void register_watched(struct watched *w)
{
	py_object *f = py_find_function(is_watched_file, w, w->name);
	const char *wrong;

	if (!f || find_watched(f))
		return;
	w->parameters = py_get_parameter_names(f, &w->npositional);
	wrong = py_set_function_hook(f, call_watched, &run_function);
	w->function = f;
	nhooked++;
	if (wrong)
		log_loss(LOSS_ENTRY, "%s: %s is not watched: %s",
			w->argument ? "request_tokens" : "watch_functions", w->name, wrong);
	else if (py_has_direct_calls())
		session_record_invisible("python",
			"CPython 3.11 runs plain calls of a function of watch_functions or "
			"request_tokens by itself: calls with * or **, of decorated functions, and "
			"of forward() of modules are seen");
}

static void find_watched_functions(void)
{
	static size_t modules;
	static unsigned tries;
	size_t now;

	if (!is_list_read)
		read_watch_list();
	if (nhooked == nwatched)
		return;
	now = py_get_module_count();
	tries = now == modules ? tries + 1 : 0;
	modules = now;
	for (unsigned i = 0; i < nwatched && tries < TRIES_MAX; i++)
		if (!watched[i].function)
			register_watched(&watched[i]);
}

void torch_set_function_hooks_now(void)
{
	if (torch_has_watch_list() && py_is_held())
		find_watched_functions();
}

static void handle_watch_event(const struct torch_train_event *e)
{
	const char *why;
	int gil;

	(void)e;
	if ((is_list_read && nhooked == nwatched) || !py_lock_gil(&gil, &why))
		return;
	find_watched_functions();
	py_unlock_gil(gil);
}

const struct torch_train_observer function_watch_observer = {
	.wanted = torch_has_watch_list,
	.backward_begin = handle_watch_event,
	.optimizer_begin = handle_watch_event,
};
