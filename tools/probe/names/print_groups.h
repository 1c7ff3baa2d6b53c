/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `probe names` about communicators: their roles, the stages of pipelines, and single messages. */
#ifndef PROBE_TOOLS_PRINT_GROUPS_H
#define PROBE_TOOLS_PRINT_GROUPS_H

#include "tools/probe/model/read/folders.h"

/*
 * rank: prints only data that concerns it; -1: all. groups: roles and stages; messages: each message of the steps lo to hi (lo > hi: the
 * first that have any), as JSON if `json`. False: there is nothing to print.
 */
bool print_groups(const struct folders *f, int64_t rank, bool groups, bool messages, bool json,
	uint64_t lo, uint64_t hi);

#endif
