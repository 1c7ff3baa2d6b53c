/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Action `stop` of an alert: the only action that ends a job, and only if the user's rule says so. The writer's thread
 * requests it. The adapter of a framework whose steps can raise an error takes the request after the next optimizer
 * step, on that step's thread. Nothing else of a job is ended, and in no other way.
 */
#ifndef PROBE_TRAIN_STOP_H
#define PROBE_TRAIN_STOP_H

#include <stdbool.h>
#include <stddef.h>

#define STOP_TEXT_MAX 256

/* The adapter reports, at each step, that steps here can end in an error. Any thread. */
void stop_job_offer(void);

/*
 * Requests that the next such step ends in an error with that text, one line without quotes. Returns NULL, or a static text
 * about why it will not. Once in a process. The writer's thread.
 */
const char *stop_job_ask(const char *text);

/* Call after a step: true, once, if it was requested; text as above. Any thread. */
bool stop_job_take(char text[STOP_TEXT_MAX]);

/* In a forked child: the request was for the parent. */
void stop_job_forked(void);

#endif
