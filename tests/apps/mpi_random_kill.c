/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth about a run that is killed: mpi_random_kill LOG SEED [CALLS [MICROSECONDS]] makes a random mix of
 * blocking and non-blocking calls until it is killed (or has made CALLS), with such a pause now and then, and counts in the file LOG.<rank>, which is mapped into
 * memory and thus survives kill -9, how often each kind of call has been entered and left. Whatever records calls
 * must afterwards have at least those that were left, and at most those that were entered.
 *
 * mpi_random_kill --print FILE...   prints such files: kind, entered, left; one line each. Needs no mpirun.
 *
 * All ranks draw the same numbers, so all make the same calls. A message counts as one MPI_Isend, one MPI_Irecv, and
 * the MPI_Waitall; a non-blocking call is left when it returns, not when it completes.
 */
#include "app.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum kind {
	ALLREDUCE,
	BCAST,
	ALLGATHER,
	REDUCE_SCATTER_BLOCK,
	BARRIER,
	SENDRECV,
	IALLREDUCE,
	ISEND,
	IRECV,
	WAIT,
	WAITALL,
	N_KINDS
};

static const char *const names[N_KINDS] = {"MPI_Allreduce", "MPI_Bcast", "MPI_Allgather",
	"MPI_Reduce_scatter_block", "MPI_Barrier", "MPI_Sendrecv", "MPI_Iallreduce", "MPI_Isend",
	"MPI_Irecv", "MPI_Wait", "MPI_Waitall"};

struct log {
	char magic[8];
	_Atomic uint64_t entered[N_KINDS], left[N_KINDS];
};

static struct log *log_map;

#define COUNTED(kind, call)                                   \
	do {                                                  \
		atomic_fetch_add(&log_map->entered[kind], 1); \
		call;                                         \
		atomic_fetch_add(&log_map->left[kind], 1);    \
	} while (0)

static struct log *map_log(const char *path, int make)
{
	int fd = open(path, make ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY, 0644);
	struct log *l = MAP_FAILED;

	if (fd >= 0 && (!make || !posix_fallocate(fd, 0, sizeof(*l))) &&
		lseek(fd, 0, SEEK_END) >= (off_t)sizeof(*l))
		l = mmap(NULL, sizeof(*l), make ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
			fd, 0);
	if (fd >= 0)
		close(fd);
	if (l == MAP_FAILED) {
		perror(path);
		return NULL;
	}
	if (make)
		memcpy(l->magic, "CALLLOG", 8);
	return l;
}

static int print_logs(int n, char **paths)
{
	for (int i = 0; i < n; i++) {
		struct log *l = map_log(paths[i], 0);

		if (!l || memcmp(l->magic, "CALLLOG", 8)) {
			fprintf(stderr, "%s: not a log of mpi_random_kill\n", paths[i]);
			return 2;
		}
		for (int k = 0; k < N_KINDS; k++)
			printf("%s %llu %llu\n", names[k], (unsigned long long)l->entered[k],
				(unsigned long long)l->left[k]);
	}
	return 0;
}

static uint64_t rng_state;

static uint32_t rng(void)
{
	rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(rng_state >> 33);
}

/* One random call, or a group that belongs together; returns how many it made. */
static int act(void)
{
	static float in[64 * 64], out[64 * 64];
	int n = (int)(rng() % 64), right = (app_rank + 1) % app_size,
	    left = (app_rank + app_size - 1) % app_size;
	MPI_Comm w = MPI_COMM_WORLD;
	MPI_Request req[8];

	switch (rng() % 8) {
	case 0:
		COUNTED(ALLREDUCE, MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, w));
		return 1;
	case 1:
		COUNTED(BCAST, MPI_Bcast(in, n, MPI_FLOAT, (int)(rng() % (unsigned)app_size), w));
		return 1;
	case 2:
		COUNTED(ALLGATHER, MPI_Allgather(in, n, MPI_FLOAT, out, n, MPI_FLOAT, w));
		return 1;
	case 3:
		COUNTED(REDUCE_SCATTER_BLOCK,
			MPI_Reduce_scatter_block(in, out, n, MPI_FLOAT, MPI_MAX, w));
		return 1;
	case 4:
		COUNTED(BARRIER, MPI_Barrier(w));
		return 1;
	case 5:
		COUNTED(SENDRECV, MPI_Sendrecv(in, n, MPI_FLOAT, right, 1, out, n, MPI_FLOAT, left,
					  1, w, MPI_STATUS_IGNORE));
		return 1;
	case 6:
		COUNTED(IALLREDUCE, MPI_Iallreduce(in, out, n, MPI_FLOAT, MPI_SUM, w, &req[0]));
		COUNTED(WAIT, MPI_Wait(&req[0], MPI_STATUS_IGNORE));
		return 2;
	default:
		for (int k = 0; k < 4; k++) {
			COUNTED(IRECV, MPI_Irecv(out + 64 * k, n, MPI_FLOAT, left, k, w, &req[k]));
			COUNTED(ISEND, MPI_Isend(in, n, MPI_FLOAT, right, k, w, &req[4 + k]));
		}
		COUNTED(WAITALL, MPI_Waitall(8, req, MPI_STATUSES_IGNORE));
		return 9;
	}
}

int main(int argc, char **argv)
{
	char path[4096];
	long calls, made = 0;
	int pause_us;

	if (argc > 2 && !strcmp(argv[1], "--print"))
		return print_logs(argc - 2, argv + 2);
	app_init(&argc, &argv);
	if (argc < 3 || app_size > 64) {
		fprintf(stderr, "usage: mpi_random_kill LOG SEED [CALLS [MICROSECONDS]] | --print "
				"FILE...\n");
		MPI_Finalize();
		return 2;
	}
	snprintf(path, sizeof(path), "%s.%d", argv[1], app_rank);
	log_map = map_log(path, 1);
	if (!log_map)
		MPI_Abort(MPI_COMM_WORLD, 2);
	rng_state = strtoull(argv[2], NULL, 10);
	calls = argc > 3 ? atol(argv[3]) : 0;
	pause_us = argc > 4 ? atoi(argv[4]) : 0;
	while (!calls || made < calls) {
		made += act();
		if (pause_us && rng() % 8 == 0)
			usleep((useconds_t)pause_us);
	}
	app_say("%ld calls", made);
	MPI_Finalize();
	return 0;
}
