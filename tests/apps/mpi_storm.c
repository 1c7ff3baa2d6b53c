/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 16 threads with MPI calls on communicators of their own, while another one loads and unloads a library whose
 * constructor starts a thread that calls MPI, too, and waits for it: mpi_storm PLUGIN [LOADS]. The loader holds its lock
 * meanwhile, so a tool that needs that lock in a call hangs here for ever. PLUGIN: storm_plugin.c.
 */
#include "app.h"
#include <dlfcn.h>
#include <pthread.h>

enum { THREADS = 16, TURNS = 200 };

static MPI_Comm own[THREADS + 1];
static const char *plugin;
static int loads = 20;

static void *work(void *arg)
{
	MPI_Comm comm = *(MPI_Comm *)arg;
	int id = (int)((MPI_Comm *)arg - own);
	float in[8], out[8];

	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < 8; i++)
			in[i] = (float)(id + turn + i);
		MPI_Allreduce(in, out, 8, MPI_FLOAT, MPI_SUM, comm);
		for (int i = 0; i < 8; i++)
			if (out[i] != in[i])
				app_fail(__FILE__, __LINE__, "thread %d, turn %d: %g", id, turn,
					out[i]);
	}
	return NULL;
}

/* From a thread that the plugin's constructor started: functions that were never called before, among them. */
static void call_from_plugin(int n)
{
	float a = (float)n, b = -1;

	switch (n % 4) {
	case 0:
		MPI_Allgather(&a, 1, MPI_FLOAT, &b, 1, MPI_FLOAT, own[THREADS]);
		break;
	case 1:
		MPI_Scan(&a, &b, 1, MPI_FLOAT, MPI_SUM, own[THREADS]);
		break;
	case 2:
		MPI_Alltoall(&a, 1, MPI_FLOAT, &b, 1, MPI_FLOAT, own[THREADS]);
		break;
	default:
		MPI_Reduce(&a, &b, 1, MPI_FLOAT, MPI_MAX, 0, own[THREADS]);
	}
	if (b != a)
		app_fail(__FILE__, __LINE__, "call %d from the plugin: %g", n, b);
}

static void *load(void *arg)
{
	(void)arg;
	for (int k = 0; k < loads; k++) {
		char number[32];
		void *h;

		snprintf(number, sizeof(number), "%d", k);
		setenv("STORM_NUMBER", number, 1);
		h = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
		if (!h)
			app_fail(__FILE__, __LINE__, "%s", dlerror());
		dlclose(h);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS], loader;
	char address[32];
	int provided;

	app_set_name(argv);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &app_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &app_size);
	if (provided < MPI_THREAD_MULTIPLE) {
		app_say("skipped: this MPI has no MPI_THREAD_MULTIPLE");
		MPI_Finalize();
		return APP_SKIP;
	}
	plugin = argc > 1 ? argv[1] : "./storm_plugin.so";
	loads = argc > 2 ? atoi(argv[2]) : loads;
	snprintf(address, sizeof(address), "%p", (void *)call_from_plugin);
	setenv("STORM_CALL", address, 1);
	for (int i = 0; i <= THREADS; i++)
		MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, &own[i]))
			app_fail(__FILE__, __LINE__, "no thread");
	if (pthread_create(&loader, NULL, load, NULL))
		app_fail(__FILE__, __LINE__, "no thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	pthread_join(loader, NULL);
	for (int i = 0; i <= THREADS; i++)
		MPI_Comm_free(&own[i]);
	return app_done();
}
