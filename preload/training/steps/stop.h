/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Action `stop` of an alert: the one of its actions that ends a job, and only where the user's rule says so. The writer's thread asks;
 * the adapter of a framework whose steps can end in an error takes what was asked for behind the next step of an optimizer, on
 * the thread of that step. Nothing else of a job is ended, by no other means.
 */
#ifndef PROBE_TRAIN_STOP_H
#define PROBE_TRAIN_STOP_H

#include <stdbool.h>
#include <stddef.h>

#define STOP_TEXT_MAX 256

/* Steps are made here that can end in an error: said by the adapter, at each. Any thread. */
void stop_job_offer(void);

/*
 * The next such step is to end in an error with that text, one line without quotes. NULL: it will; else why it will not, as a
 * static text. Once in a process. The writer's thread.
 */
const char *stop_job_ask(const char *text);

/* Behind a step: true, once, where it was asked for; text as above. Any thread. */
bool stop_job_take(char text[STOP_TEXT_MAX]);

/* In a forked child: it was asked of the parent. */
void stop_job_forked(void);

#endif
