/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles that MPI gives to another thread as soon as they are free: mpi_reuse KIND [TURNS]. Eight threads make, use and end
 * what KIND says, each with a communicator, a number of elements and values of its own: nothing that a thread does may look
 * like another one's. With libmpilate.so after the recorder (late_return.c) a handle is always another thread's before the call
 * that freed it has come back.
 *
 *	persistent wait test waitall testall waitany testany waitsome testsome collective cancel
 *	mixed        as wait; of odd threads the messages are short
 *	comm window file type op group
 */
#include "app.h"
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 8, LEN = 512, SHORT = 8 };

static const char *kind;
static int turns = 40;
static MPI_Comm own[THREADS];
static unsigned long checks[THREADS];

struct worker {
	int id, peer, count;
	/* MPICH 4.0 takes a window to begin at a multiple of 16, whatever address it is given. */
	_Alignas(64) float in[LEN], out[LEN];
};

#define SEE(ok, ...)                                               \
	do {                                                       \
		if (!(ok))                                         \
			app_fail(__FILE__, __LINE__, __VA_ARGS__); \
		checks[w->id]++;                                   \
	} while (0)

/* Until it is done: the real library may refuse. */
#define DO(call)                                                            \
	do {                                                                \
		int rc_, tries_ = 0;                                        \
		do                                                          \
			rc_ = call;                                         \
		while (rc_ != MPI_SUCCESS && ++tries_ < 100);               \
		if (rc_ != MPI_SUCCESS)                                     \
			app_fail(__FILE__, __LINE__, "%s: %d", #call, rc_); \
	} while (0)

static int is_kind(const char *name)
{
	return strcmp(kind, name) == 0;
}

/* What a thread sends is all one number, which no other thread sends. */
static float value_of(const struct worker *w, int rank, int turn)
{
	return (float)(1000 * (w->id + 1) + 10 * (turn % 50) + rank);
}

static void fill(struct worker *w, int turn)
{
	for (int i = 0; i < w->count; i++) {
		w->in[i] = value_of(w, app_rank, turn);
		w->out[i] = -1;
	}
}

static void compare(struct worker *w, float want)
{
	for (int i = 0; i < w->count; i++)
		SEE(w->out[i] == want, "thread %d: [%d] is %g, not %g", w->id, i, w->out[i], want);
}

static float sum_of(const struct worker *w, int turn)
{
	float sum = 0;

	for (int i = 0; i < app_size; i++)
		sum += value_of(w, i, turn);
	return sum;
}

/* ---- requests ---- */

static void complete_any(MPI_Request *r, int waits)
{
	for (int left = 2; left;) {
		int which = MPI_UNDEFINED, flag = 1;

		if (waits)
			DO(MPI_Waitany(2, r, &which, MPI_STATUS_IGNORE));
		else
			DO(MPI_Testany(2, r, &which, &flag, MPI_STATUS_IGNORE));
		left -= flag && which != MPI_UNDEFINED;
	}
}

static void complete_some(MPI_Request *r, int waits)
{
	for (int left = 2; left;) {
		int n = 0, which[2];

		if (waits)
			DO(MPI_Waitsome(2, r, &n, which, MPI_STATUSES_IGNORE));
		else
			DO(MPI_Testsome(2, r, &n, which, MPI_STATUSES_IGNORE));
		left -= n == MPI_UNDEFINED ? 0 : n;
	}
}

static void complete(MPI_Request *r)
{
	int flag = 0;

	if (is_kind("waitall")) {
		DO(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
	} else if (is_kind("testall")) {
		while (!flag)
			DO(MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE));
	} else if (is_kind("waitany") || is_kind("testany")) {
		complete_any(r, is_kind("waitany"));
	} else if (is_kind("waitsome") || is_kind("testsome")) {
		complete_some(r, is_kind("waitsome"));
	} else if (is_kind("test")) {
		for (int i = 0; i < 2; i++)
			for (flag = 0; !flag;)
				DO(MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE));
	} else {
		for (int i = 0; i < 2; i++)
			DO(MPI_Wait(&r[i], MPI_STATUS_IGNORE));
	}
}

static void exchange(struct worker *w, int turn)
{
	MPI_Request r[2];

	fill(w, turn);
	MPI_Irecv(w->out, w->count, MPI_FLOAT, w->peer, 7, own[w->id], &r[0]);
	MPI_Isend(w->in, w->count, MPI_FLOAT, w->peer, 7, own[w->id], &r[1]);
	complete(r);
	compare(w, value_of(w, w->peer, turn));
}

static void persistent(struct worker *w, int turn)
{
	MPI_Request r[2];

	MPI_Recv_init(w->out, w->count, MPI_FLOAT, w->peer, 7, own[w->id], &r[0]);
	MPI_Send_init(w->in, w->count, MPI_FLOAT, w->peer, 7, own[w->id], &r[1]);
	for (int i = 0; i < 2; i++) {
		fill(w, turn + i);
		MPI_Startall(2, r);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		compare(w, value_of(w, w->peer, turn + i));
	}
	DO(MPI_Request_free(&r[1]));
	DO(MPI_Request_free(&r[0]));
}

static void collective(struct worker *w, int turn)
{
	MPI_Request r;

	fill(w, turn);
	MPI_Iallreduce(w->in, w->out, w->count, MPI_FLOAT, MPI_SUM, own[w->id], &r);
	DO(MPI_Wait(&r, MPI_STATUS_IGNORE));
	compare(w, sum_of(w, turn));
}

/* A receive of a message that no rank sends. */
static void cancel(struct worker *w, int turn)
{
	MPI_Request r;

	fill(w, turn);
	MPI_Irecv(w->out, w->count, MPI_FLOAT, w->peer, 8, own[w->id], &r);
	MPI_Cancel(&r);
	DO(MPI_Wait(&r, MPI_STATUS_IGNORE));
	exchange(w, turn);
}

/* ---- what other handles stand for ---- */

static void reduce_on(struct worker *w, MPI_Comm comm, MPI_Op op, int turn)
{
	fill(w, turn);
	MPI_Allreduce(w->in, w->out, w->count, MPI_FLOAT, op, comm);
}

/* Freed, or not yet: where that is refused the communicator is what it was. */
static void free_comm(struct worker *w, MPI_Comm *comm, int turn)
{
	while (MPI_Comm_free(comm) != MPI_SUCCESS)
		reduce_on(w, *comm, MPI_SUM, turn);
}

static void communicator(struct worker *w, int turn)
{
	MPI_Comm c;

	MPI_Comm_dup(own[w->id], &c);
	reduce_on(w, c, MPI_SUM, turn);
	compare(w, sum_of(w, turn));
	free_comm(w, &c, turn);
}

/* Threads with an even number take all ranks, the others this one alone. */
static void group(struct worker *w, int turn)
{
	MPI_Group all, some;
	MPI_Comm c;

	MPI_Comm_group(own[w->id], &all);
	if (w->id % 2)
		MPI_Group_incl(all, 1, &app_rank, &some);
	else
		MPI_Group_union(all, MPI_GROUP_EMPTY, &some);
	MPI_Comm_create_group(own[w->id], some, 3, &c);
	DO(MPI_Group_free(&some));
	DO(MPI_Group_free(&all));
	reduce_on(w, c, MPI_SUM, turn);
	compare(w, w->id % 2 ? value_of(w, app_rank, turn) : sum_of(w, turn));
	free_comm(w, &c, turn);
}

static void window(struct worker *w, int turn)
{
	MPI_Win win;

	fill(w, turn);
	MPI_Win_create(w->in, sizeof(w->in), sizeof(float), MPI_INFO_NULL, own[w->id], &win);
	MPI_Win_fence(0, win);
	MPI_Get(w->out, w->count, MPI_FLOAT, w->peer, 0, w->count, MPI_FLOAT, win);
	MPI_Win_fence(0, win);
	compare(w, value_of(w, w->peer, turn));
	while (MPI_Win_free(&win) != MPI_SUCCESS)
		MPI_Win_fence(0, win);
}

static void file(struct worker *w, int turn)
{
	MPI_Status status;
	char path[64];
	MPI_File f;

	fill(w, turn);
	snprintf(path, sizeof(path), "reuse.%d", w->id);
	MPI_File_open(own[w->id], path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	MPI_File_write_at(
		f, (MPI_Offset)(app_rank * sizeof(w->in)), w->in, w->count, MPI_FLOAT, &status);
	MPI_File_read_at(
		f, (MPI_Offset)(app_rank * sizeof(w->in)), w->out, w->count, MPI_FLOAT, &status);
	compare(w, value_of(w, app_rank, turn));
	while (MPI_File_close(&f) != MPI_SUCCESS)
		MPI_File_read_at(f, 0, w->out, w->count, MPI_FLOAT, &status);
}

static void datatype(struct worker *w, int turn)
{
	MPI_Datatype t;

	fill(w, turn);
	MPI_Type_contiguous(w->count, MPI_FLOAT, &t);
	MPI_Type_commit(&t);
	MPI_Sendrecv(
		w->in, 1, t, w->peer, 7, w->out, 1, t, w->peer, 7, own[w->id], MPI_STATUS_IGNORE);
	compare(w, value_of(w, w->peer, turn));
	DO(MPI_Type_free(&t));
}

static void add_floats(void *in, void *inout, int *n, MPI_Datatype *t)
{
	(void)t;
	for (int i = 0; i < *n; i++)
		((float *)inout)[i] += ((const float *)in)[i];
}

static void operation(struct worker *w, int turn)
{
	MPI_Op op;

	MPI_Op_create(add_floats, 1, &op);
	reduce_on(w, own[w->id], op, turn);
	compare(w, sum_of(w, turn));
	DO(MPI_Op_free(&op));
}

/* ---- the program ---- */

static const struct {
	const char *name;
	void (*turn)(struct worker *w, int turn);
} kinds[] = {{"persistent", persistent}, {"wait", exchange}, {"test", exchange},
	{"waitall", exchange}, {"testall", exchange}, {"waitany", exchange}, {"testany", exchange},
	{"waitsome", exchange}, {"testsome", exchange}, {"mixed", exchange},
	{"collective", collective}, {"cancel", cancel}, {"comm", communicator}, {"window", window},
	{"file", file}, {"type", datatype}, {"op", operation}, {"group", group}};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static void *work(void *arg)
{
	struct worker *w = arg;
	int k = 0;

	while (k < KINDS && !is_kind(kinds[k].name))
		k++;
	SEE(k < KINDS, "no kind %s", kind);
	for (int turn = 0; turn < turns; turn++)
		kinds[k].turn(w, turn);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker worker[THREADS];
	pthread_t thread[THREADS];
	int needed, provided;

	app_set_name(argv);
	kind = argc > 1 ? argv[1] : "persistent";
	turns = argc > 2 ? atoi(argv[2]) : turns;
	needed = is_kind("window") ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
	MPI_Init_thread(&argc, &argv, needed, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &app_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &app_size);
	if (provided < needed) {
		app_say("skipped: this MPI has no such threads");
		MPI_Finalize();
		return APP_SKIP;
	}
	for (int i = 0; i < THREADS; i++) {
		worker[i].id = i;
		worker[i].peer = (app_rank + 1) % app_size;
		worker[i].count = is_kind("mixed") && i % 2 ? SHORT + i : LEN - 10 * i;
		MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, &worker[i]))
			app_fail(__FILE__, __LINE__, "no thread");
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		app_checks += checks[i];
		MPI_Comm_free(&own[i]);
	}
	app_digest = 0;
	return app_done();
}
