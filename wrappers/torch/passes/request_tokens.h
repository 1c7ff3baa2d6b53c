/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys request_id and request_tokens: which part of a batch belongs to a request of an inference server. msprobe 26.2 gets a dict
 * {request: number of tokens} from debugger.start(scheduled_tokens=...); here the same dict is read from an argument of the job's
 * own function (of vLLM: GPUModelRunner.execute_model(scheduler_output), num_scheduled_tokens). A request's tokens follow those of
 * the requests before it, in dimension 0 of tensors whose size is the sum of all.
 */
#ifndef PROBE_WRAPPERS_TORCH_REQUEST_TOKENS_H
#define PROBE_WRAPPERS_TORCH_REQUEST_TOKENS_H

#include <stddef.h>

#include "wrappers/python/function_hook.h"

struct config;

/*
 * Returns ARGUMENT[.ATTRIBUTE ...] of key request_tokens, and the length of python:FILE:FUNCTION before it in *len. Returns NULL if
 * no request is asked for, or the key is of another form (reported).
 */
const char *torch_find_request_argument(const struct config *cfg, size_t *len);

/*
 * Reads the dict from `object`, the argument of a call that begins: path is "" or ".ATTRIBUTE...". NULL, or an object without the
 * attributes: tensors are recorded whole (reported). Within py_lock_objects().
 */
void torch_read_request(py_object *object, const char *path);

#endif
