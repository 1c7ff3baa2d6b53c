/* SPDX-License-Identifier: Apache-2.0 */
/* Non-blocking collectives: all of MPI-3's, completed in all ways, one and many at a time. */
#define NONBLOCKING 1
#define COUNT int
#define DISPL int
#define COLL(Name, name, ...)                                                 \
	do {                                                                  \
		MPI_Request request_;                                         \
		MPI_I##name(__VA_ARGS__, &request_);                          \
		complete(next_way(), 1, &request_, way % 3 ? NULL : &status); \
	} while (0)
#include "app.h"
#include "completion.h"

static int way;
static MPI_Status status;

static enum way next_way(void)
{
	return (enum way)(way++ % N_WAYS);
}

#include "collective_cases.h"

/* Several collectives and messages at once on two communicators, in different orders of completion. */
static void many_at_once(void)
{
	enum { MANY = 8, LEN = 100 };
	static float in[MANY][LEN], out[MANY][LEN], moved[LEN];
	MPI_Request req[MANY + 2];
	MPI_Status st[MANY + 2];
	MPI_Comm dup;
	int right = (app_rank + 1) % app_size, left = (app_rank + app_size - 1) % app_size;

	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	for (int w = 0; w < 2 * N_WAYS; w++) {
		for (int k = 0; k < MANY; k++) {
			for (int i = 0; i < LEN; i++)
				in[k][i] = (float)(app_rank + k + i);
			MPI_Iallreduce(in[k], out[k], LEN, MPI_FLOAT, MPI_SUM,
				k % 2 ? dup : MPI_COMM_WORLD, &req[k]);
		}
		MPI_Isend(in[0], LEN, MPI_FLOAT, right, w, dup, &req[MANY]);
		MPI_Irecv(moved, LEN, MPI_FLOAT, left, w, dup, &req[MANY + 1]);
		complete((enum way)(w % N_WAYS), MANY + 2, req, w < N_WAYS ? NULL : st);
		for (int k = 0; k < MANY; k++) {
			for (int i = 0; i < LEN; i++) {
				float want =
					(float)(app_size * (k + i) + app_size * (app_size - 1) / 2);

				CHECK(out[k][i] == want, "Iallreduce %d, %s: [%d] is %g, not %g", k,
					way_name[w % N_WAYS], i, out[k][i], want);
			}
		}
		for (int i = 0; i < LEN; i++)
			CHECK(moved[i] == (float)(left + i), "Irecv: [%d] is %g", i, moved[i]);
		app_mix(out, sizeof(out));
	}
	MPI_Comm_free(&dup);
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	run_cases(MPI_COMM_WORLD);
	run_cases(MPI_COMM_SELF);
	many_at_once();
	return app_done();
}
