/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's file: read at the first query about a library, and kept permanently. A row with an
 * error is reported and skipped; the other rows are used.
 *
 * Lock: session.lock while the file is read; afterwards nothing changes.
 */
#include "entry/user/user_functions.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/hash.h"
#include "base/io.h"
#include "config/key.h"
#include "config/list/glob.h"
#include "config/config_report.h"
#include "config/rooms/files.h"
#include "elf/loaded/object_at.h"
#include "entry/stubs/provider.h"
#include "session/state.h"
#include "elf/demangle/demangle.h"

#define FILE_MAX (1u << 20)
#define ARENA_MAX ((size_t)16 << 20)
#define MADE_MAX 16384u /* maximum number of rows in a process */
/* bytes of a function's name; a longer name is replaced by that in the file */
#define NAME_BYTES 400

/* A wanted row of the file. */
struct row {
	const struct func *f;
	const struct adapter *lib;
	const char *literal; /* FIND_NAME: text that each matching symbol contains; "": not known */
	_Atomic bool misfit_said;
};

static struct {
	_Atomic bool was_read;
	struct spec_load load;
	struct report report;
	struct row *row; /* rows with patterns come first */
	unsigned n, npattern;
	uint32_t *slot; /* hash table by symbol: 1 + row, 0: empty; the size is a power of two */
	uint32_t nslot;
	_Atomic unsigned made;
} custom;

/* ---- reading ---- */

static void print_document_error(void *arg, struct pos at, const char *fmt, va_list ap)
{
	char text[REPORT_LINE_MAX];

	(void)arg;
	vsnprintf(text, sizeof(text), fmt, ap);
	report_emit_at(&custom.report, at.line, at.col, "%s", text);
}

static void print_line(void *arg, const char *line)
{
	(void)arg;
	/*
	 * Printed now, because a row that is skipped is never called, so that nothing else would
	 * print it.
	 */
	log_config_now();
	log_loss(LOSS_CONFIG, "%s", line);
}

/* True for words that a mangled name may abbreviate. */
static bool is_abbreviated(const char *s, size_t n)
{
	static const char *const words[] = {"std", "allocator", "basic_string", "string", "istream",
		"ostream", "iostream", "operator"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (n >= strlen(words[i]) && strncmp(s, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

/*
 * Returns the longest word of a name or pattern. An identifier appears unchanged in the mangled
 * name, so a search for the word excludes nearly all symbols before any is demangled.
 */
static const char *find_longest_word(struct spec_load *l, const char *pattern)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	const char *best = "", *p = pattern;
	size_t len = 0;

	while (*p) {
		size_t n = strspn(p, letters);

		if (n >= len && n && !is_abbreviated(p, n)) {
			best = p;
			len = n;
		}
		p += n;
		if (*p == '[') /* a set of characters */
			p += strcspn(p, "]");
		p += *p != '\0';
	}
	return strchr(pattern, '\\') || strchr(pattern, '(') ? "" : load_text(l, best, len);
}

static bool is_func_selected(const struct func *f)
{
	return wraplist_match(get_wraplist(), "custom", f->list);
}

static void add_custom_row(struct spec_load *l, const struct func *f, const struct adapter *lib)
{
	struct row *r;

	custom.row = load_grow(l, custom.row, custom.n, sizeof(*custom.row));
	r = &custom.row[custom.n++];
	*r = (struct row){.f = f, .lib = lib, .literal = ""};
	if (f->find == FIND_NAME)
		r->literal = find_longest_word(l, f->symbol);
}

/*
 * Marks the names of all rows as known, so that a name whose row has an error is not reported as
 * unknown too.
 */
static void register_known_names(const struct node *rows)
{
	for (unsigned i = 0; rows && rows->type == NODE_MAP && i < rows->n; i++)
		wraplist_match(get_wraplist(), "custom", rows->key[i]->text);
}

static int by_find(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->f->find == FIND_SYMBOL) - (y->f->find == FIND_SYMBOL);
}

/*
 * Adds the wanted rows of one document. Rows that only track communicators are wanted if any
 * other row is.
 */
static void add_wanted_rows(struct spec_load *l, const struct spec *s, struct funcs *funcs)
{
	const struct adapter *lib = NULL;
	bool any = false;

	funcs_sort(l, funcs);
	for (unsigned i = 0; i < funcs->n; i++)
		any |= is_func_selected(funcs->item[i]) && funcs->item[i]->task == TASK_DATA;
	if (!any)
		return;
	lib = custom_lib_new(s);
	if (!lib) {
		load_fail(l, s->top->at, "more than %d libraries; this one is skipped",
			CUSTOM_LIBS_MAX);
		return;
	}
	for (unsigned i = 0; i < funcs->n; i++) {
		const struct func *f = funcs->item[i];

		if (i && strcmp(funcs->item[i - 1]->symbol, f->symbol) == 0)
			continue; /* reported by funcs_sort() */
		if (f->task != TASK_DATA || is_func_selected(f))
			add_custom_row(l, f, lib);
	}
}

static void add_symbol_index(struct spec_load *l)
{
	uint32_t mask;

	if (custom.n)
		qsort(custom.row, custom.n, sizeof(*custom.row), by_find);
	while (custom.npattern < custom.n && custom.row[custom.npattern].f->find != FIND_SYMBOL)
		custom.npattern++;
	for (custom.nslot = 16; custom.nslot < 2 * custom.n;)
		custom.nslot *= 2;
	custom.slot = load_new(l, custom.nslot * sizeof(*custom.slot));
	mask = custom.nslot - 1;
	for (unsigned i = custom.npattern; i < custom.n; i++) {
		uint32_t at = (uint32_t)hash_str(0, custom.row[i].f->symbol) & mask;

		while (custom.slot[at])
			at = (at + 1) & mask;
		custom.slot[at] = i + 1;
	}
}

struct source {
	const char *path, *text;
	size_t len;
};

static void read_custom_specs(struct spec_load *l, void *arg)
{
	const struct source *src = arg;
	const struct kinds kinds = {kind_table, kind_count};
	struct nodes docs;

	api_fill();
	docs = nodes_read(l, src->path, src->text, src->len);

	for (unsigned i = 0; i < docs.n; i++) {
		struct funcs funcs = {NULL, 0};
		const struct spec *s = spec_read(l, src->path, docs.item[i], &kinds, &funcs);

		if (s) {
			register_known_names(node_get(s->top, "functions"));
			add_wanted_rows(l, s, &funcs);
		}
	}
	add_symbol_index(l);
}

static char *copy_path(const char *s, size_t n)
{
	return strndup(s, n);
}

/*
 * Returns the path, malloc'd, of the file named by the configuration, or else the one next to the
 * configuration, or else the one among libprobe's files; NULL: none.
 */
static char *find_custom_file(bool *named)
{
	const char *given = get_files_keys(get_config())->custom_apis, *config = NULL, *slash;
	char *path = NULL;

	*named = given && *given;
	if (*named)
		return copy_path(given, strlen(given));
	for (char *const *e = startup_get_environment(); *e; e++)
		if (strncmp(*e, "PROBE_CONFIG=", 13) == 0)
			config = *e + 13;
	slash = config ? strrchr(config, '/') : NULL;
	if (config && *config &&
		asprintf(&path, "%s%s%.*sapis/custom.yaml", *config == '/' ? "" : startup_get_cwd(),
			*config == '/' ? "" : "/", slash ? (int)(slash - config + 1) : 0,
			config) > 0) {
		int fd = io_open_regular(AT_FDCWD, path, O_RDONLY, 0);

		if (fd >= 0) {
			close(fd);
			return path;
		}
		free(path);
	}
	return config_find("apis/custom.yaml", own_path_get());
}

static void read_custom_file(const char *path, bool named)
{
	char *text = malloc(FILE_MAX + 1);
	ssize_t n = text ? io_read_file(AT_FDCWD, path, text, FILE_MAX + 1) : -ENOMEM;
	struct source src = {path, text, n > 0 ? (size_t)n : 0};
	int err = 0;

	report_start(&custom.report, print_line, NULL, path);
	custom.load = (struct spec_load){
		.arena.limit = ARENA_MAX, .say = print_document_error, .run_time = true};
	if (n < 0 && (named || n != -ENOENT))
		report_emit_at(&custom.report, 0, 0, "%s; none of its functions is recorded",
			io_error_text((int)n));
	else if (n > (ssize_t)FILE_MAX)
		report_emit_at(&custom.report, 0, 0,
			"larger than 1 MiB; none of its functions is recorded");
	else if (n > 0)
		err = load_try(&custom.load, read_custom_specs, &src);
	if (err) {
		report_emit_at(&custom.report, 0, 0, "%s; none of its functions is recorded",
			err == -E2BIG ? "takes more than 16 MiB of memory" : strerror(-err));
		custom.n = custom.npattern = custom.nslot = 0;
	}
	report_stop(&custom.report);
	free(text);
}

static void read_once(void)
{
	bool named;
	char *path = find_custom_file(&named);

	if (path)
		read_custom_file(path, named); /* messages use this name */
	wraplist_emit_unknown(get_wraplist(), "custom", print_line, NULL);
}

/* True if there are rows that a symbol could match. */
static bool has_custom_rows(void)
{
	int cancel;

	if (atomic_load_explicit(&custom.was_read, memory_order_acquire))
		return custom.n != 0;
	if (!session_configure())
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&session.lock);
	if (!atomic_load(&custom.was_read)) {
		read_once();
		atomic_store_explicit(&custom.was_read, true, memory_order_release);
	}
	pthread_mutex_unlock(&session.lock);
	pthread_setcancelstate(cancel, NULL);
	return custom.n != 0;
}

/* ---- finding ---- */

static bool match_object(const struct row *r, const char *object)
{
	const struct node *list = r->f->spec->objects;
	const char *slash = strrchr(object, '/');

	for (unsigned i = 0; list && i < list->n; i++) {
		const char *pattern = list->item[i]->text;

		if (glob_match(pattern, strchr(pattern, '/') || !slash ? object : slash + 1))
			return true;
	}
	return !list;
}

static unsigned get_integer_bytes(uint8_t ctype)
{
	return ctype >= CT_I8 && ctype <= CT_U64 ? 1u << (ctype - CT_I8) / 2 : 0;
}

static bool has_pointer(const struct type *t)
{
	return t->ctype == CT_P || get_integer_bytes(t->ctype) == 8;
}

/*
 * True if a parameter, as described by the C++ name, can be passed in the way that the row
 * describes.
 */
static bool match_custom_param(uint8_t is, const struct type *t)
{
	switch (is) {
	case CXX_ANY:
	case CXX_CLASS:
		return true;
	case CXX_NEVER:
		return false;
	case CT_P:
		return has_pointer(t);
	case CT_F32:
	case CT_F64:
		return t->ctype == is;
	default:
		return get_integer_bytes(t->ctype) == get_integer_bytes(is) ||
		       (t->handle && get_integer_bytes(is) >= 4);
	}
}

static bool match_custom_params(const struct params *args, const struct cxx_params *p)
{
	int skip = (int)args->n - p->n;

	if (p->variadic)
		return false;
	if (p->n < 0)
		return true; /* the parameters are not known */
	/* `this` precedes the parameters in the name. */
	if (skip == 0 ? p->method : skip != 1 || !p->nested || !has_pointer(&args->item[0].type))
		return false;
	for (int i = 0; i < p->n; i++)
		if (!match_custom_param(p->type[i], &args->item[i + skip].type))
			return false;
	return true;
}

/*
 * False, and logged, for an overload, or an error in the signature: calling the function as in
 * the row would crash the program.
 */
static bool check_params_and_log(struct row *r, const char *symbol, const struct cxx_params *p)
{
	if (match_custom_params(&r->f->args, p))
		return true;
	if (!atomic_exchange_explicit(&r->misfit_said, true, memory_order_relaxed))
		log_loss(LOSS_ENTRY,
			"%s:%u:%u: %s is not recorded: its parameters are not those of this "
			"signature (an overload, or a mistake in it)",
			r->f->at.file, r->f->at.line, r->f->at.col, symbol);
	return false;
}

static struct row *find_symbol(const char *symbol, const char *object)
{
	uint32_t mask = custom.nslot - 1, at = (uint32_t)hash_str(0, symbol) & mask;

	for (; custom.slot[at]; at = (at + 1) & mask) {
		struct row *r = &custom.row[custom.slot[at] - 1];

		if (strcmp(r->f->symbol, symbol) == 0 && match_object(r, object))
			return r;
	}
	return NULL;
}

/* Returns the row for a symbol, or NULL. */
static struct row *find_custom_row(const char *symbol, const char *object)
{
	struct row *r = find_symbol(symbol, object);
	char name[NAME_BYTES];
	struct cxx_params params;
	int len = -2; /* -2: not demangled yet */

	for (unsigned i = 0; i < custom.npattern && !r; i++) {
		struct row *x = &custom.row[i];
		bool hit;

		if (x->f->find == FIND_GLOB) {
			hit = glob_match(x->f->symbol, symbol);
		} else {
			if (!strstr(symbol, x->literal))
				continue;
			if (len == -2)
				len = format_cxx_symbol(symbol, name, sizeof(name), &params);
			/* A C function's name is not mangled. */
			hit = glob_match(x->f->symbol, len > 0 ? name : symbol);
		}
		if (!hit || !match_object(x, object))
			continue;
		if (x->f->find == FIND_GLOB)
			len = format_cxx_symbol(symbol, name, sizeof(name), &params);
		if (len <= 0 || check_params_and_log(x, symbol, &params))
			r = x;
	}
	return r;
}

static bool is_custom_wanted(const char *symbol, const char *object)
{
	return has_custom_rows() && find_custom_row(symbol, object);
}

/* ---- rows for the entry ---- */

struct made {
	struct api api;
	struct api_spec spec;
	struct api_ffi ffi;
	char text[]; /* link_name, then symbol */
};

static void set_custom_spec(struct made *m, const struct func *f)
{
	struct api_spec *s = &m->spec;
	bool integer = f->ret.ctype >= CT_I8 && f->ret.ctype <= CT_U64 && !f->ret.handle;

	s->list_name = f->list;
	s->kind = f->kind;
	s->task = f->task;
	s->sub = f->sub;
	s->completion = f->completion;
	s->how = f->how;
	s->nargs = (uint8_t)f->args.n;
	s->ffi = &m->ffi;
	m->ffi.ret = f->ret.ctype;
	m->ffi.ret_struct = f->ret.members;
	m->ffi.hidden = f->ret.object;
	m->ffi.code = integer && f->spec->nsuccess;
	for (unsigned i = 0; i < f->args.n; i++) {
		const struct param *p = &f->args.item[i];
		bool array = p->role >= ROLE_SCOUNTS && p->role <= ROLE_RDISPLS;

		s->args[i] = (struct api_arg){.role = p->role,
			.ctype = p->type.ctype,
			.elem_bytes =
				array && p->type.points_void ? f->spec->counts : p->type.elem_bytes,
			.words = p->type.words,
			.pointers = p->type.points_pointer};
		if (p->role)
			s->at[p->role] = (uint8_t)(i + 1);
		if (p->role >= ROLE_SEND && p->role <= ROLE_BUF)
			s->buf_dtype[p->role] = p->type.dtype;
		m->ffi.arg[i] = p->type.members;
	}
}

static struct api *add_custom_api(const char *symbol, const char *object)
{
	const struct row *r = has_custom_rows() ? find_custom_row(symbol, object) : NULL;
	char name[NAME_BYTES];
	size_t len = strlen(symbol) + 1, shown_len;
	const char *shown = symbol;
	struct made *m;

	if (!r)
		return NULL;
	if (format_cxx_symbol(symbol, name, sizeof(name), NULL) > 0)
		shown = name;
	else if (len > NAME_BYTES)
		shown = r->f->list;
	shown_len = strlen(shown) + 1;
	if (atomic_fetch_add(&custom.made, 1) >= MADE_MAX) {
		log_loss(LOSS_ENTRY,
			"more than %u functions match %s: further ones are not recorded; "
			"narrow the patterns, or name the libraries with objects",
			MADE_MAX, r->f->spec->path);
		return NULL;
	}
	m = calloc(1, sizeof(*m) + len + shown_len);
	if (!m) {
		log_loss(LOSS_ENTRY, "no memory for a row: %s is not recorded", shown);
		return NULL;
	}
	m->api.spec = &m->spec;
	m->spec.lib = r->lib;
	m->spec.link_name = memcpy(m->text, symbol, len);
	m->spec.symbol = memcpy(m->text + len, shown, shown_len);
	set_custom_spec(m, r->f);
	return &m->api;
}

const struct runtime_provider custom_provider = {
	.wants = is_custom_wanted, .make = add_custom_api, .any = has_custom_rows};
