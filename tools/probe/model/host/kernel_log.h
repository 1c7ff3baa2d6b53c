/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the kernel log of this host for the cause of a process's end: killed because memory
 * ran out, crashed, touched broken memory, or a GPU error. Root can read the log. Other users can
 * if kernel.dmesg_restrict is 0.
 */
#ifndef PROBE_TOOLS_PROBE_READ_KERNEL_LOG_H
#define PROBE_TOOLS_PROBE_READ_KERNEL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/layout.h"

struct kernel_word {
	uint64_t at_ns; /* Unix epoch */
	int signal; /* the signal that ended the process; 0: the message names none */
	bool memory; /* the process was killed because memory ran out */
	char line[256];
};

/*
 * Parses one message of the log, without its header. Returns true if the message is about process
 * or thread `id`.
 */
bool parse_kernel_word(const char *message, int64_t id, struct kernel_word *w);

/* The messages of the log that are about a process, oldest first. */
struct kernel_log {
	bool readable;
	uint64_t from_ns; /* time of the oldest message that is still in the log */
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
 * Finds the first message from after_ns on about the process `o` or its thread `thread` (0: no
 * thread). Returns KERNEL_UNREAD if the log cannot answer: it is not readable, begins after
 * after_ns, belongs to another boot or machine, or the process ids in it are not the container's.
 */
enum kernel_says ask_kernel_log(const struct kernel_log *l, const struct journal_owner *o,
	int64_t thread, uint64_t after_ns, struct kernel_word *w);

#endif
