/* SPDX-License-Identifier: Apache-2.0 */
/* A locale with a decimal comma, made if the system has none. */
#ifndef TESTS_UNIT_LOCALE_HELPER_H
#define TESTS_UNIT_LOCALE_HELPER_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* False: there is none and it cannot be made. */
static inline bool comma_locale(void)
{
	char dir[64] = "/tmp/probe-locale-XXXXXX", cmd[256];

	if (!setlocale(LC_ALL, "de_DE.UTF-8") && mkdtemp(dir)) {
		snprintf(cmd, sizeof(cmd),
			"localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", dir);
		if (system(cmd) == 0) {
			setenv("LOCPATH", dir, 1);
			setlocale(LC_ALL, "de_DE.UTF-8");
		}
		snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
		if (system(cmd))
			return false;
	}
	snprintf(cmd, sizeof(cmd), "%.1f", 0.5);
	return strcmp(cmd, "0,5") == 0;
}

#endif
