/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages on the job's stderr: at most one line for each kind of loss, also kept for meta.json. Levels: 0 none, 1
 * losses, 2 also what was set up, 3 and 4 for debugging libprobe itself.
 */
#ifndef PROBE_BASE_LOG_H
#define PROBE_BASE_LOG_H

#include <stdint.h>

/* Kinds of loss: terms/losses.def. */
enum loss {
#define LOSS_KIND(id, name, help) LOSS_##id,
#include "terms/losses.def"
	LOSS_COUNT
};

#define LOSS_TEXT_MAX 240

void log_level_set(int level);
int log_level(void);
void log_rank_set(int rank); /* -1: unknown; for the prefix */

/* Logs one line, without a newline at its end. Keeps errno. */
void log_loss(enum loss kind, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_info(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Prints buffered LOSS_CONFIG messages; later ones are printed at once. They are buffered because
 * the configuration is read when the library is loaded, also in shells and launchers that never
 * record and must stay silent.
 */
void log_config_now(void);

/* Returns the first message of this kind of loss, or NULL. */
const char *log_loss_text(enum loss kind);
const char *log_loss_name(enum loss kind); /* short name for meta.json */

/* Forgets all messages. Call in a forked child. */
void log_reset(void);

#endif
