/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbourhood collectives: blocking, non-blocking, and with MPI 4 persistent, in turn. */
#include "app.h"
#include "mpi4.h"
#include "completion.h"

static int form_;

static void finish(MPI_Request *request, int start)
{
	static int way;

	if (start) {
		MPI_Start(request);
		MPI_Wait(request, MPI_STATUS_IGNORE);
		MPI_Request_free(request);
	} else {
		complete((enum way)(way++ % N_WAYS), 1, request, NULL);
	}
}

#if HAS_MPI_4
#define FORMS 3
#define PERSISTENT(Name, ...)                                             \
	do {                                                              \
		MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_); \
		finish(&request_, 1);                                     \
	} while (0)
#else
#define FORMS 2
#define PERSISTENT(Name, ...)
#endif

#define COUNT int
#define DISPL int
#define COLL(Name, name, ...)                                \
	do {                                                 \
		MPI_Request request_;                        \
		if (form_ == 0) {                            \
			MPI_##Name(__VA_ARGS__);             \
		} else if (form_ == 1) {                     \
			MPI_I##name(__VA_ARGS__, &request_); \
			finish(&request_, 0);                \
		} else {                                     \
			PERSISTENT(Name, __VA_ARGS__);       \
		}                                            \
	} while (0)
#include "neighbor_cases.h"

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_need_ranks(3);
	(void)run_cases;
	for (form_ = 0; form_ < FORMS; form_++)
		run_neighbors();
	return app_done();
}
