/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every process of a job runs and writes at its start, also thousands of shells and compilers that never record:
 * kept together, so that it is a page of code and a page of data, which the loader has written to anyway.
 */
#ifndef PROBE_BASE_AT_START_H
#define PROBE_BASE_AT_START_H

#define START_CODE __attribute__((section(".text.startup")))
#define START_DATA __attribute__((section("probe_start")))

#endif
