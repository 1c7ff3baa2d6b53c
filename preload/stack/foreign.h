/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of an interpreter in the process, which are not on the native stack. A language is a
 * table of functions in wrappers/; the code in stack/ does not know any of them.
 *
 * A walk costs some nanoseconds per frame and makes no text: for each frame it returns values
 * that identify its position in the program. The caller maps the walk's hash to a number. Only a
 * new stack is described as text, by the thread that owns the frames, before its call returns.
 */
#ifndef PROBE_STACK_FOREIGN_H
#define PROBE_STACK_FOREIGN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOREIGN_FRAMES_MAX 96
/* maximum bytes of a stack as text; above it the outermost frames are omitted */
#define FOREIGN_TEXT_MAX 12288

/*
 * code, at: the code that runs, and the position in it. check: differs if other code is now at
 * address `code`. frame: the frame's address as long as it lives; 0: the frame may move, or may
 * be left and re-entered.
 */
struct foreign_frame {
	uintptr_t code, at, frame;
	uint64_t check;
};

struct foreign_name {
	char file[1024], function[256];
	int line; /* 0: not known */
};

struct stack_language {
	const char *name;
	/*
	 * Searches for the language in the process; called at the first walk, and again after
	 * objects were loaded if it was not found. Returns true if the language is loaded and its
	 * frames can be read (which the function has verified); this result is final. Takes no
	 * lock of the loader. Called by one thread at a time.
	 */
	bool (*find)(void);
	/*
	 * Walks the calling thread's frames, innermost first, at most max. Returns their number.
	 * Called only after find() returned true. Takes no lock, runs no code of the language,
	 * allocates nothing.
	 */
	int (*walk)(struct foreign_frame *f, int max);
	/*
	 * Names a frame of a walk that this thread has just made. Returns false if it is unknown.
	 */
	bool (*describe)(const struct foreign_frame *f, struct foreign_name *n);
	/*
	 * True if the frame may have reached its position from a later position `from` in a loop,
	 * or if that is not known. False: the function was called again. NULL: never known.
	 */
	bool (*goes_back)(const struct foreign_frame *f, uintptr_t from);
	/*
	 * Registers with the language's own interface for exceptions that end the program (life/last_words.h), once, if
	 * the calling thread need not wait for that. Runs on the program's own stack, because code of the program may
	 * run. NULL: not possible.
	 */
	void (*watch_end)(void);
};

/* NULL-terminated. Defined in wrappers/; programs without wrappers (the tools) have none. */
extern const struct stack_language *const stack_languages[] __attribute__((weak));

struct foreign_stack {
	const struct stack_language *language; /* NULL: no frames */
	uint64_t hash;
	uint64_t owner; /* the thread that owns the frames; another thread if they are lent */
	int n;
	struct foreign_frame frame[FOREIGN_FRAMES_MAX];
};

/*
 * Walks the calling thread's frames in its language. If it has none: the frames given to it by
 * foreign_set_stack(), or lent by another thread (foreign_start_lending()).
 */
void foreign_read_stack(struct foreign_stack *s);

/*
 * True after a search that has found no language: no thread has frames, and none were given or
 * lent. foreign_read_stack() then finds nothing.
 */
extern _Atomic bool foreign_languages_absent __attribute__((visibility("hidden")));

/*
 * Like foreign_read_stack(), but only the thread's own frames; or only the frames given to it. Return
 * false if there are none.
 */
bool foreign_read_own_stack(struct foreign_stack *s);
bool foreign_read_given_stack(struct foreign_stack *s);

/*
 * True if the program has gone from stack `was` to `now` without another iteration of a loop or
 * another call of the function. The outermost frame that differs decides. False: it has not, or
 * that is not known.
 */
bool is_foreign_continued(const struct foreign_stack *was, const struct foreign_stack *now);

/*
 * For a thread that waits for work which other threads do on its behalf (a backward pass on
 * threads of the framework). It lends them its frames: foreign_read_stack() returns these to threads
 * that have no frames. Until the second function is called, the lender does not return from its
 * current frame, so its frames and their data stay valid. With several lenders, the last one is
 * used.
 */
void foreign_start_lending(void);
void foreign_stop_lending(void);
void foreign_forked(void);

/*
 * For work that a thread queues and another thread does later. Describes the calling thread's
 * frames (or those given to it) and keeps them for the life of the process. Each distinct stack
 * is kept once, and their number is limited. Returns NULL if there are no frames, or the limit is
 * reached.
 */
struct foreign_kept;
const struct foreign_kept *foreign_copy_stack(void);

/* Sets the stack on whose behalf the calling thread works; NULL: none. Returns the previous one. */
const struct foreign_kept *foreign_set_stack(const struct foreign_kept *k);

/*
 * Makes every language that was found report an exception that ends the program. Call it at the
 * start of a new phase of work.
 */
void foreign_start_end_watch(void);

/*
 * Searches for languages that were not found yet, after objects were loaded (there is a new
 * native stack).
 */
void foreign_find_languages(void);

/* ---- frames as text, and rules about them ---- */

/*
 * Rules of the configuration for the text `file[line] function` of a frame; compiled, and never
 * changed afterwards.
 */
struct foreign_rules;

/*
 * select: extended regular expression that one frame of a call's stack must match; drop:
 * expression of frames to omit. NULL or "": no such rule. Returns NULL if there is no rule, no
 * memory, or an invalid expression (then *wrong is the key, "codeline" or "stack_blacklist", and
 * why[] the reason).
 */
struct foreign_rules *foreign_rules_new(
	const char *select, const char *drop, const char **wrong, char *why, size_t cap);
void foreign_rules_free(struct foreign_rules *r);
bool foreign_rules_have_selection(const struct foreign_rules *r); /* true if a rule selects calls */

/*
 * Writes the stack as `file:line function <- ...` into buf (NUL-terminated, whole frames only; "
 * <- ..." if outer frames are omitted). Returns its length. *selected: whether the rules select
 * the call (true without a rule). rules may be NULL.
 */
size_t foreign_write_text(const struct foreign_stack *s, const struct foreign_rules *rules,
	char *buf, size_t cap, bool *selected);

#endif
