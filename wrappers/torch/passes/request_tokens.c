/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/passes/request_tokens.h"

#include <string.h>

#include "base/log.h"
#include "call/data/slice.h"
#include "config/rooms/slices.h"
#include "session/state.h"
#include "wrappers/python/objects.h"

#define ATTRIBUTE_MAX 64
#define REQUEST_MAX 256 /* bytes of a request's name */

const char *torch_find_request_argument(const struct config *cfg, size_t *len)
{
	const struct slices_keys *keys = get_slices_keys(cfg);
	const char *text = keys->request_tokens, *colon;

	if (!keys->request_id || !*keys->request_id || !text || !*text)
		return NULL;
	colon = strrchr(text, ':');
	*len = colon ? (size_t)(colon - text) : 0;
	if (colon && colon[1] && memchr(text, ':', *len))
		return colon + 1;
	log_loss(LOSS_CONFIG,
		"request_tokens: %s: not of the form python:FILE:FUNCTION:ARGUMENT[.ATTRIBUTE]; "
		"tensors are recorded whole",
		text);
	return NULL;
}

static const void *find_attribute(const void *o, const char *path)
{
	char name[ATTRIBUTE_MAX];

	while (o && *path == '.') {
		size_t n = strcspn(++path, ".");

		if (!n || n >= sizeof(name))
			return NULL;
		memcpy(name, path, n);
		name[n] = 0;
		o = py_get_attribute(o, name);
		path += n;
	}
	return o;
}

/* The numbers of a batch, as msprobe's update_slice_info() adds them up. */
struct batch {
	uint64_t total, begin, end;
	bool found;
};

/* Returns false if it is no dict from texts to numbers above 0, as msprobe requires. */
static bool read_batch(const void *dict, const char *id, struct batch *b)
{
	char name[REQUEST_MAX];
	void *key, *value;
	size_t at = 0;
	int64_t n;

	while (py_get_next_entry(dict, &at, &key, &value)) {
		if (!py_get_text(key, name, sizeof(name)) || !py_get_integer(value, &n) || n <= 0)
			return false;
		if (strcmp(name, id) == 0) {
			b->begin = b->total;
			b->end = b->total + (uint64_t)n;
			b->found = true;
		}
		b->total += (uint64_t)n;
	}
	return true;
}

void torch_read_request(py_object *object, const char *path)
{
	const char *id = get_slices_keys(get_first_generation()->cfg)->request_id;
	const void *dict = find_attribute(object, path);
	struct batch b = {0};
	bool fits = true;

	if (!dict || !py_is_dict(dict) || !read_batch(dict, id, &b)) {
		log_loss(LOSS_DUMP,
			"request_tokens: the argument has no dict from request to number of tokens "
			"there; tensors are recorded whole");
		slice_set_request_state(REQUEST_UNKNOWN);
		return;
	}
	if (!b.total)
		slice_set_request_state(REQUEST_UNKNOWN);
	else if (!b.found)
		slice_set_request_state(REQUEST_ABSENT);
	else
		fits = slice_set_request(b.total, b.begin, b.end);
	if (!fits)
		log_loss(LOSS_DUMP,
			"request_tokens: a batch of %llu tokens is too large: its tensors are "
			"recorded whole",
			(unsigned long long)b.total);
}
