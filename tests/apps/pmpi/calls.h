/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that libpmpicount.so has seen: those that are pending, and the rows of all. */
#ifndef CALLS_H
#define CALLS_H

#include "stats.h"
#include <fenv.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

/* A buffer: count elements, or segments. The arrays belong to the caller, who keeps them until completion. */
struct row {
	const void *buf;
	MPI_Datatype
		type; /* may be freed before completion, if it is none of the predefined ones */
	const struct number_type *number;
	int size; /* of an element */
	long count;
	const void *counts, *displs; /* segments: int, or with wide MPI_Count and MPI_Aint */
	int segments, wide;
	int present, received; /* received: the status says how much ... */
	int tag; /* ... if it is one of this tag: Intel MPI 2021.19 leaves that of MPI_Isendrecv as it found it */
};

struct call {
	struct call *next; /* while pending */
	MPI_Request request;
	pthread_t thread; /* that made it */
	const char *name;
	long n;
	struct row in, out;
};

struct function {
	const char *name;
	long calls;
	long long bytes;
};

static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* of everything below; never held in a PMPI call of a rank */
static struct function functions[256];
static struct call *pending;
static char *text;
static size_t text_len, text_room;
static long next_n;

static struct function *function(const char *name)
{
	struct function *f = functions;

	while (f->name && strcmp(f->name, name))
		f++;
	f->name = name;
	return f;
}

static void begin(struct call *c, const char *name)
{
	memset(c, 0, sizeof(*c));
	c->name = name;
	pthread_mutex_lock(&lock);
	c->n = next_n++;
	function(name)->calls++;
	pthread_mutex_unlock(&lock);
}

static long segment(const void *list, int i, int wide, int counts)
{
	if (!wide)
		return ((const int *)list)[i];
	return counts ? (long)((const MPI_Count *)list)[i] : (long)((const MPI_Aint *)list)[i];
}

__attribute__((format(printf, 1, 2))) static void add_line(const char *fmt, ...)
{
	enum { LONGEST = 512 };
	va_list ap;

	pthread_mutex_lock(&lock);
	if (text_len + LONGEST > text_room) {
		char *more = realloc(text, text_room * 2 + 65536);

		if (more) {
			text = more;
			text_room = text_room * 2 + 65536;
		}
	}
	if (text_len + LONGEST <= text_room) {
		va_start(ap, fmt);
		text_len += (size_t)vsnprintf(text + text_len, LONGEST - 1, fmt, ap);
		va_end(ap);
		text[text_len++] = '\n';
	}
	pthread_mutex_unlock(&lock);
}

/* Measures the buffer, in a floating-point environment of its own. */
static void write_row(const struct call *c, const struct row *r, const char *io)
{
	const struct number_type *t = r->number;
	fenv_t env;
	struct sums s = {0};
	char numbers[256];
	long count = r->count;

	feholdexcept(&env);
	fesetenv(FE_DFL_ENV);
	if (r->counts) {
		count = 0;
		for (int i = 0; i < r->segments; i++) {
			long len = segment(r->counts, i, r->wide, 1),
			     at = segment(r->displs, i, r->wide, 0);

			if (t->number != OTHER)
				add_numbers(&s, t->number, (const char *)r->buf + at * r->size,
					len * t->parts);
			count += len;
		}
	} else if (t->number != OTHER) {
		add_numbers(&s, t->number, r->buf, count * t->parts);
	}
	print_sums(numbers, sizeof(numbers), &s, t->number);

	add_line("%ld,%s,%s,%ld,%s%s", c->n, c->name, io, count, t->name, numbers);
	pthread_mutex_lock(&lock);
	function(c->name)->bytes += (long long)count * r->size;
	pthread_mutex_unlock(&lock);
	fesetenv(&env);
}

static void before(const struct call *c)
{
	if (c->in.present)
		write_row(c, &c->in, "in");
	else /* so that no call is without a row, whatever becomes of it */
		add_line("%ld,%s,,,,,,,,,,", c->n, c->name);
}

static void after(struct call *c, int rc, const MPI_Status *status)
{
	int cancelled = 0, got;

	if (rc != MPI_SUCCESS || !c->out.present)
		return;
	bool told = c->out.received && status != MPI_STATUS_IGNORE;

	if (told)
		PMPI_Test_cancelled(status, &cancelled);
	if (told && c->out.number->number != OTHER &&
		(c->out.tag == MPI_ANY_TAG || c->out.tag == status->MPI_TAG)) {
		PMPI_Get_count(status, c->out.type, &got);
		c->out.count = got;
	}
	if (!cancelled)
		write_row(c, &c->out, "out");
}

/* Keeps the call until its request completes, sends too: completed() must know whose handle it is. */
static void later(struct call *c, int rc, const MPI_Request *request)
{
	struct call *keep, **end;

	if (rc != MPI_SUCCESS || !(keep = malloc(sizeof(*keep))))
		return;
	*keep = *c;
	keep->request = *request;
	keep->thread = pthread_self();
	pthread_mutex_lock(&lock);
	for (end = &pending; *end; end = &(*end)->next)
		;
	*end = keep;
	pthread_mutex_unlock(&lock);
}

/*
 * The oldest pending call with that handle has completed (rc) or was freed (status NULL). MPIs use handles again at
 * once: another thread may have got it before this one came here, or may have completed its own and not come yet. This
 * thread's own calls come first, therefore.
 */
static void completed(MPI_Request request, int rc, const MPI_Status *status)
{
	struct call *c, **at, **any = NULL;

	if (request == MPI_REQUEST_NULL)
		return;
	pthread_mutex_lock(&lock);
	for (at = &pending; *at; at = &(*at)->next) {
		if ((*at)->request != request)
			continue;
		any = any ? any : at;
		if (pthread_equal((*at)->thread, pthread_self()))
			break;
	}
	at = *at || !any ? at : any;
	c = *at;
	if (c)
		*at = c->next;
	pthread_mutex_unlock(&lock);
	if (c && status)
		after(c, rc, status);
	free(c);
}

#endif
