/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Observers of backward passes and optimizer steps, besides the counting of steps: one row of
 * train_observers[] each (train_observers.c). train_events.c calls them in order, on the thread
 * of the event, with no lock of libprobe held, before the step is counted. `busy` is set: calls
 * that they make into the program's libraries are not recorded. NULL: not needed.
 */
#ifndef PROBE_WRAPPERS_TORCH_TRAIN_OBSERVERS_H
#define PROBE_WRAPPERS_TORCH_TRAIN_OBSERVERS_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;
struct call;

struct torch_train_event {
	/*
	 * For a backward pass: Engine::execute(this, roots, inputs, keep_graph, create_graph,
	 * accumulate_grad, outputs)
	 */
	const struct call *call; /* entry of the engine; NULL for an optimizer */
	bool accumulates; /* gradients are added to .grad: not autograd.grad() */
	bool outermost; /* the outermost pass, or step, on this thread */
	bool ok; /* at the end: no exception */
	/* For an optimizer's step: */
	const void *record; /* RecordFunction of the mark, equal at begin and end */
	/* number of the optimizer, from its class and the line that called step() */
	uint64_t optimizer_number;
};

struct torch_train_observer {
	bool (*wanted)(
		/*
		 * true if the configuration needs it; NULL: always. Called once, at the first
		 * event.
		 */
		void);
	void (*backward_begin)(const struct torch_train_event *e);
	void (*backward_end)(const struct torch_train_event *e);
	void (*optimizer_begin)(const struct torch_train_event *e);
	void (*optimizer_end)(const struct torch_train_event *e);
};

/* NULL-terminated. names_observer is the first: after it, names and torch_get_optimizer() are available. */
extern const struct torch_train_observer *const train_observers[];

extern const struct torch_train_observer names_observer, kinds_observer, scalars_observer;
extern const struct torch_train_observer gradients_observer; /* activations.c */
extern const struct torch_train_observer module_call_observer; /* module_call.h */
extern const struct torch_train_observer function_watch_observer; /* function_watch.h */
extern const struct torch_train_observer compiled_observer; /* compiled.c */
extern const struct torch_train_observer flops_observer; /* flop_ops.c */
extern const struct torch_train_observer withhold_observer; /* withhold.c */
extern const struct torch_train_observer stop_observer; /* stop_step.c */

/*
 * Called when buffer b is about to be communicated for reduction: the gradients in it are as
 * accumulated.
 */
extern void (*const torch_gradients_sent)(const struct buffer *b);
void torch_record_gradients_sent(const struct buffer *b); /* kinds_accumulate.c */

#endif
