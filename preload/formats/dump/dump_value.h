/* SPDX-License-Identifier: Apache-2.0 */
/* Values in dump.json in msprobe's form. */
#ifndef PROBE_SINK_DUMP_VALUE_H
#define PROBE_SINK_DUMP_VALUE_H

#include "config/rooms/room.h"
#include "formats/dump/kept/dump_book.h"
#include "formats/dump/dump_json.h"

/*
 * Writes tensor t. blank: its content before the call has no meaning (an output buffer). data_name: its file, "": it
 * has none, NULL: not wanted.
 */
void dump_put_tensor(struct dump_json *j, const struct config *cfg, const struct journal_tensor *t,
	bool blank, const char *data_name);

/* True if that input is a number of the program that PyTorch has turned into a tensor. */
bool dump_is_number(const struct staged_call *c, const struct journal_tensor *t);
void dump_put_number(struct dump_json *j, const struct journal_tensor *t);

void dump_put_int(struct dump_json *j, int64_t v);
void dump_put_bool(struct dump_json *j, bool v);

/* Id of a group of these ranks: the CRC-32 of the list as Python prints it, 8 hex digits. */
void dump_group_id(const struct staged_comm *c, char out[9]);
void dump_put_group(struct dump_json *j, const struct staged_comm *c);
void dump_put_redop(struct dump_json *j, uint8_t redop);

#endif
