/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a training, by name: found by an adapter of a framework, for all code that describes a training by its
 * parameters. Names no framework.
 *
 * A table is made, published, and never changed, so readers take no lock. When modules or parameter groups change, another
 * table replaces it; a parameter that existed before keeps its number. Old tables stay valid. There are at most TRAIN_TABLES in
 * the life of a process; then the last one stays.
 */
#ifndef PROBE_TRAIN_PARAM_H
#define PROBE_TRAIN_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal/layout.h"

#define TRAIN_PARAMS_MAX 262144u /* of one process; further ones have no name, counted */
#define TRAIN_TABLES 64u
#define TRAIN_NAME_MAX 500 /* bytes of a name, in files too */
#define TRAIN_NO_OPTIMIZER UINT16_MAX

enum train_param_flag {
	TP_FROZEN = JN_FROZEN, /* requires no gradient: named, not measured */
	TP_UNNAMED = JN_UNNAMED, /* opt{k}.group{g}.param{i} */
	TP_FLAT = JN_FLAT, /* FSDP1: parameters flattened into one */
	TP_SHARD = JN_SHARD, /* the local part of a DTensor */
	TP_TIED = JN_TIED,
	/* belongs to no optimizer (yet): .optimizer is TRAIN_NO_OPTIMIZER */
	TP_UNOWNED = JN_UNOWNED,
};

/* One parameter; immutable once published. */
struct train_param {
	/* from 1, in the order of finding; a parameter keeps it for the life of the process */
	uint32_t id;
	uint16_t vpp_stage; /* index of the model chunk */
	uint16_t optimizer, group; /* numbers in the order of finding */
	uint8_t dtype, ndim; /* of the local part, in memory */
	uint8_t flags; /* enum train_param_flag */
	const char *name, *module; /* full name; name of the owner module ("" = the root) */
	const uint64_t *dims;
	const void *impl; /* the adapter's handle of the tensor: TensorImpl */
	/* the same for the parameter as the program has it, if that is a wrapper (DTensor) */
	const void *outer;
	uintptr_t lo,
		hi; /* its data when it was found, for finding names by address; 0: not readable */
	/* another tensor of the program for it: the one that receives its gradient, or the optimizer's. NULL: none */
	const void *alias;
	/*
	 * For a piece of a flat tensor: the number of that tensor, and the piece's elements in its local part
	 * (piece_count 0: none). For the flat tensor: the numbers of its first and last piece. 0: neither.
	 */
	uint32_t piece_of, first_piece, last_piece;
	uint64_t piece_at, piece_count;
	/*
	 * The gradient before its reduction, if it has another shape: the elements of the tensor that receives it, and
	 * dims.
	 */
	uint64_t whole_at, whole_count; /* whole_count 0: same shape as the parameter */
	const uint64_t *whole_dims;
	uint8_t whole_ndim;
	/* parameters whose gradients one collective carries, by number; 0: not known */
	uint32_t shard_group;
	uintptr_t grad_lo,
		grad_hi; /* permanent address of its gradient in a communicated buffer; 0: none */
};

struct train_params {
	uint32_t n, generation;
	const struct train_param *at; /* by id - 1 */
};

/* NULL: none yet. Any thread. */
const struct train_params *train_params_now(void);

/* Finds it by .impl, .outer or .alias. NULL: none. If a freed parameter's handle was reused: the newer parameter. */
const struct train_param *train_param_by_impl(const struct train_params *p, const void *impl);

/* The parameter whose data contain that address; NULL: none. */
const struct train_param *train_param_by_address(const struct train_params *p, const void *address);

/* Calls fn for each parameter whose .grad_lo is in [lo, hi). */
typedef void train_param_fn(void *arg, const struct train_params *all, const struct train_param *p);
void train_params_kept_in(
	const struct train_params *p, uintptr_t lo, uintptr_t hi, train_param_fn *fn, void *arg);

/*
 * Publishes the adapter's list of all known parameters, including those of earlier tables; fills in ids that are 0, and
 * copies texts and dims. Enters JE_NAME for new ones. `why` is for the log. Returns the number of new parameters, or
 * -errno (nothing has changed). One thread at a time: the adapter's lock.
 */
int train_params_publish(struct train_param *list, uint32_t n, const char *why);

/* Enters a JE_NAME: the fields of e, its e->e.n dims, three texts. False: there is no room, or nothing is recorded. */
bool train_name_enter(const struct journal_name *e, const uint64_t *dims, const char *name,
	const char *module, const char *type);

/* ---- current gradients and buckets ---- */

/*
 * Notes the gradient of that parameter, by handle and memory, until train_grads_forget(). Called when it has been
 * accumulated, on any thread.
 */
void train_grad_seen(const struct train_param *p, const void *impl, uintptr_t lo, uintptr_t hi);
void train_grads_forget(void);
/* Its number with JOURNAL_NAME_GRAD; 0: not a gradient. */
uint32_t train_grad_of(const void *impl, uintptr_t lo);

/*
 * The content of a communicated buffer: parts in its order. The same content in the same memory is the same bucket.
 * Returns its number with JOURNAL_NAME_BUCKET, 0: no room. Enters JE_NAME for a new one.
 */
struct train_part {
	uint32_t id; /* of the parameter */
	bool grad;
	uint64_t offset, count; /* elements of the bucket */
};
uint32_t train_bucket_seen(uintptr_t lo, uint64_t count, const struct train_part *part, uint32_t n);

/*
 * The calling thread is about to send that bucket, or has sent it: a collective's buffer with that many elements is the bucket.
 * False: another bucket is being sent, and is kept.
 */
bool train_bucket_enter(uint32_t name, uintptr_t lo, uint64_t count);
void train_bucket_leave(void);

/* Identifies a buffer by the thread's bucket or by its memory: JOURNAL_NAME_*, 0: not known. A tensor_namer_fn. */
struct buffer;
uint32_t train_name_buffer(const struct buffer *v);
/* Finds the first NaN or Inf of a bucket: a row of names.csv. A tensor_bad_fn. */
void train_find_bad(const struct buffer *v, const struct journal_tensor *t);
/* Call in a forked child: it has no buckets yet, and the thread that held the lock may not exist. */
void train_buckets_forked(void);

/* ---- modules ---- */

struct train_module {
	const char *name, *type; /* full name, "" = the root; class */
	uint16_t vpp_stage;
};

/* Enters all modules, once in the life of a process, after the parameters. Under the adapter's lock. */
void train_modules_enter(const struct train_module *list, uint32_t n);

/* Call in a forked child: its folder has no names yet. */
void train_params_forked(void);

#endif
