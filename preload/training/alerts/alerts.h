/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts: rules (terms/alert_rule.h) applied to the records of the writer's thread, and their results. The sink
 * alerts_format collects values, judges them when their pass is complete, and writes
 *
 *	alerts.jsonl                                     a line for each alert: once, with a count
 *	<dir>/anomaly_detected/rank<R>/anomaly.json      key anomaly_json
 *
 * Both are replaced as a whole. Each line has an id, by which a process that continues (`probe recover`) recognises its
 * alert.
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
#define ALERTS_MAX 1000 /* maximum number of lines; further alerts are counted */

enum alert_source { ALERT_OF_KIND, ALERT_OF_SCALAR, ALERT_OF_CALL };

/* A value waiting for the end of its pass. Texts follow: kind's word, name, api, operation. */
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
	int32_t call; /* its number among the step's values of kinds, except parameters: -1 */
	uint64_t seq, comm; /* of a call */
	uint64_t key; /* identifies what the value belongs to: the same in each step */
	double x[TRAIN_OPS_END]; /* by enum train_op; a number uses x[TO_NORM] */
	const char *word, *name, *api, *operation; /* follow the struct */
};

/* The alert of a rule about one subject. */
struct alert {
	uint64_t id;
	char *head; /* the line's text before the count, malloc'd */
	uint32_t first_step, last_step, count;
	uint64_t last_seq; /* of a call */
	double last_value;
	char action[96]; /* description of the action performed */
};

/* Actions of an alert in the process that caused it. Set once, before anything is drained; NULL: no actions are possible. */
struct alert_hooks {
	/* Performs it; returns a text about what was done. Called on the writer's thread, with no lock held. */
	void (*act)(enum alert_action what, const struct alert_rule *r, uint32_t step,
		struct text *done);
};
void alerts_set_hooks(const struct alert_hooks *hooks);

/* Data for anomaly.json: its folder, and the world ranks of this rank's pipeline. */
#define ANOMALY_MATES_MAX 4096
struct anomaly_place {
	char dir[4096]; /* "": next to the rank's folder */
	int32_t rank;
	uint32_t nmates; /* 0: all ranks */
	int32_t *mate;
};

/* ---- anomaly_json.c ---- */

struct anomalies;

struct anomalies *anomalies_new(void);
void anomalies_free(struct anomalies *a);

/* From keys anomaly_dir and process_group. mate: ANOMALY_MATES_MAX of them. */
void anomaly_place_read(struct anomaly_place *p, const struct config *cfg, int32_t *mate);

/* For a kind only. history NAN: none. Entries without room are counted. */
void anomalies_add(struct anomalies *a, const struct alert_seen *v, const struct alert_rule *r,
	const char *op, double value, double history);

/* Writes the file if there is a new entry. folder: of the rank; world: its size, below 1: not known. */
void anomalies_write(
	struct anomalies *a, const struct anomaly_place *p, const char *folder, int32_t world);

#endif
