/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/fenv.h"

void stats_fenv_set(struct stats_fenv *save)
{
	stats_fenv_set_inline(save);
}

void stats_fenv_reset(const struct stats_fenv *save)
{
	stats_fenv_reset_inline(save);
}
