/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites of calls, so that the sinks do again only what differs from call to call. A site is
 * everything that usually stays the same when a program calls again from the same place: the
 * function, communicator, root, flags, stack and thread, and each tensor's type, shape and number
 * of measured components. The call that made the site is stored; later ones are compared with it,
 * word by word. A sink that finds a site that it knows need not look at these parts of the record.
 *
 * Different from call to call: seq, start, end, comm_seq, step, micro_step, and the values of each
 * tensor: zeros, nans, infs, min, max, mean, norm.
 */
#ifndef PROBE_SINK_CALL_SITE_H
#define PROBE_SINK_CALL_SITE_H

#include "journal/tensor_at.h"
#include "sink/record.h"
#include "sink/row_values.h"

#define CALL_SITES 512u
#define CALL_SITE_TENSORS 4
#define CALL_SITE_DIMS 16 /* of all tensors together */
#define CALL_SITE_WORDS                                                                          \
	((sizeof(struct journal_call) + CALL_SITE_TENSORS * sizeof(struct journal_tensor)) / 8 + \
		CALL_SITE_DIMS)

struct call_site {
	uint64_t serial; /* of its content, never used twice; 0: empty */
	uint32_t slot; /* its index in the table */
	uint32_t next; /* slot of the site that came after its last call */
	uint64_t candidate; /* hash of the last call that did not match */
	uint32_t at[CALL_SITE_TENSORS]; /* byte of each tensor in the entry */
	uint8_t dims[CALL_SITE_TENSORS]; /* dims that follow each tensor */
	bool has_dims; /* any of them */
	/* of its last call; complete but for the call, the clock and the tensors, which the sink sets */
	struct record record;
	const struct journal_tensor *tensor[CALL_SITE_TENSORS];
	/* of the call that made it; aligned, so that it is compared where it lies */
	_Alignas(16) uint64_t entry[CALL_SITE_WORDS];
};

struct call_sites {
	struct call_site site[CALL_SITES];
	struct call_site *last; /* of the last call that had one; never NULL */
	uint64_t serial; /* the last one used */
};

/* Returns NULL if there is no memory. Most of its pages are never touched. */
struct call_sites *open_call_sites(void);

#define CALL_WORD(field) (offsetof(struct journal_call, field) / 8)
#define TENSOR_WORD(field) (offsetof(struct journal_tensor, field) / 8)

typedef uint64_t call_word __attribute__((may_alias));
typedef uint64_t call_word_pair __attribute__((vector_size(16), aligned(8), may_alias));

static inline call_word_pair get_pair_difference(
	const call_word *a, const call_word *b, size_t word)
{
	return *(const call_word_pair *)(a + word) ^ *(const call_word_pair *)(b + word);
}

static inline __attribute__((always_inline)) void add_tensor_difference(
	const call_word *a, const call_word *b, call_word_pair *pair, call_word *other)
{
	_Static_assert(TENSOR_WORD(bytes) == 1 && TENSOR_WORD(comm_seq) == 2 &&
			       TENSOR_WORD(stats) == 3 && TENSOR_WORD(peer) == 11 &&
			       offsetof(struct stats, n) == 0 && sizeof(struct stats) == 64 &&
			       sizeof(struct journal_tensor) == 14 * 8,
		"all words of a tensor but its values are compared");
	*pair |= get_pair_difference(a, b, 0) | get_pair_difference(a, b, 2) |
		 get_pair_difference(a, b, 12);
	*other |= a[11] ^ b[11];
}

/* True if the call's tensors are those of the site, which has dims. Both entries have the same size. */
bool has_tensors_of_site(const struct call_site *s, const struct journal_call *c);

/* True if only what may differ from call to call differs. The entry has been checked by journal_get_call_at(). */
static inline __attribute__((always_inline)) bool is_call_of_site(
	const struct call_site *s, const struct journal_call *c)
{
	_Static_assert(CALL_WORD(parent) + 1 == CALL_WORD(wait) &&
			       CALL_WORD(comm_rank) + 1 == CALL_WORD(step) &&
			       CALL_WORD(step) + 1 == CALL_WORD(root) &&
			       CALL_WORD(root) + 1 == CALL_WORD(tag) &&
			       CALL_WORD(flags) == CALL_WORD(tag) + 1 &&
			       CALL_WORD(tid) == CALL_WORD(flags) + 1 &&
			       CALL_WORD(tid) == sizeof(struct journal_call) / 8 - 1,
		"all words of a call but seq, start, end, comm_seq and step are compared");
	_Static_assert(CALL_SITE_TENSORS == 4, "the steps below");
	/* Not of the array itself: with -fsanitize=alignment clang 14 crashes on that. */
	const call_word *a = __builtin_assume_aligned(&s->entry[0], 16), *b = (const call_word *)c;
	call_word_pair pair;
	call_word other;

	/* After this the entries have the same size and number of tensors, so these lie within both. */
	if (a[0] != b[0])
		return false;
	pair = get_pair_difference(a, b, CALL_WORD(parent)) |
	       get_pair_difference(a, b, CALL_WORD(root)) |
	       get_pair_difference(a, b, CALL_WORD(flags));
	other = (a[CALL_WORD(comm)] ^ b[CALL_WORD(comm)]) |
		(a[CALL_WORD(comm_rank)] ^ b[CALL_WORD(comm_rank)]);
	a += sizeof(*c) / 8;
	b += sizeof(*c) / 8;
	/* In steps, not in a loop: this is done for each call. */
	if (__builtin_expect(s->has_dims, 0))
		return !(other | pair[0] | pair[1]) && has_tensors_of_site(s, c);
	add_tensor_difference(a, b, &pair, &other);
	if (s->record.n > 1)
		add_tensor_difference(a + 14, b + 14, &pair, &other);
	if (__builtin_expect(s->record.n > 2, 0))
		add_tensor_difference(a + 28, b + 28, &pair, &other);
	if (__builtin_expect(s->record.n > 3, 0))
		add_tensor_difference(a + 42, b + 42, &pair, &other);
	return !(other | pair[0] | pair[1]);
}

/* Returns the site of the call. Stores it when the call comes a second time. NULL: the call has no site. */
struct call_site *find_call_site(
	struct call_sites *all, const struct journal_call *c, const struct row_api *api);

/* Returns the site of a call that is complete, NULL: none. Programs run in loops: it is usually the expected one. */
static inline __attribute__((always_inline)) struct call_site *find_expected_site(
	struct call_sites *all, const struct journal_call *c)
{
	struct call_site *s = &all->site[all->last->next];

	if (__builtin_expect(!is_call_of_site(s, c), 0))
		return NULL;
	all->last = s;
	return s;
}

#endif
