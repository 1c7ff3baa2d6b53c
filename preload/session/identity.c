/* SPDX-License-Identifier: Apache-2.0 */
#include "session/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns a variable's value if it is a non-negative int, else -1. */
static int read_number_variable(const char *name)
{
	const char *s = getenv(name);
	char *end;

	if (!s || !*s)
		return -1;

	int err = errno;
	long v = strtol(s, &end, 10);

	errno = err;
	return *end || v < 0 || v > 0x7fffffff ? -1 : (int)v;
}

static const struct {
	const char *rank, *size;
	bool need_size; /* the rank's variable is used only together with the one of the size */
} sources[] = {
	{"RANK", "WORLD_SIZE", true},
	{"RANK_ID", "RANK_SIZE", true}, /* MindSpore */
	{"RANK_ID", "MS_WORKER_NUM", true},
	{"MS_NODE_ID", "MS_WORKER_NUM", true},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false},
	{"PMIX_RANK", "PMIX_SIZE", false},
	{"PMI_RANK", "PMI_SIZE", true},
};

static void find_rank(struct identity *id)
{
	id->rank = id->size = -1;
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		int rank = read_number_variable(sources[i].rank),
		    size = read_number_variable(sources[i].size);

		if (rank < 0 || (sources[i].need_size && size < 0))
			continue;
		id->rank = rank;
		id->size = size;
		return;
	}
	if (getenv("SLURM_STEP_ID") && read_number_variable("SLURM_NTASKS") > 1) {
		id->rank = read_number_variable("SLURM_PROCID");
		id->size = id->rank >= 0 ? read_number_variable("SLURM_NTASKS") : -1;
	}
}

static void find_run(struct identity *id)
{
	const char *pmix = getenv("PMIX_NAMESPACE"), *job = getenv("SLURM_JOB_ID");
	const char *step = getenv("SLURM_STEP_ID"), *elastic = getenv("TORCHELASTIC_RUN_ID");

	id->run[0] = 0;
	if (pmix && *pmix)
		snprintf(id->run, sizeof(id->run), "%s", pmix);
	else if (job && *job && step && *step)
		snprintf(id->run, sizeof(id->run), "%s.%s", job, step);
	else if (elastic && *elastic && strcmp(elastic, "none"))
		snprintf(id->run, sizeof(id->run), "%s", elastic);
}

/*
 * Attempts are counted by the scheduler, which restarts the whole job, and by a launcher inside
 * the job, which then starts at 0 again: only both counts together identify an attempt.
 * Kubernetes sets no such variable in a container; for a JobSet, the manifest must pass on the
 * pod's label jobset.sigs.k8s.io/restart-attempt (docs/reference/output-format.md).
 */
static void find_attempt(struct identity *id)
{
	static const char *const outer[] = {"SLURM_RESTART_COUNT", "JOBSET_RESTART_ATTEMPT"};
	const char *inner = getenv("TORCHELASTIC_RESTART_COUNT"), *s = NULL;

	for (size_t i = 0; i < sizeof(outer) / sizeof(*outer) && !(s && *s); i++)
		s = getenv(outer[i]);
	if (inner && !*inner)
		inner = NULL;
	if (s && !*s)
		s = NULL;
	snprintf(id->attempt, sizeof(id->attempt), "%s%s%s", s ? s : "", s && inner ? "." : "",
		inner ? inner : "");
}

void identity_read(struct identity *id)
{
	find_rank(id);
	find_run(id);
	find_attempt(id);
}
