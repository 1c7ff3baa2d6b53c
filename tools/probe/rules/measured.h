/* SPDX-License-Identifier: Apache-2.0 */
/* How often a kind of finding is right: counts from runs with known faults, or nothing. */
#ifndef PROBE_TOOLS_RULES_MEASURED_H
#define PROBE_TOOLS_RULES_MEASURED_H

#include <stddef.h>

struct measurement {
	const char *kind; /* its word; NULL: end of a list */
	unsigned right,
		runs; /* of so many injected faults of this kind, those that were named rightly */
	unsigned clean_programs,
		clean_accused; /* of so many programs without a fault, those that were accused */
};

/* The lines of measured.def. */
extern const struct measurement measurements[];

/* The entry of that kind in a list that ends with a NULL kind; NULL: the kind has not been measured. */
const struct measurement *find_measurement(const struct measurement *list, const char *kind);

/* The counts in words, malloc'd. m NULL: that there are none. */
char *format_measurement(const struct measurement *m);

/* right / runs; NAN where m is NULL or no run was made. It is no probability in another job. */
double compute_right_share(const struct measurement *m);

#endif
