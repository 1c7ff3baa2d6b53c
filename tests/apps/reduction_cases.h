/* SPDX-License-Identifier: Apache-2.0 */
/* The reductions of collective_cases.h, which includes this. */
#ifndef REDUCTION_CASES_H
#define REDUCTION_CASES_H

struct op {
	const char *name;
	MPI_Op mpi;
	int whole_numbers_only;
};

static const struct op ops[] = {{"SUM", MPI_SUM, 0}, {"PROD", MPI_PROD, 0}, {"MAX", MPI_MAX, 0},
	{"MIN", MPI_MIN, 0}, {"LAND", MPI_LAND, 1}, {"LOR", MPI_LOR, 1}, {"LXOR", MPI_LXOR, 1},
	{"BAND", MPI_BAND, 1}, {"BOR", MPI_BOR, 1}, {"BXOR", MPI_BXOR, 1}};
enum { N_OPS = sizeof(ops) / sizeof(ops[0]) };

/* Small enough that neither the sum nor the product over 16 ranks leaves a signed char. */
static double term(int r, long i)
{
	return i % 3 == 2 && r ? r % 2 : (i + r) % np == 0 ? 3 : 1;
}

/* The reduction of ranks 0 to last by op number o. */
static double reduced(int o, int last, long i)
{
	long x = (long)term(0, i);

	if (last == 0)
		return (double)
			x; /* nothing to combine: a copy, not made 0 or 1 by a logical operator */
	if (o >= 4 && o <= 6)
		x = x != 0;
	for (int r = 1; r <= last; r++) {
		long y = (long)term(r, i);

		switch (o) {
		case 0:
			x += y;
			break;
		case 1:
			x *= y;
			break;
		case 2:
			x = y > x ? y : x;
			break;
		case 3:
			x = y < x ? y : x;
			break;
		case 4:
			x = x && y;
			break;
		case 5:
			x = x || y;
			break;
		case 6:
			x = !x != !y;
			break;
		case 7:
			x &= y;
			break;
		case 8:
			x |= y;
			break;
		default:
			x ^= y;
		}
	}
	return (double)x;
}

static void put_terms(void *buf, long len)
{
	for (long i = 0; i < len; i++)
		put(t, buf, i, term(me, i));
}

/* Elements at.. of recv are elements from.. of the reduction of ranks 0 to last. */
static void see_reduced(const char *what, int o, int last, long at, long from, long len)
{
	for (long i = 0; i < len; i++)
		see(what, recv, at + i, reduced(o, last, from + i));
	app_mix((const char *)recv + at * t->size, (size_t)(len * t->size));
}

static void case_reduce(int o)
{
	MPI_Op op = ops[o].mpi;

	put_terms(send, n);
	fill(recv, n + GAP);
	COLL(Reduce, reduce, send, recv, n, t->mpi, op, root, comm);
	if (me == root)
		see_reduced("Reduce", o, np - 1, 0, 0, n);
	see_untouched("Reduce", me == root ? n : 0, GAP);

	if (!reduce_in_place_crashes()) {
		put_terms(recv, n);
		COLL(Reduce, reduce, me == root ? MPI_IN_PLACE : send, recv, n, t->mpi, op, root,
			comm);
		if (me == root)
			see_reduced("Reduce in place", o, np - 1, 0, 0, n);
	}

	fill(recv, n + GAP);
	COLL(Allreduce, allreduce, send, recv, n, t->mpi, op, comm);
	see_reduced("Allreduce", o, np - 1, 0, 0, n);
	see_untouched("Allreduce", n, GAP);

	put_terms(recv, n);
	COLL(Allreduce, allreduce, MPI_IN_PLACE, recv, n, t->mpi, op, comm);
	see_reduced("Allreduce in place", o, np - 1, 0, 0, n);
}

static void case_scan(int o)
{
	MPI_Op op = ops[o].mpi;

	put_terms(send, n);
	fill(recv, n + GAP);
	COLL(Scan, scan, send, recv, n, t->mpi, op, comm);
	see_reduced("Scan", o, me, 0, 0, n);
	see_untouched("Scan", n, GAP);

	put_terms(recv, n);
	COLL(Scan, scan, MPI_IN_PLACE, recv, n, t->mpi, op, comm);
	see_reduced("Scan in place", o, me, 0, 0, n);

	/* What Exscan leaves in rank 0's buffer is undefined. */
	fill(recv, n + GAP);
	COLL(Exscan, exscan, send, recv, n, t->mpi, op, comm);
	if (me)
		see_reduced("Exscan", o, me - 1, 0, 0, n);

	put_terms(recv, n);
	COLL(Exscan, exscan, MPI_IN_PLACE, recv, n, t->mpi, op, comm);
	if (me)
		see_reduced("Exscan in place", o, me - 1, 0, 0, n);
}

static void case_reduce_scatter(int o)
{
	MPI_Op op = ops[o].mpi;
	long mine = 0, total = 0;

	put_terms(send, np * n);
	fill(recv, n + GAP);
	COLL(Reduce_scatter_block, reduce_scatter_block, send, recv, n, t->mpi, op, comm);
	see_reduced("Reduce_scatter_block", o, np - 1, 0, me * n, n);
	see_untouched("Reduce_scatter_block", n, GAP);

	put_terms(recv, np * n);
	COLL(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, recv, n, t->mpi, op, comm);
	see_reduced("Reduce_scatter_block in place", o, np - 1, 0, me * n, n);

	for (int r = 0; r < np; r++) {
		lens[r] = block_len(0, r);
		mine = r == me ? total : mine;
		total += (long)lens[r];
	}
	put_terms(send, total);
	fill(recv, n + GAP);
	COLL(Reduce_scatter, reduce_scatter, send, recv, lens, t->mpi, op, comm);
	see_reduced("Reduce_scatter", o, np - 1, 0, mine, lens[me]);
	see_untouched("Reduce_scatter", lens[me], GAP);

	put_terms(recv, total);
	COLL(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, recv, lens, t->mpi, op, comm);
	see_reduced("Reduce_scatter in place", o, np - 1, 0, mine, lens[me]);
}

#endif
