/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts: rules (terms/alert_rule.h) applied to the records of the writer thread, and their
 * results. The sink alerts_format collects values, judges them when their pass is complete, and
 * writes
 *
 *	alerts.jsonl					a line for each alert: once, with a count
 *	<dir>/anomaly_detected/rank<R>/anomaly.json	key anomaly_json
 *
 * Both files are replaced as a whole. Each line has an id, by which a process that continues
 * (`probe recover`) recognises the alert.
 */
#ifndef PROBE_SINK_ALERTS_H
#define PROBE_SINK_ALERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "terms/alert_rule.h"
#include "text/text.h"
#include "terms/train_kind.h"
#include "config/rooms/room.h"

#define ALERTS_FILE "alerts.jsonl"
#define ALERTS_MAX 1000 /* maximum number of lines; additional alerts are counted */

enum alert_source { ALERT_OF_KIND, ALERT_OF_SCALAR, ALERT_OF_CALL };

/*
 * A value that waits for the end of its pass. Texts follow: the kind's word, name, api,
 * operation.
 */
struct alert_seen {
	uint32_t bytes; /* size with the texts, a multiple of 8 */
	uint8_t source; /* enum alert_source */
	uint8_t kind; /* enum train_kind */
	uint8_t io;
	bool nan, inf, zero, measured;
	uint16_t which; /* enum scalar */
	uint16_t index, vpp_stage;
	uint32_t step, micro_step; /* micro_step UINT32_MAX: none */
	uint32_t stack;
	int32_t call; /* number among the step's values of kinds; -1: a parameter itself */
	uint64_t seq, comm; /* number and communicator of a call */
	uint64_t key; /* identifies the subject of the value; equal in each step */
	double x[TRAIN_OPS_END]; /* by enum train_op; a number uses x[TO_NORM] */
	const char *word, *name, *api, *operation; /* stored after the struct */
};

/* The alerts of a rule about one subject. */
struct alert {
	uint64_t id;
	char *head; /* malloc'd text of the line up to the count */
	uint32_t first_step, last_step, count;
	uint64_t last_seq; /* number of the last call */
	double last_value;
	char action[96]; /* what was done */
};

/*
 * Performs the actions of alerts, in the recorded process only. Set once, before anything is
 * drained; NULL: no actions.
 */
struct alert_hooks {
	/*
	 * Performs action `what`; writes what was done to *done. Called on the writer thread,
	 * with no lock held.
	 */
	void (*act)(enum alert_action what, const struct alert_rule *r, uint32_t step,
		struct text *done);
};
void alerts_set_hooks(const struct alert_hooks *hooks);

/* Data for anomaly.json: its folder, and the world ranks of this rank's pipeline. */
#define ANOMALY_MATES_MAX 4096
struct anomaly_place {
	char dir[4096]; /* "": in the folder that contains the rank's folder */
	int32_t rank;
	uint32_t nmates; /* 0: all ranks */
	int32_t *mate;
};

/* ---- anomaly_json.c ---- */

struct anomalies;

struct anomalies *anomalies_init(void);
void anomalies_free(struct anomalies *a);

/* Reads keys anomaly_dir and process_group. mate: space for ANOMALY_MATES_MAX ranks. */
void anomaly_place_read(struct anomaly_place *p, const struct config *cfg, int32_t *mate);

/*
 * Adds an entry for a value of a kind. history NAN: none. Entries without memory are only
 * counted.
 */
void anomalies_add(struct anomalies *a, const struct alert_seen *v, const struct alert_rule *r,
	const char *op, double value, double history);

/*
 * Writes the file if there are new entries. folder: the rank's; world: number of ranks, below 1:
 * not known.
 */
void anomalies_write(
	struct anomalies *a, const struct anomaly_place *p, const char *folder, int32_t world);

#endif
