/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dye and heat in a swirl, on a tree of cells that is refined where either of them is steep. All ranks know the tree, each owns a run of
 * its cells. A new tree every fourth step gives each rank other neighbours: a graph communicator, and other lengths of messages.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINEST = 2, DYE = 0, HEAT = 1, FIELDS = 2, BINS = 8, MOST_RANKS = 16 };

/* In units of its own size. */
struct cell {
	int level, x, y;
};

/* From corner to corner in units of the finest cells, the cell to the left. */
struct side {
	int cell, next, from[2], upto[2];
};

struct tree {
	struct cell *cells;
	int count, first[MOST_RANKS + 1], *map;
};

struct peer {
	int rank, out, in, *sent, *got;
};

/* An overlap of an old and a new cell. */
struct part {
	int old, cell;
	double share;
};

static struct tree tree, new_tree;
static struct side *sides;
static struct part *parts;
static struct peer peers[MOST_RANKS];
static int side_count, peer_count, part_count, grid, *depths, *is_wanted;
static double *now, *half, *change, *outbox, *inbox, *image, *indicators, clock_time;
static MPI_Comm graph = MPI_COMM_NULL;

static int get_size(const struct cell *cell)
{
	return 1 << (FINEST - cell->level);
}

static int find_owner(const struct tree *t, int cell)
{
	int owner = 0;

	while (cell >= t->first[owner + 1])
		owner++;
	return owner;
}

static int find_cell_at(const struct tree *t, int x, int y)
{
	return t->map[(y + grid) % grid * grid + (x + grid) % grid];
}

/* A cell that has a deeper one below it is divided. */
static void add_cells(struct tree *t, int level, int x, int y)
{
	struct cell cell = {level, x, y};
	int size = get_size(&cell), deepest = level;

	for (int i = 0; i < size * size; i++) {
		int depth = depths[(y * size + i / size) * grid + x * size + i % size];

		deepest = depth > deepest ? depth : deepest;
	}
	if (deepest > level) {
		for (int i = 0; i < 4; i++)
			add_cells(t, level + 1, 2 * x + i % 2, 2 * y + i / 2);
		return;
	}
	for (int i = 0; i < size * size; i++)
		t->map[(y * size + i / size) * grid + x * size + i % size] = t->count;
	t->cells[t->count++] = cell;
}

/* Next to a cell of the finest level there is none of the coarsest. */
static void widen_depths(void)
{
	for (int y = 0; y < grid; y++)
		for (int x = 0; x < grid; x++) {
			if (depths[y * grid + x] < FINEST)
				continue;
			for (int i = 0; i < 25; i++) {
				int *depth = &depths[(y + i / 5 - 2 + grid) % grid * grid +
						     (x + i % 5 - 2 + grid) % grid];

				*depth = *depth < 1 ? 1 : *depth;
			}
		}
}

/* Runs of equal work: a fine cell has more sides to compute. */
static void make_tree(struct tree *t)
{
	int work = 0, upto = 0, owner = 0;

	t->count = 0;
	widen_depths();
	for (int i = 0; i < grid * grid >> 2 * FINEST; i++)
		add_cells(t, 0, i % (grid >> FINEST), i / (grid >> FINEST));
	for (int i = 0; i < t->count; i++)
		work += 2 + t->cells[i].level;
	for (int i = 0; i < t->count; i++) {
		while (owner < ranks - 1 && upto * ranks >= work * (owner + 1))
			t->first[++owner] = i;
		upto += 2 + t->cells[i].level;
	}
	t->first[ranks] = t->count;
}

static void add_cell_side(int cell, int next_cell, int x, int y, int dx, int dy)
{
	struct side *last = &sides[side_count - 1];

	/* The last one, longer: the neighbour is a larger cell. */
	if (side_count && last->cell == cell && last->next == next_cell && last->upto[0] == x &&
		last->upto[1] == y) {
		last->upto[0] += dx;
		last->upto[1] += dy;
		return;
	}
	sides[side_count++] = (struct side){cell, next_cell, {x, y}, {x + dx, y + dy}};
}

/* Around each own cell, against the clock. */
static void find_sides(void)
{
	side_count = 0;
	for (int i = tree.first[rank]; i < tree.first[rank + 1]; i++) {
		int n = get_size(&tree.cells[i]), x = tree.cells[i].x * n, y = tree.cells[i].y * n;

		for (int k = 0; k < n; k++)
			add_cell_side(i, find_cell_at(&tree, x + k, y - 1), x + k, y, 1, 0);
		for (int k = 0; k < n; k++)
			add_cell_side(i, find_cell_at(&tree, x + n, y + k), x + n, y + k, 0, 1);
		for (int k = n; k > 0; k--)
			add_cell_side(
				i, find_cell_at(&tree, x + k - 1, y + n), x + k, y + n, -1, 0);
		for (int k = n; k > 0; k--)
			add_cell_side(i, find_cell_at(&tree, x - 1, y + k - 1), x, y + k, 0, -1);
	}
}

/* Who has a neighbour of an own cell, and which cells go there and come from there. */
static void find_peers(void)
{
	int ids[MOST_RANKS], weights[MOST_RANKS];

	peer_count = 0;
	for (int k = 0; k < ranks; k++) {
		struct peer *p = &peers[peer_count];
		int last = -1;

		p->rank = k;
		p->out = p->in = 0;
		memset(is_wanted, 0, (size_t)tree.count * sizeof(int));
		for (int i = 0; i < side_count && k != rank; i++) {
			if (find_owner(&tree, sides[i].next) != k)
				continue;
			is_wanted[sides[i].next] = 1;
			if (sides[i].cell != last)
				p->sent[p->out++] = last = sides[i].cell;
		}
		for (int i = 0; i < tree.count; i++)
			if (is_wanted[i])
				p->got[p->in++] = i;
		if (!p->out)
			continue;
		ids[peer_count] = k;
		weights[peer_count++] = p->out;
	}
	if (graph != MPI_COMM_NULL)
		MPI_Comm_free(&graph);
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, peer_count, ids, weights, peer_count, ids,
		weights, MPI_INFO_NULL, 0, &graph);
}

static void pack_cells(const double *values, const struct peer *p, double *room)
{
	for (int i = 0; i < p->out; i++)
		memcpy(room + FIELDS * i, values + FIELDS * p->sent[i], FIELDS * sizeof(double));
}

static void unpack_cells(double *values, const struct peer *p, const double *room)
{
	for (int i = 0; i < p->in; i++)
		memcpy(values + FIELDS * p->got[i], room + FIELDS * i, FIELDS * sizeof(double));
}

static void share_ghosts(double *values)
{
	int out[MOST_RANKS], in[MOST_RANKS], from[MOST_RANKS + 1] = {0}, into[MOST_RANKS + 1] = {0};

	for (int k = 0; k < peer_count; k++) {
		out[k] = FIELDS * peers[k].out;
		in[k] = FIELDS * peers[k].in;
		from[k + 1] = from[k] + out[k];
		into[k + 1] = into[k] + in[k];
		pack_cells(values, &peers[k], outbox + from[k]);
	}
	CALL_("ghosts", outbox, from[peer_count], MPI_DOUBLE, MPI_OP_NULL, -1, -1,
		MPI_Neighbor_alltoallv(outbox, out, from, c.type, inbox, in, into, c.type, graph));
	for (int k = 0; k < peer_count; k++)
		unpack_cells(values, &peers[k], inbox + into[k]);
}

/* The area by how much dye there is; the last one: the sum of heat's squares. */
static void count_dye(double *bins)
{
	memset(bins, 0, BINS * sizeof(double));
	for (int i = tree.first[rank]; i < tree.first[rank + 1]; i++) {
		int bin = (int)(fmin(fmax(now[FIELDS * i + DYE], 0), 0.999) * (BINS - 1));

		bins[bin] += pow(get_size(&tree.cells[i]), 2);
		bins[BINS - 1] += pow(get_size(&tree.cells[i]) * now[FIELDS * i + HEAT], 2);
	}
}

/* As share_ghosts, by messages; the bins are counted while they are under way. */
static void pass_ghosts(double *values, double *bins)
{
	MPI_Request r[2 * MOST_RANKS];
	double *out = outbox, *in = inbox;
	int tag = 31;

	for (int k = 0; k < peer_count; k++) {
		r[k] = r[peer_count + k] = MPI_REQUEST_NULL;
		MPI_Irecv(in, FIELDS * peers[k].in, MPI_DOUBLE, peers[k].rank, tag, MPI_COMM_WORLD,
			&r[k]);
		in += FIELDS * peers[k].in;
	}
	for (int k = 0; k < peer_count; k++) {
		int n = FIELDS * peers[k].out;
		MPI_Request *sent = &r[peer_count + k];

		pack_cells(values, &peers[k], out);
		ISEND("passed", out, n, MPI_DOUBLE, peers[k].rank, tag, MPI_COMM_WORLD, sent);
		out += n;
	}
	count_dye(bins);
	MPI_Waitall(2 * peer_count, r, MPI_STATUSES_IGNORE);
	in = inbox;
	for (int k = 0; k < peer_count; k++) {
		unpack_cells(values, &peers[k], in);
		in += FIELDS * peers[k].in;
	}
}

/* What flows from the first to the second corner's right is the difference of these. */
static double compute_stream(const int *corner)
{
	double x = M_PI * corner[0] / grid, y = M_PI * corner[1] / grid;

	return 0.4 * cos(3 * clock_time) * pow(sin(x) * sin(y), 2) +
	       (0.2 * corner[1] - 0.1 * corner[0]) / grid;
}

/* The change of all own cells in a time of 1. Returns the least time that empties a cell. */
static double compute_change(const double *values)
{
	double least = HUGE_VAL, left = 0;

	memset(change + FIELDS * tree.first[rank], 0,
		(size_t)(tree.first[rank + 1] - tree.first[rank]) * FIELDS * sizeof(double));
	for (int i = 0; i < side_count; i++) {
		struct side *s = &sides[i];
		const double *a = values + FIELDS * s->cell, *b = values + FIELDS * s->next;
		double *to = change + FIELDS * s->cell,
		       flow = compute_stream(s->upto) - compute_stream(s->from);
		int n = get_size(&tree.cells[s->cell]), m = get_size(&tree.cells[s->next]);
		double area = pow((double)n / grid, 2), length = n < m ? n : m;

		left = (i && sides[i - 1].cell == s->cell ? left : 0) + fmax(flow, 0) / area;
		least = fmin(least, 1 / (left + 4e-3 / area));
		for (int k = 0; k < FIELDS; k++)
			to[k] -= flow * (flow > 0 ? a[k] : b[k]) / area;
		to[HEAT] += 1e-3 * length * 2 / (n + m) * (b[HEAT] - a[HEAT]) / area;
	}
	return least;
}

/* The longest time that is safe on all ranks. */
static double choose_time(double *peak)
{
	double mine[8] = {0}, least[8] = {0}, most[8] = {0}, top[8] = {0};
	int swapped;

	mine[0] = 0.6 * compute_change(now);
	for (int i = tree.first[rank]; i < tree.first[rank + 1]; i++)
		most[0] = fmax(most[0], now[FIELDS * i + HEAT]);
	swapped = SWAP("time_peak");
	if (!swapped)
		ALLREDUCE("time", mine, least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);

	ALLREDUCE("peak", most, top, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	if (swapped)
		ALLREDUCE("time", mine, least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
	*peak = top[0];
	return fmin(least[0], 0.08);
}

/* How steep each own cell is; all ranks then agree on the depths. */
static void choose_depths(void)
{
	int counts[MOST_RANKS];

	memset(outbox, 0, (size_t)tree.count * sizeof(double));
	for (int i = 0; i < side_count; i++) {
		const double *a = now + FIELDS * sides[i].cell, *b = now + FIELDS * sides[i].next;
		double *steep = &outbox[sides[i].cell - tree.first[rank]];

		*steep = fmax(*steep, fabs(a[DYE] - b[DYE]) + 0.3 * fabs(a[HEAT] - b[HEAT]));
	}
	for (int k = 0; k < ranks; k++)
		counts[k] = tree.first[k + 1] - tree.first[k];
	CALL_("steepness", outbox, counts[rank], MPI_DOUBLE, MPI_OP_NULL, -1, -1,
		MPI_Allgatherv(outbox, c.n, c.type, indicators, counts, tree.first, MPI_DOUBLE,
			MPI_COMM_WORLD));
	for (int i = 0; i < grid * grid; i++) {
		int cell = tree.map[i], level = tree.cells[cell].level;

		if (indicators[cell] > 0.12)
			level = level < FINEST ? level + 1 : level;
		else if (indicators[cell] < 0.04)
			level = level > 0 ? level - 1 : level;
		depths[i] = level;
	}
}

/* Where an old and a new cell overlap. share: of the new one. */
static void find_parts(void)
{
	part_count = 0;
	for (int i = 0; i < new_tree.count; i++) {
		struct cell *cell = &new_tree.cells[i];
		int size = get_size(cell);

		for (int k = 0; k < size * size; k++) {
			int x = cell->x * size + k % size, y = cell->y * size + k / size;
			int old = find_cell_at(&tree, x, y), old_size = get_size(&tree.cells[old]);
			int least = size < old_size ? size : old_size;

			if (x % least || y % least)
				continue;
			parts[part_count++] = (struct part){old, i, pow((double)least / size, 2)};
		}
	}
}

/* From the old cells' owners to the new ones'. */
static void move_values(void)
{
	int out[MOST_RANKS] = {0}, in[MOST_RANKS] = {0}, from[MOST_RANKS + 1] = {0},
	    into[MOST_RANKS + 1] = {0}, n = 0;

	find_parts();
	for (int i = 0; i < part_count; i++) {
		int giver = find_owner(&tree, parts[i].old),
		    taker = find_owner(&new_tree, parts[i].cell);

		in[giver] += taker == rank ? FIELDS : 0;
		if (giver != rank)
			continue;
		memcpy(outbox + n, now + FIELDS * parts[i].old, FIELDS * sizeof(double));
		n += FIELDS;
		out[taker] += FIELDS;
	}
	for (int k = 0; k < ranks; k++) {
		from[k + 1] = from[k] + out[k];
		into[k + 1] = into[k] + in[k];
	}
	CALL_("moved", outbox, n, MPI_DOUBLE, MPI_OP_NULL, -1, -1,
		MPI_Alltoallv(outbox, out, from, c.type, inbox, in, into, c.type, MPI_COMM_WORLD));
	memset(now, 0, (size_t)(grid * grid * FIELDS) * sizeof(double));
	for (int i = 0; i < part_count; i++) {
		int giver = find_owner(&tree, parts[i].old);

		if (find_owner(&new_tree, parts[i].cell) != rank)
			continue;
		for (int f = 0; f < FIELDS; f++)
			now[FIELDS * parts[i].cell + f] += parts[i].share * inbox[into[giver]++];
	}
}

static void change_tree(void)
{
	struct tree old;

	share_ghosts(now);
	choose_depths();
	PASS("regrid");
	make_tree(&new_tree);
	move_values();
	old = tree;
	tree = new_tree;
	new_tree = old;
	find_sides();
	find_peers();
}

/* Heun's method; the second change is of what the first one makes. */
static void advance(double *bins, double *peak)
{
	int begin = FIELDS * tree.first[rank], end = FIELDS * tree.first[rank + 1];
	double time;

	share_ghosts(now);
	time = choose_time(peak);
	PASS("first");
	for (int i = begin; i < end; i++)
		half[i] = now[i] + time * change[i];
	pass_ghosts(half, bins);
	clock_time += time;
	PASS("second");
	for (int i = begin; i < end; i++)
		now[i] = 0.5 * (now[i] + half[i]);
	compute_change(half);
	for (int i = begin; i < end; i++)
		now[i] += 0.5 * time * change[i];
}

static void init_values(double dye_x, double dye_y)
{
	for (int i = tree.first[rank]; i < tree.first[rank + 1]; i++) {
		struct cell *cell = &tree.cells[i];
		double x = (cell->x + 0.5) * get_size(cell) / grid;
		double y = (cell->y + 0.5) * get_size(cell) / grid;

		now[FIELDS * i + DYE] = hypot(x - dye_x, y - dye_y) < 0.17;
		now[FIELDS * i + HEAT] = 1 + 0.5 * sin(2 * M_PI * x) * cos(2 * M_PI * y);
	}
}

static void init_tree(int roots)
{
	size_t most = (size_t)(roots * roots) << 2 * FINEST;
	double dye_x = 0.25 + 0.2 * draw_common(), dye_y = 0.3 + 0.3 * draw_common();

	grid = roots << FINEST;
	depths = calloc(most, sizeof(int));
	is_wanted = calloc(most, sizeof(int));
	sides = calloc(8 * most, sizeof(*sides));
	parts = calloc(most, sizeof(*parts));
	for (int i = 0; i < 2; i++) {
		struct tree *t = i ? &new_tree : &tree;

		t->cells = calloc(most, sizeof(*t->cells));
		t->map = calloc(most, sizeof(int));
	}
	for (int i = 0; i < ranks; i++) {
		peers[i].sent = calloc(most, sizeof(int));
		peers[i].got = calloc(most, sizeof(int));
	}
	now = make_array(FIELDS * (int)most);
	half = make_array(FIELDS * (int)most);
	change = make_array(FIELDS * (int)most);
	indicators = make_array((int)most);
	image = make_array(FIELDS * (int)most);
	outbox = make_array(2 * FIELDS * (int)most);
	inbox = make_array(2 * FIELDS * (int)most);
	make_tree(&tree);
	find_sides();
	find_peers();
	/* Each of the first trees is one level deeper. */
	for (int i = 0; i <= FINEST; i++) {
		init_values(dye_x, dye_y);
		if (i < FINEST)
			change_tree();
	}
}

/* All cells to rank 0, which writes them. */
static void write_cells(void)
{
	int counts[MOST_RANKS], first[MOST_RANKS], n;
	FILE *file;

	for (int k = 0; k < ranks; k++) {
		first[k] = FIELDS * tree.first[k];
		counts[k] = FIELDS * tree.first[k + 1] - first[k];
	}
	n = counts[rank];
	memcpy(outbox, now + first[rank], (size_t)n * sizeof(double));
	CALL_("image", outbox, n, MPI_DOUBLE, MPI_OP_NULL, 0, -1,
		MPI_Gatherv(outbox, c.n, c.type, image, counts, first, MPI_DOUBLE, c.peer,
			MPI_COMM_WORLD));
	file = rank ? NULL : tmpfile();
	if (!file)
		return;
	fwrite(image, sizeof(double), (size_t)(FIELDS * tree.count), file);
	fclose(file);
}

/* What there is of dye and heat must stay. */
static void check_sums(double *first)
{
	double mine[80] = {0}, all[80] = {0};

	for (int i = tree.first[rank]; i < tree.first[rank + 1]; i++) {
		double area = pow((double)get_size(&tree.cells[i]) / grid, 2);

		mine[0] += area * now[FIELDS * i + DYE];
		mine[1] += area * now[FIELDS * i + HEAT];
		mine[2]++;
	}
	REDUCE("sums", mine, all, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank)
		return;
	if (first[1] == 0)
		memcpy(first, all, 2 * sizeof(double));
	if (!(fabs(all[0] - first[0]) < 1e-9 && fabs(all[1] - first[1]) < 1e-9) ||
		all[2] != tree.count)
		fprintf(stderr, "step %d: dye %g, was %g; heat %g, was %g\n", step, all[0],
			first[0], all[1], first[1]);
}

int main(int argc, char **argv)
{
	double bins[80] = {0}, all[80] = {0}, first[2] = {0}, peak = 0, counted;
	long turns, cells = 0;
	int size;

	start_program(argc, argv);
	turns = get_option("steps", 30);
	size = (int)get_option("size", 250);
	init_tree(size < 200 ? 5 : size < 400 ? 7 : 10);
	while (step < turns) {
		if (step % 4 == 3)
			change_tree();
		cells += tree.count;
		advance(bins, &peak);
		ALLREDUCE("bins", bins, all, BINS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		counted = 0;
		for (int i = 0; i < BINS - 1; i++)
			counted += all[i];
		if (counted != grid * grid || !(peak < 2))
			fprintf(stderr, "step %d: rank %d has an area of %g, a peak of %g\n", step,
				rank, counted, peak);
		if (step % 2)
			check_sums(first);
		if (step % 5 == 4)
			write_cells();
		end_step();
	}
	if (!rank)
		printf("result %.12g %.12g %.12g %ld\n", all[BINS - 1], peak, clock_time, cells);
	end_program();
	return 0;
}
