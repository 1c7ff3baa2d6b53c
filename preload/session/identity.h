/* SPDX-License-Identifier: Apache-2.0 */
/* This process' rank, as far as it is known without asking a library, and the run it belongs to. */
#ifndef PROBE_SESSION_IDENTITY_H
#define PROBE_SESSION_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

struct identity {
	int rank, size; /* -1: unknown */
	char run[128]; /* the launcher's job id, "" if there is none */
	/*
	 * how often the launcher has restarted the job, in the launcher's notation; "1.0": by
	 * scheduler and launcher; "": not known
	 */
	char attempt[32];
};

/*
 * Reads the rank from the current environment (torch.multiprocessing sets RANK in the running
 * worker). Uses the first that exists of RANK with WORLD_SIZE, RANK_ID with RANK_SIZE or
 * MS_WORKER_NUM, MS_NODE_ID with MS_WORKER_NUM, OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK with
 * PMI_SIZE, and SLURM_PROCID inside a step with SLURM_NTASKS > 1 (a batch script has SLURM_PROCID
 * too, but is not a rank).
 */
void identity_read(struct identity *id);

#endif
