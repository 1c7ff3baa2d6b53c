/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that are not on the native stack: those of an interpreter that runs in the process. A language is a table of
 * functions in wrappers/; this room knows none of them.
 *
 * A walk costs some nanoseconds a frame and makes no text: it gives for each frame what identifies its place in the
 * program. The caller turns the walk's hash into a number; only a stack that has not been seen before is described, by
 * the thread whose frames they are, while it still stands in the call.
 */
#ifndef PROBE_STACK_FOREIGN_H
#define PROBE_STACK_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOREIGN_FRAMES_MAX 96
#define FOREIGN_TEXT_MAX \
	12288 /* bytes of a stack as text; the outermost frames are left out beyond */

/*
 * code, at: what runs, and where in it. check: changes if `code` became something else at the same address. frame: where
 * it lies as long as it lives; 0: not the same place all the time, or it may be left and come back to.
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
	 * Looks for the language in the process; called at the first walk, and again when objects were loaded while it was
	 * not there. True: it is here and its frames can be read (the language has verified how). It keeps the answer.
	 * Takes no lock of the loader. One thread at a time.
	 */
	bool (*find)(void);
	/*
	 * The calling thread's frames, innermost first, at most max; 0: none. Only after find() said yes. Takes no lock,
	 * runs no code of the language, allocates nothing.
	 */
	int (*walk)(struct foreign_frame *f, int max);
	/* What a frame of a walk that this thread has just made is called; false: unknown. */
	bool (*describe)(const struct foreign_frame *f, struct foreign_name *n);
	/*
	 * May the code of a frame of such a walk have come to where it is from a later place in it, `from`, in a loop? True:
	 * it may, or that is not known. False: it was called again. NULL: never known.
	 */
	bool (*goes_back)(const struct foreign_frame *f, uintptr_t from);
	/*
	 * Asks the language's own interface to be told of an exception that ends the program (life/last_words.h), once, if the
	 * calling thread need not wait for that. On the program's own stack: code of the program may run. NULL: cannot be done.
	 */
	void (*watch_end)(void);
};

/* Ends with NULL. Defined in wrappers/; programs without wrappers (the tools) have none. */
extern const struct stack_language *const stack_languages[] __attribute__((weak));

struct foreign_stack {
	const struct stack_language *language; /* NULL: there are no frames */
	uint64_t hash;
	uint64_t owner; /* the thread whose frames they are, another one where they are lent */
	int n;
	struct foreign_frame frame[FOREIGN_FRAMES_MAX];
};

/*
 * The calling thread's frames in the language that it runs; where it has none, those that it was given or that another thread
 * lends (below).
 */
void foreign_walk(struct foreign_stack *s);

/* Its own frames only; those that it was given. False: there are none. */
bool foreign_walk_own(struct foreign_stack *s);
bool foreign_walk_given(struct foreign_stack *s);

/*
 * Has the program come from the place `was` to `now` by just going on, without another round of a loop or another call of the
 * function? Seen from the outermost frame, the first one that differs tells. False: it has not, or that is not known.
 */
bool foreign_goes_on(const struct foreign_stack *was, const struct foreign_stack *now);

/*
 * A thread that waits for work which others do on its behalf (a backward pass on threads of the framework) lends them its
 * frames: foreign_walk() gives them to threads that have none. Between the two calls the lender does not
 * return from the frame that it stands in, so the frames and what they refer to stay alive. Of several lenders the last
 * one counts.
 */
void foreign_lend(void);
void foreign_take_back(void);
void foreign_forked(void);

/*
 * Work that a thread queues and another one does later, when the first has gone on: the calling thread's frames (where it has
 * none, those that it was given), described now, for as long as the process lives. Each different stack is kept once, and
 * there is a limit. NULL: none.
 */
struct foreign_kept;
const struct foreign_kept *foreign_keep(void);

/* The calling thread works for that stack; NULL: no more. Returns what it was given before. */
const struct foreign_kept *foreign_give(const struct foreign_kept *k);

/* Whatever language is here: an exception that ends the program is to be noted. To be called where something new begins. */
void foreign_watch_end(void);

/* Objects may have been loaded (a new native stack was seen): looks for languages that were not there. */
void foreign_look(void);

/* ---- frames as text, and rules about them ---- */

/* Rules of the configuration over the text `file[line] function` of a frame; compiled, never changed afterwards. */
struct foreign_rules;

/*
 * select: extended regular expression of frames that a call must have one of, drop: of frames that are left out; NULL or
 * "": no rule. Returns NULL if there is no rule, no memory, or no valid expression (then *wrong is the key, "codeline"
 * or "stack_blacklist", and why[] the reason).
 */
struct foreign_rules *foreign_rules_new(
	const char *select, const char *drop, const char **wrong, char *why, size_t cap);
void foreign_rules_free(struct foreign_rules *r);
bool foreign_rules_select(const struct foreign_rules *r); /* there is a rule that selects calls */

/*
 * Writes the stack as `file:line function <- ...` into buf (NUL-terminated, whole frames only; " <- ..." where frames
 * are left out at the outer end); returns its length. *selected: by the rules (true without a rule). rules may be NULL.
 */
size_t foreign_text(const struct foreign_stack *s, const struct foreign_rules *rules, char *buf,
	size_t cap, bool *selected);

#endif
