/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finished, self-contained records, the input of sinks: names have been looked up, a call's end
 * was found, and it was decided which tensors become rows. So a reader of a rank's files
 * can make the same records as the writer thread (with clock = {.ns_per_tick = 1}, so that ticks
 * are nanoseconds). All pointers are valid only during the call of the sink.
 */
#ifndef PROBE_SINK_RECORD_H
#define PROBE_SINK_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/layout.h"

/* Content of the columns lib, api and op. */
struct row_api {
	const char *lib, *symbol, *op;
};

struct call_site; /* call_site.h */

struct record {
	struct row_api api;
	const struct clock_base *clock; /* clock of the ticks in `call` */
	const struct journal_call *call; /* without the data that may follow it in the journal */
	const struct journal_end *end; /* completion of an asynchronous call, NULL: none */
	bool open; /* entered and not returned, or started and not completed */
	unsigned n; /* number of rows, inputs before outputs; 0: one row without tensor */
	const struct journal_tensor *const *tensor; /* each is followed by its dims */
	const char *const *name; /* name of each tensor in the training, "": none */
	/* what the call has in common with other calls; NULL: not known, or it has none */
	const struct call_site *site;
};

/* A call stack, given before the first call that has it. */
struct record_stack {
	uint32_t id, step;
	const char *api; /* symbol of this first call */
	const char *python, *native; /* frames, innermost first, joined by " <- "; "": none */
};

/* A communicator, given before its first use. */
struct record_comm {
	uint64_t id, parent; /* parent 0: none */
	int32_t size, rank;
	const char *lib, *kind, *name, *world_ranks;
};

/* A number recorded for a step. */
struct record_scalar {
	uint32_t step;
	uint16_t which; /* enum scalar: below SCALARS */
	uint16_t optimizer;
	uint16_t group; /* parameter group; JOURNAL_NO_GROUP: for all groups */
	double value;
	uint64_t wall_ns;
};

/* State of a parameter, or of a tensor that belongs to it, at a certain point of a step. */
struct record_kind {
	const struct journal_kind_row *kind; /* without the data that follows it in the journal */
	const char *word; /* first word of the file's name */
	const char *name, *dtype_prefix;
	const uint64_t *dim; /* kind->ndim */
	const double *value; /* kind->e.n values, for kinds without statistics */
};

/*
 * A name: of a parameter of the training, the content of a bucket, or a module. Given before the
 * first call whose tensor refers to its number, if the same thread made both.
 */
struct record_name {
	uint8_t what; /* enum journal_name_what */
	uint8_t dtype;
	uint16_t optimizer, group, vpp_stage;
	uint32_t id, step, bucket, flags;
	uint64_t offset, count;
	const char *name, *module, *type; /* type: the module's class, "": none */
	unsigned ndim;
	const uint64_t *dims;
};

#endif
