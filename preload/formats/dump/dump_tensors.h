/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of tensors of a dump. They are written before their calls have names, into a folder of their own beside the steps'
 * (.dump-<pid>-<start time>), by step and number of the call, and moved to dump_tensor_data/ when the step's files are made.
 */
#ifndef PROBE_SINK_DUMP_TENSORS_H
#define PROBE_SINK_DUMP_TENSORS_H

#include <stddef.h>

#include "formats/dump/kept/dump_order.h"
#include "sink/files.h"

#define DUMP_DATA_FOLDER "dump_tensor_data"

/* Writes what has been copied, to the last. 0, or the first -errno; a tensor that cannot be written is dropped. */
int dump_tensors_drain(struct files *f);

/* Moves what was copied as the first output of number seq in that step to `file` in the folder `to`. -ENOENT: it is not there. */
int dump_tensors_move(struct files *f, uint32_t step, uint64_t seq, int to, const char *file);

/* A name of a file has at most 255 bytes: of a longer one the end is a hash. `cap` is more than that. */
void dump_tensors_file(char *file, size_t cap, const char *stem, const char *extension);

/*
 * The file of that tensor, moved to dump_tensor_data/ of the step's folder as <stem>.pt: its name there to file[], "": there is
 * none.
 */
void dump_tensors_name(struct files *f, int step_fd, const struct journal_call *call,
	const struct journal_tensor *t, const char *stem, char *file, size_t cap);

/* Removes those that belong to calls of the step and were not moved. */
void dump_tensors_forget(struct files *f, uint32_t step, const struct dump_order *calls);

/* Removes the folder and what is left in it. */
void dump_tensors_end(struct files *f);

#endif
