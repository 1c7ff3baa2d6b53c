/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gravity in a box. Ranks own parts of a Morton curve and move their borders when one of them has too much work. Bodies in cells
 * near by are sent to those that need them, who do not know from whom (synchronous sends, a barrier in flight); the others act by their
 * cell's mass.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRID = 8, CELLS = GRID * GRID, FIELDS = 6, MOST_RANKS = 16, ROOM = 2 * CELLS + 64 };
/* A body's fields. */
enum { X, Y, SPEED_X, SPEED_Y, MASS, WORK };

struct bodies {
	int count;
	double *items;
};

/* A body that acts on others: place, mass, and the cell it is in. */
struct source {
	double x, y, mass;
	int next;
};

static struct bodies own;
static double *outbox, *inbox, *ghosts[MOST_RANKS], *gifts[MOST_RANKS], cells[4 * ROOM], *all_cells,
	*image, potential;
static struct source *sources;
static int borders[MOST_RANKS + 1], heads[CELLS], ghost_sizes[MOST_RANKS], most, source_count;

static int get_cell(const double *body)
{
	int x = (int)(GRID * fmin(fmax(body[X], 0), 0.999)),
	    y = (int)(GRID * fmin(fmax(body[Y], 0), 0.999)), cell = 0;

	for (int bit = 0; bit < 3; bit++)
		cell |= (x >> bit & 1) << 2 * bit | (y >> bit & 1) << (2 * bit + 1);
	return cell;
}

static void get_column_row(int cell, int *column, int *row)
{
	*column = *row = 0;
	for (int bit = 0; bit < 3; bit++) {
		*column |= (cell >> 2 * bit & 1) << bit;
		*row |= (cell >> (2 * bit + 1) & 1) << bit;
	}
}

static int are_cells_adjacent(int a, int b)
{
	int ax, ay, bx, by;

	get_column_row(a, &ax, &ay);
	get_column_row(b, &bx, &by);
	return abs(ax - bx) < 2 && abs(ay - by) < 2;
}

static int find_owner(int cell)
{
	int owner = 0;

	while (owner < ranks - 1 && cell >= borders[owner + 1])
		owner++;
	return owner;
}

/* Borders at equal parts of the work; each rank keeps a cell at least. */
static void move_borders(void)
{
	double work[ROOM] = {0}, whole[ROOM] = {0}, sum = 0, upto = 0;
	int cell = 0;

	for (int i = 0; i < own.count; i++)
		work[get_cell(own.items + i * FIELDS)] += own.items[i * FIELDS + WORK];
	ALLREDUCE("histogram", work, whole, CELLS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < CELLS; i++)
		sum += whole[i];
	for (int k = 1; k < ranks; k++) {
		while (cell < CELLS - (ranks - k) &&
			(cell <= borders[k - 1] || upto + whole[cell] / 2 < sum * k / ranks))
			upto += whole[cell++];
		borders[k] = cell;
	}
	borders[ranks] = CELLS;
}

/* Bodies to the ranks that own their cells. */
static void migrate(void)
{
	int sizes[MOST_RANKS] = {0}, sizes_in[MOST_RANKS] = {0}, at[MOST_RANKS + 1] = {0},
	    at_in[MOST_RANKS + 1] = {0}, filled[MOST_RANKS] = {0}, kept = 0;

	for (int i = 0; i < own.count; i++) {
		int owner = find_owner(get_cell(own.items + i * FIELDS));

		sizes[owner] += owner == rank ? 0 : FIELDS;
	}
	for (int k = 0; k < ranks; k++)
		at[k + 1] = at[k] + sizes[k];
	for (int i = 0; i < own.count; i++) {
		double *body = own.items + i * FIELDS;
		int owner = find_owner(get_cell(body));

		if (owner == rank) {
			memmove(own.items + kept++ * FIELDS, body, FIELDS * sizeof(double));
			continue;
		}
		memcpy(outbox + at[owner] + filled[owner], body, FIELDS * sizeof(double));
		filled[owner] += FIELDS;
	}
	ALLTOALL("counts", sizes, 1, MPI_INT, sizes_in, MPI_COMM_WORLD);
	for (int k = 0; k < ranks; k++)
		at_in[k + 1] = at_in[k] + (sizes_in[k] > 0 ? sizes_in[k] : 0);
	if (at_in[ranks] > FIELDS * (most - kept)) {
		fprintf(stderr, "rank %d: %d bodies come\n", rank, at_in[ranks] / FIELDS);
		MPI_Abort(MPI_COMM_WORLD, 3);
	}
	PASS("migrate");
	CALL_("bodies", outbox, at[ranks], MPI_DOUBLE, MPI_OP_NULL, -1, -1,
		MPI_Alltoallv(
			outbox, sizes, at, c.type, inbox, sizes_in, at_in, c.type, MPI_COMM_WORLD));
	memcpy(own.items + kept * FIELDS, inbox, (size_t)at_in[ranks] * sizeof(double));
	own.count = kept + at_in[ranks] / FIELDS;
}

/* Cell, mass and centre of each cell that has bodies, of all ranks. Returns how many. */
static int gather_cells(void)
{
	int counts[MOST_RANKS] = {0}, at[MOST_RANKS + 1] = {0}, count = 0;
	double sums[CELLS][3] = {{0}};

	for (int i = 0; i < own.count; i++) {
		double *body = own.items + i * FIELDS, *sum = sums[get_cell(body)];

		sum[0] += body[MASS];
		sum[1] += body[MASS] * body[X];
		sum[2] += body[MASS] * body[Y];
	}
	for (int cell = 0; cell < CELLS; cell++) {
		if (!(sums[cell][0] > 0))
			continue;
		cells[count++] = cell;
		cells[count++] = sums[cell][0];
		cells[count++] = sums[cell][1] / sums[cell][0];
		cells[count++] = sums[cell][2] / sums[cell][0];
	}
	MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
	for (int k = 0; k < ranks; k++)
		at[k + 1] = at[k] + counts[k];
	CALL_("cells", cells, count, MPI_DOUBLE, MPI_OP_NULL, -1, -1,
		MPI_Allgatherv(
			cells, c.n, c.type, all_cells, counts, at, MPI_DOUBLE, MPI_COMM_WORLD));
	return at[ranks] / 4;
}

/* The own bodies that are near a cell of another rank: place and mass. Returns how many doubles. */
static int pack_gift(int peer)
{
	int size = 0;

	for (int i = 0; i < own.count; i++) {
		double *body = own.items + i * FIELDS;
		int is_wanted = 0, cell = get_cell(body);

		for (int k = borders[peer]; k < borders[peer + 1] && !is_wanted; k++)
			is_wanted = are_cells_adjacent(cell, k);
		if (!is_wanted)
			continue;
		gifts[peer][size++] = body[X];
		gifts[peer][size++] = body[Y];
		gifts[peer][size++] = body[MASS];
	}
	return size;
}

/* Takes a message that is there. */
static int receive_ghosts(int tag)
{
	MPI_Status status;
	int is_there, size, peer;

	MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &is_there, &status);
	if (!is_there)
		return 0;
	peer = status.MPI_SOURCE;
	MPI_Get_count(&status, MPI_DOUBLE, &size);
	if (size == MPI_UNDEFINED || size > 3 * most)
		size = 3 * most;
	MPI_Recv(ghosts[peer], size, MPI_DOUBLE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	ghost_sizes[peer] = size;
	return 1;
}

/* No rank knows who sends: once all own messages have been taken, a barrier tells that those of all have. */
static void exchange_ghosts(void)
{
	MPI_Request sends[MOST_RANKS], barrier = MPI_REQUEST_NULL;
	int count = 0, is_done = 0, is_in_barrier = 0, tag = 55;

	memset(ghost_sizes, 0, sizeof(ghost_sizes));
	for (int k = 1; k < ranks; k++) {
		int peer = (rank + k) % ranks, size = pack_gift(peer);

		if (size)
			ISSEND("ghosts", gifts[peer], size, MPI_DOUBLE, peer, tag, MPI_COMM_WORLD,
				&sends[count++]);
	}
	while (!is_done) {
		int was_received = receive_ghosts(tag), are_taken;

		if (is_in_barrier) {
			MPI_Test(&barrier, &is_done, MPI_STATUS_IGNORE);
		} else {
			MPI_Testall(count, sends, &are_taken, MPI_STATUSES_IGNORE);
			if (are_taken) {
				MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
				is_in_barrier = 1;
			}
		}
		if (!was_received && !is_done)
			usleep(50);
	}
}

static void add_pulling_body(const double *place, double mass)
{
	int cell = get_cell(place);

	sources[source_count] = (struct source){place[0], place[1], mass, heads[cell]};
	heads[cell] = source_count++;
}

/* Adds one mass's pull to a body's speed. */
static void pull(double *body, double x, double y, double mass, double dt)
{
	double dx = x - body[X], dy = y - body[Y], square = dx * dx + dy * dy + 4e-4;
	double scale = 0.05 * mass / (square * sqrt(square));

	body[SPEED_X] += dt * scale * dx;
	body[SPEED_Y] += dt * scale * dy;
	potential -= 0.025 * body[MASS] * mass / sqrt(square);
}

static void compute_forces(int cell_count, double dt)
{
	memset(heads, -1, sizeof(heads));
	source_count = 0;
	potential = 0;
	for (int i = 0; i < own.count; i++)
		add_pulling_body(own.items + i * FIELDS, own.items[i * FIELDS + MASS]);
	for (int peer = 0; peer < ranks; peer++)
		for (int i = 0; i + 2 < ghost_sizes[peer]; i += 3)
			add_pulling_body(ghosts[peer] + i, ghosts[peer][i + 2]);
	PASS("force");
	for (int i = 0; i < own.count; i++) {
		double *body = own.items + i * FIELDS;
		int cell = get_cell(body);

		body[WORK] = 1;
		for (int k = 0; k < cell_count; k++) {
			double *at = all_cells + 4 * k;

			if (!are_cells_adjacent(cell, (int)fmin(fmax(at[0], 0), CELLS - 1))) {
				pull(body, at[2], at[3], at[1], dt);
				body[WORK]++;
			}
		}
		for (int near = 0; near < CELLS; near++) {
			if (!are_cells_adjacent(cell, near))
				continue;
			for (int k = heads[near]; k >= 0; k = sources[k].next) {
				pull(body, sources[k].x, sources[k].y, sources[k].mass, dt);
				body[WORK]++;
			}
		}
	}
}

/* Moves a coordinate; walls throw it back. */
static void move_coordinate(double *x, double *speed, double dt)
{
	*x += fmin(fmax(dt * *speed, -0.4), 0.4);
	if (*x < 0 || *x > 1) {
		*x = *x < 0 ? -*x : 2 - *x;
		*speed = -*speed;
	}
}

/* The longest time in which no body of any rank moves far. */
static double choose_time(void)
{
	double mine[8] = {0.05}, least[8] = {0};

	for (int i = 0; i < own.count; i++) {
		double *body = own.items + i * FIELDS;
		double speed = hypot(body[SPEED_X], body[SPEED_Y]);

		mine[0] = fmin(mine[0], 0.03 / (speed + 1e-9));
	}
	ALLREDUCE("time", mine, least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
	return least[0];
}

/* Whether a rank has so much more work than the others that borders should move. */
static int is_uneven(void)
{
	double mine[8] = {0}, top[8] = {0}, sum[8] = {0};
	int swapped;

	for (int i = 0; i < own.count; i++)
		mine[0] += own.items[i * FIELDS + WORK];
	mine[1] = mine[0] / (own.count + 1);
	swapped = SWAP("busiest_work");
	if (!swapped)
		ALLREDUCE("busiest", mine, top, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);

	ALLREDUCE("work", mine, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if (swapped)
		ALLREDUCE("busiest", mine, top, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return top[0] * ranks > 1.2 * sum[0];
}

static void init_bodies(int each)
{
	static const double centres[3][3] = {{0.3, 0.35, 0.12}, {0.7, 0.6, 0.08}, {0.45, 0.8, 0.2}};

	most = each * ranks * 2;
	own.items = make_array(most * FIELDS);
	outbox = make_array(most * FIELDS);
	inbox = make_array(most * FIELDS);
	image = make_array(most * FIELDS);
	all_cells = make_array(4 * CELLS * MOST_RANKS);
	sources = calloc((size_t)most * MOST_RANKS, sizeof(*sources));
	for (int k = 0; k < ranks; k++) {
		ghosts[k] = make_array(3 * most);
		gifts[k] = make_array(3 * most);
	}
	for (own.count = 0; own.count < each; own.count++) {
		const double *centre = centres[(int)(3 * draw())];
		double *body = own.items + own.count * FIELDS, angle = 2 * M_PI * draw();
		double radius = centre[2] * sqrt(draw());

		body[X] = centre[0] + radius * cos(angle);
		body[Y] = centre[1] + radius * sin(angle);
		body[SPEED_X] = 0.2 * (draw() - 0.5) - 0.8 * radius * sin(angle);
		body[SPEED_Y] = 0.2 * (draw() - 0.5) + 0.8 * radius * cos(angle);
		body[MASS] = (0.5 + draw()) / (each * ranks);
		body[WORK] = 1;
	}
	for (int k = 0; k <= ranks; k++)
		borders[k] = k * CELLS / ranks;
}

/* All bodies to rank 0, which writes them. */
static void write_all_bodies(void)
{
	int counts[MOST_RANKS] = {0}, at[MOST_RANKS + 1] = {0}, size = own.count * FIELDS;
	FILE *file;

	MPI_Allgather(&size, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
	for (int k = 0; k < ranks; k++)
		at[k + 1] = at[k] + counts[k];
	memcpy(outbox, own.items, (size_t)size * sizeof(double));
	CALL_("image", outbox, size, MPI_DOUBLE, MPI_OP_NULL, 0, -1,
		MPI_Gatherv(outbox, c.n, c.type, image, counts, at, MPI_DOUBLE, c.peer,
			MPI_COMM_WORLD));
	file = rank ? NULL : tmpfile();
	if (!file)
		return;
	fwrite(image, sizeof(double), (size_t)at[ranks], file);
	fclose(file);
}

int main(int argc, char **argv)
{
	double sums[8] = {0}, all[8] = {0}, first = 0, time = 0;
	long turns, moves = 0;
	int each;

	start_program(argc, argv);
	turns = get_option("steps", 30);
	each = (int)get_option("size", 250);
	init_bodies(each);
	while (step < turns) {
		double dt = choose_time();

		if (step % 10 == 0 || is_uneven()) {
			move_borders();
			moves++;
		}
		migrate();
		exchange_ghosts();
		compute_forces(gather_cells(), dt);
		memset(sums, 0, sizeof(sums));
		for (int i = 0; i < own.count; i++) {
			double *body = own.items + i * FIELDS;

			move_coordinate(&body[X], &body[SPEED_X], dt);
			move_coordinate(&body[Y], &body[SPEED_Y], dt);
			sums[0] += body[MASS] / 2 *
				   (body[SPEED_X] * body[SPEED_X] + body[SPEED_Y] * body[SPEED_Y]);
			sums[2] += body[MASS];
		}
		sums[1] = potential;
		sums[3] = own.count;
		time += dt;
		if (step % 2) {
			REDUCE("sums", sums, all, 4, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
			first = first != 0 ? first : all[0] + all[1];
			if (!rank && !(all[3] == each * ranks &&
					     fabs(all[0] + all[1] - first) < 0.2 * fabs(first)))
				fprintf(stderr, "step %d: %g bodies, energy %g, first %g\n", step,
					all[3], all[0] + all[1], first);
		}
		if (step % 5 == 4)
			write_all_bodies();
		end_step();
	}
	if (!rank)
		printf("result %.12g %.12g %.12g %ld\n", all[0], all[1], time, moves);
	end_program();
	return 0;
}
