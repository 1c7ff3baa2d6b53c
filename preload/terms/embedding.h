/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_BASE_EMBEDDING_H
#define PROBE_BASE_EMBEDDING_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* True for one of the usual names of a model's token embedding. */
static inline bool is_embedding_name(const char *name)
{
	static const char words[][16] = {"embed", "wte.weight", "tok_embeddings"};

	if (strstr(name, "position") || strstr(name, "norm"))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

#endif
