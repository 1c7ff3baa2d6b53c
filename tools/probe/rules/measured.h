/* SPDX-License-Identifier: Apache-2.0 */
/* How often a kind of finding is right: counts from runs with known faults, or nothing. */
#ifndef PROBE_TOOLS_RULES_MEASURED_H
#define PROBE_TOOLS_RULES_MEASURED_H

#include <stddef.h>

enum measured_set {
	HELD_OUT, /* programs that the rules were checked with, and not made with */
	CALIBRATION, /* programs that they were made with */
};

struct measurement {
	const char *kind, *severity; /* words; kind NULL: end of a list */
	enum measured_set set;
	unsigned right, wrong,
		/*
		 * of `runs` injected faults of this kind, those that were named correctly; runs of any fault in which it was reported and
		 * was wrong
		 */
		runs;
	unsigned programs; /* programs that the faults were in */
	unsigned clean_runs, clean_programs,
		clean_accused; /* of `clean_programs` programs without a fault, those that were accused */
};

/* The lines of measured.def. */
extern const struct measurement measurements[];

/*
 * The entry for that kind and severity in a list that ends with a NULL kind; the held-out set's if it has one. NULL: it has not been
 * measured.
 */
const struct measurement *find_measurement(
	const struct measurement *list, const char *kind, const char *severity);

/* The counts in words, malloc'd. m NULL: says that there are none. */
char *format_measurement(const struct measurement *m);

/* "held_out", "calibration" */
const char *name_measured_set(enum measured_set set);

/* right / runs; NAN where m is NULL or no run was made. It is no probability in another job. */
double compute_right_share(const struct measurement *m);

#endif
