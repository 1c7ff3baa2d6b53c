/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a training, by name: what an adapter of a framework has found out, for everything that shows a training
 * by its parameters. No framework is named here.
 *
 * A table is made whole, published, and never changed: readers take no lock. When modules or parameter groups have changed
 * another one takes its place, in which a parameter that was there before has the same number. Old tables stay valid; there
 * are at most TRAIN_TABLES in the life of a process, and then the last one stays.
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
	TP_FROZEN = JN_FROZEN, /* takes no gradient: named, not measured */
	TP_UNNAMED = JN_UNNAMED, /* opt{k}.group{g}.param{i} */
	TP_FLAT = JN_FLAT, /* FSDP1: parameters one behind the other */
	TP_SHARD = JN_SHARD, /* the local part of a DTensor */
	TP_TIED = JN_TIED,
	TP_UNOWNED = JN_UNOWNED, /* no optimizer has it (yet): .optimizer is TRAIN_NO_OPTIMIZER */
};

/* One parameter; immutable once published. */
struct train_param {
	uint32_t
		id; /* from 1, in the order of finding; the same parameter keeps it for the life of the process */
	uint16_t vpp_stage; /* index of the model chunk */
	uint16_t optimizer, group; /* numbers in the order of finding */
	uint8_t dtype, ndim; /* of the local part, as it lies in memory */
	uint8_t flags; /* enum train_param_flag */
	const char *name, *module; /* full name; name of the owner module ("" = the root) */
	const uint64_t *dims;
	const void *impl; /* the adapter's handle of the tensor: TensorImpl */
	const void *
		outer; /* the same of the parameter as the program has it, where that is a wrapper (DTensor) */
	uintptr_t lo,
		hi; /* its data at the look, for finding names by address; 0: none that can be read */
	const void *
		alias; /* another tensor of the program that stands for it: what takes its gradient, or what the
			    * optimizer has of it. NULL: none */
	/*
	 * Of a piece of a flat tensor: the number of that parameter, and which elements of its local part are the piece's
	 * (piece_count 0: none are); of the flat one: the numbers of its first and last piece. 0: it is neither.
	 */
	uint32_t piece_of, first_piece, last_piece;
	uint64_t piece_at, piece_count;
	/* The gradient before it is reduced, where that is of another shape: elements of what takes it, and dims. */
	uint64_t whole_at, whole_count; /* whole_count 0: it is as the parameter */
	const uint64_t *whole_dims;
	uint8_t whole_ndim;
	uint32_t
		shard_group; /* parameters whose gradients one collective carries, in the order of numbers; 0: not known */
	uintptr_t grad_lo,
		grad_hi; /* where its gradient is kept for good, in a buffer that is communicated; 0: nowhere */
};

struct train_params {
	uint32_t n, generation;
	const struct train_param *at; /* by id - 1 */
};

/* NULL: none yet. Any thread. */
const struct train_params *train_params_now(void);

/* By .impl, .outer or .alias. NULL: it is none. A parameter that was freed and whose handle another has now: the newer one. */
const struct train_param *train_param_by_impl(const struct train_params *p, const void *impl);

/* The one in whose data that address lies; NULL: none. */
const struct train_param *train_param_by_address(const struct train_params *p, const void *address);

/* Calls fn with each parameter whose .grad_lo lies in [lo, hi). */
typedef void train_param_fn(void *arg, const struct train_params *all, const struct train_param *p);
void train_params_kept_in(
	const struct train_params *p, uintptr_t lo, uintptr_t hi, train_param_fn *fn, void *arg);

/*
 * By the adapter that looked, with every parameter that it knows of, those of the tables before included; ids 0 are
 * filled in, and texts and dims are copied. Enters JE_NAME for new ones. `why` is for the log. Returns the number of new
 * parameters, or -errno, and then nothing has changed. One thread at a time: the adapter's lock.
 */
int train_params_publish(struct train_param *list, uint32_t n, const char *why);

/*
 * Enters a JE_NAME: what e has, dims of which there are e->e.n, three texts. False: there is no room, or nothing is recorded.
 */
bool train_name_enter(const struct journal_name *e, const uint64_t *dims, const char *name,
	const char *module, const char *type);

/* ---- gradients and buckets, as they are now ---- */

/*
 * That is the gradient of that parameter, until train_grads_forget(): said when it has been accumulated, any thread. Told by
 * its handle and its memory.
 */
void train_grad_seen(const struct train_param *p, const void *impl, uintptr_t lo, uintptr_t hi);
void train_grads_forget(void);
/* Its number with JOURNAL_NAME_GRAD; 0: it is none. */
uint32_t train_grad_of(const void *impl, uintptr_t lo);

/*
 * What a buffer holds that a collective carries: parts in its order. The same content in the same memory is the same bucket.
 * Returns its number with JOURNAL_NAME_BUCKET, 0: no room. Enters JE_NAME for a new one.
 */
struct train_part {
	uint32_t id; /* of the parameter */
	bool grad;
	uint64_t offset, count; /* elements of the bucket */
};
uint32_t train_bucket_seen(uintptr_t lo, uint64_t count, const struct train_part *part, uint32_t n);

/*
 * The calling thread is about to send that bucket, or has: what it gives to collectives with that many elements is it.
 * False: another one is on its way there, and stays.
 */
bool train_bucket_enter(uint32_t name, uintptr_t lo, uint64_t count);
void train_bucket_leave(void);

/* What a buffer is, by the thread's bucket or by its memory: JOURNAL_NAME_*, 0: not known. A tensor_namer_fn. */
struct buffer;
uint32_t train_name_buffer(const struct buffer *v);
/* Where the first NaN or Inf of a bucket lies: a row of names.csv. A tensor_bad_fn. */
void train_find_bad(const struct buffer *v, const struct journal_tensor *t);
void train_buckets_forked(void);

/* ---- modules ---- */

struct train_module {
	const char *name, *type; /* full name, "" = the root; class */
	uint16_t vpp_stage;
};

/* All that there are, once in the life of a process; behind the parameters. The adapter's lock. */
void train_modules_enter(const struct train_module *list, uint32_t n);

/* In a forked child: its folder has no names yet. */
void train_params_forked(void);

#endif
