/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forecasts of a ring of weather, corrected by observations. Each group of ranks has some of the ensemble's members, each rank of a group a
 * part of the ring; those with the same part of all groups compare their members. Rank 0 has the observations: other ones each time,
 * and at times none. Every third time each group's first rank offers its best member to the next group.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 2, MEMBERS = 4, EDGE = 2, REACH = 2, WIDTH = 2 * REACH + 1, FIELDS = 2 };

static const double time_step = 0.025, noise = 0.4;
static MPI_Comm group, column, leaders;
static int n, groups, my_group, place, whole;
/* A part has EDGE values of its neighbours on both sides. */
static double *members[MEMBERS], *stages[MEMBERS], *slopes, *mean, *nature, *middle, *reports,
	*inbox;
static double *covariances, *all_covariances, *joined, *offered, inflation[80] = {1.1};
static double misfits[MEMBERS + 64];

static double *make_part(void)
{
	return make_array(n + 2 * EDGE) + EDGE;
}

static void init_groups(void)
{
	groups = ranks / GROUP;
	my_group = rank / GROUP;
	place = rank % GROUP;
	MPI_Comm_split(MPI_COMM_WORLD, my_group, rank, &group);
	MPI_Comm_split(MPI_COMM_WORLD, place, rank, &column);
	MPI_Comm_split(MPI_COMM_WORLD, place ? MPI_UNDEFINED : 0, rank, &leaders);
}

static double get_slope(const double *x)
{
	return (x[1] - x[-2]) * x[-1] - x[0] + 6;
}

/* The edges of all members at once. */
static void exchange_edges(double **parts)
{
	double out[2][MEMBERS * EDGE * 2 + 64] = {{0}}, in[2][MEMBERS * EDGE * 2 + 64];
	int left = (place + GROUP - 1) % GROUP, right = (place + 1) % GROUP, size = MEMBERS * EDGE;
	MPI_Request r[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};

	for (int m = 0; m < MEMBERS; m++)
		for (int i = 0; i < EDGE; i++) {
			out[0][m * EDGE + i] = parts[m][i];
			out[1][m * EDGE + i] = parts[m][n - EDGE + i];
		}
	MPI_Irecv(in[0], size, MPI_DOUBLE, left, 22, group, &r[0]);
	MPI_Irecv(in[1], size, MPI_DOUBLE, right, 21, group, &r[1]);
	ISEND("edge_left", out[0], size, MPI_DOUBLE, left, 21, group, &r[2]);
	ISEND("edge_right", out[1], size, MPI_DOUBLE, right, 22, group, &r[3]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	for (int m = 0; m < MEMBERS; m++)
		for (int i = 0; i < EDGE; i++) {
			parts[m][i - EDGE] = in[0][m * EDGE + i];
			parts[m][n + i] = in[1][m * EDGE + i];
		}
}

/* A value out of bounds, as of a blown-up member, is reset. */
static double bound_value(double x)
{
	return fabs(x) < 60 ? x : 0;
}

/* By the midpoint. */
static void forecast(int turns)
{
	for (int turn = 0; turn < turns; turn++) {
		exchange_edges(members);
		for (int m = 0; m < MEMBERS; m++)
			for (int i = 0; i < n; i++)
				stages[m][i] =
					members[m][i] + time_step / 2 * get_slope(members[m] + i);
		exchange_edges(stages);
		PASS("forecast");
		for (int m = 0; m < MEMBERS; m++)
			for (int i = 0; i < n; i++)
				members[m][i] = bound_value(
					members[m][i] + time_step * get_slope(stages[m] + i));
	}
}

/* Rank 0 alone knows what the weather is; by the midpoint too. */
static void advance_nature(int turns)
{
	for (int turn = 0; turn < 2 * turns; turn++) {
		double *x = turn % 2 ? middle : nature;

		for (int i = 0; i < EDGE; i++) {
			x[-1 - i] = x[whole - 1 - i];
			x[whole + i] = x[i];
		}
		for (int i = 0; i < whole; i++)
			slopes[i] = get_slope(x + i);
		for (int i = 0; i < whole; i++) {
			if (turn % 2)
				nature[i] += time_step * slopes[i];
			else
				middle[i] = nature[i] + time_step / 2 * slopes[i];
		}
	}
}

/* To each rank the reports of its part: place and value. Returns how many. */
static int share_reports(void)
{
	int counts[64] = {0}, first[64] = {0}, share = (int)(3.9 * draw_common()), size = 0;

	/* At times all stations are heard, at times none. */
	for (int k = 0; rank == 0 && k < ranks; k++) {
		first[k] = size;
		for (int i = REACH; i < n - REACH - 1 && share; i += WIDTH - 2) {
			/* Ranks with the same part get the same; noise is of the first. */
			int at = k % GROUP * n + i + (step + k % GROUP) % 2;

			if ((at * 7 + step * 5) % 8 >= 3 * share)
				continue;
			reports[size++] = at - k % GROUP * n;
			reports[size] = nature[at] + noise * sin(37.0 * at + 11.0 * step);
			size++;
		}
		counts[k] = size - first[k];
	}
	BCAST("counts", counts, ranks, MPI_INT, 0, MPI_COMM_WORLD);
	if (counts[rank] < 0 || counts[rank] > FIELDS * n)
		counts[rank] = 0;
	PASS("observe");
	CALL_("reports", rank ? NULL : reports, size, MPI_DOUBLE, MPI_OP_NULL, 0, -1,
		MPI_Scatterv(reports, counts, first, c.type, inbox, counts[rank], c.type, c.peer,
			MPI_COMM_WORLD));
	return counts[rank] / FIELDS;
}

/* The mean of all members of all groups; deviations from it grow by the inflation. */
static void find_mean(void)
{
	double *sum = slopes;

	for (int i = 0; i < n; i++) {
		sum[i] = 0;
		for (int m = 0; m < MEMBERS; m++)
			sum[i] += members[m][i];
	}
	ALLREDUCE("mean", sum, mean, n, MPI_DOUBLE, MPI_SUM, column);
	for (int i = 0; i < n; i++)
		mean[i] /= MEMBERS * groups;
	for (int m = 0; m < MEMBERS; m++)
		for (int i = 0; i < n; i++)
			members[m][i] = mean[i] + inflation[0] * (members[m][i] - mean[i]);
}

static int get_station(int k)
{
	int at = (int)fmax(REACH, fmin(inbox[FIELDS * k], n - REACH - 1));

	return at;
}

/* Each member goes to what was reported near by, as far as all members say that the two belong together. */
static void assimilate(int count)
{
	int size = count * WIDTH;

	memset(covariances, 0, (size_t)size * sizeof(double));
	for (int k = 0; k < size; k++) {
		int at = get_station(k / WIDTH), i = at + k % WIDTH - REACH;

		for (int m = 0; m < MEMBERS; m++)
			covariances[k] += (members[m][i] - mean[i]) * (members[m][at] - mean[at]);
	}
	/* Ranks of a column have the same reports, those of others have other ones, or none. */
	if (count)
		ALLREDUCE("covariances", covariances, all_covariances, size, MPI_DOUBLE, MPI_SUM,
			column);
	PASS("assimilate");
	for (int k = 0; k < count; k++) {
		double *shared = all_covariances + WIDTH * k;
		double more = noise * noise * (MEMBERS * groups - 1);
		int at = get_station(k);

		for (int m = 0; m < MEMBERS; m++) {
			double off = inbox[FIELDS * k + 1] + 2 * noise * (draw() + draw() - 1) -
				     members[m][at];

			for (int i = 0; i < WIDTH; i++)
				members[m][at - REACH + i] +=
					off * shared[i] / (fabs(shared[REACH]) + more);
		}
	}
}

/* How far from the reports and the mean each member is, how far the mean was; inflation follows from it. */
static void score(int count)
{
	double mine[80] = {0}, all[80] = {0}, spread = 0;

	memset(misfits, 0, sizeof(misfits));
	for (int i = 0; i < n; i++)
		for (int m = 0; m < MEMBERS; m++) {
			double square = pow(members[m][i] - mean[i], 2);

			spread += square;
			misfits[m] += square / n;
		}
	for (int k = 0; k < count; k++)
		for (int m = 0; m < MEMBERS; m++)
			misfits[m] += pow(members[m][get_station(k)] - inbox[FIELDS * k + 1], 2);
	for (int k = 0; k < count; k++)
		mine[0] += pow(mean[get_station(k)] - inbox[FIELDS * k + 1], 2);
	mine[1] = count;
	mine[2] = spread / (MEMBERS * n);
	mine[3] = misfits[0];
	REDUCE("score", mine, all, 4, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0 && all[1] > 0) {
		double wanted = all[0] / all[1] - noise * noise, has = all[2] / ranks;

		inflation[0] = fmin(fmax(inflation[0] * (wanted > has ? 1.02 : 0.98), 1), 1.25);
	}
	BCAST("inflation", inflation, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (rank == 0 && step > 15 && all[1] > 6 && !(all[0] / all[1] < 40))
		fprintf(stderr, "step %d: the mean is off by %g\n", step, sqrt(all[0] / all[1]));
}

/* The leader tells its group which member is the best one, and which one may go. */
static void rank_members(int *best, int *worst)
{
	double all[MEMBERS + 64] = {0};
	int chosen[8] = {0};

	REDUCE("misfits", misfits, all, MEMBERS, MPI_DOUBLE, MPI_SUM, 0, group);
	for (int m = 0; m < MEMBERS; m++) {
		chosen[0] = all[m] < all[chosen[0]] ? m : chosen[0];
		chosen[1] = all[m] > all[chosen[1]] ? m : chosen[1];
	}
	misfits[MEMBERS] = all[chosen[0]];
	BCAST("chosen", chosen, 2, MPI_INT, 0, group);
	*best = abs(chosen[0]) % MEMBERS;
	*worst = abs(chosen[1]) % MEMBERS;
}

/* Leaders offer their group's best member; it is taken if it is better than the own best one. */
static void offer_members(void)
{
	int best, worst, is_taken[8] = {0};

	rank_members(&best, &worst);
	memcpy(slopes, members[best], (size_t)n * sizeof(double));
	GATHER("joined", slopes, n, MPI_DOUBLE, joined, 0, group);
	if (place == 0) {
		int next = (my_group + 1) % groups, last = (my_group + groups - 1) % groups;
		MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

		joined[whole] = misfits[MEMBERS];
		MPI_Irecv(offered, whole + 1, MPI_DOUBLE, last, 25, leaders, &r[0]);
		ISEND("offer", joined, whole + 1, MPI_DOUBLE, next, 25, leaders, &r[1]);
		PASS("offered");
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		is_taken[0] = offered[whole] < misfits[MEMBERS];
	}
	BCAST("taken", is_taken, 1, MPI_INT, 0, group);
	if (!is_taken[0])
		return;
	MPI_Scatter(offered, n, MPI_DOUBLE, slopes, n, MPI_DOUBLE, 0, group);
	/* Not the same twice. */
	for (int i = 0; i < n; i++)
		members[worst][i] = bound_value(slopes[i] + 0.05 * (draw() - 0.5));
}

/* How often each kind of weather is, in all parts. */
static void write_climate(void)
{
	double bins[80] = {0}, *all = make_array(8 * ranks);
	FILE *file;

	for (int i = 0; i < n; i++)
		bins[(int)fmin(fmax((mean[i] + 10) / 3.5, 0), 7)]++;
	ALLGATHER("climate", bins, 8, MPI_DOUBLE, all, MPI_COMM_WORLD);
	file = rank ? NULL : tmpfile();
	if (file) {
		fwrite(all, sizeof(double), (size_t)(8 * ranks), file);
		fclose(file);
	}
	free(all);
}

int main(int argc, char **argv)
{
	double last = 0;
	long turns, observed = 0;

	start_program(argc, argv);
	turns = get_option("steps", 30);
	init_groups();
	n = (int)get_option("size", 250) / 10 + 10;
	whole = n * GROUP;
	for (int m = 0; m < MEMBERS; m++) {
		members[m] = make_part();
		stages[m] = make_part();
	}
	slopes = make_array(whole + 1);
	mean = make_part();
	nature = make_array(whole + 2 * EDGE) + EDGE;
	middle = make_array(whole + 2 * EDGE) + EDGE;
	reports = make_array(FIELDS * n * ranks);
	inbox = make_array(FIELDS * n);
	covariances = make_array(WIDTH * n);
	all_covariances = make_array(WIDTH * n);
	joined = make_array(whole + 1);
	offered = make_array(whole + 1);
	for (int i = 0; i < whole; i++) {
		double x = 6 + 4 * (draw_common() - 0.5);

		nature[i] = x;
		for (int m = 0; m < MEMBERS && i / n == place; m++)
			members[m][i % n] = x + 2 * (draw() - 0.5);
	}
	while (step < turns) {
		int count, inner = 2 + step % 2;

		forecast(inner);
		if (rank == 0)
			advance_nature(inner);
		count = share_reports();
		observed += count;
		find_mean();
		score(count);
		assimilate(count);
		if (step % 3 == 2)
			offer_members();
		if (step % 4 == 3)
			write_climate();
		last = mean[0];
		end_step();
	}
	if (!rank)
		printf("result %.12g %.12g %ld\n", last, inflation[0], observed);
	end_program();
	return 0;
}
