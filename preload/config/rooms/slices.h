/* SPDX-License-Identifier: Apache-2.0 */
/* Keys for parts of tensors. */
#ifndef PROBE_CONFIG_ROOMS_SLICES_H
#define PROBE_CONFIG_ROOMS_SLICES_H

#include "config/rooms/room.h"

struct slices_keys {
	char *slice; /* config/slice_item.h; "": whole tensors */
	char *request_id; /* the request whose tokens are described; "": all */
	char *request_tokens; /* python:FILE:FUNCTION:ARGUMENT[.ATTRIBUTE]; "": not known */
};

CONFIG_ROOM(slices)

#endif
