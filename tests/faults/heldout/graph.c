/* SPDX-License-Identifier: Apache-2.0 */
/* Ghost cells of a mesh by neighbourhood collectives on a graph; every fourth step the boundaries move, and counts change. */
#include "heldout.h"
#include <math.h>

enum { MOST = 4 };

static int degree, peers[MOST], out[MOST], in[MOST], out_at[MOST], in_at[MOST], size;
static MPI_Comm graph;
static double *cells, *ghosts, *edge;

static void make_graph(void)
{
	int weights[MOST] = {1, 1, 1, 1};

	for (int far = 1; far <= (ranks > 4 ? 2 : 1); far++) {
		peers[degree++] = (rank + far) % ranks;
		peers[degree++] = (rank + ranks - far) % ranks;
	}
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, peers, weights, degree, peers,
		weights, MPI_INFO_NULL, 0, &graph);
}

static void move_boundaries(void)
{
	int sent = 0, taken = 0;

	for (int k = 0; k < degree; k++)
		out[k] = 8 + (int)(draw() * size / 4);
	MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, graph);
	for (int k = 0; k < degree; k++) {
		out_at[k] = sent;
		in_at[k] = taken;
		sent += out[k];
		taken += in[k];
	}
}

static void fill_edge(void)
{
	for (int k = 0; k < degree; k++)
		for (int i = 0; i < out[k]; i++)
			edge[out_at[k] + i] = cells[(i * 3 + k) % size];
}

static double update_cells(void)
{
	double change = 0;
	int n = in_at[degree - 1] + in[degree - 1];

	for (int i = 0; i < size; i++) {
		double next = 0.5 * cells[i] + 0.25 * cells[(i + 1) % size] + 0.25 * ghosts[i % n] +
			      0.05 * (draw() - 0.5);

		change += (next - cells[i]) * (next - cells[i]);
		cells[i] = next;
	}
	return change;
}

int main(int argc, char **argv)
{
	double change[8], all[8], load[8], loads[MOST * 8], steepest[8];

	start_program(argc, argv);
	size = (int)get_option("size", 250);
	cells = make_array(size);
	ghosts = make_array(size * MOST);
	edge = make_array(size * MOST);
	for (int i = 0; i < size; i++)
		cells[i] = 1 + rank + draw();
	make_graph();
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		int n;

		if (step % 4 == 0) {
			PASS("move");
			move_boundaries();
		}
		fill_edge();
		n = out_at[degree - 1] + out[degree - 1];
		CALL_("ghosts", edge, n, MPI_DOUBLE, MPI_OP_NULL, -1, -1,
			MPI_Neighbor_alltoallv(
				edge, out, out_at, c.type, ghosts, in, in_at, MPI_DOUBLE, graph));
		PASS("update");
		change[0] = update_cells();
		load[0] = n + draw();
		CALL_("load", load, 1, MPI_DOUBLE, MPI_OP_NULL, -1, -1,
			MPI_Neighbor_allgather(load, c.n, c.type, loads, 1, MPI_DOUBLE, graph));
		ALLREDUCE("change", change, all, 1, MPI_DOUBLE, MPI_SUM, graph);
		steepest[0] = fabs(cells[0] - cells[1]) + 1e-6;
		if (step % 5 == 4)
			REDUCE("steepest", steepest, all, 1, MPI_DOUBLE, MPI_MAX, 0,
				MPI_COMM_WORLD);
		end_step();
	}
	end_program();
	return 0;
}
