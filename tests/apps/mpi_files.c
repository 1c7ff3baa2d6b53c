/* SPDX-License-Identifier: Apache-2.0 */
/* MPI I/O, each form once, with small numbers, on the file of the first argument; a file beside it for each rank goes away. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The last rank gets 4 of them. Open MPI waits for ever where a read that does not block reaches the end. */
#ifdef OPEN_MPI
enum { MORE = 4 };
#else
enum { MORE = 8 };
#endif

static int rank;
static float x[4], out[8];

/* One line a rank: launchers mix pieces. */
static char line[2000];
static size_t at;

static void show(const char *what, int n)
{
	at += (size_t)snprintf(line + at, sizeof(line) - at, " %s", what);

	for (int i = 0; i < n; i++)
		at += (size_t)snprintf(line + at, sizeof(line) - at, " %g", (double)out[i]);
	memset(out, 0, sizeof(out));
}

/* 1: it was there, and is not any more. */
static int delete_file_of_rank(const char *beside)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s.%d", beside, rank);
	f = fopen(path, "w");
	return f && fclose(f) == 0 && MPI_File_delete(path, MPI_INFO_NULL) == MPI_SUCCESS &&
	       access(path, F_OK) != 0;
}

int main(int argc, char **argv)
{
	MPI_Offset from;
	MPI_Request r;
	MPI_Status st;
	MPI_Info info;
	MPI_File f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 4; i++)
		x[i] = (float)(10 * rank + i);
	from = (MPI_Offset)rank * 16;
	if (argc < 2 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR,
				MPI_INFO_NULL, &f))
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_File_write_at_all(f, from, x, 4, MPI_FLOAT, &st);
	MPI_File_sync(f);
	MPI_Barrier(MPI_COMM_WORLD);
	/* More than there is: the last rank gets 4 of 8. */
	MPI_File_read_at(f, from, out, 8, MPI_FLOAT, &st);
	show("read_at", 8);
	MPI_File_read_at_all(f, from, out, 4, MPI_FLOAT, MPI_STATUS_IGNORE);
	show("read_at_all", 4);
	MPI_File_iread_at(f, from, out, 2, MPI_FLOAT, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	show("iread_at", 2);
	MPI_File_seek(f, from, MPI_SEEK_SET);
	MPI_File_read_all(f, out, 4, MPI_FLOAT, MPI_STATUS_IGNORE);
	show("read_all", 4);
	MPI_File_seek(f, from, MPI_SEEK_SET);
	MPI_File_write(f, x, 4, MPI_FLOAT, MPI_STATUS_IGNORE);
	MPI_File_iwrite_at(f, from, x, 4, MPI_FLOAT, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	/* In two halves. */
	MPI_File_write_at_all_begin(f, from, x, 4, MPI_FLOAT);
	MPI_File_write_at_all_end(f, x, MPI_STATUS_IGNORE);
	MPI_File_read_at_all_begin(f, from, out, 4, MPI_FLOAT);
	MPI_File_read_at_all_end(f, out, MPI_STATUS_IGNORE);
	show("read_at_all_begin", 4);
	MPI_File_seek(f, from, MPI_SEEK_SET);
	MPI_File_write_all_begin(f, x, 4, MPI_FLOAT);
	MPI_File_write_all_end(f, x, &st);
	MPI_File_seek(f, from, MPI_SEEK_SET);
	MPI_File_read_all_begin(f, out, 4, MPI_FLOAT);
	MPI_File_read_all_end(f, out, &st);
	show("read_all_begin", 4);
	MPI_File_set_size(f, 0);
	MPI_File_set_view(f, 0, MPI_FLOAT, MPI_FLOAT, "native", MPI_INFO_NULL);
	MPI_File_write_ordered_begin(f, x, 4, MPI_FLOAT);
	MPI_File_write_ordered_end(f, x, &st);
	MPI_File_sync(f);
	MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
	MPI_File_read_ordered_begin(f, out, 4, MPI_FLOAT);
	MPI_File_read_ordered_end(f, out, &st);
	show("read_ordered_begin", 4);
	MPI_File_iread_at(f, from / 4, out, MORE, MPI_FLOAT, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	show("iread_at", 8);
	MPI_Info_create(&info);
	MPI_File_set_info(f, info);
	MPI_Info_free(&info);
	MPI_File_close(&f);
	out[0] = (float)delete_file_of_rank(argv[1]);
	show("delete", 1);
	printf("rank %d%s\n", rank, line);
	MPI_Finalize();
	return 0;
}
