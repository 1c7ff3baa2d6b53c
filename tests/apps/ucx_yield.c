/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libucxyield.so: lets MPICH over UCX run more ranks than there are cores. Its ranks wait by polling, and without
 * this a waiting rank keeps its core for a whole time slice: 5 ms instead of 5 us for an MPI_Allreduce of 4 ranks on
 * 2 cores. Preloaded, it gives the core away after each poll that found nothing. It knows nothing of MPI.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
	static _Atomic(unsigned (*)(void *)) real;
	unsigned (*progress)(void *) = atomic_load(&real);
	unsigned n;

	if (!progress) {
		*(void **)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
		if (!progress)
			return 0;
		atomic_store(&real, progress);
	}
	n = progress(worker);
	if (!n)
		sched_yield();
	return n;
}
