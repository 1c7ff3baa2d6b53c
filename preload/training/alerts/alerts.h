/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts: rules (terms/alert_rule.h) over what the writer's thread is given, and what they have said. The sink alerts_format
 * takes values in, judges them when their pass is complete, and writes
 *
 *	alerts.jsonl                                     a line for each alert: once, with a count
 *	<dir>/anomaly_detected/rank<R>/anomaly.json      key anomaly_json
 *
 * Both are replaced whole. A line has an id by which a process that goes on, `probe recover`, knows its alert again.
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
#define ALERTS_MAX 1000 /* lines; further alerts are counted */

enum alert_source { ALERT_OF_KIND, ALERT_OF_SCALAR, ALERT_OF_CALL };

/* A value that was seen, as it waits for the end of its pass. Texts follow: kind's word, name, api, operation. */
struct alert_seen {
	uint32_t bytes; /* with the texts, a multiple of 8 */
	uint8_t source; /* enum alert_source */
	uint8_t kind; /* enum train_kind */
	uint8_t io;
	bool nan, inf, zero, measured;
	uint16_t which; /* enum scalar */
	uint16_t index, vpp_stage;
	uint32_t step, micro_step; /* micro_step UINT32_MAX: none */
	uint32_t stack;
	int32_t call; /* which one of its step's values of kinds it is, parameters apart: -1 */
	uint64_t seq, comm; /* of a call */
	uint64_t key; /* of what it is a value of: the same in each step */
	double x[TRAIN_OPS_END]; /* by enum train_op; of a number x[TO_NORM] */
	const char *word, *name, *api, *operation; /* behind it */
};

/* What a rule has said of one thing. */
struct alert {
	uint64_t id;
	char *head; /* the line's text up to the count, malloc'd */
	uint32_t first_step, last_step, count;
	uint64_t last_seq; /* of a call */
	double last_value;
	char action[96]; /* what was done */
};

/* What becomes of an alert in the process that it is about. Set once, before anything is drained; NULL: nothing can be done. */
struct alert_hooks {
	/* Does it; a text that says what was done. Called on the writer's thread, with no lock held. */
	void (*act)(enum alert_action what, const struct alert_rule *r, uint32_t step,
		struct text *done);
};
void alerts_set_hooks(const struct alert_hooks *hooks);

/* What an anomaly.json needs to know: where it goes, and the world ranks of this rank's pipeline. */
#define ANOMALY_MATES_MAX 4096
struct anomaly_place {
	char dir[4096]; /* "": beside the rank's folder */
	int32_t rank;
	uint32_t nmates; /* 0: all ranks */
	int32_t *mate;
};

/* ---- anomaly_json.c ---- */

struct anomalies;

struct anomalies *anomalies_new(void);
void anomalies_free(struct anomalies *a);

/* By keys anomaly_dir and process_group. mate: ANOMALY_MATES_MAX of them. */
void anomaly_place_read(struct anomaly_place *p, const struct config *cfg, int32_t *mate);

/* Of a kind only. history NAN: none. Further ones than there is room for are counted. */
void anomalies_add(struct anomalies *a, const struct alert_seen *v, const struct alert_rule *r,
	const char *op, double value, double history);

/* Writes the file if something is new. folder: of the rank; world: its size, below 1: not known. */
void anomalies_write(
	struct anomalies *a, const struct anomaly_place *p, const char *folder, int32_t world);

#endif
