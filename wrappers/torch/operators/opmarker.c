/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators and the step marker.
 *
 * An operator ends a step (step_marker: aten::argmax, or one overload: aten::add.Tensor). If the
 * operator is listed as well, its record is the mark; otherwise it is only observed. The call
 * counts if it is made outside of recorded calls; the operator's `redispatch` inside its `call`,
 * and an overload inside another one, count together with it.
 *
 * If the marker is a Python function, calls of common operators show which activation of that
 * function runs. The more operators are examined, the fewer activations are mistaken for the
 * previous one.
 */
#include <string.h>

#include "base/thread.h"
#include "call/activation.h"
#include "call/step.h"
#include "config/marker.h"
#include "config/rooms/steps.h"
#include "session/state.h"
#include "wrappers/torch/tensors/torch.h"

#define PREFIX "aten::"

static const char *const common[] = {"_foreach_add_", "_local_scalar_dense", "add", "add_", "addmm",
	"argmax", "bmm", "cat", "convolution", "copy_", "embedding", "index", "item", "linear",
	"matmul", "mm", "mul", "mul_", "multinomial", "ones_like", "stack", "sub", "sub_", "zero_"};

static THREAD_OWN uint32_t inside;

/* The operator configured as step_marker; NULL if the marker is not an operator. */
static const char *get_marker_operator(void)
{
	const char *m = get_steps_keys(get_config())->step_marker;

	return m && strncmp(m, PREFIX, sizeof(PREFIX) - 1) == 0 ? m + sizeof(PREFIX) - 1 : NULL;
}

bool torch_is_possible_marker(const char *name)
{
	const char *m = get_marker_operator();
	size_t n = m ? strcspn(m, ".") : 0;

	/* Where the overload's name begins in add_relu_Tensor is not known yet. */
	return m && strncmp(name, m, n) == 0 &&
	       (m[n] ? name[n] == '_' && strcmp(name + n + 1, m + n + 1) == 0
		     : name[n] == '_' || !name[n]);
}

static bool is_marker_operator(const char *base, const char *overload)
{
	const char *m = get_marker_operator();
	size_t n = m ? strcspn(m, ".") : 0;

	return m && strlen(base) == n && strncmp(base, m, n) == 0 &&
	       (!m[n] || strcmp(overload, m + n + 1) == 0);
}

static bool is_marker_python(void)
{
	const char *configured = get_steps_keys(get_config())->step_marker;
	struct marker m;

	return configured && !marker_parse(configured, strlen(configured), &m) &&
	       m.form == MARKER_LANGUAGE && m.nlanguage == 6 &&
	       memcmp(m.language, "python", 6) == 0;
}

enum torch_scope torch_get_marker_scope(const char *base, const char *overload)
{
	if (is_marker_operator(base, overload))
		return SCOPE_MARKER;
	for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++)
		if (strcmp(common[i], base) == 0 && is_marker_python())
			return SCOPE_LOOK;
	return SCOPE_NONE;
}

/*
 * name: of the C++ struct, such as add_Tensor. `redispatch` follows `call`, except in rare ways
 * to call an operator.
 */
bool torch_is_marker_check(const char *name, bool call)
{
	if (!call || !is_marker_python())
		return false;
	for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++) {
		size_t n = strlen(common[i]);

		if (strncmp(name, common[i], n) == 0 && (name[n] == '_' || !name[n]))
			return true;
	}
	return false;
}

void torch_handle_marker(const struct call *c, bool leaving)
{
	if (torch_get_function(c)->scope == SCOPE_LOOK) {
		if (!leaving && !thread_state.depth)
			activation_check();
		return;
	}
	if (!leaving)
		own(inside)++;
	else if (own(inside) && --own(inside) == 0 && !thread_state.depth && c->ok)
		step_handle_marker();
}
