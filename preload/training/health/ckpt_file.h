/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of checkpoints. Complete is: a ZIP archive (torch.save) that ends with its directory, a safetensors file as long as its
 * header says, a folder of torch.distributed.checkpoint with its .metadata, which is written last, and any other file that is
 * not empty. Temporary names (*.tmp, .tmp*) are none: who writes so renames when all is there.
 */
#ifndef PROBE_SINK_CKPT_FILE_H
#define PROBE_SINK_CKPT_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct ckpt_look {
	const char *format; /* torch, safetensors, dcp, other */
	bool complete;
	uint64_t
		begun_ns; /* when its first file was made, Unix epoch; where that is not kept, last written; 0: not known */
};

bool ckpt_name_is_temporary(const char *name);
/* *.pt, *.safetensors ... */
bool ckpt_name_is_usual(const char *name);

/* Of a file. */
void ckpt_look_at_file(const char *path, struct ckpt_look *l);
/* False: the folder is none of torch.distributed.checkpoint. */
bool ckpt_look_at_folder(const char *path, struct ckpt_look *l);

#endif
