/* SPDX-License-Identifier: Apache-2.0 */
/* How often findings of a kind are right, measured in runs with known faults. */
#ifndef PROBE_TOOLS_RULES_MEASURED_H
#define PROBE_TOOLS_RULES_MEASURED_H

#include <stddef.h>

enum measured_set {
	HELD_OUT, /* programs on which the rules were only tested */
	CALIBRATION, /* programs with which the rules were developed */
};

struct measurement {
	const char *kind, *severity; /* words of findings.def; kind NULL: end of a list */
	enum measured_set set;
	unsigned right, wrong,
		/*
		 * right: faults of this kind, out of `runs` injected ones, that were named
		 * correctly. wrong: runs with any fault in which this kind was reported wrongly.
		 */
		runs;
	unsigned programs; /* number of programs into which faults were injected */
	/*
	 * clean_accused: of the `clean_programs` programs without a fault, those in which this kind
	 * was reported.
	 */
	unsigned clean_runs, clean_programs, clean_accused;
};

/* The rows of measured.def. */
extern const struct measurement measurements[];

/*
 * Returns the entry of `list` for this kind and severity, that of the held-out set if it exists.
 * `list` ends with an entry whose kind is NULL. Returns NULL if the kind was not measured.
 */
const struct measurement *find_measurement(
	const struct measurement *list, const char *kind, const char *severity);

/*
 * Formats the counts as a sentence. If m is NULL, the sentence is that nothing was measured.
 * malloc'd.
 */
char *format_measurement(const struct measurement *m);

/* Returns "held_out" or "calibration". */
const char *name_measured_set(enum measured_set set);

/*
 * Returns right / runs, or NAN if m is NULL or runs is 0. This is not a probability for other jobs.
 */
double compute_right_share(const struct measurement *m);

#endif
