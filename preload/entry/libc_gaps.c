/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of glibc that other C libraries lack, for libprobe.so only. A missing symbol ends the
 * program at its start, with exit code 127, even if the constructor would then turn everything
 * off (musl). So such functions are defined weak here. The static libraries linked into
 * libprobe.so are built with _FORTIFY_SOURCE, whose functions end the process; these do not.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/at_start.h"

extern void *__dso_handle __attribute__((visibility("hidden")));
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
	void *object) __attribute__((weak));
extern int __cxa_at_quick_exit(void (*f)(void *), void *object) __attribute__((weak));

int __snprintf_chk(char *to, size_t cap, int flag, size_t room, const char *format, ...);
int __vsnprintf_chk(
	char *to, size_t cap, int flag, size_t room, const char *format, va_list values);

/* glibc has these two functions in a static part, which refers strongly to the functions above. */
START_CODE int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	return __register_atfork ? __register_atfork(prepare, parent, child, &__dso_handle)
				 : ENOSYS;
}

int at_quick_exit(void (*f)(void))
{
	return __cxa_at_quick_exit ? __cxa_at_quick_exit((void (*)(void *))f, &__dso_handle) : -1;
}

int __vsnprintf_chk(char *to, size_t cap, int flag, size_t room, const char *format, va_list values)
{
	(void)flag;
	return vsnprintf(to, cap < room ? cap : room, format, values);
}

int __snprintf_chk(char *to, size_t cap, int flag, size_t room, const char *format, ...)
{
	va_list values;
	int n;

	va_start(values, format);
	n = __vsnprintf_chk(to, cap, flag, room, format, values);
	va_end(values);
	return n;
}
