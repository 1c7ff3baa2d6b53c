/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of checkpoints. These are complete: a ZIP archive (torch.save) that ends with its
 * directory; a safetensors file of the length given in its header; a folder of
 * torch.distributed.checkpoint with its .metadata, which is written last; any other non-empty
 * file. Files with temporary names (*.tmp, .tmp*) are not checkpoints: they are renamed when they
 * are complete.
 */
#ifndef PROBE_SINK_CKPT_FILE_H
#define PROBE_SINK_CKPT_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct ckpt_file_state {
	const char *format; /* torch, safetensors, dcp, other */
	bool complete;
	/*
	 * ns, Unix epoch: when its first file was created, or if not stored, last written; 0: not
	 * known
	 */
	uint64_t begun_ns;
};

bool ckpt_name_is_temporary(const char *name);
/* True for usual names of checkpoints: *.pt, *.safetensors ... */
bool ckpt_name_is_usual(const char *name);

/* Examines a file. */
void ckpt_check_file(const char *path, struct ckpt_file_state *l);
/* Returns false if the folder is not one of torch.distributed.checkpoint. */
bool ckpt_check_folder(const char *path, struct ckpt_file_state *l);

#endif
