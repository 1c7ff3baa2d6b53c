/* SPDX-License-Identifier: Apache-2.0 */
/* What `probe names` says of communicators: the parts they play, the stages of pipelines, and single messages. */
#ifndef PROBE_TOOLS_PRINT_GROUPS_H
#define PROBE_TOOLS_PRINT_GROUPS_H

#include "tools/probe/model/read/folders.h"

/*
 * rank: only what concerns it; -1: all. groups: the parts and the stages; messages: each message of the steps lo to hi
 * (lo > hi: the first that have any), as JSON if `json`. False: there is nothing of what is wanted.
 */
bool print_groups(const struct folders *f, int64_t rank, bool groups, bool messages, bool json,
	uint64_t lo, uint64_t hi);

#endif
