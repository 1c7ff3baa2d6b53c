/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "text/text.h"

static _Atomic int level = 1;
static _Atomic int rank = -1;
/* 0: no message yet, 1: being filled in, 2: the text is complete. Texts are written once and never freed. */
static _Atomic int reported[LOSS_COUNT];
static char texts[LOSS_COUNT][LOSS_TEXT_MAX];

static const char names[LOSS_COUNT][16] = {
#define LOSS_KIND(id, name, help) name,
#include "terms/losses.def"
};

void log_level_set(int l)
{
	atomic_store_explicit(&level, l, memory_order_relaxed);
}

int log_level(void)
{
	return atomic_load_explicit(&level, memory_order_relaxed);
}

void log_rank_set(int r)
{
	atomic_store_explicit(&rank, r, memory_order_relaxed);
}

/*
 * False if stderr may be a data file: programs may close stderr and get its number again for one.
 * A regular file that is not open for appending is assumed to be such a file.
 */
static int stderr_is_usable(void)
{
	struct stat st;

	if (fstat(2, &st) < 0)
		return 0;
	if (!S_ISREG(st.st_mode))
		return 1;

	int fl = fcntl(2, F_GETFL);
	off_t at = lseek(2, 0, SEEK_CUR);

	/*
	 * A shell's 2>file is not O_APPEND. It is accepted if the position is at the end, as in a
	 * log.
	 */
	return fl >= 0 && ((fl & O_APPEND) || at == st.st_size);
}

/*
 * Writes a line to stderr. SIGPIPE is blocked: writing to a pipe without a reader must not end a
 * program that never writes to stderr itself.
 */
static void write_line(const char *line, size_t n)
{
	const struct timespec now = {0};
	sigset_t pipe, pending, was;
	int cancel;

	/* write() is a cancellation point, and this thread may hold locks and has a signal blocked. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &was);

	bool before = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;

	if (io_write_all(2, line, n) == -EPIPE && !before)
		while (sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	pthread_setcancelstate(cancel, NULL);
}

/* Complete lines logged before log_config_now(). Lines that do not fit are dropped. */
static char held[4096];
static _Atomic size_t nheld;
static _Atomic bool config_now;

static void copy_held_line(const char *line, size_t n)
{
	size_t at = atomic_fetch_add(&nheld, n);

	if (at + n <= sizeof(held))
		memcpy(held + at, line, n);
	else
		atomic_fetch_sub(&nheld, n);
}

void log_config_now(void)
{
	int err = errno;
	size_t n;

	if (atomic_load_explicit(&config_now, memory_order_relaxed) ||
		atomic_exchange(&config_now, true))
		return;
	n = atomic_load(&nheld);
	if (n > sizeof(held))
		n = sizeof(held); /* from now on no line fits */
	for (size_t at = 0; at < n && log_level() > 0 && stderr_is_usable();) {
		const char *nl = memchr(held + at, '\n', n - at);
		size_t len = nl ? (size_t)(nl + 1 - (held + at)) : n - at;

		write_line(held + at, len);
		at += len;
	}
	errno = err;
}

static void write_loss_line(enum loss kind, const char *fmt, va_list ap, char *keep, size_t cap)
{
	char line[512];
	struct text t = text_init(line, sizeof(line) - 1);
	int r = atomic_load_explicit(&rank, memory_order_relaxed);

	text_add_string(&t, "libprobe: ");
	if (r >= 0)
		text_add_format(&t, "rank %d: ", r);

	size_t from = t.len;
	int n = vsnprintf(t.buf + t.len, t.cap - t.len, fmt, ap);

	if (n > 0)
		t.len += (size_t)n < t.cap - t.len ? (size_t)n : t.cap - t.len - 1;
	/* One line is printed, even if paths and names contain newlines. */
	for (char *p = line + from; p < line + t.len; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	if (keep)
		snprintf(keep, cap, "%s", line + from);
	line[t.len] = '\n';
	if (kind == LOSS_CONFIG && !atomic_load(&config_now))
		copy_held_line(line, t.len + 1);
	else if (log_level() > 0 && stderr_is_usable())
		write_line(line, t.len + 1);
}

/* Appends the text about another wrong setting to the text about the first one. */
static void add_setting(char *more)
{
	char *text = texts[LOSS_CONFIG];
	size_t n = strlen(text), len;

	more[strcspn(more, ";")] = 0;
	if (strstr(text, more))
		return;
	len = strlen(more);
	if (n + len + 6 >= LOSS_TEXT_MAX)
		len = strlen(strcpy(more, "..."));
	if (n + len + 3 >= LOSS_TEXT_MAX || (n > 3 && strcmp(text + n - 3, "...") == 0))
		return;
	/* The text may be read concurrently, so its NUL is moved last. */
	memcpy(text + n + 2, more, len + 1);
	text[n + 1] = ' ';
	atomic_thread_fence(memory_order_release);
	text[n] = ';';
}

void log_loss(enum loss kind, const char *fmt, ...)
{
	int err = errno;
	int none = 0;
	char *keep = NULL, more[LOSS_TEXT_MAX];

	if (atomic_compare_exchange_strong(&reported[kind], &none, 1))
		keep = texts[kind];
	if (keep || kind == LOSS_CONFIG) {
		va_list ap;

		va_start(ap, fmt);
		write_loss_line(kind, fmt, ap, keep ? keep : more, LOSS_TEXT_MAX);
		va_end(ap);
		if (!keep)
			add_setting(more);
	}
	if (keep)
		atomic_store_explicit(&reported[kind], 2, memory_order_release);
	errno = err;
}

void log_info(int l, const char *fmt, ...)
{
	if (l > log_level())
		return;

	int err = errno;
	va_list ap;

	va_start(ap, fmt);
	write_loss_line(LOSS_COUNT, fmt, ap, NULL, 0);
	va_end(ap);
	errno = err;
}

const char *log_loss_text(enum loss kind)
{
	return atomic_load_explicit(&reported[kind], memory_order_acquire) == 2 ? texts[kind]
										: NULL;
}

const char *log_loss_name(enum loss kind)
{
	return names[kind];
}

void log_reset(void)
{
	for (int i = 0; i < LOSS_COUNT; i++)
		atomic_store_explicit(&reported[i], 0, memory_order_relaxed);
	log_rank_set(-1);
}
