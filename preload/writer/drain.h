/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading side: from the journal into the sink, commit by commit.
 */
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
		*copy; /* of an open call, for its thread may leave it while its rows are made */
	uint32_t *freed; /* chunks to give back after the commit */
	uint32_t nfreed;
	uint32_t
		passed; /* chunks that were left behind since drain_open(), of a journal that nothing is added to */
	uint32_t step; /* the current one when the pass began */
	uint32_t turn; /* the slot that the next pass begins with */
	uint32_t entries; /* that this pass may still take */
	uint64_t until; /* ns: no further stack is named in this pass */
	bool light; /* a thread of the job does the pass: what may take long is left to the writer */
	bool full; /* the pass has to be ended before it goes on */
	bool progress; /* in this round over all chains */
	bool any; /* in this pass */
	bool last; /* nothing is added any more: what is open becomes an open row */
	bool give_up; /* completions whose call is nowhere are passed over */
	bool dead; /* the chain being drained is that of a thread that has ended */
	uint64_t orphan; /* seq of a completion to be passed over: its call is nowhere; 0: none */
	/* Of each slot. */
	struct drain_slot {
		uint64_t stuck; /* seq of the completion that the chain stopped at, 0: none */
		bool ended; /* dead thread, everything of it is in this pass */
	} * slot;
	uint32_t nslot; /* those that were used when they were looked at last */
};

int drain_open(struct drain *d, struct journal *j, struct sink *sink);
void drain_close(struct drain *d);

/*
 * One pass: about so many bytes of text, and as many entries as may make them, or one call. light: no stack is named, which
 * may read the symbols of a whole library, and no completion without a call is looked for. last: as drain_all().
 * Returns 1 when there is more to write, 0 when there is not, -errno as drain_all().
 */
#define DRAIN_TEXT (256u << 10) /* about 1 ms of processor time */
#define DRAIN_TEXT_LIGHT (64u << 10)
int drain_one_pass(struct drain *d, size_t text, bool light, bool last);

/*
 * Writes everything that can be written. last: also what is still open, as open rows; nothing may be entered into the
 * journal any more then. Returns 0, or -errno when files could not be written: all of it is still in the journal, to
 * be tried again.
 */
int drain_all(struct drain *d, bool last);

#endif
