/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code and data that every process of a job uses at its start, including thousands of shells and
 * compilers that never record. They are in one page of code, and one page of data that the loader
 * has written to anyway.
 */
#ifndef PROBE_BASE_AT_START_H
#define PROBE_BASE_AT_START_H

#define START_CODE __attribute__((section(".text.startup")))
#define START_DATA __attribute__((section("probe_start")))

#endif
