/* SPDX-License-Identifier: Apache-2.0 */
#include "life/last_words.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "text/text.h"
#include "base/thread.h"
#include "call/recorder.h"
#include "call/step.h"
#include "journal/ending.h"
#include "session/state.h"

#define WORDS_MAX 4096

/* Bits, of which several may be set; the most significant one is reported. */
enum { SAID_FINALIZED = 1, SAID_CODE = 2, SAID_ABORT = 4, SAID_EXCEPTION = 8, SAID_EXIT = 16 };

static struct {
	_Atomic unsigned said;
	_Atomic int code;
	int signal;
	uint64_t at_ns; /* time of the exception: handling it may take seconds */
	char function[64];
	char text[2048];
	struct {
		_Atomic bool any;
		uint32_t step;
		uint64_t at_ns;
		char text[2048];
	} shown;
} words;

static void copy_words_text(char *to, size_t cap, const char *from)
{
	size_t n = strlen(from);

	if (n >= cap)
		for (n = cap - 1; n && (from[n] & 0xc0) == 0x80;)
			n--;
	memcpy(to, from, n);
	to[n] = 0;
}

void record_finalized(void)
{
	atomic_fetch_or(&words.said, SAID_FINALIZED);
}

void record_exit_code(int code)
{
	/* An earlier signal did not end the process: a handler of the job survived it. */
	if (words.signal)
		atomic_fetch_and(&words.said, ~(unsigned)SAID_ABORT);
	/*
	 * Only the first code is used: a handler that runs afterwards may end the process with
	 * another.
	 */
	if (atomic_fetch_or(&words.said, SAID_CODE) & SAID_CODE)
		return;
	atomic_store(&words.code, code & 0xff);
}

void record_quick_exit(void)
{
	atomic_fetch_or(&words.said, SAID_EXIT);
}

void record_abort(const char *function, int code, int signal)
{
	if (atomic_load(&words.said) & SAID_ABORT)
		return;
	copy_words_text(words.function, sizeof(words.function), function);
	words.signal = signal;
	if (!signal)
		atomic_store(&words.code, code);
	atomic_fetch_or(&words.said, signal ? SAID_ABORT : SAID_ABORT | SAID_CODE);
}

/* Returns the innermost recorded function in which the calling thread is, or NULL. */
static const char *find_call_inside(void)
{
	const struct thread *t = thread_state.recorder;
	const char *p = NULL;
	uint32_t wait;

	if (!t || !thread_get_call_depth())
		return NULL;
	if (t->nopen)
		p = journal_dict_get(&session.journal, DICT_API, t->open[t->nopen - 1]->api);
	wait = atomic_load_explicit(&t->chain.slot->wait_api, memory_order_relaxed);
	if (!p && wait)
		p = journal_dict_get(&session.journal, DICT_API, (uint16_t)wait);
	/* The entry has library, symbol, operation. */
	return p ? p + strlen(p) + 1 : NULL;
}

/*
 * Returns the word for the ending. An exception that was shown and did not end the program is not
 * the reason.
 */
static const char *get_ending_word(unsigned said, int code)
{
	return said & SAID_ABORT				       ? "abort"
	       : said & SAID_EXCEPTION && !(said & SAID_CODE && !code) ? "exception"
	       : said & SAID_FINALIZED				       ? "finalized"
	       : said & (SAID_CODE | SAID_EXIT)			       ? "exit"
								       : "unknown";
}

/*
 * True if the exception that was shown last may be the reason for the end: the training did not
 * continue after it.
 */
static bool was_exception_shown(void)
{
	return atomic_load(&words.shown.any) && step_now() == words.shown.step;
}

static bool is_exit_with_code(const struct ending *e)
{
	return (strcmp(e->how, "exit") == 0 || strcmp(e->how, "finalized") == 0) &&
	       e->code != ENDING_NONE && e->code;
}

void write_last_words(void)
{
	unsigned said = atomic_load(&words.said);
	int code = atomic_load(&words.code);
	struct ending e = {.how = get_ending_word(said, code),
		.code = said & SAID_CODE ? code : ENDING_NONE,
		.signal = said & SAID_ABORT && words.signal ? words.signal : ENDING_NONE,
		.inside = find_call_inside(),
		.at_ns = clock_ns(CLOCK_REALTIME)};
	char json[WORDS_MAX];

	if (strcmp(e.how, "exception") == 0) {
		e.text = words.text;
		e.at_ns = words.at_ns;
	} else if (said & SAID_ABORT) {
		e.text = words.function;
		/*
		 * A process that exits because of an exception may be aborted while its libraries
		 * are torn down, as PyTorch's threads sometimes do; meanwhile other ranks may
		 * have failed because of this one. So the exception is noted too.
		 */
		if (said & SAID_EXCEPTION) {
			e.shown = words.text;
			e.at_ns = words.at_ns;
		} else if (was_exception_shown()) {
			e.shown = words.shown.text;
		}
	} else if (is_exit_with_code(&e) && was_exception_shown()) {
		e.text = words.shown.text;
		e.at_ns = words.shown.at_ns;
	}
	journal_record_ending(&session.journal, &e, json, sizeof(json));
}

void record_exception(const char *text)
{
	copy_words_text(words.text, sizeof(words.text), text);
	words.at_ns = clock_ns(CLOCK_REALTIME);
	atomic_fetch_or(&words.said, SAID_EXCEPTION);
	/*
	 * Written now, because tearing down libraries may last until a launcher sends a signal,
	 * after which nothing can be written.
	 */
	if (session_is_on())
		write_last_words();
}

void record_shown_exception(const char *text)
{
	copy_words_text(words.shown.text, sizeof(words.shown.text), text);
	words.shown.at_ns = clock_ns(CLOCK_REALTIME);
	words.shown.step = step_now();
	atomic_store(&words.shown.any, true);
}

void record_exit_requested(int code)
{
	struct ending e = {.how = "exit",
		.code = code & 0xff,
		.signal = ENDING_NONE,
		.text = words.shown.text,
		.at_ns = clock_ns(CLOCK_REALTIME)};
	char json[WORDS_MAX];

	if (session_is_on() && is_exit_with_code(&e) && was_exception_shown() &&
		!atomic_load(&words.said))
		journal_record_ending(&session.journal, &e, json, sizeof(json));
}

void reset_last_words(void)
{
	atomic_store(&words.said, 0);
	atomic_store(&words.shown.any, false);
}
