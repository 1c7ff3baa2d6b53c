/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of modules in a step's dump: which of them each thread is in, and the names of their
 * entries.
 */
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
		/* Module.fc1.Linear (index in dump_names.h), and its number of earlier calls */
		number;
	uint32_t outer; /* number of the enclosing module call; 0: none */
	bool listed; /* its name, or that of an enclosing module, is in key list */
	bool written; /* it has an entry */
	bool gradients; /* it has an entry for its backward pass */
	bool backward_done;
};

struct dump_modules;

struct dump_modules *dump_modules_open(void);
void dump_modules_free(struct dump_modules *m);

/*
 * The thread of call c is inside this module from now on. Returns the number of the module call,
 * from 1; 0: no memory.
 */
uint32_t dump_modules_open_call(struct dump_modules *m, const struct journal_call *c);
void dump_modules_close_call(struct dump_modules *m, uint64_t seq);

uint32_t dump_modules_get_current(const struct dump_modules *m, uint32_t tid); /* 0: in no module */
uint32_t dump_modules_find(const struct dump_modules *m, uint64_t seq); /* 0: not found */
struct dump_module_call *dump_modules_get(struct dump_modules *m, uint32_t number);

/* Returns which part of a module call the record is; MODULE_PARTS: not a part. */
enum module_part dump_get_module_part(const struct staged_call *c);

/* A gradient of a parameter, by module and index of the parameter in it. */
struct dump_module_gradient {
	uint32_t module, number;
	uint32_t ref; /* index among the calls */
};

int dump_modules_add_gradient(struct dump_modules *m, const struct dump_module_gradient *g);

/* Returns all *n gradients, sorted by entry. */
const struct dump_module_gradient *dump_modules_get_gradients(struct dump_modules *m, uint32_t *n);

#endif
