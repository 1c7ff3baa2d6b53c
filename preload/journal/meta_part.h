/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of meta.json that are already text. They are stored in the journal's dictionary
 * (DICT_META) as "key\0JSON\0". The id is the part's number; a later entry replaces an earlier
 * one with the same number.
 */
#ifndef PROBE_JOURNAL_META_PART_H
#define PROBE_JOURNAL_META_PART_H

/* META_SKIPPED: ranges of steps without an optimizer step that it lists; further ones are only counted. */
#define META_SKIPPED_RANGES 32

enum meta_part {
	META_CONFIG = 1,
	META_LIBRARIES,
	META_PROGRAM,
	META_ENTRY,
	META_SKIPPED,
	META_INVISIBLE,
	META_STEPS_BEFORE,
	META_LAYOUT,
	META_CONFIG_STEP,
	META_TARGETS,
	META_END,
	META_SWITCHES,
	META_DERIVED,
	META_ENVIRONMENT,
	META_RESUMED,
	META_MONITOR,
	META_PACKAGES,
	META_REPRODUCIBLE,
	META_SEEDS,
	META_STABLE_RANK,
	META_SKIP_ON_SPIKE,
	META_TRAINING,
	META_MEMORY_GROUP,
	META_WAITS,
	META_PROCESS_START,
	META_ATTEMPT,
	META_OWN_START,
	META_ALERTS_CHECKED,
	META_UNFINISHED_REDUCTION,
	META_PARTS
};

#endif
