/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Action `stop` of an alert: the only action that ends a job, and only if the user's rule
 * requests it. The writer thread makes the request. The adapter of a framework whose steps can
 * raise an error takes it after the next optimizer step, on the thread of that step. No other
 * part of libprobe ends a job.
 */
#ifndef PROBE_TRAIN_STOP_H
#define PROBE_TRAIN_STOP_H

#include <stdbool.h>
#include <stddef.h>

#define STOP_TEXT_MAX 256

/* The adapter calls this at each step to report that its steps can raise an error. Any thread. */
void stop_job_offer(void);

/*
 * Requests that the next such step raises an error with this text, one line without quotes.
 * Returns NULL, or a static text about why that is not possible. Once in a process, by the writer
 * thread.
 */
const char *stop_job_ask(const char *text);

/*
 * To be called after a step. Returns true, once, if an error was requested; text receives its
 * text. Any thread.
 */
bool stop_job_take(char text[STOP_TEXT_MAX]);

/* For a forked child: the request was for the parent. */
void stop_job_forked(void);

#endif
