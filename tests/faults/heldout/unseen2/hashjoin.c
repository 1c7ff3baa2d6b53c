/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders are joined with their customers and summed by region, a batch in each step. Rows are shuffled by the hash of their key, in
 * rounds of bounded buffers. Keys that are much more frequent than others stay where they are, and their customers are copied to all
 * ranks. Each fourth batch is checked against the counts of all keys.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COLUMNS = 2,
	KEYS = 240,
	BUCKETS = 32,
	REGIONS = 12,
	CANDIDATES = 4,
	TOP = 3,
	LIMIT = 150,
	ROOM = 64,
	MOST_ROWS = 40000
};

struct rows {
	int count;
	double *values; /* key and value of each */
};

struct query {
	double skew, threshold, cutoff;
};

static struct rows orders, customers, kept, moved, copied;
static int owners[BUCKETS], is_heavy[KEYS], batch_rows;
static double *outbox, *inbox, *heavy_rows;
static int *heads, *links;

static void add_keyed_row(struct rows *rows, double key, double value)
{
	if (rows->count >= MOST_ROWS)
		return;
	rows->values[COLUMNS * rows->count] = key;
	rows->values[COLUMNS * rows->count + 1] = value;
	rows->count++;
}

/* What came over the wire may be no key. */
static int get_row_key(const struct rows *rows, int row)
{
	double key = rows->values[COLUMNS * row];

	return key >= 0 && key < KEYS ? (int)key : 0;
}

static double get_value(const struct rows *rows, int row)
{
	return rows->values[COLUMNS * row + 1];
}

static unsigned hash_key(int key)
{
	unsigned hash = (unsigned)key * 2654435761U;

	return hash ^ hash >> 15;
}

static int get_bucket(int key)
{
	return (int)(hash_key(key) % BUCKETS);
}

static int get_region(double value)
{
	int region = (int)fmod(fabs(value), REGIONS);

	return region >= 0 && region < REGIONS ? region : 0;
}

/* Customers lie on the rank that read them; their value is their region. Orders are of few keys, fewer with more skew. */
static void read_orders(const struct query *query)
{
	customers.count = orders.count = 0;
	for (int key = rank; key < KEYS; key += ranks)
		if ((key + step) % 7)
			add_keyed_row(&customers, key, (key * 5 + step) % REGIONS);
	for (int i = 0; i < batch_rows; i++) {
		double key = floor(KEYS * pow(draw(), query->skew)), amount = 1 + 99 * draw();

		/* The analyst's filter. */
		if (amount > query->cutoff)
			add_keyed_row(&orders, fmod(key + 31 * step, KEYS), amount);
	}
}

/* Rank 0 has the batch's query. */
static void share_query(struct query *query)
{
	double values[80] = {0};

	if (rank == 0) {
		values[0] = 1.5 + 2 * draw();
		values[1] = query->threshold;
		values[2] = 1 + 30 * draw();
	}
	BCAST("query", values, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	query->skew = fmin(fmax(values[0], 1), 5);
	query->threshold = values[1];
	query->cutoff = values[2];
}

/* How many orders each key has here. */
static void count_keys(const struct rows *rows, double *counts)
{
	memset(counts, 0, KEYS * sizeof(double));
	for (int i = 0; i < rows->count; i++)
		counts[get_row_key(rows, i)]++;
}

static int find_most_frequent(const double *counts)
{
	int most = 0;

	for (int key = 1; key < KEYS; key++)
		most = counts[key] > counts[most] ? key : most;
	return most;
}

/* Each rank names its most frequent keys; a key that has more orders than the threshold over all of them is heavy. */
static int find_heavy_keys(double threshold)
{
	double counts[KEYS], total[KEYS] = {0}, mine[2 * CANDIDATES * 2 + 64] = {0};
	double *all = make_array(2 * CANDIDATES * ranks);
	int found = 0;

	count_keys(&orders, counts);
	for (int i = 0; i < CANDIDATES; i++) {
		int key = find_most_frequent(counts);

		mine[2 * i] = key;
		mine[2 * i + 1] = counts[key];
		counts[key] = -1;
	}
	ALLGATHER("candidates", mine, 2 * CANDIDATES, MPI_DOUBLE, all, MPI_COMM_WORLD);
	for (int i = 0; i < CANDIDATES * ranks; i++) {
		int key = all[2 * i] >= 0 && all[2 * i] < KEYS ? (int)all[2 * i] : 0;

		total[key] += all[2 * i + 1];
	}
	for (int key = 0; key < KEYS; key++) {
		is_heavy[key] = total[key] > threshold * batch_rows * ranks;
		found += is_heavy[key];
	}
	free(all);
	return found;
}

/* The customers of heavy keys to all ranks. */
static void copy_heavy_customers(void)
{
	int counts[ROOM] = {0}, first[ROOM] = {0}, mine[8] = {0}, n = 0, whole = 0;

	copied.count = 0;
	for (int i = 0; i < customers.count; i++) {
		if (!is_heavy[get_row_key(&customers, i)])
			continue;
		memcpy(outbox + n, customers.values + COLUMNS * i, COLUMNS * sizeof(double));
		n += COLUMNS;
	}
	mine[0] = n;
	ALLGATHER("sizes", mine, 1, MPI_INT, counts, MPI_COMM_WORLD);
	for (int k = 0; k < ranks; k++) {
		counts[k] = counts[k] < 0 || counts[k] > COLUMNS * KEYS ? 0 : counts[k];
		first[k] = whole;
		whole += counts[k];
	}
	if (!whole)
		return;
	CALL_("copied", outbox, n, MPI_DOUBLE, MPI_OP_NULL, -1, -1,
		MPI_Allgatherv(
			outbox, c.n, c.type, heavy_rows, counts, first, c.type, MPI_COMM_WORLD));
	for (int i = 0; i < whole / COLUMNS; i++)
		add_keyed_row(&copied, heavy_rows[COLUMNS * i], heavy_rows[COLUMNS * i + 1]);
}

/* Buckets of most orders first, each to the rank with the fewest. */
static void choose_owners(void)
{
	double mine[2 * BUCKETS + 64] = {0}, all[2 * BUCKETS + 64] = {0}, loads[ROOM] = {0};

	for (int i = 0; i < orders.count; i++)
		if (!is_heavy[get_row_key(&orders, i)])
			mine[get_bucket(get_row_key(&orders, i))]++;
	ALLREDUCE("histogram", mine, all, BUCKETS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	PASS("plan");
	for (int turn = 0; turn < BUCKETS; turn++) {
		int most = 0, least = 0;

		for (int i = 1; i < BUCKETS; i++)
			most = all[i] > all[most] ? i : most;
		for (int k = 1; k < ranks; k++)
			least = loads[k] < loads[least] ? k : least;
		owners[most] = least;
		loads[least] += fmax(all[most], 0) + 1;
		all[most] = -HUGE_VAL;
	}
}

/* Fills the outbox with at most LIMIT rows for each rank, beginning at next[k] of what the k-th one gets. Returns whether rows remain. */
static bool pack_rows(const struct rows *rows, int *next, int *counts, int *first)
{
	int seen[ROOM] = {0}, size = 0;
	bool is_more = false;

	for (int k = 0; k < ranks; k++) {
		first[k] = size;
		counts[k] = 0;
		memset(seen, 0, sizeof(seen));
		for (int i = 0; i < rows->count; i++) {
			int key = get_row_key(rows, i);

			if (owners[get_bucket(key)] != k || seen[k]++ < next[k])
				continue;
			if (counts[k] == COLUMNS * LIMIT) {
				is_more = true;
				break;
			}
			memcpy(outbox + size, rows->values + COLUMNS * i, COLUMNS * sizeof(double));
			size += COLUMNS;
			counts[k] += COLUMNS;
		}
		next[k] += counts[k] / COLUMNS;
	}
	return is_more;
}

static void exchange_rows(int *counts, int *first, struct rows *to)
{
	int takes[ROOM] = {0}, into[ROOM] = {0}, size = 0, n = first[ranks - 1] + counts[ranks - 1];

	ALLTOALL("counts", counts, 1, MPI_INT, takes, MPI_COMM_WORLD);
	for (int k = 0; k < ranks; k++) {
		takes[k] = takes[k] < 0 || takes[k] > COLUMNS * LIMIT ? 0 : takes[k];
		into[k] = size;
		size += takes[k];
	}
	CALL_("rows", outbox, n, MPI_DOUBLE, MPI_OP_NULL, -1, -1,
		MPI_Alltoallv(
			outbox, counts, first, c.type, inbox, takes, into, c.type, MPI_COMM_WORLD));
	for (int i = 0; i < size / COLUMNS; i++)
		add_keyed_row(to, inbox[COLUMNS * i], inbox[COLUMNS * i + 1]);
}

/* Each row to the owner of its key's bucket, in as many rounds as the fullest rank needs. */
static int shuffle_rows(const struct rows *rows, struct rows *to)
{
	int next[ROOM] = {0}, counts[ROOM], first[ROOM], rounds = 0;
	double left[8] = {0}, most[8] = {0};

	to->count = 0;
	do {
		left[0] = pack_rows(rows, next, counts, first);
		exchange_rows(counts, first, to);
		PASS("shuffle");
		left[0] += 1;
		ALLREDUCE("left", left, most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	} while (++rounds < 60 && most[0] > 1);
	return rounds;
}

/* Orders of heavy keys stay here. */
static void divide_orders(struct rows *heavy, struct rows *rest)
{
	heavy->count = rest->count = 0;
	for (int i = 0; i < orders.count; i++) {
		int key = get_row_key(&orders, i);

		add_keyed_row(is_heavy[key] ? heavy : rest, key, get_value(&orders, i));
	}
}

static void build_table(const struct rows *rows)
{
	memset(heads, -1, BUCKETS * 8 * sizeof(int));
	for (int i = 0; i < rows->count; i++) {
		int *head = &heads[hash_key(get_row_key(rows, i)) % (BUCKETS * 8)];

		links[i] = *head;
		*head = i;
	}
}

/* Adds what the orders of known customers come to, by region; the second half: how many. */
static void join_rows(const struct rows *build, const struct rows *probe, double *groups)
{
	build_table(build);
	for (int i = 0; i < probe->count; i++) {
		int key = get_row_key(probe, i), row = heads[hash_key(key) % (BUCKETS * 8)];

		for (; row >= 0; row = links[row]) {
			int region = get_region(get_value(build, row));

			if (get_row_key(build, row) != key)
				continue;
			groups[region] += get_value(probe, i);
			groups[REGIONS + region]++;
		}
	}
}

/* The best orders of each rank, for the report. */
static double gather_top(const struct rows *rows)
{
	double mine[80] = {0}, *all = make_array(TOP * ranks), best = 0;

	for (int i = 0; i < rows->count; i++) {
		double value = get_value(rows, i);

		for (int k = 0; k < TOP; k++)
			if (value > mine[k]) {
				double other = mine[k];

				mine[k] = value;
				value = other;
			}
	}
	GATHER("top", mine, TOP, MPI_DOUBLE, all, 0, MPI_COMM_WORLD);
	for (int i = 0; i < TOP * ranks; i++)
		best = fmax(best, all[i]);
	free(all);
	return best;
}

/* How full the fullest rank was; more keys are heavy if it had more than its share. */
static void tune_threshold(const struct rows *rows, struct query *query)
{
	double mine[8] = {0}, most[8] = {0};

	mine[0] = rows->count;
	ALLREDUCE("fullest", mine, most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	query->threshold *= most[0] > 0.7 * batch_rows ? 0.9 : 1.1;
	query->threshold = fmin(fmax(query->threshold, 0.01), 0.5);
}

/* The number of joined pairs follows from how often each key is on both sides. Returns it. */
static double audit_pairs(void)
{
	double *mine = make_array(2 * KEYS), *all = make_array(2 * KEYS), pairs = 0;

	count_keys(&orders, mine);
	count_keys(&customers, mine + KEYS);
	ALLREDUCE("audit", mine, all, 2 * KEYS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int key = 0; key < KEYS; key++)
		pairs += all[key] * all[KEYS + key];
	free(mine);
	free(all);
	return pairs;
}

/* On rank 0: the sum over all regions and the pairs. */
static void sum_groups(double *groups, double *revenue, double *pairs)
{
	double all[4 * REGIONS + 64] = {0};

	REDUCE("groups", groups, all, 2 * REGIONS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	*revenue = *pairs = 0;
	for (int i = 0; i < REGIONS; i++) {
		*revenue += all[i];
		*pairs += all[REGIONS + i];
	}
}

/* The batch's orders are numbered over all ranks, in the order of the ranks. Returns the last number. */
static double number_orders(double *next_number)
{
	double mine[8] = {0}, upto[8] = {0};

	mine[0] = orders.count;
	SCAN("numbers", mine, upto, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	*next_number += upto[0];
	return upto[0];
}

static double *make_rows(struct rows *rows)
{
	rows->values = make_array(COLUMNS * MOST_ROWS);
	return rows->values;
}

static void init_rows(void)
{
	struct rows *all[] = {&orders, &customers, &kept, &moved, &copied};

	for (int i = 0; i < 5; i++)
		if (!make_rows(all[i]))
			MPI_Abort(MPI_COMM_WORLD, 1);
	outbox = make_array(COLUMNS * MOST_ROWS);
	inbox = make_array(COLUMNS * MOST_ROWS);
	heavy_rows = make_array(COLUMNS * KEYS * ranks);
	heads = calloc(BUCKETS * 8, sizeof(int));
	links = calloc(MOST_ROWS, sizeof(int));
}

static long run_batch(struct query *query, double *revenue, double *pairs)
{
	static struct rows rest, builds;
	double groups[4 * REGIONS + 64] = {0};
	int rounds;

	if (!rest.values) {
		make_rows(&rest);
		make_rows(&builds);
	}
	if (find_heavy_keys(query->threshold))
		copy_heavy_customers();
	else
		copied.count = 0;
	divide_orders(&kept, &rest);
	choose_owners();
	rounds = shuffle_rows(&customers, &builds);
	rounds += shuffle_rows(&rest, &moved);
	PASS("join");
	join_rows(&copied, &kept, groups);
	/* Customers of heavy keys were moved as well, but no order asks for them there. */
	join_rows(&builds, &moved, groups);
	sum_groups(groups, revenue, pairs);
	return rounds;
}

int main(int argc, char **argv)
{
	struct query query = {2, 0.08, 1};
	double revenue = 0, pairs = 0, best = 0, last_number = 0;
	long steps, rounds = 0;

	start_program(argc, argv);
	steps = get_option("steps", 30);
	batch_rows = (int)get_option("size", 250) * 10;
	init_rows();
	while (step < steps) {
		share_query(&query);
		read_orders(&query);
		number_orders(&last_number);
		rounds += run_batch(&query, &revenue, &pairs);
		tune_threshold(&moved, &query);
		if (step % 3 == 1)
			best = gather_top(&moved);
		if (step % 4 == 3) {
			double wanted = audit_pairs();

			if (rank == 0 && pairs != wanted)
				fprintf(stderr, "step %d: %g pairs, %g are right\n", step, pairs,
					wanted);
		}
		end_step();
	}
	if (!rank)
		printf("result %.12g %.12g %.12g %.12g %.12g %ld\n", revenue, pairs, best,
			last_number, query.threshold, rounds);
	end_program();
	return 0;
}
