/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks that belong to the stack ids in the rows, from each rank's stack_info.csv. Each is
 * read at its first use and then kept.
 */
#ifndef PROBE_TOOLS_STACKS_H
#define PROBE_TOOLS_STACKS_H

#include "tools/probe/model/gather.h"
#include "tools/probe/model/places/frames.h"
#include "tools/probe/model/where.h"

struct stack_text {
	struct table_key key; /* a: index of the folder, b: stack id */
	char *python, *native; /* frames joined by " <- ", the innermost first; "": no stack */
	bool looked;
};

struct stacks {
	const struct gather *g;
	struct table table;
	struct stack_text none;
	struct where where;
};

void stacks_init(struct stacks *s, const struct gather *g);
void stacks_free(struct stacks *s);

/*
 * Returns the stack of `id` on the rank with folder index `rank`. Never NULL: both strings are
 * empty if the stack is not known.
 */
const struct stack_text *stacks_get(struct stacks *s, uint32_t rank, uint32_t id);

/*
 * Sets t->python and t->native from the folder `dir`. They stay NULL if the folder does not have
 * stack `id`. The caller frees both.
 */
void read_stack_text(struct stack_text *t, const char *dir, uint64_t id);

/*
 * Returns both parts as one string, Python first; "" if there is no stack. lines: add file:line to
 * native frames. malloc'd.
 */
char *stack_whole(struct stacks *s, const struct stack_text *t, bool lines);

/*
 * Returns the most informative frames, at most `frames` of them, for output on one line; "" if
 * there are none. In a Python stack these are frames of the program itself, followed by the
 * function of an installed package that the program called. malloc'd.
 */
char *stack_brief(struct stacks *s, const struct stack_text *t, unsigned frames);

/*
 * Formats native frame f, n bytes long, with a readable C++ name: module!ns::Class::function+0x1f.
 * malloc'd.
 */
char *stack_plain(const char *f, size_t n);
/* Formats one frame for people: "main (train.c:58)". malloc'd. */
char *brief_stack_frame(struct stacks *s, const struct stack_text *t, const char *frame, size_t n);

/*
 * Finds the file and line of the program's statement that made the call. Returns false if they are
 * not known.
 */
bool stack_line(
	struct stacks *s, const struct stack_text *t, char *file, size_t cap, unsigned *line);

#endif
