/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/signal_name.h"

#include <signal.h>
#include <stddef.h>

#define NAME(word) [SIG##word] = #word
static const char *const names[] = {NAME(HUP), NAME(INT), NAME(QUIT), NAME(ILL), NAME(TRAP),
	NAME(ABRT), NAME(BUS), NAME(FPE), NAME(KILL), NAME(USR1), NAME(SEGV), NAME(USR2),
	NAME(PIPE), NAME(ALRM), NAME(TERM), NAME(STKFLT), NAME(CHLD), NAME(CONT), NAME(STOP),
	NAME(TSTP), NAME(TTIN), NAME(TTOU), NAME(URG), NAME(XCPU), NAME(XFSZ), NAME(VTALRM),
	NAME(PROF), NAME(WINCH), [SIGPOLL] = "POLL", NAME(PWR), NAME(SYS)};

const char *get_signal_name(int signal)
{
	return signal > 0 && (size_t)signal < sizeof(names) / sizeof(*names) ? names[signal] : NULL;
}
