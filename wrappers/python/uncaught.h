/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exception that ends the program: CPython tells its audit hooks of it (event `sys.excepthook`, PEP 578) before
 * anything is printed. The hook looks at that event only, runs no code of the program's, and never vetoes.
 */
#ifndef PROBE_WRAPPERS_PYTHON_UNCAUGHT_H
#define PROBE_WRAPPERS_PYTHON_UNCAUGHT_H

/* struct stack_language.watch_end */
void watch_uncaught_exceptions(void);

#endif
