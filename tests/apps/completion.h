/* SPDX-License-Identifier: Apache-2.0 */
/* All the ways to wait for a request. */
#ifndef COMPLETION_H
#define COMPLETION_H

#include "app.h"

enum way { WAIT, WAITALL, WAITANY, WAITSOME, TEST, TESTALL, TESTANY, TESTSOME, N_WAYS };

static const char *const way_name[N_WAYS] = {
	"Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome"};

/*
 * Completes all n requests in that way; st[i] becomes the status of request i. st NULL: statuses are ignored.
 * At most 64 requests.
 */
static inline void complete(enum way way, int n, MPI_Request *req, MPI_Status *st)
{
	MPI_Status some[64];
	int at[64], left = n, done = 0, i;

	switch (way) {
	case WAIT:
		for (i = 0; i < n; i++)
			MPI_Wait(&req[i], st ? &st[i] : MPI_STATUS_IGNORE);
		break;
	case WAITALL:
		MPI_Waitall(n, req, st ? st : MPI_STATUSES_IGNORE);
		break;
	case WAITANY:
		for (; left; left--) {
			MPI_Waitany(n, req, &i, st ? &some[0] : MPI_STATUS_IGNORE);
			CHECK(i >= 0 && i < n, "Waitany: index %d", i);
			if (st)
				st[i] = some[0];
		}
		break;
	case TEST:
		for (i = 0; i < n; i++)
			for (done = 0; !done;)
				MPI_Test(&req[i], &done, st ? &st[i] : MPI_STATUS_IGNORE);
		break;
	case TESTALL:
		while (!done)
			MPI_Testall(n, req, &done, st ? st : MPI_STATUSES_IGNORE);
		break;
	case TESTANY:
		for (; left; left -= done) {
			MPI_Testany(n, req, &i, &done, st ? &some[0] : MPI_STATUS_IGNORE);
			if (done &&
				(i < 0 || i >= n)) /* no CHECK: how often this is polled varies */
				app_fail(__FILE__, __LINE__, "Testany: index %d", i);
			if (done && st)
				st[i] = some[0];
		}
		break;
	default: /* WAITSOME, TESTSOME */
		for (; left; left -= done) {
			if (way == WAITSOME)
				MPI_Waitsome(n, req, &done, at, st ? some : MPI_STATUSES_IGNORE);
			else
				MPI_Testsome(n, req, &done, at, st ? some : MPI_STATUSES_IGNORE);
			if (done < 0 || done > left)
				app_fail(__FILE__, __LINE__, "%s: %d of %d", way_name[way], done,
					left);
			for (i = 0; st && i < done; i++)
				st[at[i]] = some[i];
		}
	}
	for (i = 0; i < n; i++)
		CHECK(req[i] == MPI_REQUEST_NULL, "request %d is not null after %s", i,
			way_name[way]);
}

#endif
