/* SPDX-License-Identifier: Apache-2.0 */
/* The key `types`: names in signatures that C does not define. */
#include <stdlib.h>
#include <string.h>

#include "terms/dtype.h"
#include "spec/spec.h"

#define MEMBERS_MAX 512 /* 4 KiB of 8-byte words */

/* Parses "struct(128)". Returns its size in bytes, 0 if n is something else or not usable. */
static unsigned parse_struct_bytes(struct spec_load *l, const struct node *n)
{
	char *end;
	unsigned long size;

	if (strncmp(n->text, "struct(", 7) != 0)
		return 0;
	size = strtoul(n->text + 7, &end, 10);
	if (strcmp(end, ")") == 0 && size > 16 && size % 8 == 0 && size <= 8 * UINT16_MAX &&
		(!l->run_time || size <= 8 * MEMBERS_MAX))
		return (unsigned)size;
	/* Structs of up to 16 bytes are passed in registers, whose type depends on the members. */
	load_fail(l, n->at, "'%s': the size must be a multiple of 8 above 16%s", n->text,
		l->run_time ? " and at most 4096; smaller structs are lists of their members: "
			      "[f32, i32]"
			    : "");
	return 0;
}

static unsigned get_size_of(uint8_t ctype)
{
	static const uint8_t size[] = {
		[CT_I8] = 1,
		[CT_U8] = 1,
		[CT_I16] = 2,
		[CT_U16] = 2,
		[CT_I32] = 4,
		[CT_U32] = 4,
		[CT_I64] = 8,
		[CT_U64] = 8,
		[CT_F32] = 4,
		[CT_F64] = 8,
		[CT_P] = 8,
	};

	return size[ctype];
}

/* Adds `count` members of type ctype. Their offsets follow from the types, as in C. */
static void add_members(struct api_struct *s, uint8_t *list, uint8_t ctype, unsigned long count)
{
	unsigned size = get_size_of(ctype);

	s->size = (uint16_t)((s->size + size - 1) / size * size + size * count);
	if (s->align < size)
		s->align = (uint16_t)size;
	memset(list + s->n, ctype, count);
	s->n = (uint16_t)(s->n + count);
	s->member = list;
}

/* Adds a member given as "f32" or "f32[4]". */
static bool add_member(
	struct spec_load *l, const struct node *n, struct api_struct *s, uint8_t *list)
{
	const char *text = node_text(l, n, "");
	size_t len = strcspn(text, "[");
	int ct = name_find(abi_name, 0, text, len);
	unsigned long count = 1;
	char *end;

	if (text[len]) {
		count = strtoul(text + len + 1, &end, 10);
		if (strcmp(end, "]") != 0)
			count = 0;
	}
	if (ct <= CT_VOID || !count || count > (unsigned long)(MEMBERS_MAX - s->n)) {
		load_fail(l, n->at,
			"'%s' is no member; known are %s, and arrays such as \"f32[4]\" (at most "
			"%d members in all)",
			text, name_list(l, abi_name + 1, 0), MEMBERS_MAX);
		return false;
	}
	add_members(s, list, (uint8_t)ct, count);
	return true;
}

/* Reads a struct given by its members, such as [f32, i32]. */
static void members_read(struct spec_load *l, const struct node *n, struct type_name *to)
{
	struct api_struct *s = load_new(l, sizeof(*s));
	uint8_t *list = load_new(l, MEMBERS_MAX);

	to->ctype = CT_STRUCT;
	to->members = s;
	for (unsigned i = 0; i < n->n; i++)
		if (!add_member(l, n->item[i], s, list))
			break;
	if (!s->n) {
		if (!n->n)
			load_fail(l, n->at, "a struct needs members: [f32, i32]");
		add_members(s, list, CT_I64, 1);
	}
	s->size = (uint16_t)((s->size + s->align - 1) / s->align * s->align);
	to->words = (uint16_t)((s->size + 7) / 8);
}

static void struct_read(struct spec_load *l, unsigned size, struct type_name *to)
{
	struct api_struct *s;

	to->ctype = CT_STRUCT;
	to->words = (uint16_t)(size / 8);
	if (!l->run_time)
		return;
	s = load_new(l, sizeof(*s));
	add_members(s, load_new(l, size / 8), CT_U64, size / 8);
	to->members = s;
}

/*
 * Reads a type that only functions called through libffi may have. Returns true if it was one of
 * these.
 */
static bool user_type_read(struct spec_load *l, const struct node *n, struct type_name *to)
{
	if (!l->run_time)
		return false;
	if (n->type == NODE_LIST) {
		members_read(l, n, to);
		return true;
	}
	to->object = n->type == NODE_SCALAR && strcmp(n->text, "object") == 0;
	return to->object;
}

/* Reads a dtype whose elements have no C type. */
static bool dtype_read(const struct node *n, struct type_name *to)
{
	int dt = n->type == NODE_SCALAR ? dtype_from_name(n->text) : -1;

	if (dt > DT_OTHER)
		to->dtype = (uint8_t)dt;
	return dt > DT_OTHER;
}

static void type_read(struct spec_load *l, const struct node *n, struct type_name *to)
{
	const char *text;
	unsigned size;
	int ct;

	if (user_type_read(l, n, to) || dtype_read(n, to))
		return;
	text = node_text(l, n, "");
	size = *text ? parse_struct_bytes(l, n) : 0;
	ct = name_find(abi_name, 0, text, strlen(text));
	/* A wrong type is treated as a handle, so that not every signature is reported. */
	if (!size && ct < 0 && *text && strcmp(text, "handle") != 0 &&
		strncmp(text, "struct(", 7) != 0)
		load_fail(l, n->at, "'%s' is no type; known are handle, struct(n), %s%s", text,
			name_list(l, abi_name, 0),
			l->run_time ? ", object, a dtype such as bfloat16, and a list of a "
				      "struct's members"
				    : "");
	to->ctype = (uint8_t)ct;
	if (size) {
		struct_read(l, size, to);
	} else if (ct < 0) {
		to->ctype = CT_U64;
		to->handle = true;
	}
}

void types_read(struct spec_load *l, struct type_names *t, const struct node *map)
{
	if (!map || !node_is(l, map, NODE_MAP, "types"))
		return;
	for (unsigned i = 0; i < map->n; i++) {
		struct type_name *to;

		t->item = load_grow(l, t->item, t->n, sizeof(*t->item));
		to = &t->item[t->n++];
		to->name = map->key[i]->text;
		type_read(l, map->item[i], to);
	}
}
