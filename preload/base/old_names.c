/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers of glibc 2.38 and newer redirect strtol() and sscanf() to names that older versions
 * lack. A program compiled with these headers would not start on a cluster's older system or
 * container. The new functions differ only in accepting "0b101" for bases 0 and 2. The
 * definitions here call the functions that every glibc has; static libraries linked into libprobe
 * use them too. So numbers are parsed alike wherever libprobe was built.
 */
#include <stdarg.h>

#define OLD(name) __asm__(name)

extern long old_strtol(const char *s, char **end, int base) OLD("strtol");
extern unsigned long old_strtoul(const char *s, char **end, int base) OLD("strtoul");
extern long long old_strtoll(const char *s, char **end, int base) OLD("strtoll");
extern unsigned long long old_strtoull(const char *s, char **end, int base) OLD("strtoull");
extern int old_vsscanf(const char *s, const char *format, va_list values) OLD("__isoc99_vsscanf");

long __isoc23_strtol(const char *s, char **end, int base);
unsigned long __isoc23_strtoul(const char *s, char **end, int base);
long long __isoc23_strtoll(const char *s, char **end, int base);
unsigned long long __isoc23_strtoull(const char *s, char **end, int base);
int __isoc23_vsscanf(const char *s, const char *format, va_list values);
int __isoc23_sscanf(const char *s, const char *format, ...);

long __isoc23_strtol(const char *s, char **end, int base)
{
	return old_strtol(s, end, base);
}

unsigned long __isoc23_strtoul(const char *s, char **end, int base)
{
	return old_strtoul(s, end, base);
}

long long __isoc23_strtoll(const char *s, char **end, int base)
{
	return old_strtoll(s, end, base);
}

unsigned long long __isoc23_strtoull(const char *s, char **end, int base)
{
	return old_strtoull(s, end, base);
}

int __isoc23_vsscanf(const char *s, const char *format, va_list values)
{
	return old_vsscanf(s, format, values);
}

int __isoc23_sscanf(const char *s, const char *format, ...)
{
	va_list values;
	int n;

	va_start(values, format);
	n = old_vsscanf(s, format, values);
	va_end(values);
	return n;
}
