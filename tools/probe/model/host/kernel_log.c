/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/host/kernel_log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "folder/owner.h"
#include "tools/lib/tool.h"

#define MESSAGES_MAX 65536
/* PROC_PID_INIT_INO: the pid namespace to which the process ids in the log belong */
#define FIRST_PID_NAMESPACE UINT64_C(0xeffffffc)

/*
 * A message contains `before`, a number and `after`, and also the string `with` (NULL: not needed).
 */
static const struct {
	const char *before, *after, *with;
	int signal;
	bool memory;
} forms[] = {
	/* mm/oom_kill.c: "Out of memory: Killed process 1 (python3) ...", "Memory cgroup out of memory: ..." */
	{"Killed process ", " (", "ut of memory", SIGKILL, true},
	/* arch/x86: "train[1]: segfault at ...", "traps: train[1] general protection fault ..." */
	{"[", "]: segfault at ", NULL, SIGSEGV, false},
	{"[", "] general protection", NULL, SIGSEGV, false},
	{"[", "] trap invalid opcode", NULL, SIGILL, false},
	{"[", "] trap divide error", NULL, SIGFPE, false},
	{"[", "] trap int3", NULL, SIGTRAP, false},
	{"[", "] trap stack segment", NULL, SIGBUS, false},
	{"[", "] trap alignment check", NULL, SIGBUS, false},
	/* arch/arm64: the message contains the exception, not the signal */
	{"[", "]: unhandled exception: ", NULL, 0, false},
	/* mm/memory-failure.c: "Killing train:1 due to hardware memory corruption" */
	{":", " due to hardware memory corruption", NULL, SIGBUS, false},
	/* NVIDIA's driver: "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=python, GPU has fallen off the bus." */
	{"pid=", ",", "NVRM: Xid", 0, false},
	{"pid='", "'", "NVRM: Xid", 0, false},
};

bool parse_kernel_word(const char *message, int64_t id, struct kernel_word *w)
{
	char text[96];

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		snprintf(text, sizeof(text), "%s%lld%s", forms[i].before, (long long)id,
			forms[i].after);
		if (!strstr(message, text) || (forms[i].with && !strstr(message, forms[i].with)))
			continue;
		*w = (struct kernel_word){.signal = forms[i].signal, .memory = forms[i].memory};
		snprintf(w->line, sizeof(w->line), "%.*s", (int)strcspn(message, "\n"), message);
		return true;
	}
	return false;
}

/*
 * Parses a record of /dev/kmsg: "priority,number,microseconds,flags;message\n"
 * (Documentation/ABI/testing/dev-kmsg). Returns the message.
 */
static const char *read_record_time(char *record, uint64_t *ns)
{
	char *message = strchr(record, ';'), *field = record;

	for (unsigned i = 0; i < 2 && field; i++) {
		field = strchr(field, ',');
		field = field ? field + 1 : NULL;
	}
	if (!message || !field || field > message)
		return NULL;
	*ns = strtoull(field, NULL, 10) * 1000;
	return message + 1;
}

static bool is_about_a_process(const char *message)
{
	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (strstr(message, forms[i].after) && strstr(message, forms[i].before) &&
			(!forms[i].with || strstr(message, forms[i].with)))
			return true;
	return false;
}

void kernel_log_read(struct kernel_log *l)
{
	/* The log counts time from the start of the machine. */
	uint64_t started = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC), at;
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char record[8192];

	*l = (struct kernel_log){0};
	if (fd < 0)
		return;
	for (;;) {
		ssize_t n = read(fd, record, sizeof(record) - 1);
		const char *message;

		if (n < 0 && (errno == EINTR || errno == EPIPE))
			continue; /* EPIPE: older messages were overwritten meanwhile */
		if (n <= 0)
			break;
		record[n] = 0;
		message = read_record_time(record, &at);
		if (!message)
			continue;
		if (!l->readable)
			l->from_ns = started + at;
		l->readable = true;
		if (!is_about_a_process(message) || l->n >= MESSAGES_MAX)
			continue;
		TOOL_GROW(l->message, l->n, l->cap);
		l->message[l->n++] = (struct kernel_message){started + at, tool_strdup(message)};
	}
	close(fd);
}

void kernel_log_free(struct kernel_log *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->message[i].text);
	free(l->message);
	*l = (struct kernel_log){0};
}

enum kernel_says ask_kernel_log(const struct kernel_log *l, const struct journal_owner *o,
	int64_t thread, uint64_t after_ns, struct kernel_word *w)
{
	if (!l->readable || o->pid_ns != FIRST_PID_NAMESPACE || !owner_is_of_this_boot(o))
		return KERNEL_UNREAD;
	for (unsigned i = 0; i < l->n; i++) {
		const struct kernel_message *m = &l->message[i];

		if (m->at_ns < after_ns)
			continue;
		if (!parse_kernel_word(m->text, o->pid, w) &&
			!(thread && thread != o->pid && parse_kernel_word(m->text, thread, w)))
			continue;
		w->at_ns = m->at_ns;
		return KERNEL_SAYS;
	}
	return l->from_ns > after_ns ? KERNEL_UNREAD : KERNEL_IS_SILENT;
}
