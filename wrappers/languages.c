/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreters whose stacks can be read; to add one, add a line. */
#include "wrappers/languages.h"

const struct stack_language *const stack_languages[] = {&python_language, NULL};
