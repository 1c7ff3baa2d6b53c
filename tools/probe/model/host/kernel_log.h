/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's log of this machine reports about a process that has ended: that it was killed because memory ran out,
 * crashed, touched broken memory, or that its GPU had an error. Root may read the log; others may if kernel.dmesg_restrict is
 * 0.
 */
#ifndef PROBE_TOOLS_PROBE_READ_KERNEL_LOG_H
#define PROBE_TOOLS_PROBE_READ_KERNEL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/layout.h"

struct kernel_word {
	uint64_t at_ns; /* Unix epoch */
	int signal; /* the signal that ended it; 0: not in the message */
	bool memory; /* it was killed because memory ran out */
	char line[256];
};

/* Parses one message of the log, without its header. True: it concerns that process or thread. */
bool parse_kernel_word(const char *message, int64_t id, struct kernel_word *w);

/* The messages about any process, in order. */
struct kernel_log {
	bool readable;
	uint64_t from_ns; /* start of the log's contents */
	struct kernel_message {
		uint64_t at_ns;
		char *text;
	} * message;
	unsigned n, cap;
};

void kernel_log_read(struct kernel_log *l);
void kernel_log_free(struct kernel_log *l);

enum kernel_says { KERNEL_SAYS, KERNEL_IS_SILENT, KERNEL_UNREAD };

/*
 * Finds the first message about that process, or its thread `thread` (0: none), from after_ns on. UNREAD: the log may not be
 * read, does not reach back far enough, or belongs to another machine; or processes have other ids in it (in a container).
 */
enum kernel_says ask_kernel_log(const struct kernel_log *l, const struct journal_owner *o,
	int64_t thread, uint64_t after_ns, struct kernel_word *w);

#endif
