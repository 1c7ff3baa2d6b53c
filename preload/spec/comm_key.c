/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the key `comm` of a library's spec: which of its functions return the rank and size of a communicator, and which ones make
 * communicators:
 *
 *	comm: {id: 128, rank: ..., size: ..., parent: [split]}     id only for an adapter (wrappers/ccl)
 */
#include <ctype.h>
#include <string.h>

#include "spec/spec.h"

#define ID_BYTES_MAX 65536

static const char *const comm_keys[] = {"id", "rank", "size", "parent", NULL};
static const char *const user_comm_keys[] = {"rank", "size", NULL};

/* The part of a query that has not been read yet. */
struct rest {
	const struct node *node;
	const char *p;
};

static bool read_token(struct rest *r, const char *s)
{
	size_t n = strlen(s);

	while (*r->p == ' ')
		r->p++;
	if (strncmp(r->p, s, n) != 0 ||
		(isalnum((unsigned char)s[n - 1]) &&
			(isalnum((unsigned char)r->p[n]) || r->p[n] == '_')))
		return false;
	r->p += n;
	return true;
}

/* Reads an integer type. Returns its size in bytes, 0 if there is none. */
static uint8_t read_int(struct rest *r)
{
	static const struct {
		const char *name;
		uint8_t bytes;
	} ints[] = {{"unsigned long", 8}, {"unsigned int", 4}, {"unsigned", 4}, {"long long", 8},
		{"long", 8}, {"int", 4}, {"int32_t", 4}, {"uint32_t", 4}, {"int64_t", 8},
		{"uint64_t", 8}, {"size_t", 8}};

	for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++)
		if (read_token(r, ints[i].name))
			return ints[i].bytes;
	return 0;
}

/* Reads the arguments after the function's name. */
static bool read_args(struct rest *r, struct query *q)
{
	uint8_t bytes;

	if (!read_token(r, "("))
		return false;
	q->comm = read_token(r, "comm");
	if (q->comm ? read_token(r, ",") : !read_token(r, ")")) {
		bytes = read_int(r);
		if (!bytes || !read_token(r, "*"))
			return false;
		read_token(r, "out");
		q->bytes = bytes;
		q->out = true;
		return read_token(r, ")");
	}
	return q->comm ? read_token(r, ")") : true;
}

static void query_read(struct spec_load *l, const struct node *n, struct query *q)
{
	struct rest r = {n, node_text(l, n, "")};
	uint8_t bytes;
	size_t len;

	bytes = read_int(&r);
	q->bytes = bytes ? bytes : 4;
	while (*r.p == ' ')
		r.p++;
	len = strspn(r.p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	q->function = load_text(l, r.p, len);
	r.p += len;
	if (len && !strchr("0123456789", *q->function) && read_args(&r, q)) {
		while (*r.p == ' ')
			r.p++;
		if (!*r.p)
			return;
	}
	load_fail(l, node_column(n, (size_t)(r.p - n->text)),
		"'%s': expected \"function(comm, int *out)\", which writes the number, or \"int "
		"function(comm)\", which returns it; omit comm if there is one "
		"communicator only",
		n->text);
}

/* Reads the fields that an adapter of wrappers/ccl needs. */
static void unique_id_read(struct spec_load *l, struct spec *s, const struct node *comm)
{
	const struct node *id = node_get(comm, "id");

	if (!id) {
		load_fail(l, comm->at, "comm needs id: how many bytes a unique id has");
		return;
	}
	if (node_int(l, id, &s->id_bytes) && (s->id_bytes <= 0 || s->id_bytes > ID_BYTES_MAX))
		load_fail(l, id->at, "id must be 1 to %d bytes", ID_BYTES_MAX);
	s->parent = node_get(comm, "parent");
	if (!s->parent || !node_is(l, s->parent, NODE_LIST, "parent"))
		return;
	if (s->parent->n > COMM_PARENTS_MAX)
		load_fail(l, s->parent->at, "parent has more than %d entries", COMM_PARENTS_MAX);
	for (unsigned i = 0; i < s->parent->n; i++)
		node_text(l, s->parent->item[i], "");
}

void comm_read(struct spec_load *l, struct spec *s)
{
	const struct node *comm = node_get(s->top, "comm");
	const struct node *rank = node_get(comm, "rank"), *size = node_get(comm, "size");

	if (!comm || !node_is(l, comm, NODE_MAP, "comm"))
		return;
	node_known(l, comm, l->run_time ? user_comm_keys : comm_keys, "comm");
	if (!rank || !size) {
		load_fail(l, comm->at, "comm needs both rank and size");
		return;
	}
	query_read(l, rank, &s->rank);
	query_read(l, size, &s->size);
	if (!l->run_time)
		unique_id_read(l, s, comm);
	if (s->rank.comm != s->size.comm)
		load_fail(l, comm->at, "either both rank and size have the argument comm, or none");
	else if (!l->run_time && !s->rank.comm)
		load_fail(l, comm->at, "rank and size must have the argument comm");
}
