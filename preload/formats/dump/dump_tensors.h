/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor files of a dump. They are written before their calls have names, into a separate folder
 * next to the step folders (.dump-<pid>-<start time>), named by step and number of the call. When
 * the step's files are made, they are moved to its dump_tensor_data/.
 */
#ifndef PROBE_SINK_DUMP_TENSORS_H
#define PROBE_SINK_DUMP_TENSORS_H

#include <stddef.h>

#include "formats/dump/kept/dump_order.h"
#include "sink/files.h"

#define DUMP_DATA_FOLDER "dump_tensor_data"

/* Writes all copied tensors. Returns 0, or the first -errno; a tensor that cannot be written is dropped. */
int dump_tensors_write_copied(struct files *f);

/*
 * Moves the copy of the first output of call seq in `step` to `file` in folder `to`. Returns
 * -ENOENT if there is no such copy.
 */
int dump_tensors_move(struct files *f, uint32_t step, uint64_t seq, int to, const char *file);

/*
 * Writes a file name of at most 255 bytes to file[]; a longer one is cut and ends with a hash.
 * `cap` must be above 255.
 */
void dump_tensors_format_file_name(char *file, size_t cap, const char *stem, const char *extension);

/*
 * Moves the file of tensor t to dump_tensor_data/ in the step's folder, as <stem>.pt. file[]
 * receives the new name, or "" if t has no file.
 */
void dump_tensors_name(struct files *f, int step_fd, const struct journal_call *call,
	const struct journal_tensor *t, const char *stem, char *file, size_t cap);

/* Removes the files of the step's calls that were not moved. */
void dump_tensors_remove_unmoved(struct files *f, uint32_t step, const struct dump_order *calls);

/* Removes the folder with its remaining files. */
void dump_tensors_remove_folder(struct files *f);

#endif
