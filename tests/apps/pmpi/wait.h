/* SPDX-License-Identifier: Apache-2.0 */
/* Completion of requests. Every function needs the statuses, whether its caller wants them or not. */
#ifndef WAIT_H
#define WAIT_H

#include "calls.h"

static void count(const char *name)
{
	struct call c;

	begin(&c, name);
}

/* Copies of the n handles, which MPI overwrites, and statuses of our own where the caller has none. */
static MPI_Request *copied(
	int n, const MPI_Request *requests, MPI_Status **statuses, MPI_Status **own)
{
	MPI_Request *copy = malloc(sizeof(*copy) * (size_t)(n + 1));

	if (copy && n > 0)
		memcpy(copy, requests, sizeof(*copy) * (size_t)n);
	*own = NULL;
	if (*statuses == MPI_STATUSES_IGNORE)
		*statuses = *own = malloc(sizeof(**own) * (size_t)(n + 1));
	return copy;
}

/* What became of request i after a call that returned rc. */
static int result(int rc, const MPI_Status *status)
{
	int class = MPI_SUCCESS;

	if (rc == MPI_SUCCESS)
		return rc;
	PMPI_Error_class(rc, &class);
	return class == MPI_ERR_IN_STATUS ? status->MPI_ERROR : rc;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	MPI_Request was = *request;
	MPI_Status own;
	int rc;

	status = status == MPI_STATUS_IGNORE ? &own : status;
	rc = PMPI_Wait(request, status);
	completed(was, rc, status);
	return rc;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	MPI_Request was = *request;
	MPI_Status own;
	int rc;

	status = status == MPI_STATUS_IGNORE ? &own : status;
	rc = PMPI_Test(request, flag, status);
	if (rc != MPI_SUCCESS || *flag)
		completed(was, rc, status);
	return rc;
}

int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
	MPI_Status *own;
	MPI_Request *was = copied(n, requests, &statuses, &own);
	int rc = PMPI_Waitall(n, requests, statuses);

	for (int i = 0; i < n; i++)
		completed(was[i], result(rc, &statuses[i]), &statuses[i]);
	free(was);
	free(own);
	return rc;
}

int MPI_Testall(int n, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
	MPI_Status *own;
	MPI_Request *was = copied(n, requests, &statuses, &own);
	int rc = PMPI_Testall(n, requests, flag, statuses);

	for (int i = 0; i < n && (rc != MPI_SUCCESS || *flag); i++)
		completed(was[i], result(rc, &statuses[i]), &statuses[i]);
	free(was);
	free(own);
	return rc;
}

int MPI_Waitany(int n, MPI_Request *requests, int *index, MPI_Status *status)
{
	MPI_Status own_status, *none = status, *own;
	MPI_Request *was = copied(n, requests, &none, &own);
	int rc;

	status = status == MPI_STATUS_IGNORE ? &own_status : status;
	rc = PMPI_Waitany(n, requests, index, status);
	if (*index >= 0 && *index < n)
		completed(was[*index], rc, status);
	free(was);
	free(own);
	return rc;
}

int MPI_Testany(int n, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
	MPI_Status own_status, *none = status, *own;
	MPI_Request *was = copied(n, requests, &none, &own);
	int rc;

	status = status == MPI_STATUS_IGNORE ? &own_status : status;
	rc = PMPI_Testany(n, requests, index, flag, status);
	if (*flag && *index >= 0 && *index < n)
		completed(was[*index], rc, status);
	free(was);
	free(own);
	return rc;
}

int MPI_Waitsome(int n, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses)
{
	MPI_Status *own;
	MPI_Request *was = copied(n, requests, &statuses, &own);
	int rc = PMPI_Waitsome(n, requests, done, indices, statuses);

	for (int i = 0; *done != MPI_UNDEFINED && i < *done; i++)
		completed(was[indices[i]], result(rc, &statuses[i]), &statuses[i]);
	free(was);
	free(own);
	return rc;
}

int MPI_Testsome(int n, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses)
{
	MPI_Status *own;
	MPI_Request *was = copied(n, requests, &statuses, &own);
	int rc = PMPI_Testsome(n, requests, done, indices, statuses);

	for (int i = 0; *done != MPI_UNDEFINED && i < *done; i++)
		completed(was[indices[i]], result(rc, &statuses[i]), &statuses[i]);
	free(was);
	free(own);
	return rc;
}

/* Who made a persistent request, where that was noted: each start counts as a call of it. */
static struct maker {
	MPI_Request request;
	const char *name;
} makers[64];

__attribute__((unused)) static void note_maker(MPI_Request request, const char *name)
{
	struct maker *m = makers;

	pthread_mutex_lock(&lock);
	while (m->name && m->request != MPI_REQUEST_NULL && m < &makers[63])
		m++;
	*m = (struct maker){request, name};
	pthread_mutex_unlock(&lock);
}

static void count_start(MPI_Request request)
{
	for (struct maker *m = makers; m < &makers[64] && m->name; m++)
		if (m->request == request) {
			struct call c;

			begin(&c, m->name);
			before(&c);
		}
}

int MPI_Request_free(MPI_Request *request)
{
	completed(*request, MPI_SUCCESS, NULL);
	for (struct maker *m = makers; m < &makers[64] && m->name; m++)
		if (m->request == *request)
			m->request = MPI_REQUEST_NULL;
	return PMPI_Request_free(request);
}

/* The calls that these start were made by MPI_X_init: counted, not looked at. */
int MPI_Start(MPI_Request *request)
{
	count("MPI_Start");
	count_start(*request);
	return PMPI_Start(request);
}

int MPI_Startall(int n, MPI_Request *requests)
{
	count("MPI_Startall");
	for (int i = 0; i < n; i++)
		count_start(requests[i]);
	return PMPI_Startall(n, requests);
}

/* ---- the files ---- */

static void write_rows_file(const char *base, const char *suffix, int rank, const char *header,
	const char *body, size_t len)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s.%d%s", base, rank, suffix);
	f = fopen(path, "w");
	if (!f || fputs(header, f) < 0 || fwrite(body, 1, len, f) != len || fclose(f))
		fprintf(stderr, "libpmpicount.so: cannot write %s; its counts are lost\n", path);
}

int MPI_Finalize(void)
{
	const char *base = getenv("PMPI_COUNT_OUT");
	char calls[sizeof(functions) / sizeof(functions[0]) * 96];
	int rank = rank_in(MPI_COMM_WORLD);
	size_t len = 0;

	base = base ? base : "pmpi_count";
	for (struct function *f = functions; f->name; f++)
		len += (size_t)snprintf(calls + len, sizeof(calls) - len, "%s,%ld,%lld\n", f->name,
			f->calls, f->bytes);
	write_rows_file(base, "", rank,
		"n,function,io,count,dtype,min,max,mean,norm,zeros,nans,infs\n", text ? text : "",
		text_len);
	write_rows_file(base, ".calls", rank, "function,calls,bytes\n", calls, len);
	return PMPI_Finalize();
}

#endif
