/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of modules in a step's dump: in which of them a thread stands, and what their entries are called. */
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
		number; /* Module.fc1.Linear (dump_names.h), and how many calls it had before */
	uint32_t outer; /* the one around it; 0: none */
	bool listed; /* by its own name, or one around it is */
	bool written; /* it has an entry */
	bool gradients; /* ... of its backward pass, too */
	bool backward_done;
};

struct dump_modules;

struct dump_modules *dump_modules_new(void);
void dump_modules_free(struct dump_modules *m);

/* Its thread stands in it from now on. Its number, from 1; 0: no memory. */
uint32_t dump_modules_enter(struct dump_modules *m, const struct journal_call *c);
void dump_modules_leave(struct dump_modules *m, uint64_t seq);

uint32_t dump_modules_now(const struct dump_modules *m, uint32_t tid); /* 0: in none */
uint32_t dump_modules_find(const struct dump_modules *m, uint64_t seq); /* 0: there is none */
struct dump_module_call *dump_modules_at(struct dump_modules *m, uint32_t number);

/* Which part it is; MODULE_PARTS: it is of no module. */
enum module_part dump_module_part(const struct staged_call *c);

/* Gradients of parameters, as they come: by the module and its how manieth they are. */
struct dump_module_gradient {
	uint32_t module, number;
	uint32_t ref; /* in the order of the calls */
};

int dump_modules_keep_gradient(struct dump_modules *m, const struct dump_module_gradient *g);

/* All of them, those of one entry beside each other; *n of them. */
const struct dump_module_gradient *dump_modules_gradients(struct dump_modules *m, uint32_t *n);

#endif
