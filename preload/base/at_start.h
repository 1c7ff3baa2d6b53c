/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code and data that every process of a job uses at its start, also thousands of shells and compilers that never
 * record. They are kept together: one page of code, and one page of data that the loader has written already.
 */
#ifndef PROBE_BASE_AT_START_H
#define PROBE_BASE_AT_START_H

#define START_CODE __attribute__((section(".text.startup")))
#define START_DATA __attribute__((section("probe_start")))

#endif
