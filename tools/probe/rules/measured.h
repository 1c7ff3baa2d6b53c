/* SPDX-License-Identifier: Apache-2.0 */
/* How often a kind of finding is right: counts from runs with known faults, if available. */
#ifndef PROBE_TOOLS_RULES_MEASURED_H
#define PROBE_TOOLS_RULES_MEASURED_H

#include <stddef.h>

enum measured_set {
	HELD_OUT, /* programs that the rules were only checked with */
	CALIBRATION, /* programs that the rules were developed with */
};

struct measurement {
	const char *kind, *severity; /* words; kind NULL: end of a list */
	enum measured_set set;
	unsigned right, wrong,
		/*
		 * of `runs` injected faults of this kind, those that were named correctly; runs of any fault in which it was
		 * reported and was wrong
		 */
		runs;
	unsigned programs; /* number of programs with injected faults */
	unsigned clean_runs, clean_programs,
		clean_accused; /* of `clean_programs` programs without a fault, those that were accused */
};

/* The lines of measured.def. */
extern const struct measurement measurements[];

/*
 * The entry for that kind and severity in a list that ends with a NULL kind; the held-out set's if there is one. NULL: it has
 * not been measured.
 */
const struct measurement *find_measurement(
	const struct measurement *list, const char *kind, const char *severity);

/* The counts in words, malloc'd. m NULL: a text that there are none. */
char *format_measurement(const struct measurement *m);

/* "held_out", "calibration" */
const char *name_measured_set(enum measured_set set);

/* right / runs; NAN if m is NULL or there were no runs. It is not a probability for another job. */
double compute_right_share(const struct measurement *m);

#endif
