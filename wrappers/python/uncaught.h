/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records an exception that ends the program: CPython reports it to its audit hooks (event
 * `sys.excepthook`, PEP 578) before anything is printed. A caught exception is recorded as the last one shown (life/last_words.h) when its traceback is formatted (event `object.__getattr__` of
 * `tb_frame`: traceback, logging), and when SystemExit is created while it is handled. The hook
 * runs no code of the program, and never vetoes.
 */
#ifndef PROBE_WRAPPERS_PYTHON_UNCAUGHT_H
#define PROBE_WRAPPERS_PYTHON_UNCAUGHT_H

/* For struct stack_language.watch_end. */
void start_uncaught_watch(void);

#endif
