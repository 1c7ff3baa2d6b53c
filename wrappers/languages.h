/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_WRAPPERS_LANGUAGES_H
#define PROBE_WRAPPERS_LANGUAGES_H

#include "stack/foreign.h"

extern const struct stack_language python_language; /* CPython 3.8 to 3.14, builds with a GIL */

#endif
