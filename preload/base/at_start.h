/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code and data that every process of a job uses at its start and end, including thousands of
 * shells and compilers that never record. Code and constants are in the same page. Variables are
 * in the first page of .data, to which the loader writes anyway, because it contains all addresses
 * of .data.
 */
#ifndef PROBE_BASE_AT_START_H
#define PROBE_BASE_AT_START_H

#define START_CODE __attribute__((section(".text.startup")))
#define START_CONST __attribute__((section(".text.startup.const")))
#define START_DATA __attribute__((section(".data.start")))

#endif
