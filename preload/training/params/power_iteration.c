/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/power_iteration.h"

#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/hash.h"
#include "stats/sum.h"
#include "training/params/derive.h"

/*
 * Two numbers at once, as SSE2 and NEON have. Rows are padded with zeros to whole groups of
 * LANES.
 */
typedef double pair __attribute__((vector_size(16)));
#define LANES 8
#define LOOK_EVERY (1u << 20) /* elements between two readings of the clock */

struct iteration {
	double *v, *next, *row; /* n numbers each, then zeros */
	uint64_t n, lanes;
	double squares; /* sum over all elements, after the first pass */
};

static double compute_row_product(const double *a, const double *b, uint64_t n)
{
	pair s[4] = {{0}}, x, y;

	for (uint64_t i = 0; i < n; i += LANES)
		for (unsigned k = 0; k < 4; k++) {
			memcpy(&x, a + i + 2 * k, sizeof(x));
			memcpy(&y, b + i + 2 * k, sizeof(y));
			s[k] += x * y;
		}
	s[0] += s[1] + (s[2] + s[3]);
	return s[0][0] + s[0][1];
}

/* Computes to += factor * a. */
static void add_row(double *to, const double *a, double factor, uint64_t n)
{
	pair f = {factor, factor}, x, y;

	for (uint64_t i = 0; i < n; i += 2) {
		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, to + i, sizeof(y));
		y += f * x;
		memcpy(to + i, &y, sizeof(y));
	}
}

/* Computes next = W'Wv. Returns false if it took too long. */
static bool compute_next_vector(struct iteration *it, const unsigned char *p, uint64_t m,
	enum dtype dt, bool first, uint64_t until)
{
	size_t bytes = (size_t)it->n * get_dtype_info(dt)->size;
	uint64_t since = 0;

	memset(it->next, 0, it->lanes * sizeof(*it->next));
	for (uint64_t i = 0; i < m; i++, p += bytes) {
		derive_load(it->row, p, (unsigned)it->n, dt);
		if (first)
			it->squares += compute_row_product(it->row, it->row, it->lanes);
		add_row(it->next, it->row, compute_row_product(it->row, it->v, it->lanes),
			it->lanes);
		since += it->n;
		if (until && since >= LOOK_EVERY) {
			since = 0;
			if (clock_ns(CLOCK_THREAD_CPUTIME_ID) >= until)
				return false;
		}
	}
	return true;
}

/* Returns memory for three rows, reused by the next call. */
static double *get_scratch(uint64_t lanes)
{
	static double *at;
	static size_t have;
	size_t want = 3 * (size_t)lanes * sizeof(*at);
	void *more;

	if (want <= have)
		return at;
	more = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (more == MAP_FAILED)
		return NULL;
	if (at)
		munmap(at, have);
	at = more;
	have = want;
	return at;
}

/* Sets v to a fixed vector of length 1 with components of both signs. */
static void start_vector(struct iteration *it)
{
	double norm;

	for (uint64_t i = 0; i < it->lanes; i++)
		it->v[i] = i < it->n ? (double)(hash_mix(i + 1) >> 11) * 0x1p-52 - 1 : 0;
	norm = stats_sqrt(compute_row_product(it->v, it->v, it->lanes));
	for (uint64_t i = 0; i < it->n; i++)
		it->v[i] /= norm;
}

/* Relative difference of two successive estimates below which the iteration has converged. */
#define AT_REST 1e-12

static bool compute_iterations(struct iteration *it, const unsigned char *p, uint64_t m,
	enum dtype dt, unsigned iterations, uint64_t until, struct stable_rank *out)
{
	double norm = 0, before;

	for (unsigned k = 0; k < iterations; k++) {
		if (!compute_next_vector(it, p, m, dt, k == 0, until))
			return false;
		before = norm;
		norm = stats_sqrt(compute_row_product(it->next, it->next, it->lanes));
		if (!(norm > 0) || norm - norm != 0)
			break;
		for (uint64_t i = 0; i < it->n; i++)
			it->v[i] = it->next[i] / norm;
		if (norm - before <= AT_REST * norm && before - norm <= AT_REST * norm)
			break;
	}
	out->eigenvalue = norm;
	out->rank = it->squares / norm;
	return true;
}

bool stable_rank_compute(const void *p, uint64_t m, uint64_t n, enum dtype dt, unsigned iterations,
	uint64_t until, struct stable_rank *out)
{
	struct iteration it = {.n = n, .lanes = (n + LANES - 1) / LANES * LANES};
	struct stats_fenv fenv;
	bool done;

	if (!m || !n || n > STABLE_RANK_COLUMNS)
		return false;
	it.v = get_scratch(it.lanes);
	if (!it.v)
		return false;
	it.next = it.v + it.lanes;
	it.row = it.next + it.lanes;
	stats_fenv_set(&fenv);
	memset(it.row, 0, it.lanes * sizeof(*it.row));
	start_vector(&it);
	done = compute_iterations(&it, p, m, dt, iterations, until, out);
	stats_fenv_reset(&fenv);
	return done;
}
