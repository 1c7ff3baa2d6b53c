/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor as a file: as torch.save writes it, so that torch.load(weights_only=True) reads it, or as NumPy's .npy. */
#ifndef PROBE_SINK_DUMP_FILE_H
#define PROBE_SINK_DUMP_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/rooms/room.h"
#include "config/rooms/dump.h"
#include "journal/store/tensor_pool.h"

#define DUMP_FILE_EXTENSION(cfg) \
	(get_dump_keys((cfg))->file_format == FILE_FORMAT_NPY ? "npy" : "pt")

/*
 * Writes the file; an incomplete file is removed. Returns 0, -EFBIG (too large for the format),
 * or -errno.
 */
int dump_file_write(
	int dirfd, const char *name, const struct config *cfg, const struct tensor_copy *c);

#endif
