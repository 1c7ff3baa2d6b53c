/* SPDX-License-Identifier: Apache-2.0 */
/* The reading side: moves records from the journal into the sink, commit by commit. */
#ifndef PROBE_WRITER_DRAIN_H
#define PROBE_WRITER_DRAIN_H

#include "journal/store/pending_store.h"
#include "sink/sink.h"

struct drain {
	struct journal *j;
	struct sink *sink;
	struct pending_store store;
	struct journal_commit *next; /* being prepared */
	struct journal_entry
		*copy; /* of an open call, whose thread may leave it while its rows are made */
	uint32_t *freed; /* chunks to free after the commit */
	uint32_t nfreed;
	/* chunks passed since drain_open(), of a journal that nothing is added to */
	uint32_t passed;
	uint32_t step; /* the current step when the pass began */
	uint32_t turn; /* the slot at which the next pass starts */
	uint32_t entries; /* entries that this pass may still take */
	uint64_t until; /* ns: after this time no stack is symbolised in this pass */
	bool light; /* a thread of the job does the pass: slow work is left to the writer */
	bool full; /* the pass has to end before more is drained */
	bool progress; /* something was drained in this round over all chains */
	bool any; /* in this pass */
	bool last; /* nothing more is added: open calls become open rows */
	bool give_up; /* completions whose call exists nowhere are skipped */
	bool dead; /* the chain being drained belongs to a thread that has ended */
	uint64_t orphan; /* seq of a completion to skip, because its call exists nowhere; 0: none */
	/* Of each slot. */
	struct drain_slot {
		uint64_t stuck; /* seq of the completion that the chain stopped at, 0: none */
		bool ended; /* the thread is dead and all of its entries are in this pass */
	} * slot;
	uint32_t nslot; /* slots in use at the last look */
};

int drain_open(struct drain *d, struct journal *j, struct sink *sink);
void drain_close(struct drain *d);

/*
 * Makes one pass: about DRAIN_TEXT bytes of text and the entries that produce them, at least one call. light: no stack
 * is symbolised (that may read the symbols of a whole library), and no completion without a call is searched for. last:
 * as in drain_all(). Returns 1 if there is more to write, 0 if not, -errno as drain_all().
 */
#define DRAIN_TEXT (256u << 10) /* about 1 ms of processor time */
#define DRAIN_TEXT_LIGHT (64u << 10)
int drain_one_pass(struct drain *d, size_t text, bool light, bool last);

/*
 * Writes everything that can be written. last: also open calls, as open rows; after that nothing may be entered into
 * the journal. Returns 0, or -errno if files could not be written: then all of it is still in the journal, to be tried
 * again.
 */
int drain_all(struct drain *d, bool last);

#endif
