/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a training, by name: found by an adapter of a framework, for all code that
 * describes a training by its parameters. Names no framework.
 *
 * A table is made, published, and never changed, so readers take no lock. When modules or
 * parameter groups change, a new table replaces the old one; a parameter in both has the same
 * number. Old tables stay valid. A process makes at most TRAIN_TABLES tables; then the last one
 * stays.
 */
#ifndef PROBE_TRAIN_PARAM_H
#define PROBE_TRAIN_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal/layout.h"

#define TRAIN_PARAMS_MAX 262144u /* of one process; additional ones have no name, and are counted */
#define TRAIN_TABLES 64u
#define TRAIN_NAME_MAX 500 /* bytes of a name, also in files */
#define TRAIN_NO_OPTIMIZER UINT16_MAX

enum train_param_flag {
	TP_FROZEN = JN_FROZEN, /* requires no gradient: named, not measured */
	TP_UNNAMED = JN_UNNAMED, /* has no name in the program: opt{k}.group{g}.param{i} */
	TP_FLAT = JN_FLAT, /* FSDP1: parameters flattened into one */
	TP_SHARD = JN_SHARD, /* the local part of a DTensor */
	TP_TIED = JN_TIED,
	/* belongs to no optimizer (yet): .optimizer is TRAIN_NO_OPTIMIZER */
	TP_UNOWNED = JN_UNOWNED,
};

/* One parameter; immutable once published. */
struct train_param {
	/* from 1, in the order of discovery; the same for the life of the process */
	uint32_t id;
	uint16_t vpp_stage; /* index of the model chunk */
	uint16_t optimizer, group; /* numbers in the order of discovery */
	uint8_t dtype, ndim; /* type and dimensions of the local part, as it is in memory */
	uint8_t flags; /* enum train_param_flag */
	const char *name, *module; /* full name; name of the module that owns it ("" = the root) */
	const uint64_t *dims;
	const void *impl; /* the adapter's handle of the tensor: TensorImpl */
	/* TensorImpl of the parameter in the program, if that is a wrapper (DTensor) */
	const void *outer;
	uintptr_t lo,
		/*
		 * address range of its data when it was found, to find names by address; 0: not
		 * readable
		 */
		hi;
	/*
	 * another tensor that stands for it: the one that receives its gradient, or the
	 * optimizer's; NULL: none
	 */
	const void *alias;
	/*
	 * For a piece of a flat tensor: the number of the flat tensor, and the piece's elements
	 * in the local part of it (piece_count 0: none). For the flat tensor: the numbers of its
	 * first and last piece. 0: neither.
	 */
	uint32_t piece_of, first_piece, last_piece;
	uint64_t piece_at, piece_count;
	/*
	 * The gradient before its reduction, if its shape differs: the range of elements in the
	 * tensor that receives it, and dims.
	 */
	uint64_t whole_at, whole_count; /* whole_count 0: has the shape of the parameter */
	const uint64_t *whole_dims;
	uint8_t whole_ndim;
	/* number of the group of parameters whose gradients one collective reduces; 0: not known */
	uint32_t shard_group;
	uintptr_t grad_lo,
		/* address range of its gradient in a permanent communication buffer; 0: none */
		grad_hi;
};

struct train_params {
	uint32_t n, generation;
	const struct train_param *at; /* index: id - 1 */
};

/* Returns the current table, NULL: none yet. Any thread. */
const struct train_params *train_get_params(void);

/*
 * Returns the parameter whose .impl, .outer or .alias is impl, or NULL. If the handle of a freed
 * parameter was reused: the newer parameter.
 */
const struct train_param *train_find_param_by_impl(const struct train_params *p, const void *impl);

/* Returns the parameter whose data contain `address`, or NULL. */
const struct train_param *train_find_param_by_address(
	const struct train_params *p, const void *address);

/* Calls fn for each parameter whose .grad_lo is in [lo, hi). */
typedef void train_param_fn(void *arg, const struct train_params *all, const struct train_param *p);
void train_handle_params_kept_in(
	const struct train_params *p, uintptr_t lo, uintptr_t hi, train_param_fn *fn, void *arg);

/*
 * Publishes the adapter's list of all known parameters, including those of earlier tables. Fills
 * in ids that are 0, copies texts and dims, and writes a JE_NAME for each new parameter. why: for
 * the log. Returns the number of new parameters, or -errno (nothing has changed). One thread at a
 * time: the adapter's lock.
 */
int train_register_params(struct train_param *list, uint32_t n, const char *why);

/*
 * Writes a JE_NAME: the fields of e, its e->e.n dims, three texts. Returns false if the journal
 * is full, or nothing is recorded.
 */
bool train_write_name(const struct journal_name *e, const uint64_t *dims, const char *name,
	const char *module, const char *type);

/* ---- current gradients and buckets ---- */

/*
 * Notes the gradient of p, by handle and memory, until train_reset_grads(). Called on any thread
 * when the gradient has been accumulated.
 */
void train_record_grad(const struct train_param *p, const void *impl, uintptr_t lo, uintptr_t hi);
void train_reset_grads(void);
/*
 * Returns the parameter's number with JOURNAL_NAME_GRAD if the tensor is a noted gradient, else
 * 0.
 */
uint32_t train_find_grad(const void *impl, uintptr_t lo);

/*
 * The content of a communication buffer: its parts in order. Buffers with the same content in the
 * same memory are the same bucket. Returns the bucket's number with JOURNAL_NAME_BUCKET, 0 if the
 * table is full. Writes a JE_NAME for a new bucket.
 */
struct train_part {
	uint32_t id; /* number of the parameter */
	bool grad;
	uint64_t offset, count; /* range of elements in the bucket */
};
uint32_t train_register_bucket(
	uintptr_t lo, uint64_t count, const struct train_part *part, uint32_t n);

/*
 * Between these two calls the calling thread communicates bucket `name`: a collective's buffer at
 * lo with `count` elements is this bucket. train_open_bucket() returns false, without effect, if
 * the thread already communicates another bucket.
 */
bool train_open_bucket(uint32_t name, uintptr_t lo, uint64_t count);
void train_close_bucket(void);

/*
 * Identifies a buffer by the thread's bucket or by its memory. Returns JOURNAL_NAME_*, 0: not
 * known. A tensor_namer_fn.
 */
struct buffer;
uint32_t train_find_buffer_name(const struct buffer *v);
/* Finds the first NaN or Inf of a bucket, for a row of names.csv. A tensor_bad_fn. */
void train_find_bad(const struct buffer *v, const struct journal_tensor *t);
/*
 * Call in a forked child: it has no buckets yet, and the thread that held the lock may not exist.
 */
void train_buckets_forked(void);

/* ---- modules ---- */

struct train_module {
	const char *name, *type; /* full name, "" = the root; class */
	uint16_t vpp_stage;
};

/*
 * Writes the names of all modules, once in the life of a process, after the parameters. Called
 * with the adapter's lock.
 */
void train_write_modules(const struct train_module *list, uint32_t n);

/* Call in a forked child: its folder has no names yet. */
void train_params_forked(void);

#endif
