/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of modules in a step's dump: which of them a thread is in, and the names of their entries. */
#ifndef PROBE_SINK_DUMP_MODULES_H
#define PROBE_SINK_DUMP_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/module_part.h"
#include "formats/dump/kept/dump_stage.h"

struct dump_module_call {
	uint64_t seq;
	uint32_t tid;
	uint32_t name,
		number; /* Module.fc1.Linear (dump_names.h), and its number of earlier calls */
	uint32_t outer; /* the enclosing one; 0: none */
	bool listed; /* its own name, or that of an enclosing one, is in the list */
	bool written; /* it has an entry */
	bool gradients; /* ... also for its backward pass */
	bool backward_done;
};

struct dump_modules;

struct dump_modules *dump_modules_new(void);
void dump_modules_free(struct dump_modules *m);

/* The call's thread is inside it from now on. Returns its number, from 1; 0: no memory. */
uint32_t dump_modules_enter(struct dump_modules *m, const struct journal_call *c);
void dump_modules_leave(struct dump_modules *m, uint64_t seq);

uint32_t dump_modules_now(const struct dump_modules *m, uint32_t tid); /* 0: in none */
uint32_t dump_modules_find(const struct dump_modules *m, uint64_t seq); /* 0: there is none */
struct dump_module_call *dump_modules_at(struct dump_modules *m, uint32_t number);

/* Its part of a module call; MODULE_PARTS: it is no part. */
enum module_part dump_module_part(const struct staged_call *c);

/* Gradients of parameters, as they come: by the module and their index within it. */
struct dump_module_gradient {
	uint32_t module, number;
	uint32_t ref; /* in the order of the calls */
};

int dump_modules_keep_gradient(struct dump_modules *m, const struct dump_module_gradient *g);

/* All of them, sorted by entry; *n of them. */
const struct dump_module_gradient *dump_modules_gradients(struct dump_modules *m, uint32_t *n);

#endif
