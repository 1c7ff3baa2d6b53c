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
	struct journal_commit *next; /* the commit being prepared */
	struct journal_entry
		/*
		 * copy of an open call's entry: its thread may close the entry while rows are
		 * made
		 */
		*copy;
	uint32_t *freed; /* chunks to free after the commit */
	uint32_t nfreed;
	/* chunks read since drain_open(), if the journal's process is dead */
	uint32_t passed;
	uint32_t step; /* the current step when the pass began */
	uint32_t turn; /* the journal slot at which the next pass starts */
	uint32_t entries; /* number of entries that this pass may still read */
	uint64_t until; /* ns: no stack is symbolised after this time in this pass */
	/* the pass is made by a thread of the job: slow work is left to the writer thread */
	bool light;
	bool full; /* the pass must be committed before more is drained */
	bool progress; /* something was drained in this round over all chains */
	bool any; /* something was drained in this pass */
	bool last; /* nothing is added to the journal any more: open calls become open rows */
	bool give_up; /* completions whose call exists nowhere are skipped */
	bool dead; /* the chain being drained belongs to a thread that has ended */
	uint64_t orphan; /* seq of a completion to skip, because its call exists nowhere; 0: none */
	/* For each journal slot. */
	struct drain_slot {
		/* seq of the completion at which the chain cannot continue; 0: none */
		uint64_t stuck;
		bool ended; /* the thread has ended and all of its entries are in this pass */
	} * slot;
	uint32_t nslot; /* number of slots in use when last read */
};

int drain_open(struct drain *d, struct journal *j, struct sink *sink);
void drain_close(struct drain *d);

/*
 * Makes one pass: drains entries until they have produced about `text` bytes, at least one call.
 * light: no stack is symbolised (this may read the symbols of a whole library), and completions
 * without a call are not searched for. last: as in drain_all(). Returns 1 if there is more to
 * write, 0 if not, -errno as drain_all().
 */
#define DRAIN_TEXT (256u << 10) /* about 1 ms of processor time */
#define DRAIN_TEXT_LIGHT (64u << 10)
int drain_one_pass(struct drain *d, size_t text, bool light, bool last);

/*
 * Writes everything that can be written. last: also open calls, as open rows; after this nothing
 * may be added to the journal. Returns 0, or -errno if files could not be written; then
 * everything is still in the journal, and can be tried again.
 */
int drain_all(struct drain *d, bool last);

#endif
