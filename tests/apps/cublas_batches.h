/* SPDX-License-Identifier: Apache-2.0 */
/* cublas_calls.c: groups of batches, factorisations, and triangles whose storage is not described. */
#ifndef PROBE_TESTS_APPS_CUBLAS_BATCHES_H
#define PROBE_TESTS_APPS_CUBLAS_BATCHES_H

/* ---- groups of batches ---- */

#define GROUPS 3
#define GROUP_BATCH \
	2 /* matrices of a group at most; ARRAY_ROOM addresses are enough for all groups */

/* Arrays of int, or of int64_t. */
union integers {
	int narrow[GROUPS];
	int64_t wide[GROUPS];
};

static void *put_integers(union integers *to, const int64_t *from)
{
	for (int g = 0; g < GROUPS; g++)
		if (row->wide)
			to->wide[g] = from[g];
		else
			to->narrow[g] = (int)from[g];
	return to;
}

/* One of the three: a place for each group, and all addresses one after the other. */
struct group_matrix {
	struct place at[GROUPS];
	int64_t rows[GROUPS], cols[GROUPS], ld[GROUPS];
	union integers lds;
};

static void make_group_matrix(struct group_matrix *m, int type, const int64_t *sizes, int fill)
{
	for (int g = 0; g < (int)x.batch; g++) {
		int64_t rows = m->rows[g], cols = m->cols[g];

		m->ld[g] = (rows ? rows : 1) + below(3);
		m->at[g] = make(type, 3, sizes[g], rows, cols, m->ld[g] * cols + below(5), 1,
			m->ld[g], fill);
	}
}

static void *addresses_of_groups(struct group_matrix *m, int which)
{
	struct place all = m->at[0];
	char *page, **array;
	int n = 0;

	/* Of the first group, and of the others after. */
	page = (char *)(uintptr_t)addresses(&all, which);
	array = (char **)(page + 4096);
	for (int g = 0; g < (int)x.batch; g++)
		for (long b = 0; b < m->at[g].b; b++)
			array[n++] = element_of(&m->at[g], b, 0, 0);
	return page;
}

static void expect_groups(const char *io, int index, const struct group_matrix *m)
{
	const struct type *t = &types[m->at[0].type];
	struct matrix_sums none = MATRIX_SUMS_NONE;
	long n = 0;

	for (int g = 0; g < (int)x.batch; g++)
		n += count_place(&m->at[g]);
	fprintf(out, "%s %s %s %d %s ", row->name, op, io, index, t->name);
	if (x.batch == 1)
		fprintf(out, "%ldx%ldx%ld", m->at[0].b, m->at[0].r, m->at[0].c);
	else
		fprintf(out, "unknown");
	fprintf(out, " %ld %ld", n, n * t->bytes);
	print_matrix_sums(out, &none, 0);
}

/* One for each group at `at`, at an address a page too high. True: one of them is not 0, or they are on the device. */
static int put_group_factors(int type, char *at)
{
	int any = on_device;

	for (int g = 0; g < (int)x.batch; g++) {
		char *to = at + (on_device ? 4096 : 0) + g * types[type].bytes, whole[16];
		int set = plain || below(3);

		put_factor(type, whole, set);
		memcpy(to, whole, (size_t)types[type].bytes);
		any |= set;
	}
	return any;
}

static void try_grouped(const struct row *r)
{
	static struct group_matrix a, b, c;
	union integers ms, ns, ks, counts;
	int64_t m[GROUPS] = {0}, n[GROUPS] = {0}, k[GROUPS] = {0}, sizes[GROUPS] = {0};
	int tas[GROUPS] = {0}, tbs[GROUPS] = {0};
	int reads, adds, idle = 1, index = 0;

	begin_blas_call(r, 0);
	arrays = 1;
	x.batch = plain ? 2 : 1 + below(GROUPS);
	for (int g = 0; g < (int)x.batch; g++) {
		m[g] = any_size();
		n[g] = any_size();
		k[g] = any_size();
		tas[g] = (int)below(3);
		tbs[g] = (int)below(3);
		sizes[g] = plain ? 1 : below(GROUP_BATCH + 1);
		a.rows[g] = tas[g] ? k[g] : m[g];
		a.cols[g] = tas[g] ? m[g] : k[g];
		b.rows[g] = tbs[g] ? n[g] : k[g];
		b.cols[g] = tbs[g] ? k[g] : n[g];
		c.rows[g] = m[g];
		c.cols[g] = n[g];
		idle &= m[g] == 0 || n[g] == 0 || sizes[g] == 0;
	}
	reads = put_group_factors(row->alpha < 0 ? x.ft : row->alpha, x.alpha);
	adds = put_group_factors(row->beta < 0 ? x.ft : row->beta, x.beta);
	make_group_matrix(&a, x.at, sizes, 1);
	make_group_matrix(&b, x.bt, sizes, 1);
	make_group_matrix(&c, x.ct, sizes, 1);
	x.tas = tas;
	x.tbs = tbs;
	x.ms = put_integers(&ms, m);
	x.ns = put_integers(&ns, n);
	x.ks = put_integers(&ks, k);
	x.ldas = put_integers(&a.lds, a.ld);
	x.ldbs = put_integers(&b.lds, b.ld);
	x.ldcs = put_integers(&c.lds, c.ld);
	x.sizes = put_integers(&counts, sizes);
	x.a = addresses_of_groups(&a, 0);
	x.b = addresses_of_groups(&b, 1);
	x.c = addresses_of_groups(&c, 2);
	if (!idle && reads) {
		expect_groups("in", index++, &a);
		expect_groups("in", index++, &b);
	}
	if (!idle && adds)
		expect_groups("in", index, &c);
	call_with_results(NULL, NULL);
	if (!idle)
		expect_groups("out", 0, &c);
	for (int g = 0; g < (int)x.batch; g++) {
		add(&c.at[g]);
		release(&a.at[g], &b.at[g], &c.at[g]);
	}
}

/* ---- factorisations ---- */

/* Pivots, and what the library says of each matrix of a batch. */
static int pivots[4 * 32], infos[4], more_infos[4];

static void begin_factors(const struct row *r, int matrices)
{
	begin_blas_call(r, matrices);
	memset(pivots, 0, sizeof(pivots));
	x.pivots = pivots;
	x.info = infos;
	x.infos = below(2) ? more_infos : NULL;
	x.ta = 0;
}

static void add_integers(void)
{
	for (int i = 0; i < 4 * 32 && !refused; i++)
		total += pivots[i] * (i % 7 + 1);
	for (int i = 0; i < 4 && !refused; i++)
		total += infos[i] + more_infos[i];
}

/* Something to divide by. */
static void strengthen(struct place *p)
{
	for (long b = 0; !refused && b < p->b; b++)
		for (long i = 0; i < p->r && i < p->c; i++)
			put_part(types[p->type].part, element_of(p, b, i, i), 40 + (double)i);
}

static void try_getrf(const struct row *r)
{
	begin_factors(r, 1);

	struct place c = matrix(x.ct, x.n, x.n, &x.ldc, &x.sc, 1);

	if (!plain && !below(4))
		x.pivots = NULL;
	strengthen(&c);
	x.c = given(&c, 2);
	if (!is_idle(&c))
		expect_input(&c);
	call_with_results(&c, NULL);
	add_integers();
	release(&c, NULL, NULL);
}

/* What is solved, or inverted, by A: with columns of its own, or as many as A has. */
static void solve_by_a(const struct row *r, int solves)
{
	begin_factors(r, 2);
	if (solves)
		x.ta = (int)below(3);
	for (int i = 0; i < 4 * 32; i++)
		pivots[i] = x.n < 32 && x.n ? 1 + i % (int)x.n : 1;

	int64_t columns = solves ? x.k : x.n;
	struct place a = matrix(x.at, x.n, x.n, &x.lda, &x.sa, 1),
		     c = matrix(x.ct, x.n, columns, &x.ldc, &x.sc, solves);

	strengthen(&a);
	x.a = given(&a, 0);
	x.c = given(&c, 2);
	if (!is_idle(&c))
		expect_input(&a);
	if (!is_idle(&c) && solves)
		expect_input(&c);
	call_with_results(&c, NULL);
	add_integers();
	release(&a, &c, NULL);
}

static void try_getri(const struct row *r)
{
	solve_by_a(r, 0);
}

static void try_getrs(const struct row *r)
{
	solve_by_a(r, 1);
}

static void try_geqrf(const struct row *r)
{
	begin_factors(r, 1);

	struct place c = matrix(x.ct, x.m, x.n, &x.ldc, &x.sc, 1),
		     tau = make(x.ct, 0, x.batch, x.n, 1, x.n + 1, 1, 1, 1);

	x.c = given(&c, 2);
	x.tau = (void *)(uintptr_t)addresses(&tau, 3);
	if (!is_idle(&c))
		expect_input(&c);
	call_with_results(&c, NULL);
	add_integers();
	release(&c, NULL, NULL);
	release_place(&tau);
}

static void try_gels(const struct row *r)
{
	begin_factors(r, 2);
	if (x.m < x.n)
		x.m = x.n;

	struct place a = matrix(x.at, x.m, x.n, &x.lda, &x.sa, 1),
		     c = matrix(x.ct, x.m, x.k, &x.ldc, &x.sc, 1);

	strengthen(&a);
	x.a = given(&a, 0);
	x.c = given(&c, 2);
	if (!is_idle(&a)) {
		expect_input(&a);
		expect_input(&c);
	}
	call_with_results(&a, &c);
	add_integers();
	release(&a, &c, NULL);
}

/* ---- triangles and bands, whose storage is not described ---- */

static int64_t packed_size(void)
{
	return x.n * (x.n + 1) / 2;
}

/* A vector that is there, and of which no row speaks. */
static struct place unseen(int type, int64_t n)
{
	return make(type, 1, 1, n, 1, 1, 1, 1, 1);
}

static void try_tpttr(const struct row *r)
{
	begin_blas_call(r, 1);

	struct place c = matrix(x.ct, x.n, x.n, &x.ldc, &x.sc, 1), a;

	a = unseen(x.at, refused ? 1 : packed_size());
	c.half = 1;
	x.a = a.base;
	x.c = c.base;
	if (refused || is_idle(&c))
		expect_call();
	call_with_results(&c, NULL);
	release(&c, NULL, NULL);
	release_place(&a);
}

static void try_trttp(const struct row *r)
{
	begin_blas_call(r, 1);

	struct place a = matrix(x.at, x.n, x.n, &x.lda, &x.sa, 1), c;

	c = unseen(x.ct, refused ? 1 : packed_size());
	a.half = 1;
	x.a = a.base;
	x.c = c.base;
	expect_input(&a);
	call_with_results(NULL, NULL);
	if (!refused)
		add(&c);
	release(&a, NULL, NULL);
	release_place(&c);
}

#endif
