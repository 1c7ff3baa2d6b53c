/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/fenv.h"

void stats_fenv_enter(struct stats_fenv *save)
{
	set_stats_fenv(save);
}

void stats_fenv_leave(const struct stats_fenv *save)
{
	reset_stats_fenv(save);
}
