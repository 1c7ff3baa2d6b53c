/* SPDX-License-Identifier: Apache-2.0 */
/* Heat on a plate in strips of rows. Steep rows are refined (more work), and rows move to a neighbour when work is uneven. */
#include "heldout.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 64 };

static int width, low, high, *first_rows;
static double *u[MOST_ROWS + 2], *next[MOST_ROWS + 2];

static void exchange_halo(void)
{
	int n = high - low, up = rank ? rank - 1 : MPI_PROC_NULL;
	int down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
	MPI_Request r[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};

	MPI_Irecv(u[0], width, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(u[n + 1], width, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, &r[1]);
	if (up != MPI_PROC_NULL)
		ISEND("halo_up", u[1], width, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, &r[2]);
	if (down != MPI_PROC_NULL)
		ISEND("halo_down", u[n], width, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &r[3]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

/* Returns the work: refined rows are smoothed three times. */
static double update_rows(double dt, double *change)
{
	double work = 0;
	int n = high - low;

	*change = 0;
	for (int i = 1; i <= n; i++) {
		double steep = 0;

		for (int j = 0; j < width; j++)
			steep = fmax(steep, fabs(u[i + 1][j] - u[i - 1][j]));
		for (int turn = 0; turn < (steep > 0.2 ? 3 : 1); turn++, work++)
			for (int j = 0; j < width; j++) {
				double left = u[i][(j + width - 1) % width],
				       right = u[i][(j + 1) % width];

				next[i][j] = u[i][j] + dt * (u[i - 1][j] + u[i + 1][j] + left +
								    right - 4 * u[i][j]);
			}
		for (int j = 0; j < width; j++)
			*change += (next[i][j] - u[i][j]) * (next[i][j] - u[i][j]);
	}
	for (int i = 1; i <= n; i++)
		memcpy(u[i], next[i], (size_t)width * sizeof(double));
	return work;
}

/* The boundary to the next rank moves by a row towards the one with more work. */
static void update_bounds(double work)
{
	double mine[8] = {work}, *all = make_array(ranks);

	ALLGATHER("work", mine, 1, MPI_DOUBLE, all, MPI_COMM_WORLD);
	for (int k = 0; k + 1 < ranks; k++) {
		int rows = first_rows[k + 1] - first_rows[k],
		    rows_after = first_rows[k + 2] - first_rows[k + 1];
		int n = high - low;

		if (all[k] > all[k + 1] * 1.2 && rows > 3) {
			first_rows[k + 1]--;
			if (rank == k) {
				SEND("move_down", u[n], width, MPI_DOUBLE, k + 1, 3,
					MPI_COMM_WORLD);
				high--;
			} else if (rank == k + 1) {
				double *spare = u[MOST_ROWS + 1];

				memmove(u + 2, u + 1, MOST_ROWS * sizeof(*u));
				u[1] = spare;
				MPI_Recv(u[1], width, MPI_DOUBLE, k, 3, MPI_COMM_WORLD,
					MPI_STATUS_IGNORE);
				low--;
			}
		} else if (all[k + 1] > all[k] * 1.2 && rows_after > 3) {
			first_rows[k + 1]++;
			if (rank == k + 1) {
				double *spare = u[1];

				SEND("move_up", u[1], width, MPI_DOUBLE, k, 4, MPI_COMM_WORLD);
				memmove(u + 1, u + 2, MOST_ROWS * sizeof(*u));
				u[MOST_ROWS + 1] = spare;
				low++;
			} else if (rank == k) {
				MPI_Recv(u[n + 1], width, MPI_DOUBLE, k + 1, 4, MPI_COMM_WORLD,
					MPI_STATUS_IGNORE);
				high++;
			}
		}
	}
	free(all);
}

int main(int argc, char **argv)
{
	double work = 0, dt[8] = {0.2}, change[8], sum[8], steepest[8];

	start_program(argc, argv);
	width = (int)get_option("size", 256);
	first_rows = calloc((size_t)ranks + 2, sizeof(int));
	for (int k = 0; k <= ranks; k++)
		first_rows[k] = k * 8;
	low = rank * 8;
	high = low + 8;
	for (int i = 0; i < MOST_ROWS + 2; i++) {
		u[i] = make_array(width);
		next[i] = make_array(width);
	}
	for (int i = 1; i <= 8; i++)
		for (int j = 0; j < width; j++)
			u[i][j] = exp(-0.002 * (j - width / 3.0) * (j - width / 3.0)) * (rank + 1) +
				  draw();
	for (long n = get_option("steps", 30); n > 0; n--) {
		exchange_halo();
		PASS("compute");
		work += update_rows(dt[0], change);
		steepest[0] = fabs(u[1][0] - u[high - low][width / 2]) + 1e-3;
		ALLREDUCE("change", change, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		ALLREDUCE("steepest", steepest, dt, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		dt[0] = fmin(0.2, 0.05 + 0.1 / (1 + dt[0]));
		if (step % 5 == 4) {
			PASS("balance");
			update_bounds(work);
			work = 0;
		}
		end_step();
	}
	end_program();
	return 0;
}
