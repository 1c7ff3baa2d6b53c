/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's log of this machine says of a process that is gone: that it was killed because memory ran out, crashed,
 * touched broken memory, or that its GPU reported an error. Root may read the log, others where kernel.dmesg_restrict is 0.
 */
#ifndef PROBE_TOOLS_PROBE_READ_KERNEL_LOG_H
#define PROBE_TOOLS_PROBE_READ_KERNEL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/layout.h"

struct kernel_word {
	uint64_t at_ns; /* Unix epoch */
	int signal; /* that ended it; 0: the line does not say */
	bool memory; /* because memory ran out */
	char line[256];
};

/* One message of the log, without its head. True: it is about the process or the thread of that number. */
bool parse_kernel_word(const char *message, int64_t id, struct kernel_word *w);

/* The messages that are about some process, in order. */
struct kernel_log {
	bool readable;
	uint64_t from_ns; /* it reaches back so far */
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
 * The first message about that process, or its thread `thread` (0: none), from after_ns on. UNREAD: the log may not be read, does not
 * reach back so far, or is another machine's, or processes have other numbers there (in a container).
 */
enum kernel_says ask_kernel_log(const struct kernel_log *l, const struct journal_owner *o,
	int64_t thread, uint64_t after_ns, struct kernel_word *w);

#endif
