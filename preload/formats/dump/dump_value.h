/* SPDX-License-Identifier: Apache-2.0 */
/* Values in dump.json in msprobe's form. */
#ifndef PROBE_SINK_DUMP_VALUE_H
#define PROBE_SINK_DUMP_VALUE_H

#include "config/rooms/room.h"
#include "formats/dump/kept/dump_book.h"
#include "formats/dump/dump_json.h"

/*
 * Writes tensor t. blank: the content before the call has no meaning (an output buffer).
 * data_name: its file, "": none, NULL: not to be written.
 */
void dump_write_tensor(struct dump_json *j, const struct config *cfg,
	const struct journal_tensor *t, bool blank, const char *data_name);

/* True if input t is a number of the program that PyTorch has converted to a tensor. */
bool dump_is_number(const struct staged_call *c, const struct journal_tensor *t);
void dump_write_number(struct dump_json *j, const struct journal_tensor *t);

void dump_write_int(struct dump_json *j, int64_t v);
void dump_write_bool(struct dump_json *j, bool v);

/* Writes the id of a group of ranks: the CRC-32 of their list as Python prints it, 8 hex digits. */
void dump_format_group_id(const struct staged_comm *c, char out[9]);
void dump_write_group(struct dump_json *j, const struct staged_comm *c);
void dump_write_redop(struct dump_json *j, uint8_t redop);

#endif
