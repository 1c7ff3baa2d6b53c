/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the recording: transitions of session/state.h, and what other code may report about
 * this process. For adapters, probe.h, and the files of life/.
 */
#ifndef PROBE_LIFE_LIFE_H
#define PROBE_LIFE_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/rooms/room.h"
#include "session/generation.h"

struct ctl_change;

/* The program is about to end (or to abort): writes everything and marks the folder finished. Later calls pass unrecorded. */
void session_end(void);

/* The job's own rank became known, or is no longer guessed. size < 0: unknown. */
void session_set_rank(int rank, int size);

/*
 * Like session_set_rank(), from a communicator that may not include the whole job: used if no other
 * source gives the rank.
 */
void session_set_guessed_rank(int rank, int size);

/*
 * Sets a new configuration: the text of a probe.yaml, overridden by the environment at process
 * start. It takes effect at the end of the step. name: the text's name in messages. Keys that are
 * only read at the start (files, journal, helper threads, custom_apis) keep their values, which
 * is reported. Returns 0, -EINVAL (it has errors, each reported in a line), -ENOSPC (there have
 * been too many), -ENOMEM, or -EPERM (nothing is recorded); on failure the old configuration
 * stays in use.
 */
int session_reconfigure(const char *name, const char *text, size_t len);

/* Adds or replaces a part of meta.json. json: the value as JSON text. */
int session_set_meta(uint16_t part, const char *key, const char *json);

/*
 * Reports the version text of a library, for meta.json. Any time after the first call. name: lives as
 * long as the process.
 */
#define LIBRARY_TEXT_MAX 200
void session_record_library(const char *name, const char *version);

/*
 * Reports that something in this process cannot be observed: the subject, why, and the remedy, for
 * meta.json. Each is noted once. subject: lives as long as the process; why: fewer than
 * LIBRARY_TEXT_MAX bytes.
 */
void session_record_invisible(const char *subject, const char *why);

/*
 * Reports whether a fact of api/layout_fact.h holds, for meta.json. Takes session.lock if the
 * result is new.
 */
void session_record_layout_fact(unsigned fact, bool holds);

/*
 * Reports that the program had done n steps before the first step of this process: it was resumed
 * from a checkpoint.
 */
void session_record_steps_before(uint64_t n);

/* Reports the first step whose optimizer began before the framework had reduced its gradients. */
void session_record_unfinished_reduction(uint64_t step);

/*
 * Reports the initial seeds of the program's libraries, as JSON of less than 200 bytes, for
 * meta.json.
 */
void session_record_seeds(const char *json);

/* ---- inside life/ ---- */

/* The hooks of session/state.h: session_hooks.configure, .start. */
bool life_configure(void);
bool life_start(void);

/*
 * Loads the list of functions named in the configuration, or else one that is found, or else the
 * built-in list. Returns NULL if there is no memory.
 */
struct wraplist *life_load_list(const struct config *cfg, config_report_fn *report, void *arg);

/* The hooks session_hooks.exiting, .aborting. */
void life_exiting(int code);
void life_aborting(void);

/* A new configuration while the program runs. */
struct change_text {
	const char *name, *text; /* the file's name and text; len 0: the defaults */
	size_t len;
	const struct ctl_change *change; /* keys of ctl.yaml, which take precedence; NULL: none */
	uint32_t asked; /* this and the following members: as in struct generation */
	uint64_t mark;
	const char *by;
};

/*
 * Makes a pair for generation_propose(). Returns 0, -EINVAL (the configuration has errors,
 * reported in lines), or -ENOMEM.
 */
int life_make_pair(const struct change_text *t, struct generation_pair **pair);

/* The hook session_hooks.config_changed. */
void life_config_changed(uint32_t step);

/*
 * The configuration file, absolute; NULL: none. named: it was given by PROBE_CONFIG. Any other
 * file is shared by all jobs, and edits to it are meant for jobs that start later.
 */
extern char *life_config_file;
extern bool life_config_named;

/* The hooks session_hooks.look_at_config and .step_unrecorded: config_watch.c. */
void life_check_config(void);
void life_step_unrecorded(void);

/*
 * To be called when the first configuration has been read: changes of the file are detected from
 * now on.
 */
void config_watch_start(void);

/*
 * To be called when the recording has ended: a change that still waits for other ranks
 * (dynamic_on: false in the file) is made at once.
 */
void config_watch_stop(void);

/* In a forked child. */
void config_watch_forked(void);

/* Notes in meta.json that another configuration is used from `step` on. */
void session_config_changed(uint64_t step);

/* Describes this process in meta.json. Call with session.lock held. */
void session_write_description(void);

/*
 * Selects the instruction set and helper threads for measuring tensors. Call before there is a
 * writer thread.
 */
void session_statistics(void);

#endif
