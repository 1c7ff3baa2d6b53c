/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/mindspore/layout/update_kernel.h"

#include <stddef.h>
#include <string.h>

/*
 * These kernels have outputs, too, which some devices never write. Sources: signatures (RW_WRITE)
 * and lists of inputs in MindSpore's ops/operations/nn_ops.py and
 * ops/auto_generate/gen_ops_prim.py. AdamWeightDecay was compared with the values of asnumpy()
 * (tests/long/mindspore_oracle.sh); for the other kernels only the rows have been checked.
 */
static const struct update_kernel update_kernels[] = {
	{"Adam", 3, 9, 5, 1, 2, 0, ""},
	{"AdamNoUpdateParam", 2, 0, 0, 0, 0, 0, ""},
	{"AdamWeightDecay", 3, 8, 3, 1, 2, 0, ""},
	{"FusedAdam", 3, 0, 0, 0, 0, 0, ""},
	{"FusedAdamWeightDecay", 3, 0, 0, 0, 0, 0, ""},
	{"ApplyAdaMax", 3, 8, 4, 1, 0, 2, "exp_inf"},
	{"ApplyAdadelta", 3, 6, 3, 0, 0, 1, "accum"},
	{"ApplyAdagrad", 2, 3, 2, 0, 0, 1, "accum"},
	{"ApplyAdagradV2", 2, 3, 2, 0, 0, 1, "accum"},
	{"ApplyAdamWithAmsgrad", 4, 7, 6, 1, 2, 3, "max_exp_avg_sq"},
	{"ApplyAdamWithAmsgradV2", 4, 10, 6, 1, 2, 3, "max_exp_avg_sq"},
	{"ApplyAddSign", 2, 6, 2, 0, 0, 1, "m"},
	{"ApplyCenteredRMSProp", 4, 4, 5, 0, 0, 2, "mean_square"},
	{"ApplyFtrl", 3, 3, 4, 0, 0, 1, "accum"},
	{"ApplyGradientDescent", 1, 2, 1, 0, 0, 0, ""},
	{"ApplyMomentum", 2, 3, 2, 0, 0, 1, "accum"},
	{"ApplyPowerSign", 2, 6, 2, 0, 0, 1, "m"},
	{"ApplyProximalAdagrad", 2, 5, 2, 0, 0, 1, "accum"},
	{"ApplyRMSProp", 3, 4, 3, 0, 0, 1, "mean_square"},
	{"SGD", 1, 1, 2, 0, 0, 3, "accum"},
};

const struct update_kernel *find_update_kernel(const char *name)
{
	for (size_t i = 0; i < sizeof(update_kernels) / sizeof(*update_kernels); i++)
		if (strcmp(update_kernels[i].name, name) == 0)
			return &update_kernels[i];
	return NULL;
}

bool find_name_prefixes(
	const char *parameter, const char *state, size_t *front, size_t *state_front)
{
	size_t p = strlen(parameter), s = strlen(state), n = 0;
	const char *dot;

	while (n < p && n < s && parameter[p - n - 1] == state[s - n - 1])
		n++;
	/*
	 * Go back to the start of the dotted component at which the common end of both names
	 * begins.
	 */
	while (n &&
		((p > n && parameter[p - n - 1] != '.') || (s > n && state[s - n - 1] != '.'))) {
		dot = memchr(parameter + p - n, '.', n);
		n = dot ? (size_t)(parameter + p - dot) - 1 : 0;
	}
	*front = p - n;
	*state_front = s - n;
	return n && n < s;
}
