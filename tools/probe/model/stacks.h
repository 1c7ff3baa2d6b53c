/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of stack ids, from each rank's stack_info.csv. Read at first use, then kept. */
#ifndef PROBE_TOOLS_STACKS_H
#define PROBE_TOOLS_STACKS_H

#include "tools/probe/model/gather.h"
#include "tools/probe/model/places/frames.h"
#include "tools/probe/model/where.h"

struct stack_text {
	struct table_key key; /* a: index of the folder, b: stack id */
	char *python, *native; /* frames joined by " <- ", innermost first; "": none */
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

/* Never NULL; both texts are empty if nothing is known. */
const struct stack_text *stacks_get(struct stacks *s, uint32_t rank, uint32_t id);

/* Sets the texts of that id from the folder of a rank; they stay NULL if the id is not there. Free both. */
void read_stack_text(struct stack_text *t, const char *dir, uint64_t id);

/* Both parts as one text, Python first; "" if there is none. lines: with file:line of native frames. malloc'd. */
char *stack_whole(struct stacks *s, const struct stack_text *t, bool lines);

/*
 * The most informative frames for one line, "" if there are none. In a Python stack those of the program itself, followed by
 * the function of an installed package that it called. malloc'd.
 */
char *stack_brief(struct stacks *s, const struct stack_text *t, unsigned frames);

/* A native frame with a readable C++ name: module!ns::Class::function+0x1f. malloc'd. */
char *stack_plain(const char *f, size_t n);
/* One frame for people: "main (train.c:58)". malloc'd. */
char *brief_stack_frame(struct stacks *s, const struct stack_text *t, const char *frame, size_t n);

/* File and line of the program's statement that made the call. False: not known. */
bool stack_line(
	struct stacks *s, const struct stack_text *t, char *file, size_t cap, unsigned *line);

#endif
