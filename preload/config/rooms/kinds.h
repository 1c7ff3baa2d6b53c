/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of the statistics of parameters (terms/train_kind.h). */
#ifndef PROBE_CONFIG_ROOMS_KINDS_H
#define PROBE_CONFIG_ROOMS_KINDS_H

#include "config/rooms/room.h"

enum config_main_grad { MAIN_GRAD_AUTO, MAIN_GRAD_FALSE, MAIN_GRAD_TRUE };

struct kinds_keys {
	/* kinds of parameter statistics, and the statistics (terms/train_kind.h) */
	char *kinds, *ops;
	bool monitor_mbs_grad; /* also measure gradients after each micro step */
	bool squash_name; /* omit the part of names before layers, embeddings ... */
	char *router_targets; /* names of router modules; "": those named gate or router */
	double expert_capacity_factor; /* for drop_rate; 0: not given */
	int64_t attention_interval; /* statistics of attention are recorded in one of this many steps */
	int64_t attention_rows; /* most rows of a head for attention_entropy; 0: all */
	char *watch_functions; /* config/marker.h: python:FILE:FUNCTION each, "": none */
	char *targets; /* names of parameters and modules, "": all */
	/* ranks within these groups that write statistics; empty: all */
	struct ranges dp_ranks, tp_ranks, pp_ranks;
	/* world ranks of the groups; empty: detected */
	struct ranges dp_group, tp_group, process_group;
	enum config_main_grad params_have_main_grad;
	char *opt_ty; /* accepted, but not needed */
};

CONFIG_ROOM(kinds)

#endif
